"""Loading and checking of strategy files.

``eks-hardware validate`` reports these findings, and ``cdktf synth`` stops at errors.

    found = validate(["strategies"])                     # never raises for faults in a file
    loaded = load_strategy("strategies/demo.yaml")       # raises StrategyError

Groups and pools with ``workload: {...}`` get the hardware from the lock file next to the strategy.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from eks_hardware.advisor.strategies.filled import LOCK_SUFFIX, Filled
from eks_hardware.findings import Finding, Position, StrategyError, errors_in, ignored_in, warnings_in
from eks_hardware.loader import LoadedStrategy, Remains, is_adoption, read_strategies, read_strategy
from eks_hardware.loader.discovery import find
from eks_hardware.loader.yaml_files import display_name
from eks_hardware.models.node_lists import lists_of, nodes_by_path, without
from eks_hardware.rules import check_loaded, check_remains

__all__ = ["Fill", "Validation", "load_strategy", "validate"]


Fill = Callable[..., Filled]
"""Replaces ``workload: {...}`` with instance types. Arguments: the strategy, and ``overlays``, the overlay names."""


class Validation(NamedTuple):
    """The result of reading and checking strategy files.

    Attributes:
        files: the file names in findings.
        strategies: each strategy that could be read, with its own findings.
        findings: all findings, by file and line, including ignored warnings.
        adoptions: the names of files that were checked as node pools for an existing cluster.

    Examples:
        >>> found = validate(["config/strategies/gpu-training.yaml"])
        >>> found.errors
        ()
    """

    files: tuple[str, ...]
    strategies: tuple[tuple[LoadedStrategy, tuple[Finding, ...]], ...]
    findings: tuple[Finding, ...]
    adoptions: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that stop the deployment."""
        return errors_in(self.findings)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that are shown but stop nothing."""
        return warnings_in(self.findings)

    @property
    def ignored(self) -> tuple[Finding, ...]:
        """Warnings that a strategy ignores, with the reasons."""
        return ignored_in(self.findings)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """Errors and warnings in order."""
        return tuple(finding for finding in self.findings if not finding.ignored)


def validate(
    files: Sequence[Path | str] | None = None,
    overlays: Sequence[str] = (),
    *,
    today: datetime.date | None = None,
    fill: Fill | None = None,
    adoptions: bool = False,
) -> Validation:
    """Read and check strategy files; faults in files raise nothing.

    Args:
        files: files and folders; None for ``strategies`` in the working folder, or ``config/strategies`` in a checkout
            of this project.
        overlays: names of overlays, applied to each file in this order.
        today: the date for rules that depend on it.
        fill: replaces ``workload: {...}`` with instance types; by default with those of the lock files.
        adoptions: check files with node pools for an existing cluster as adoptions, without overlays.
    """
    paths, not_there = find(files)
    adopted = tuple(path for path in paths if adoptions and is_adoption(path))
    reading = read_strategies([path for path in paths if path not in adopted], overlays)
    fill = partial(fill or _from_lock, overlays=tuple(overlays))
    strategies = tuple(_judged(fill(strategy), today) for strategy in reading.strategies)
    found = (
        *not_there,
        *reading.findings,
        *(
            judged_remain
            for remains in reading.remains
            for judged_remain in _judged_remains(remains, fill(remains.loaded), today)
        ),
        *(finding for _, findings in strategies for finding in findings),
        *(finding for path in adopted for finding in _judged_adoption(path, today)),
    )
    names = tuple(display_name(path) for path in paths)
    return Validation(names, strategies, in_order(found, names), tuple(map(display_name, adopted)))


def in_order(findings: Iterable[Finding], files: Sequence[str]) -> tuple[Finding, ...]:
    """Return findings by file and line; those without a file come first, other files last."""
    order = {name: index for index, name in enumerate(("", *files))}

    def place(finding: Finding) -> tuple[int, Position, str, str]:
        position = finding.position or Position("")
        return order.get(position.file, len(order)), position, finding.code, finding.path

    return tuple(sorted(findings, key=place))


def _judged(filled: Filled, today: datetime.date | None) -> tuple[LoadedStrategy, tuple[Finding, ...]]:
    """Return a strategy with its findings; groups without chosen hardware are left out of the checks."""
    if filled.left_open:
        findings = check_remains(_closed(Remains(filled.loaded, frozenset(), frozenset()), filled), today=today)
    else:
        findings = check_loaded(filled.loaded, today=today)
    return filled.loaded, (*filled.findings, *findings)


def _judged_remains(remains: Remains, filled: Filled, today: datetime.date | None) -> tuple[Finding, ...]:
    # Anything that seems unused may be used by the faulty part of the file.
    return (*errors_in(filled.findings), *check_remains(_closed(remains, filled), today=today))


def _judged_adoption(path: Path, today: datetime.date | None) -> tuple[Finding, ...]:
    # Not at the top: most projects have no such file.
    from eks_hardware.adoption import check_adoption

    return check_adoption(path, today=today)


def _closed(remains: Remains, filled: Filled) -> Remains:
    """Return the remains without groups and pools that have no chosen hardware."""
    strategy = without(filled.loaded.strategy, filled.left_open)
    return Remains(
        filled.loaded._replace(strategy=strategy), remains.sections, remains.lists | lists_of(filled.left_open)
    )


def load_strategy(file: Path | str, *, overlays: Sequence[str] = ()) -> LoadedStrategy:
    """Load one strategy file, with the hardware from its lock file.

    Raises:
        StrategyError: with every finding that leaves the hardware unknown; rules are not run.
    """
    filled = _from_lock(read_strategy(file, overlays=overlays), tuple(overlays))
    if filled.left_open:
        raise StrategyError(filled.findings)
    return filled.loaded


def _from_lock(loaded: LoadedStrategy, overlays: tuple[str, ...]) -> Filled:
    if not _has_choices(loaded):
        return Filled(loaded)
    # Not at the top: few strategies have workload descriptions, and other commands start without the recommender.
    from eks_hardware.advisor.strategies.fill import fill

    return fill(loaded, overlays=overlays)


def _has_choices(loaded: LoadedStrategy) -> bool:
    """Return whether a strategy has workload descriptions, or a lock file from an earlier one."""
    if any(node.described for node in nodes_by_path(loaded.strategy).values()):
        return True
    return loaded.path is not None and loaded.path.with_suffix(LOCK_SUFFIX).is_file()
