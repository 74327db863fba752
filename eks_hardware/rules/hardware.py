"""Rules about node groups, and rules shared with Karpenter's node pools: types, images, EFA, zones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.models import NodeGroupSpec, NodePoolSpec
from eks_hardware.models.nodes import AmiType
from eks_hardware.printable import joined
from eks_hardware.resolve import zones
from eks_hardware.resolve.max_pods import pod_interfaces
from eks_hardware.resolve.node import AMI_PREFIXES, ami_family
from eks_hardware.resolve.vpc import has_pod_subnets
from eks_hardware.rules.registry import (
    Breach,
    Context,
    Node,
    error,
    hardware_field,
    node_path,
    noun,
    type_names,
    type_path,
    warning,
    zones_given,
)
from eks_hardware.spellings import RESERVED
from eks_hardware.suggestions import question, several


def _each_type(context: Context) -> Iterator[tuple[Node, str, InstanceType]]:
    """Yield every instance type listed by name, with its path; not those of a pool's families or accelerator."""
    return ((node, path, kind) for node in context.nodes for path, kind in listed_types(context, node))


def listed_types(context: Context, node: Node) -> Iterator[tuple[str, InstanceType]]:
    """Yield the path and type of each known instance type that a group or pool lists by name."""
    for path, name in field_paths.items(node_path(node, "instance_types"), node.instance_types):
        kind = context.catalogue.find(name)
        if kind is not None:
            yield path, kind


def capacities(node: Node) -> tuple[str, ...]:
    """Return the purchase options of a group or pool."""
    return (node.capacity,) if isinstance(node, NodeGroupSpec) else node.capacity


@error("INSTANCE_TYPE_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    for path, name in _listed_names(context):
        if context.catalogue.find(name) is None and not context.catalogue.unsupported(name):
            close = context.catalogue.suggest(name)
            known = context.catalogue.unlisted(name)
            hint = known or (question(close) if close else "see 'eks-hardware instances'")
            yield path, f"{name} is not in the catalogue; {hint}"


@error("INSTANCE_TYPE_UNSUPPORTED")
def _unsupported(context: Context) -> Iterator[Breach]:
    for path, name in _listed_names(context):
        if context.catalogue.find(name) is None and (reason := context.catalogue.unsupported(name)):
            yield path, f"{name} cannot be an EKS node: {reason}; choose another type"


def _listed_names(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and name of every type that a group or pool lists by name."""
    for node in context.nodes:
        yield from field_paths.items(node_path(node, "instance_types"), node.instance_types)


@error("INSTANCE_TYPE_WITHDRAWN")
def _withdrawn(context: Context) -> Iterator[Breach]:
    for _, path, kind in _each_type(context):
        if withdrawn := context.catalogue.withdrawn(kind, context.strategy.region):
            current = context.catalogue.select(hardware=kind.hardware, region=context.strategy.region)
            # Families with the same first letter are the most alike: I3 has a successor among the I types.
            families = sorted(
                dict.fromkeys(each.family for each in current if each.current_generation and not each.withdrawn),
                key=lambda family: family[0] != kind.family[0],
            )
            # Types of other hardware are not alike: an AMD GPU cannot replace an FPGA.
            alike = kind.hardware is not Hardware.OTHER and families
            hint = f"choose a current family, such as {several(families)}" if alike else "choose a current type"
            yield path, f"EC2 no longer offers {kind.name} ({withdrawn}); {hint}"


@error("INSTANCE_TYPE_NOT_OFFERED")
def _not_offered(context: Context) -> Iterator[Breach]:
    for node, path, kind in not_offered(context):
        # Karpenter uses the pool's other types: see POOL_TYPE_NOT_OFFERED.
        if isinstance(node, NodeGroupSpec) or not any_offered(context, node):
            yield path, nowhere_near(context, kind)


def not_offered(context: Context) -> Iterator[tuple[Node, str, InstanceType]]:
    """Yield instance types that are listed by name but not offered in the region, with their paths."""
    region = context.strategy.region
    if context.region_known:
        for node, path, kind in _each_type(context):
            withdrawn = context.catalogue.withdrawn(kind, region)
            if not (withdrawn or context.catalogue.offered(kind.name, region) or _in_local_zones(context, node)):
                yield node, path, kind


def _in_local_zones(context: Context, node: Node) -> bool:
    """Return whether all zones of a group or pool are Local Zones, whose offerings are unknown."""
    pinned = context.demand(node).pinned
    return bool(pinned) and all(map(zones.is_edge, pinned))


def any_offered(context: Context, node: Node) -> bool:
    """Return whether the region offers one of the types of a group or pool."""
    return any(context.catalogue.offered(kind.name, context.strategy.region) for kind in context.types(node))


def nowhere_near(context: Context, kind: InstanceType) -> str:
    """Return a message that the region does not offer a type, with the regions that do."""
    region = context.strategy.region
    partition = facts.partition(region)
    reachable = (each for each in context.catalogue.offered_regions(kind.name) if facts.partition(each) == partition)
    # Nearby regions first: those with the same prefix.
    elsewhere = sorted(reachable, key=lambda each: (each.partition("-")[0] != region.partition("-")[0], each))
    of = "region" if partition == "aws" else f"region of {partition}"
    blocks = facts.zones()["capacity_blocks"]["by_group"]
    local = [group for group, names in blocks.items() if kind.name in names]
    reserved = f"if you reserved it in the Local Zone {joined(local, 'or')}" if local else "if it is in a Local Zone"
    lacking = f"no {of} is known to offer it; {reserved}, set that zone"
    where = f"it is available in {several(elsewhere)}" if elsewhere else lacking
    return f"{region} does not offer {kind.name}; {where}"


def mixed_architecture(context: Context, nodes: Sequence[Node]) -> Iterator[Breach]:
    """Yield groups or pools with types of several architectures."""
    for node, both in _mixed(context, nodes, lambda kind: kind.architecture):
        if has_both(context, node):
            continue
        # EKS requires one architecture per group; Karpenter supports both in one pool, with EKS images of both.
        subject = f"a {noun(node)}" if isinstance(node, NodeGroupSpec) else f"here, a {noun(node)}"
        yield (
            node_path(node, hardware_field(node)),
            f"{subject} must have one architecture, and so one image, got {both}; use a separate {noun(node)} for each",
        )


def has_both(context: Context, node: Node) -> bool:
    """Return whether a pool may have both architectures: a pool of CPU types with an EKS image."""
    kinds = {kind.hardware for kind in context.types(node)}
    return isinstance(node, NodePoolSpec) and kinds == {Hardware.CPU} and node.ami.image_id is None


def mixed_hardware(context: Context, nodes: Sequence[Node]) -> Iterator[Breach]:
    """Yield groups or pools with types of several kinds of hardware."""
    for node, both in _mixed(context, nodes, lambda kind: kind.hardware.value):
        yield (
            node_path(node, hardware_field(node)),
            f"a {noun(node)} must have one kind of hardware, because it has one image, taint and device plugin, got "
            f"{both}; use a separate {noun(node)} for each",
        )


def _mixed(context: Context, nodes: Sequence[Node], of: Callable[[InstanceType], str]) -> Iterator[tuple[Node, str]]:
    """Yield groups or pools with types that differ in a property, and the values: ``g5g.xlarge (arm64), ...``."""
    for node in nodes:
        names = {of(kind): kind.name for kind in context.types(node)}
        if len(names) > 1:
            yield node, ", ".join(f"{name} ({what})" for what, name in sorted(names.items()))


@error("GROUP_MIXED_ARCHITECTURE")
def _mixed_architecture(context: Context) -> Iterator[Breach]:
    yield from mixed_architecture(context, context.strategy.node_groups)


@error("GROUP_MIXED_HARDWARE")
def _mixed_hardware(context: Context) -> Iterator[Breach]:
    yield from mixed_hardware(context, context.strategy.node_groups)


@error("AMI_NONE")
def _no_ami(context: Context) -> Iterator[Breach]:
    for node, path, kind in _each_type(context):
        withdrawn = context.catalogue.withdrawn(kind, context.strategy.region)
        if node.ami.image_id or withdrawn or (isinstance(node, NodeGroupSpec) and node.ami.type):
            continue
        family = AMI_PREFIXES[node.ami.family]
        if not any(ami.startswith(family) for ami in kind.ami_types):
            fix = "build an image and set ami.image_id"
            if any(ami != "CUSTOM" for ami in kind.ami_types):
                fix = f"set ami.family to {'bottlerocket' if node.ami.family == 'al2023' else 'al2023'}"
            device = kind.accelerator
            what = f"has a driver for {kind.name} ({device.name})" if device else f"runs on {kind.name}"
            yield path, f"no EKS {node.ami.family} image {what}; {fix}"


@warning("ACCELERATOR_NO_DRIVER")
def _no_driver(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        unserved = [
            kind
            for kind in context.types(node)
            if kind.hardware is Hardware.OTHER and kind.accelerator and kind.ami_types and not kind.withdrawn
        ]
        if unserved and not node.ami.image_id:
            device = unserved[0].accelerator
            name = device.name if device else unserved[0].name
            yield (
                node_path(node, hardware_field(node)),
                f"no EKS image has a driver for the {name} of {type_names(unserved)}, so pods can use only the CPUs; "
                "set ami.image_id to an image with the driver, or choose other types",
            )


@error("AMI_TYPE_MISMATCH")
def _ami_mismatch(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        wanted = group.ami.type
        misfits = [kind for kind in context.types(group) if not kind.withdrawn and wanted not in kind.ami_types]
        if wanted and misfits:
            allowed = [ami for ami in misfits[0].ami_types if ami in get_args(AmiType)]
            takes = f"use {' or '.join(allowed)}" if allowed else "no EKS image does, so set ami.image_id to your own"
            yield (
                node_path(group, "ami.type"),
                f"{wanted} does not support {type_names(misfits)}; {takes}, or remove this line",
            )


@error("EFA_UNSUPPORTED")
def _efa_unsupported(context: Context) -> Iterator[Breach]:
    for node, path, kind in _each_type(context):
        if node.efa and not kind.supports_efa:
            siblings = tuple(
                each.name
                for each in context.catalogue.select(family=kind.family, efa=True, region=context.strategy.region)
            )
            fix = f"; use {several(siblings)}, or set" if siblings else f", like all {kind.family} types; set"
            yield path, f"{kind.name} has no EFA{fix} efa: false"


@error("POOL_EFA_UNSUPPORTED")
def _pool_efa_unsupported(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        for kind in context.types(pool):
            if pool.efa and kind.efa_interfaces and kind.efa_interfaces[0].interface_type == "efa":
                yield (
                    node_path(pool, hardware_field(pool)),
                    f"an EC2NodeClass cannot configure EFA on the primary interface, which {kind.name} requires; use a "
                    "node group, or set efa: false",
                )


@error("EFA_UNKNOWN_LAYOUT")
def _efa_unknown(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        for kind in context.types(node):
            if node.efa and kind.supports_efa and not kind.efa_interfaces:
                yield (
                    type_path(node, kind),
                    f"the EFA interfaces of {kind.name} are not recorded, and a wrong layout fails at launch; set efa: "
                    "false",
                )


@error("EFA_ONE_TYPE")
def _efa_one_type(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        by_layout = {kind.efa_interfaces: kind.name for kind in context.types(node) if kind.supports_efa}
        if node.efa and len(by_layout) > 1:
            holder = "a launch template" if isinstance(node, NodeGroupSpec) else "an EC2NodeClass"
            yield (
                node_path(node, hardware_field(node)),
                f"{several(sorted(by_layout.values()))} have different EFA interfaces, but {holder} has one layout; "
                f"use a separate {noun(node)} for each",
            )


def _pinned(context: Context, node: Node) -> tuple[str, int]:
    """Return the path of the field that fixes the zones of a group or pool, and the number of these zones."""
    return node_path(node, "zones" if node.zones else "reservations"), len(set(context.demand(node).pinned))


@error("EFA_ONE_ZONE")
def _efa_one_zone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        path, count = _pinned(context, node)
        if node.efa and count > 1:
            yield (
                path,
                f"nodes with EFA must be in one zone, because EFA traffic cannot cross zones, got {count}; keep one",
            )


@error("PLACEMENT_GROUP_ONE_ZONE")
def _placement_one_zone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        path, count = _pinned(context, node)
        # EFA_ONE_ZONE covers nodes with EFA.
        if node.placement_group == "cluster" and not node.efa and count > 1:
            yield path, f"a cluster placement group must be in one zone, got {count}; keep one"


@warning("EFA_TRAINING")
def _efa_training(context: Context) -> Iterator[Breach]:
    """Yield training groups that set neither ``efa`` nor ``needs.distributed``, which has its own rules."""
    fewest = facts.choices()["efa_training"]["interfaces"]
    for group in context.strategy.node_groups:
        kinds = context.types(group)
        decided = group.described or group.needs.distributed or "efa" in group.model_fields_set
        if group.purpose != "training" or decided or group.scaling.max < 2 or not kinds:
            continue
        if all(len(kind.efa_interfaces) >= fewest for kind in kinds):
            yield (
                node_path(group, "efa"),
                f"without EFA, which {type_names(kinds)} {'supports' if len(kinds) == 1 else 'support'}, training on "
                "several nodes uses TCP; set efa: true, or efa: false if each job runs on one node",
            )


@warning("EFA_SPOT")
def _efa_spot(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if node.efa and "spot" in capacities(node):
            yield (
                node_path(node, "capacity"),
                "one Spot interruption stops a whole EFA job, and a placement group reduces the available Spot "
                "capacity; prefer on-demand or a reservation",
            )


@error("PLACEMENT_GROUP_UNSUPPORTED")
def _placement(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        cannot = [
            kind.name
            for kind in context.types(node)
            if kind.placement_strategies and "cluster" not in kind.placement_strategies
        ]
        if node.placement_group == "cluster" and cannot:
            yield (
                node_path(node, "placement_group"),
                f"{several(cannot)} cannot be in a cluster placement group; set placement_group to auto or none",
            )


@warning("PLACEMENT_GROUP_RESERVED")
def _placement_reserved(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if node.placement_group == "cluster" and RESERVED.intersection(capacities(node)):
            yield (
                node_path(node, "placement_group"),
                "nodes in this placement group can use only reservations that were created in it; set "
                "placement_group to auto, unless the reservation names the group",
            )


@error("POD_NETWORK_NO_INTERFACE")
def _no_interface_for_pods(context: Context) -> Iterator[Breach]:
    if not has_pod_subnets(context.strategy.network):
        return
    for node in context.nodes:
        for kind in context.types(node):
            if pod_interfaces(kind, efa=node.efa, custom_networking=True) == 0:
                other = " next to EFA" if node.efa else ""
                yield (
                    type_path(node, kind),
                    "with pod subnets, pods cannot use the primary interface, and the first network card of "
                    f"{kind.name} has no other interface{other}; remove network.pod_cidr or pod_subnets",
                )


@error("INSTANCE_STORE_UNSUPPORTED")
def _instance_store(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if ami_family(node) == "bottlerocket" and node.instance_store == "mount":
            yield node_path(node, "instance_store"), "Bottlerocket can only combine local disks; use raid0 or none"


@error("ZONE_NOT_OFFERED")
def _zone_not_offered(context: Context) -> Iterator[Breach]:
    for path, zone, names, offered in _zones_without_offer(context, reserved=False):
        yield path, f"{zone} does not offer {several(names)}; use {' or '.join(offered)}"


@warning("ZONE_NOT_RECORDED")
def _zone_not_recorded(context: Context) -> Iterator[Breach]:
    for path, zone, names, offered in _zones_without_offer(context, reserved=True):
        yield (
            path,
            f"the catalogue lists {several(names)} in {', '.join(offered)}, but not in {zone}; check the reservation's "
            "zone ID",
        )


def _zones_without_offer(
    context: Context, *, reserved: bool
) -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the path and zone of each stated zone without some types, those types, and the zones that offer them.

    With ``reserved``, check only the zones of reservations. Their owner knows them better than the catalogue.
    """
    region = context.strategy.region
    known = set(context.catalogue.zone_ids(region))
    for node in context.nodes:
        names = [kind.name for kind in context.types(node)]
        # EKS launches any type of a group in any of its zones; Karpenter picks a type that the zone offers.
        together = [(name,) for name in names] if isinstance(node, NodeGroupSpec) else [tuple(names)]
        of_reservations = _zones_of_reservations(node)
        for path, zone in zones_given(node):
            # A pool also lists the zone of its reservation in `zones`: reported once.
            if not (path.endswith(".zone") if reserved else zone not in of_reservations):
                continue
            for each in together:
                offered = tuple(sorted({where for name in each for where in context.catalogue.offered(name, region)}))
                if offered and zone in known and zone not in offered:
                    yield path, zone, each, offered


def _zones_of_reservations(node: Node) -> set[str]:
    if isinstance(node, NodeGroupSpec):
        return {node.reservation.zone} if node.reservation else set()
    return {reservation.zone for reservation in node.reservations if reservation.zone}


def no_zone(context: Context, nodes: Sequence[Node]) -> Iterator[Breach]:
    """Yield groups or pools without a zone that offers their types."""
    if not context.region_known:
        return
    region, choice = context.strategy.region, context.zone_choice()
    for node in nodes:
        kinds, demand = context.types(node), context.demand(node)
        if not kinds or len(kinds) < len(node.instance_types) or demand.pinned:
            continue
        if not all(context.catalogue.offered(kind.name, region) for kind in kinds):
            continue
        offered = zones.offered_zones(context.catalogue, demand, region)
        if not zones.zones_of(demand, choice, region, context.catalogue):
            existing = context.strategy.network.existing
            place = "network.existing.private_subnets" if existing else "network.zones"
            verb = "requires" if len(demand.instance_types) == 1 else "require"
            yield (
                node_path(node, hardware_field(node)),
                f"the network has {', '.join(choice.zone_ids)}, but {several(demand.instance_types)} {verb} "
                f"{' or '.join(offered)}; add one of those zones to {place}",
            )


@error("GROUP_NO_ZONE")
def _no_zone(context: Context) -> Iterator[Breach]:
    yield from no_zone(context, context.strategy.node_groups)
