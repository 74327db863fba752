"""Strategies with the hardware that is locked for their workloads: how every command, and ``cdktf synth``, reads them.

    found = validate(["strategies"])                     # never raises for what is in a file
    loaded = load_strategy("strategies/demo.yaml")       # raises StrategyError

What is in ``eks_hardware.config`` under the same names reads the same files, but cannot choose: there a group with
``workload: {...}`` is an error.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from eks_hardware.config import loader, validation
from eks_hardware.config.errors import StrategyError
from eks_hardware.config.loader import LoadedStrategy
from eks_hardware.config.loader.discovery import read_environment
from eks_hardware.config.validation import Filled, Validation

__all__ = ["from_environment", "load_strategy", "validate"]


def validate(
    files: Sequence[Path | str] | None = None,
    overlays: Sequence[str] = (),
    *,
    default_folder: Path | str | None = None,
    today: datetime.date | None = None,
) -> Validation:
    """:func:`eks_hardware.config.validation.validate`, with lock files."""
    fill = partial(_fill, overlays=tuple(overlays))
    return validation.validate(files, overlays, default_folder=default_folder, today=today, fill=fill)


def from_environment(environ: Mapping[str, str], default_folder: Path | str | None = None) -> Validation:
    """:func:`validate` for what ``EKS_HARDWARE_STRATEGIES`` and ``EKS_HARDWARE_OVERLAY`` name."""
    named, overlays = read_environment(environ)
    return validate(named, overlays, default_folder=default_folder)


def load_strategy(file: Path | str, *, overlays: Sequence[str] = ()) -> LoadedStrategy:
    """:func:`eks_hardware.config.loader.load_strategy`, with the lock file.

    Raises:
        StrategyError: with every finding that keeps the hardware from being known; rules are not run.
    """
    loaded = loader.load_strategy(file, overlays=overlays)
    filled = _fill(loaded, overlays=tuple(overlays))
    if filled.left_open:
        raise StrategyError(filled.findings)
    return filled.loaded


def _fill(loaded: LoadedStrategy, *, overlays: tuple[str, ...]) -> Filled:
    if not _has_choices(loaded):
        return Filled(loaded)
    # Only here: most strategies ask nothing, and a command starts without the recommender.
    from eks_hardware.advisor.strategies.fill import fill

    return fill(loaded, overlays=overlays)


def _has_choices(loaded: LoadedStrategy) -> bool:
    """Whether a strategy asks for hardware, or did."""
    strategy = loaded.strategy
    pools = strategy.karpenter.node_pools if strategy.karpenter else ()
    asks = any(node.described for node in (*strategy.node_groups, *pools))
    return asks or (loaded.path is not None and _has_lock(loaded.path))


def _has_lock(file: Path) -> bool:
    from eks_hardware.advisor.strategies.lock import lock_path

    return lock_path(file).is_file()
