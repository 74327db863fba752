"""What a guide shows of a command's output."""

from __future__ import annotations


def missing_lines(shown: str, printed: str) -> list[str]:
    """Lines that are shown and not printed, or not in that order; ``...`` stands for any number of lines."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    return [line for line in shown.splitlines() if line.rstrip() != "..." and line.rstrip() not in lines]
