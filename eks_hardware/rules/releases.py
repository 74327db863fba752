"""Facts about releases of EKS's images, by alias name: ``v20260810``, ``v1.67.0``."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.versions import numbers


def variant(kinds: Sequence[InstanceType]) -> str:
    """Return the image variant for some types: ``standard``, ``nvidia`` or ``neuron``."""
    hardware = kinds[0].hardware if kinds else Hardware.CPU
    return {"nvidia.com/gpu": "nvidia", "aws.amazon.com/neuron": "neuron"}.get(
        accelerator_resource(hardware) or "", "standard"
    )


def day(release: str) -> datetime.date | None:
    """Return the date of an AL2023 release such as ``v20260810``; None if the date does not exist."""
    try:
        # strptime would import the locale, in every command.
        return datetime.date.fromisoformat(f"{release[1:5]}-{release[5:7]}-{release[7:]}")
    except ValueError:
        return None


def day_fault(release: str, today: datetime.date) -> str | None:
    """Return why no AL2023 release can have this date; None if one can."""
    published = day(release)
    if published is None:
        return f"the date of {release} does not exist"
    return f"the date of {release} is in the future" if published > today else None


def known_faults(family: str, release: str, kinds: Sequence[InstanceType], *, doubtful: bool) -> list[str]:
    """Return the known faults of a release on nodes of some types: those in all cases, or with ``doubtful`` in some."""
    return [
        f"{release}: {fact['problem']} ({'; '.join(filter(None, (fact.get('condition'), fact['source'])))})"
        for fact in facts.karpenter()["ami_aliases"]["known_bad"][family]
        if fact["version"] == release and variant(kinds) in fact["variants"] and ("condition" in fact) is doubtful
    ]


def kubernetes_fault(family: str, release: str, kubernetes: str) -> str | None:
    """Return why a release has no image for a Kubernetes version; None if it may have one."""
    aliases = facts.karpenter()["ami_aliases"]
    first = aliases["first_for_kubernetes"]["by_family"][family].get(kubernetes)
    if first and release != "latest" and numbers(release) < numbers(first):
        return f"{family} has images for Kubernetes {kubernetes} from {first} on, got {release}"
    for fact in aliases["releases"][family]:
        published = fact.get("kubernetes", [kubernetes])
        if fact["version"] == release and kubernetes not in published:
            return f"{family} {release} has images for Kubernetes {', '.join(published)}, not for {kubernetes}"
    return None
