"""Command output in guides."""

from __future__ import annotations


def missing_lines(shown: str, printed: str) -> list[str]:
    """Return shown lines that are not printed, or not in that order; ``...`` matches any number of lines."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    return [line for line in shown.splitlines() if line.rstrip() != "..." and line.rstrip() not in lines]
