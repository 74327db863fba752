"""The zones of a cluster and of each of its node groups and pools.

Zones are only added: the choice starts with the first zones of the region, and a group adds a zone if none of them
offers its instance types. The added zone depends on that group alone. Another group, before or after it, therefore
changes neither its zones nor a subnet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue
from eks_hardware.data import Cited
from eks_hardware.models import NetworkSpec, NodeGroupSpec, NodePoolSpec, NodeTemplate, StorageSpec


class ZoneChoice(NamedTuple):
    """The zones of a network: those listed, in that order, or the region's first; each added zone with its group."""

    base: tuple[str, ...]
    added: dict[str, str]

    @property
    def zone_ids(self) -> tuple[str, ...]:
        """All zones, sorted by id."""
        return tuple(sorted({*self.base, *self.added}))


def control_plane_excluded() -> Cited[list[str]]:
    """Return the Availability Zones that EKS control planes cannot use."""
    return facts.eks.cite(lambda file: file["control_plane_excluded_zones"]["zone_ids"])


def is_edge(zone_id: str) -> bool:
    """Return whether a zone is a Local Zone (``use1-dfw2-az1``) or a Wavelength Zone (``use1-wl1-bos-wlz1``).

    Such a zone can have nodes, but neither control planes nor EFS file systems:
    https://docs.aws.amazon.com/eks/latest/userguide/local-zones.html
    """
    return zone_id.count("-") > 1


def is_wavelength(zone_id: str) -> bool:
    """Return whether a zone is a Wavelength Zone."""
    return zone_id.rpartition("-")[2].startswith("wlz")


@cache
def edge_groups(region: str) -> dict[str, str]:
    """Return the network border groups of a region's Local and Wavelength Zones, by the part that zone IDs contain.

    Examples:
        >>> edge_groups("us-west-2")["lax1"], edge_groups("us-west-2")["wl1-den-wlz1"]
        ('us-west-2-lax-1', 'us-west-2-wl1-den-wlz-1')
    """
    listed = facts.zones()
    kinds = (listed["local_zones"], listed["wavelength_zones"])
    groups = [group for kind in kinds for group in kind["groups"].get(region, ())]
    return {re.sub(r"-(\d+)$", r"\1", group.removeprefix(f"{region}-")): group for group in groups}


def edge_place(zone_id: str) -> str:
    """Return the part of a Local Zone's or Wavelength Zone's ID that names the place: ``dfw2``, ``wl1-bos-wlz1``."""
    place = zone_id.partition("-")[2]
    return place if is_wavelength(zone_id) else place.rpartition("-")[0]


def edge_zone_ids(code: str, places: Iterable[str]) -> tuple[str, ...]:
    """Return the ID of the first zone at each place; ``code`` begins the region's zone IDs.

    Examples:
        >>> edge_zone_ids("afs1", edge_groups("af-south-1"))
        ('afs1-los1-az1',)
    """
    return tuple(f"{code}-{place}" if "-" in place else f"{code}-{place}-az1" for place in places)


def edge_group(zone_id: str, region: str) -> str | None:
    """Return the network border group of a Local Zone or Wavelength Zone; None if it is unknown."""
    return edge_groups(region).get(edge_place(zone_id))


def region_code(zone_id: str) -> str:
    """Return the region's part of a zone ID: ``use1`` of ``use1-az1`` and of the Local Zone ``use1-dfw2-az1``."""
    return zone_id.partition("-")[0]


def can_have_control_plane(zone_id: str) -> bool:
    """Return whether EKS can place the control plane's interfaces in a zone."""
    return not is_edge(zone_id) and zone_id not in control_plane_excluded().value


class Demand(NamedTuple):
    """A node group's or node pool's requirements on its zones.

    Attributes:
        instance_types: its types; empty if they are not known.
        pinned: zones that the strategy fixes: those of a reservation, or those that it lists.
        one_zone: all nodes must be in one zone. EFA traffic cannot cross zones, and a cluster placement group has one
            zone: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-limits,
            https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-cluster
        every_type: prefer zones that offer every type; otherwise, or if there are none, one type is enough.
        also: zones in addition to those that offer its types: those of reservations that a pool tries first.
    """

    name: str
    instance_types: tuple[str, ...]
    pinned: tuple[str, ...]
    one_zone: bool
    every_type: bool
    also: tuple[str, ...] = ()


def of_node_group(group: NodeGroupSpec) -> Demand:
    """Return the demand of a managed node group: EKS launches any of its types in any of its zones."""
    return Demand(
        group.name,
        group.instance_types,
        (group.reservation.zone,) if group.reservation else group.zones,
        _in_one_zone(group),
        every_type=True,
    )


def of_node_pool(pool: NodePoolSpec, instance_types: tuple[str, ...]) -> Demand:
    """Return the demand of a node pool: Karpenter chooses a type and a zone that offers it."""
    reserved = tuple(dict.fromkeys(reservation.zone for reservation in pool.reservations if reservation.zone))
    only_reserved = not {"on-demand", "spot"} & set(pool.capacity) and all(
        reservation.zone for reservation in pool.reservations
    )
    # Karpenter uses a reservation only if its zone is among the pool's.
    fixed = reserved if only_reserved or _in_one_zone(pool) else ()
    return Demand(
        pool.name,
        instance_types,
        pool.zones or fixed,
        _in_one_zone(pool),
        every_type=pool.efa,
        also=() if pool.zones or fixed else reserved,
    )


def _in_one_zone(template: NodeTemplate) -> bool:
    return template.efa or template.placement_group == "cluster"


def offered_zones(catalogue: Catalogue, demand: Demand, region: str) -> tuple[str, ...]:
    """Return the zones that offer every type; if there are none, or one type is enough, those that offer any type."""
    per_type = [set(catalogue.offered(name, region)) for name in demand.instance_types]
    everywhere = set.intersection(*per_type) if demand.every_type and per_type else set[str]()
    return tuple(sorted(everywhere or set[str]().union(*per_type)))


def choose(network: NetworkSpec, demands: Sequence[Demand], region: str, catalogue: Catalogue) -> ZoneChoice:
    """Choose the zones of a network; listed zones and those of an existing VPC are used unchanged."""
    if network.existing:
        return ZoneChoice(tuple(network.existing.private_subnets), {})
    if not isinstance(network.zones, int):
        return ZoneChoice(tuple(dict.fromkeys(network.zones)), {})
    allowed = [zone for zone in catalogue.zone_ids(region) if can_have_control_plane(zone)]
    base = tuple(allowed[: network.zones])
    added: dict[str, str] = {}
    for demand in demands:
        needed = demand.pinned
        if not needed:
            offered = offered_zones(catalogue, demand, region)
            needed = () if set(offered) & set(base) else _best_first(offered)[:1]
        for zone in (*needed, *demand.also):
            if zone not in base:
                added.setdefault(zone, demand.name)
    return ZoneChoice(base, added)


def _best_first(zone_ids: Sequence[str]) -> tuple[str, ...]:
    """Sort by id; zones that cannot have control plane interfaces come last, but can still have nodes."""
    return tuple(sorted(zone_ids, key=lambda zone: (not can_have_control_plane(zone), zone)))


def zones_of(demand: Demand, choice: ZoneChoice, region: str, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the zones of a group or pool: pinned ones, otherwise base zones with its types, otherwise the added one.

    A group that must be in one zone uses the first zone that the strategy lists. Appending a zone does not move the
    group.
    """
    if demand.pinned:
        return tuple(sorted(set(demand.pinned)))
    offered = offered_zones(catalogue, demand, region)
    candidates = tuple(zone for zone in choice.base if zone in offered) or tuple(
        zone for zone in _best_first(offered)[:1] if zone in choice.added
    )
    return candidates[:1] if demand.one_zone else tuple(sorted({*candidates, *demand.also}))


def fsx_zone(storage: StorageSpec, nodes: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    """Return the zone of the Lustre file system: its own, otherwise the first zone of the first training group or pool.

    ``nodes`` has the workload and zones of every group and pool, those with EFA first.
    """
    if storage.fsx_lustre is None:
        return None
    if storage.fsx_lustre.zone:
        return storage.fsx_lustre.zone
    training = [zones for workload, zones in nodes if workload == "training"]
    others = [zones for workload, zones in nodes if workload != "system"]
    found = training or others or [zones for _, zones in nodes]
    return found[0][0] if found else None  # None: the network has no zone in the region.
