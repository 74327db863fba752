"""A strategy with the hardware that was chosen for its workloads."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.findings import Finding
from eks_hardware.loader import LoadedStrategy

LOCK_SUFFIX = ".lock.json"
"""Of a lock file, in place of a strategy file's own."""


@dataclass(frozen=True)
class Filled:
    """A strategy whose described groups and pools have instance types, as far as they are known."""

    loaded: LoadedStrategy
    left_open: frozenset[str] = frozenset()  # groups and pools that have none yet; a finding says why
    findings: tuple[Finding, ...] = ()  # what is wrong with their workloads and choices
