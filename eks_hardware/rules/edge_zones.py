"""Rules about Local Zones and Wavelength Zones: which exist, and what EKS and EC2 offer there."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve.zones import (
    edge_group,
    edge_groups,
    edge_place,
    edge_zone_ids,
    is_edge,
    is_wavelength,
    region_code,
    zones_of,
)
from eks_hardware.rules.registry import (
    Breach,
    Context,
    Node,
    error,
    node_path,
    stated_zones,
    type_names,
    warning,
    zones_given,
)
from eks_hardware.rules.storage import lustre_zone
from eks_hardware.suggestions import close, question, some

_SHOWN = 30


def _noun(zone: str) -> str:
    return "Wavelength Zone" if is_wavelength(zone) else "Local Zone"


def _of_the_region(context: Context, zone: str) -> bool:
    """Return whether the zone ID begins with the code of the strategy's region; ZONE_UNKNOWN reports others."""
    known = context.catalogue.zone_ids(context.strategy.region)
    return bool(known) and region_code(zone) == region_code(known[0])


@warning("LOCAL_ZONE_UNLISTED")
def _unlisted(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    # Once for each zone, at the first place that states it.
    for zone, path in {zone: path for path, zone in reversed(list(stated_zones(context)))}.items():
        if not is_edge(zone) or not _of_the_region(context, zone) or edge_group(zone, region):
            continue
        listed = facts.zones()["wavelength_zones" if is_wavelength(zone) else "local_zones"]
        groups, code = edge_groups(region), region_code(zone)
        near = edge_zone_ids(code, close(edge_place(zone), groups))
        known = [each for each in edge_zone_ids(code, groups) if is_wavelength(each) == is_wavelength(zone)]
        meant = f"; {question(near)}" if near else ""
        lists = f"it lists {some(known, _SHOWN)}" if known else f"it lists none in {region}"
        yield (
            path,
            f"AWS's list of {listed['as_of']} has no {_noun(zone)} {zone}; {lists}; check with `aws ec2 "
            f"describe-availability-zones --all-availability-zones --region {region}`{meant}",
        )


@error("LOCAL_ZONE_SUBNET")
def _local_zone_without_subnet(context: Context) -> Iterator[Breach]:
    """Yield zones for which a new VPC has no addresses: only Availability Zones get a fixed part of it."""
    if context.strategy.network.existing is None:
        for path, zone in stated_zones(context):
            if is_edge(zone):
                yield (
                    path,
                    f"{zone} is a {_noun(zone)}, and eks-hardware creates subnets only in Availability Zones; create a "
                    "VPC with a subnet there, and set network.existing",
                )


@error("WAVELENGTH_GROUP")
def _group_in_wavelength_zone(context: Context) -> Iterator[Breach]:
    if "wavelength" in facts.zones()["eks"]["managed_node_groups"]:
        return
    for group in context.strategy.node_groups:
        for path, zone in _zones_of_group(context, group):
            if is_wavelength(zone):
                yield (
                    path,
                    f"{zone} is a Wavelength Zone, where EKS does not create managed node groups; use a pool in "
                    "karpenter.node_pools, or set zones that exclude it",
                )


def _zones_of_group(context: Context, group: NodeGroupSpec) -> Iterator[tuple[str, str]]:
    stated = list(zones_given(group))
    yield from stated
    if not stated and context.types(group) and context.region_known:
        demand, choice = context.demand(group), context.zone_choice()
        for zone in zones_of(demand, choice, context.strategy.region, context.catalogue):
            yield node_path(group), zone


@warning("LOCAL_ZONE_UNREAD")
def _local_zone_unread(context: Context) -> Iterator[Breach]:
    region, existing = context.strategy.region, context.strategy.network.existing
    have = existing.private_subnets if existing else {}
    for node in context.nodes:
        for path, zone in zones_given(node):
            # WAVELENGTH_GROUP and LOCAL_ZONE_BLOCK report these.
            elsewhere = (isinstance(node, NodeGroupSpec) and is_wavelength(zone)) or _is_block(node)
            if is_edge(zone) and zone in have and not (elsewhere and edge_group(zone, region)):
                ask = (
                    f"aws ec2 describe-instance-type-offerings --region {region} --location-type availability-zone-id "
                    f"--filters Name=location,Values={zone}"
                )
                yield (
                    path,
                    f"the instance types and volume types in {zone} are unknown, so all are accepted; check the "
                    f"types with `{ask}`, and gp3 and io2 in AWS's list of Local Zones features",
                )


@warning("LOCAL_ZONE_BLOCK")
def _no_such_blocks(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        for path, zone in zones_given(node):
            group = edge_group(zone, context.strategy.region)
            sold = facts.zones()["capacity_blocks"]["by_group"].get(group or "", [])
            missing = [kind for kind in context.types(node) if kind.name not in sold]
            if group and missing and _is_block(node):
                only = f", only for {', '.join(sold)}" if sold else ""
                yield (
                    path,
                    f"AWS lists no Capacity Blocks for {type_names(missing)} in {zone}{only}; use the zone of the "
                    "reservation, or check that the block is there with `aws ec2 describe-capacity-reservations "
                    f"--region {context.strategy.region}`",
                )


def _is_block(node: Node) -> bool:
    return "capacity-block" in node.capacity  # the one of a group, or those of a pool


@warning("FSX_LOCAL_ZONE")
def _fsx_in_local_zone(context: Context) -> Iterator[Breach]:
    fsx, zone = context.strategy.storage.fsx_lustre, lustre_zone(context)
    if fsx and zone and is_edge(zone):
        elsewhere = next((each for each in context.zone_choice().zone_ids if not is_edge(each)), "")
        yield (
            "storage.fsx_lustre.zone" if fsx.zone else "storage.fsx_lustre",
            f"FSx for Lustre may not exist in {zone}, the file system's zone; ask AWS, or set zone: {elsewhere}",
        )
