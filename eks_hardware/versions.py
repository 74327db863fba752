"""Versions as numbers that compare."""

from __future__ import annotations

import re


def numbers(version: str) -> tuple[int, int, int]:
    """The first three numbers of a version, before any suffix.

    >>> numbers("v1.14.1-rc.1"), numbers("1.35"), numbers("v1.18.5-eksbuild.1")
    ((1, 14, 1), (1, 35, 0), (1, 18, 5))
    """
    major, minor, patch = [*map(int, re.findall(r"\d+", re.split(r"[-+]", version)[0])), 0, 0, 0][:3]
    return major, minor, patch
