"""Findings in short form, for comparisons."""

from __future__ import annotations

from collections.abc import Iterable

from eks_hardware.findings import Finding


def codes(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Return code and path of every finding."""
    return [(each.code, each.path) for each in findings]
