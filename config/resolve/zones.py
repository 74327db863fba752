"""Which zones a cluster and each of its node groups use.

The choice only ever grows: the first zones of the region are taken, and a zone is added for a group whose
instance types none of them offers. What a group adds depends on that group alone, so that another group, before or
after it, changes neither its zones nor a subnet.
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
        return ZoneChoice(tuple(network.existing.private_subnets), {})
    if not isinstance(network.zones, int):
        return ZoneChoice(tuple(dict.fromkeys(network.zones)), {})
    allowed = [zone for zone in catalogue.zone_ids(region) if zone not in control_plane_excluded()]
    base = tuple(allowed[: network.zones])
    added: dict[str, str] = {}
    for group in groups:
        needed = pinned_zones(group)
        if not needed:
            offered = offered_zones(catalogue, group, region)
            needed = () if set(offered) & set(base) else _best_first(offered)[:1]
        for zone in needed:
            if zone not in base:
                added.setdefault(zone, group.name)
    return ZoneChoice(base, added)


def _best_first(zone_ids: Sequence[str]) -> tuple[str, ...]:
    """By id; a zone where the control plane may not be can still hold nodes, and comes last."""
    return tuple(sorted(zone_ids, key=lambda zone: (zone in control_plane_excluded(), zone)))


def in_one_zone(group: NodeGroup) -> bool:
    """Whether all nodes of a group have to be in one zone.

    EFA traffic does not leave a zone, and neither does a cluster placement group:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits,
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-cluster
    """
    return group.efa or group.placement_group == "cluster"


def of_group(group: NodeGroup, choice: ZoneChoice, region: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Zones of one group: pinned ones, else the base zones that offer its types, else the one it added.

    Of several, a group that has to be in one zone takes the first in the order of the strategy, so that a zone
    that is listed behind it moves nothing.
    """
    pinned = pinned_zones(group)
    if pinned:
        return tuple(sorted(set(pinned)))
    offered = offered_zones(catalogue, group, region)
    candidates = tuple(zone for zone in choice.base if zone in offered) or tuple(
        zone for zone in _best_first(offered)[:1] if zone in choice.added
    )
    return candidates[:1] if in_one_zone(group) else tuple(sorted(candidates))
