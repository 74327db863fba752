"""A strategy with the hardware chosen for its workloads."""

from __future__ import annotations

from typing import NamedTuple

from eks_hardware.findings import Finding
from eks_hardware.loader import LoadedStrategy

LOCK_SUFFIX = ".lock.json"
"""Suffix of a lock file, which replaces the suffix of the strategy file."""


class Filled(NamedTuple):
    """A strategy with instance types for its groups and pools with workloads, as far as they are known."""

    loaded: LoadedStrategy
    left_open: frozenset[str] = frozenset()  # groups and pools without types; a finding says why
    findings: tuple[Finding, ...] = ()  # findings about their workloads and choices
