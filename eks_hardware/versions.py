"""Versions as numbers that compare."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def parts(version: str) -> tuple[int, ...]:
    """Every number of a version.

    >>> parts("v1.53.0"), parts("580.126.09"), parts("12.8")
    ((1, 53, 0), (580, 126, 9), (12, 8))
    """
    return tuple(map(int, re.findall(r"\d+", version)))


@lru_cache(maxsize=1024)
def numbers(version: str) -> tuple[int, int, int]:
    """The first three numbers of a version, before any suffix.

    >>> numbers("v1.14.1-rc.1"), numbers("1.35"), numbers("v1.18.5-eksbuild.1")
    ((1, 14, 1), (1, 35, 0), (1, 18, 5))
    """
    major, minor, patch = [*parts(re.split(r"[-+]", version)[0]), 0, 0, 0][:3]
    return major, minor, patch


def older(one: str, other: str) -> bool:
    """Whether a version is older than another, as far as both are written.

    >>> older("570.211.01", "580"), older("580", "580.126.09")
    (True, False)
    """
    ours, theirs = parts(one), parts(other)
    both = min(len(ours), len(theirs))
    return ours[:both] < theirs[:both]
