"""Huge pages that a node with EFA reserves when it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.units import MIB_PER_GIB

_NUMBER = re.compile(r"[0-9]{1,12}")


class HugePages(NamedTuple):
    """Huge pages that a node with EFA reserves when it starts, in MiB.

    Pods can rely on ``promised_mib``, which is 0 if unknown. ``taken_mib`` is the upper bound of the reserved memory.
    """

    promised_mib: int
    taken_mib: int


def huge_pages(
    kind: InstanceType,
    *,
    ami_family: str,
    own_image: bool = False,
    settings: Mapping[str, object] | None = None,
) -> HugePages:
    """Return the huge pages that the images of one node with EFA reserve (``config/facts/eks.json``).

    How much your own image reserves is unknown; it may be as much as an EKS image. ``settings`` is the node's user
    data, in which Bottlerocket settings may set a number of pages.
    """
    of_family = facts.eks()["efa_huge_pages"]["by_family"].get(ami_family)
    given = _pages(settings, of_family.get("setting", ())) if of_family else None
    if given is not None:
        return stated_huge_pages(given, int(kind.memory_gib * MIB_PER_GIB))
    return default_huge_pages(
        kind.vcpus, ami_family=ami_family, accelerated=kind.accelerator is not None, own_image=own_image
    )


def stated_huge_pages(number: int, memory_mib: int) -> HugePages:
    """Return the huge pages that a node's settings request. The kernel reserves as many as fit in memory."""
    mib = min(number * facts.eks()["efa_huge_pages"]["page_mib"], memory_mib)
    return HugePages(mib, mib)


def default_huge_pages(vcpus: int, *, ami_family: str, accelerated: bool, own_image: bool) -> HugePages:
    """Return the huge pages that the images of a node with EFA reserve if its settings set no number."""
    of_family = facts.eks()["efa_huge_pages"]["by_family"].get(ami_family)
    if of_family is None or (of_family["accelerated_only"] and not accelerated):
        return HugePages(0, 0)
    by_vcpus = of_family["mib_per_vcpu"] * vcpus
    fixed = by_vcpus if of_family["mib"] is None else of_family["mib"]
    return HugePages(0 if own_image else min(fixed, by_vcpus), max(fixed, by_vcpus))


def _pages(settings: Any, path: Sequence[str]) -> int | None:
    """Return the number at a path of nested settings; None for an empty path, and if the value is not a number."""
    for key in path:
        settings = settings.get(key) if isinstance(settings, Mapping) else None
    return int(settings) if path and _NUMBER.fullmatch(str(settings)) else None
