"""Versions as comparable numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# 1.35.6-20260714: kubelet version and release date; 1.61.0-86a3fbfd: version and commit.
_AMI_RELEASES = {
    "al2023": re.compile(r"(?P<kubelet>[0-9]+\.[0-9]+\.[0-9]+)-(?P<name>[0-9]{8})"),
    "bottlerocket": re.compile(r"(?P<name>[0-9]+\.[0-9]+\.[0-9]+)-[0-9a-f]{8}"),
}


class AmiRelease(NamedTuple):
    """A release of EKS's AMIs: its name (``v20260714``, ``v1.61.0``), and on AL2023 the kubelet version."""

    name: str
    kubelet: str | None


def ami_release(family: str, text: str) -> AmiRelease | None:
    """Parse a ``releaseVersion`` of the EKS API; return None for any other text.

    >>> ami_release("al2023", "1.35.6-20260714")
    AmiRelease(name='v20260714', kubelet='1.35.6')
    >>> ami_release("bottlerocket", "1.61.0-86a3fbfd")
    AmiRelease(name='v1.61.0', kubelet=None)
    """
    match = _AMI_RELEASES[family].fullmatch(text)
    return AmiRelease(f"v{match['name']}", match.groupdict().get("kubelet")) if match else None


@lru_cache(maxsize=1024)
def parts(version: str) -> tuple[int, ...]:
    """Return every number in a version.

    >>> parts("v1.53.0"), parts("580.126.09"), parts("12.8")
    ((1, 53, 0), (580, 126, 9), (12, 8))
    """
    return tuple(map(int, re.findall(r"\d+", version)))


@lru_cache(maxsize=1024)
def numbers(version: str) -> tuple[int, int, int]:
    """Return the first three numbers of a version, before any suffix; missing numbers are 0.

    >>> numbers("v1.14.1-rc.1"), numbers("1.35"), numbers("v1.18.5-eksbuild.1")
    ((1, 14, 1), (1, 35, 0), (1, 18, 5))
    """
    major, minor, patch = [*parts(re.split(r"[-+]", version)[0]), 0, 0, 0][:3]
    return major, minor, patch


def older(one: str, other: str) -> bool:
    """Return whether one version is older than another, comparing only the numbers that both have.

    >>> older("570.211.01", "580"), older("580", "580.126.09")
    (True, False)
    """
    ours, theirs = parts(one), parts(other)
    both = min(len(ours), len(theirs))
    return ours[:both] < theirs[:both]
