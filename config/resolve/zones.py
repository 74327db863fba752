"""Which zones a cluster and each of its node groups use.

The choice only ever grows: the first zones of the region are taken, and a zone is added for a group whose
instance types none of them offers. Adding a group or a zone therefore never moves a subnet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware.config import facts
from eks_hardware.config.catalogue import Catalogue
from eks_hardware.config.models import Network, NodeGroup


@dataclass(frozen=True)
class ZoneChoice:
    """The zones of a network.

    Attributes:
        base: zones that were asked for (in that order) or taken first; groups spread over these.
        added: for each zone that was added, the group that needs it.
    """

    base: tuple[str, ...]
    added: dict[str, str]

    @property
    def zone_ids(self) -> tuple[str, ...]:
        return tuple(sorted({*self.base, *self.added}))


def control_plane_excluded() -> frozenset[str]:
    """Zones that cannot hold an EKS control plane's interfaces."""
    return frozenset(facts.eks("control_plane_excluded_zones")["zone_ids"])


def offered_zones(catalogue: Catalogue, group: NodeGroup, region: str) -> tuple[str, ...]:
    """Zones that offer every type of the group; where there is none, those that offer at least one."""
    per_type = [set(catalogue.offered(name, region)) for name in group.instance_types]
    everywhere = set.intersection(*per_type)
    return tuple(sorted(everywhere or set.union(*per_type)))


def pinned_zones(group: NodeGroup) -> tuple[str, ...]:
    """Zones that the strategy fixes for a group: its reservation's, or those it lists."""
    return (group.reservation.zone,) if group.reservation else group.zones


def choose(network: Network, groups: Sequence[NodeGroup], region: str, catalogue: Catalogue) -> ZoneChoice:
    """Choose the zones of a network.

    With listed zones or an existing VPC those are taken as they are.
    """
    if network.existing:
        return ZoneChoice(tuple(sorted(network.existing.private_subnets)), {})
    if not isinstance(network.zones, int):
        return ZoneChoice(tuple(dict.fromkeys(network.zones)), {})
    allowed = [zone for zone in catalogue.zone_ids(region) if zone not in control_plane_excluded()]
    base = tuple(allowed[: network.zones])
    added: dict[str, str] = {}
    for group in groups:
        present = {*base, *added}
        pinned = pinned_zones(group)
        if pinned:
            added.update({zone: group.name for zone in pinned if zone not in present})
            continue
        offered = offered_zones(catalogue, group, region)
        if present.isdisjoint(offered):
            # A zone where the control plane may not be can still hold nodes; it comes last.
            for zone in sorted(offered, key=lambda each: (each not in allowed, each))[:1]:
                added[zone] = group.name
    return ZoneChoice(base, added)


def of_group(group: NodeGroup, choice: ZoneChoice, region: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Zones of one group: pinned ones, else the base zones that offer its types, else an added one.

    An EFA group gets exactly one: its nodes have to be close together, and EFA traffic does not leave a zone
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits).
    """
    pinned = tuple(sorted(pinned_zones(group)))
    if pinned:
        return pinned
    offered = set(offered_zones(catalogue, group, region))
    candidates = (
        tuple(zone for zone in sorted(choice.base) if zone in offered)
        or tuple(zone for zone in choice.zone_ids if zone in offered)[:1]
    )
    return candidates[:1] if group.efa else candidates
