"""Versions as numbers that compare."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# 1.35.6-20260714: the kubelet's version and the day; 1.61.0-86a3fbfd: the version and the commit.
_AMI_RELEASES = {
    "al2023": re.compile(r"(?P<kubelet>[0-9]+\.[0-9]+\.[0-9]+)-(?P<name>[0-9]{8})"),
    "bottlerocket": re.compile(r"(?P<name>[0-9]+\.[0-9]+\.[0-9]+)-[0-9a-f]{8}"),
}


class AmiRelease(NamedTuple):
    """A release of EKS's AMIs: its name (``v20260714``, ``v1.61.0``), and on AL2023 the kubelet's version."""

    name: str
    kubelet: str | None


def ami_release(family: str, text: str) -> AmiRelease | None:
    """The release that a ``releaseVersion`` of the EKS API names; None for other text.

    >>> ami_release("al2023", "1.35.6-20260714")
    AmiRelease(name='v20260714', kubelet='1.35.6')
    >>> ami_release("bottlerocket", "1.61.0-86a3fbfd")
    AmiRelease(name='v1.61.0', kubelet=None)
    """
    match = _AMI_RELEASES[family].fullmatch(text)
    return AmiRelease(f"v{match['name']}", match.groupdict().get("kubelet")) if match else None


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
