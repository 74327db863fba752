"""Read and check strategy files: what ``eks-hardware validate`` reports, and what ``cdktf synth`` stops at."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from eks_hardware.config.errors import Finding, Position, Severity
from eks_hardware.config.loader import LoadedStrategy, Remains, read_strategies
from eks_hardware.config.loader.discovery import find, read_environment
from eks_hardware.config.loader.yaml_source import display_name
from eks_hardware.config.rules import check_loaded, check_remains
from eks_hardware.config.unchosen import lists_of, without

__all__ = ["Fill", "Filled", "Validation", "from_environment", "validate"]


@dataclass(frozen=True)
class Filled:
    """A strategy whose described groups and pools have instance types, as far as they could be told.

    Attributes:
        loaded: the strategy.
        left_open: paths of groups and pools that have none yet, such as ``node_groups[llm]``; a finding says why.
        findings: what is wrong with their workloads and choices.

    Examples:
        >>> Filled(load_strategy("config/strategies/gpu-training.yaml")).left_open
        frozenset()
    """

    loaded: LoadedStrategy
    left_open: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


Fill = Callable[[LoadedStrategy], Filled]
"""Puts instance types in place of ``workload: {...}``; it lies in a layer above this one, and is handed in."""


@dataclass(frozen=True)
class Validation:
    """What became of some strategy files.

    Attributes:
        files: how findings name the files.
        strategies: each strategy that could be read, with its own findings.
        findings: everything that was found, file by file, in the order of the lines; ignored warnings too.

    Examples:
        >>> found = validate(["config/strategies/gpu-training.yaml"])
        >>> found.errors
        ()
    """

    files: tuple[str, ...]
    strategies: tuple[tuple[LoadedStrategy, tuple[Finding, ...]], ...]
    findings: tuple[Finding, ...]

    @cached_property
    def errors(self) -> tuple[Finding, ...]:
        """What stops everything."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        """What is shown, and stops nothing."""
        return tuple(each for each in self.findings if each.severity is Severity.WARNING and not each.ignored)

    @cached_property
    def ignored(self) -> tuple[Finding, ...]:
        """Warnings that a strategy ignores, with its reasons."""
        return tuple(each for each in self.findings if each.ignored)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """Errors and warnings in order."""
        return tuple(each for each in self.findings if not each.ignored)


def validate(
    files: Sequence[Path | str] | None = None,
    overlays: Sequence[str] = (),
    *,
    default_folder: Path | str | None = None,
    today: datetime.date | None = None,
    fill: Fill | None = None,
) -> Validation:
    """Read and check strategy files; raises nothing for what is in them.

    Args:
        files: files and folders; None for ``default_folder``.
        overlays: names of overlays, laid over each file in this order.
        default_folder: folder of the strategies when nothing is named; by default ``strategies`` in the working
            folder, and in a checkout of this project its own.
        today: the day for rules about dates.
        fill: puts instance types in place of ``workload: {...}``; without it such a group is an error.
    """
    paths, not_there = find(files, default_folder)
    reading = read_strategies(paths, overlays)
    fill = fill or Filled
    strategies = tuple(_judged(fill(each), today) for each in reading.strategies)
    in_order: dict[str, list[Finding]] = {}
    for finding in (
        *not_there,
        *reading.findings,
        *(each for remains in reading.remains for each in _judged_remains(remains, fill, today)),
        *(each for _, findings in strategies for each in findings),
    ):
        in_order.setdefault(finding.position.file if finding.position else "", []).append(finding)
    names = tuple(display_name(path) for path in paths)
    order = {name: index for index, name in enumerate(("", *names))}
    findings = [
        finding
        for name in sorted(in_order, key=lambda name: (order.get(name, len(order)), name))
        for finding in sorted(in_order[name], key=_place)
    ]
    return Validation(names, strategies, tuple(findings))


def _judged(filled: Filled, today: datetime.date | None) -> tuple[LoadedStrategy, tuple[Finding, ...]]:
    """A strategy with its findings; without the groups that are left open, what is wrong in the rest."""
    if filled.left_open:
        found = check_remains(_closed(Remains(filled.loaded, frozenset(), frozenset()), filled), today=today)
    else:
        found = check_loaded(filled.loaded, today=today)
    return filled.loaded, (*filled.findings, *found)


def _judged_remains(remains: Remains, fill: Fill, today: datetime.date | None) -> tuple[Finding, ...]:
    filled = fill(remains.loaded)
    # What seems not to be used may be what the faulty part of the file uses.
    errors = (each for each in filled.findings if each.severity is Severity.ERROR)
    return (*errors, *check_remains(_closed(remains, filled), today=today))


def _closed(remains: Remains, filled: Filled) -> Remains:
    """The same without what is left open."""
    strategy = without(filled.loaded.strategy, filled.left_open)
    return Remains(
        replace(filled.loaded, strategy=strategy), remains.sections, remains.lists | lists_of(filled.left_open)
    )


def from_environment(
    environ: Mapping[str, str], default_folder: Path | str | None = None, *, fill: Fill | None = None
) -> Validation:
    """:func:`validate` for what ``EKS_HARDWARE_STRATEGIES`` and ``EKS_HARDWARE_OVERLAY`` name."""
    named, overlays = read_environment(environ)
    return validate(named, overlays, default_folder=default_folder, fill=fill)


def _place(finding: Finding) -> tuple[Position, str, str]:
    return finding.position or Position(""), finding.code, finding.path
