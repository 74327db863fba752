"""What is known of a release of EKS's images, by the name that an alias gives it: ``v20260810``, ``v1.67.0``."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.resolve import accelerator_resource
from eks_hardware.versions import numbers


def variant(kinds: Sequence[InstanceType]) -> str:
    """The variant of the image for some types: ``standard``, ``nvidia`` or ``neuron``."""
    hardware = kinds[0].hardware if kinds else Hardware.CPU
    return {"nvidia.com/gpu": "nvidia", "aws.amazon.com/neuron": "neuron"}.get(
        accelerator_resource(hardware) or "", "standard"
    )


def day(release: str) -> datetime.date | None:
    """The day of an AL2023 release, ``v20260810``; None if there is no such day."""
    try:
        return datetime.datetime.strptime(release, "v%Y%m%d").date()
    except ValueError:
        return None


def day_fault(release: str, today: datetime.date) -> str | None:
    """Why there cannot be an AL2023 release of this day."""
    published = day(release)
    if published is None:
        return f"{release} is named after a day that is in no calendar"
    return f"{release} lies in the future" if published > today else None


def known_faults(family: str, release: str, kinds: Sequence[InstanceType], *, doubtful: bool) -> list[str]:
    """What does not work with a release on nodes of some types: always, or (``doubtful``) in some cases only."""
    return [
        f"{release}: {fact['problem']} ({'; '.join(filter(None, (fact.get('condition'), fact['source'])))})"
        for fact in facts.karpenter()["ami_aliases"]["known_bad"][family]
        if fact["version"] == release and variant(kinds) in fact["variants"] and ("condition" in fact) is doubtful
    ]


def kubernetes_fault(family: str, release: str, kubernetes: str) -> str | None:
    """Why a release has no image for a Kubernetes version."""
    aliases = facts.karpenter()["ami_aliases"]
    first = aliases["first_for_kubernetes"]["by_family"][family].get(kubernetes)
    if first and release != "latest" and numbers(release) < numbers(first):
        return f"{family} has images for {kubernetes} since {first}, {release} is older"
    for fact in aliases["releases"][family]:
        published = fact.get("kubernetes", [kubernetes])
        if fact["version"] == release and kubernetes not in published:
            return f"{family} {release} was published for {', '.join(published)}, not for {kubernetes}"
    return None
