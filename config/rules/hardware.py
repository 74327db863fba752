"""Rules about node groups, and what holds for Karpenter's node pools too: types, images, EFA, capacity, zones."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from eks_hardware.config import facts
from eks_hardware.config.catalogue import InstanceType
from eks_hardware.config.errors import Severity
from eks_hardware.config.models import NodeGroup
from eks_hardware.config.resolve import ami_family, has_pod_subnets, pod_interfaces, zones
from eks_hardware.config.resolve.node import AMI_PREFIXES
from eks_hardware.config.resolve.node import taints as node_taints
from eks_hardware.config.rules.registry import (
    Breach,
    Context,
    Node,
    group_path,
    hardware_field,
    node_path,
    rule,
    zones_given,
)

_MNG_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
_EFA_TYPES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-instance-types"
_CAPACITY_BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
_AMIS = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"


def _each_type(context: Context) -> Iterator[tuple[Node, str, InstanceType]]:
    """Every instance type that is written out, with its path; not those of a pool's families or accelerator."""
    for node in context.nodes:
        for index, name in enumerate(node.instance_types):
            kind = context.catalogue.find(name)
            if kind is not None:
                yield node, node_path(node, f"instance_types[{index}]"), kind


def _type_path(node: Node, kind: InstanceType) -> str:
    """Path of one of the types of a group or pool; of the field that it comes from, where it is not written out."""
    if kind.name in node.instance_types:
        return node_path(node, f"instance_types[{node.instance_types.index(kind.name)}]")
    return node_path(node, hardware_field(node))


def capacities(node: Node) -> tuple[str, ...]:
    """How the nodes of a group or pool may be bought."""
    return (node.capacity,) if isinstance(node, NodeGroup) else node.capacity


def several(names: Sequence[str], most: int = 5) -> str:
    """The first few of some names."""
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown


@rule("INSTANCE_TYPE_UNKNOWN", "an instance type is not in the catalogue", "config/catalogue")
def _unknown(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        for index, name in enumerate(node.instance_types):
            if context.catalogue.find(name) is None:
                close = context.catalogue.suggest(name)
                hint = f"did you mean {several(close, 3)}?" if close else "see 'eks-hardware instances'"
                yield (
                    node_path(node, f"instance_types[{index}]"),
                    f"no instance type is called {name!r}; {hint}",
                )


@rule("INSTANCE_TYPE_WITHDRAWN", "an instance type is withdrawn", "config/catalogue (hardware offered by EC2)")
def _withdrawn(context: Context) -> Iterator[Breach]:
    for _, path, kind in _each_type(context):
        if kind.withdrawn:
            yield path, f"{kind.name} is withdrawn: {kind.withdrawn}; choose a current type"


@rule(
    "INSTANCE_TYPE_NOT_OFFERED",
    "the region does not offer an instance type",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html",
)
def _not_offered(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    if not context.region_known:
        return
    for _, path, kind in _each_type(context):
        if not kind.withdrawn and not context.catalogue.offered(kind.name, region):
            elsewhere = tuple(context.catalogue.offered_regions(kind.name))
            where = f"it is in {several(elsewhere)}" if elsewhere else "no known region offers it"
            yield path, f"{region} does not offer {kind.name}; {where}"


def mixed_architecture(context: Context, nodes: Sequence[Node], noun: str) -> Iterator[Breach]:
    """Groups or pools with types of several architectures."""
    for node in nodes:
        by_architecture = {kind.architecture: kind.name for kind in context.types(node)}
        if len(by_architecture) > 1:
            both = ", ".join(f"{name} is {architecture}" for architecture, name in sorted(by_architecture.items()))
            yield (
                node_path(node, hardware_field(node)),
                f"one {noun} has one architecture and one image: {both}; make a {noun} of each",
            )


def mixed_hardware(context: Context, nodes: Sequence[Node], noun: str) -> Iterator[Breach]:
    """Groups or pools with types of several kinds of hardware."""
    for node in nodes:
        kinds = {kind.hardware.value: kind.name for kind in context.types(node)}
        if len(kinds) > 1:
            both = ", ".join(f"{name} is {hardware}" for hardware, name in sorted(kinds.items()))
            yield (
                node_path(node, hardware_field(node)),
                f"one {noun} has one kind of hardware, with one image, taint and device plugin: {both}; "
                f"make a {noun} of each",
            )


@rule("GROUP_MIXED_ARCHITECTURE", "the types of a group differ in architecture", _MNG_TEMPLATES)
def _mixed_architecture(context: Context) -> Iterator[Breach]:
    yield from mixed_architecture(context, context.strategy.node_groups, "group")


@rule("GROUP_MIXED_HARDWARE", "the types of a group differ in accelerator", _AMIS)
def _mixed_hardware(context: Context) -> Iterator[Breach]:
    yield from mixed_hardware(context, context.strategy.node_groups, "group")


@rule("AMI_NONE", "no EKS image fits an instance type", _AMIS)
def _no_ami(context: Context) -> Iterator[Breach]:
    for node, path, kind in _each_type(context):
        if node.ami.image_id or kind.withdrawn or (isinstance(node, NodeGroup) and node.ami.type):
            continue
        family = AMI_PREFIXES[node.ami.family]
        if not any(ami.startswith(family) for ami in kind.ami_types):
            accelerator = kind.accelerator.name if kind.accelerator else kind.architecture
            others = [ami for ami in kind.ami_types if ami != "CUSTOM"]
            fix = "build an image and set ami.image_id"
            if others and isinstance(node, NodeGroup):
                fix = f"set ami.type to {' or '.join(others)}"
            elif others:
                fix = f"set ami.family to {'bottlerocket' if node.ami.family == 'al2023' else 'al2023'}"
            yield path, f"no {family} image of EKS has a driver for {kind.name} ({accelerator}); {fix}"


@rule("AMI_TYPE_MISMATCH", "an AMI type does not fit an instance type", _AMIS)
def _ami_mismatch(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        wanted = group.ami.type
        for kind in context.types(group):
            if wanted and not kind.withdrawn and wanted not in kind.ami_types:
                allowed = ", ".join(kind.ami_types) or "none of EKS's images"
                yield group_path(group, "ami.type"), f"{wanted} does not fit {kind.name}; it takes {allowed}"


@rule(
    "USER_DATA_FIELD",
    "a NodeConfig has no such field",
    "https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/",
)
def _user_data(context: Context) -> Iterator[Breach]:
    known = facts.eks("node_config")["fields"]
    for node in context.nodes:
        for field in node.user_data if ami_family(node) == "al2023" else ():
            if field not in known:
                close = difflib.get_close_matches(field, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
                yield (
                    node_path(node, f"user_data.{field}"),
                    f"the spec of a NodeConfig has no {field!r}, so that this has no effect; {hint}",
                )


@rule("AMI_CONFLICT", "settings of the image contradict each other", _MNG_TEMPLATES)
def _ami_conflict(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if pool.ami.image_id and pool.ami.version:
            yield (
                node_path(pool, "ami.version"),
                "ami.image_id names your own image, so ami.version has no meaning; remove one of them",
            )
    for group in context.strategy.node_groups:
        for name in ("type", "release_version"):
            if group.ami.image_id and getattr(group.ami, name):
                yield (
                    group_path(group, f"ami.{name}"),
                    f"ami.image_id names your own image, so ami.{name} has no meaning; remove one of them",
                )
        wanted = group.ami.type
        if wanted and "family" in group.ami.model_fields_set and not wanted.lower().startswith(group.ami.family):
            yield (
                group_path(group, "ami.family"),
                f"ami.type {wanted} is not {group.ami.family}; remove this line, the type says it",
            )


@rule("EFA_UNSUPPORTED", "EFA is asked for on a type that has none", _EFA_TYPES)
def _efa_unsupported(context: Context) -> Iterator[Breach]:
    for node, path, kind in _each_type(context):
        if node.efa and not kind.supports_efa:
            siblings = tuple(
                each.name
                for each in context.catalogue.select(family=kind.family, efa=True, region=context.strategy.region)
            )
            fix = f"use {several(siblings)}" if siblings else f"no {kind.family} type has it"
            yield path, f"{kind.name} has no EFA; {fix}, or set efa: false"


@rule("EFA_UNKNOWN_LAYOUT", "the interface layout of a type is not known", "config/catalogue")
def _efa_unknown(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        for kind in context.types(node):
            if node.efa and kind.supports_efa and not kind.efa_interfaces:
                yield (
                    _type_path(node, kind),
                    f"the EFA layout of {kind.name} is not known, and guessing it fails at launch; set efa: false",
                )


@rule(
    "EFA_ONE_TYPE",
    "the types of an EFA group or pool differ in their interfaces",
    "https://github.com/terraform-aws-modules/terraform-aws-eks (element 0 decides the interfaces)",
)
def _efa_one_type(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        by_layout = {kind.efa_interfaces: kind.name for kind in context.types(node) if kind.supports_efa}
        if node.efa and len(by_layout) > 1:
            noun, holder = (
                ("group", "a launch template") if isinstance(node, NodeGroup) else ("pool", "an EC2NodeClass")
            )
            yield (
                node_path(node, hardware_field(node)),
                f"{several(sorted(by_layout.values()))} have different EFA interfaces, and {holder} has one layout; "
                f"make a {noun} of each",
            )


def _pinned(context: Context, node: Node) -> tuple[str, int]:
    """Path of what fixes the zones of a group or pool, and how many it fixes."""
    return node_path(node, "zones" if node.zones else "reservations"), len(set(context.demand(node).pinned))


@rule(
    "EFA_ONE_ZONE",
    "an EFA group or pool lists several zones",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
)
def _efa_one_zone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        path, count = _pinned(context, node)
        if node.efa and count > 1:
            yield path, f"EFA traffic does not leave a zone, but {count} are listed; keep one of them"


@rule(
    "PLACEMENT_GROUP_ONE_ZONE",
    "a group or pool in a cluster placement group lists several zones",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-cluster",
)
def _placement_one_zone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        path, count = _pinned(context, node)
        # With EFA it is EFA_ONE_ZONE that says so.
        if node.placement_group == "cluster" and not node.efa and count > 1:
            yield path, f"a cluster placement group is in one zone, but {count} are listed; keep one of them"


@rule(
    "EFA_SPOT",
    "EFA nodes are bought as spot",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html",
    severity=Severity.WARNING,
)
def _efa_spot(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if node.efa and "spot" in capacities(node):
            yield (
                node_path(node, "capacity"),
                "one interruption stops a whole EFA job, and a placement group narrows spot capacity; "
                "prefer on-demand or a reservation",
            )


@rule("PLACEMENT_GROUP_UNSUPPORTED", "a type cannot be in a cluster placement group", _EFA_TYPES)
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
                f"{several(cannot)} cannot be in a cluster placement group; set it to auto or none",
            )


@rule(
    "PLACEMENT_GROUP_RESERVED",
    "a cluster placement group and a reservation are asked for together",
    "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3661",
    severity=Severity.WARNING,
)
def _placement_reserved(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if node.placement_group == "cluster" and {"reserved", "capacity-block"} & set(capacities(node)):
            yield (
                node_path(node, "placement_group"),
                "a reservation that was not made in this placement group cannot be used from it; set it to auto, "
                "unless the reservation names the group",
            )


@rule(
    "POD_NETWORK_NO_INTERFACE",
    "pods have subnets of their own, and a type no network interface for them",
    "https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html",
)
def _no_interface_for_pods(context: Context) -> Iterator[Breach]:
    if not has_pod_subnets(context.strategy.network):
        return
    for node in context.nodes:
        for kind in context.types(node):
            if pod_interfaces(kind, efa=node.efa, custom_networking=True) == 0:
                fix = "set efa: false, or take" if node.efa else "take"
                yield (
                    _type_path(node, kind),
                    f"with pod subnets no pod uses the primary interface, and the first network card of {kind.name} "
                    f"has no other; {fix} network.pod_cidr or pod_subnets out",
                )


@rule(
    "INSTANCE_STORE_UNSUPPORTED",
    "Bottlerocket cannot mount local disks one by one",
    "https://bottlerocket.dev/en/os/latest/#/concepts/ephemeral-storage/",
)
def _instance_store(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        if ami_family(node) == "bottlerocket" and node.instance_store == "mount":
            yield (
                node_path(node, "instance_store"),
                "Bottlerocket joins local disks to one array; use raid0 or none",
            )


@rule(
    "CAPACITY_UNSUPPORTED",
    "a type cannot be bought the way the group says",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html (SupportedUsageClasses)",
)
def _capacity(context: Context) -> Iterator[Breach]:
    needed = {"spot": "spot", "capacity-block": "capacity-block"}
    for group in context.strategy.node_groups:
        usage = needed.get(group.capacity)
        for kind in context.types(group):
            if usage and not kind.withdrawn and usage not in kind.usage_classes:
                yield (
                    group_path(group, "capacity"),
                    f"{kind.name} cannot be bought as {group.capacity}; it is sold as {', '.join(kind.usage_classes)}",
                )


@rule("CAPACITY_BLOCK_ONE_TYPE", "a capacity block holds one instance type", _CAPACITY_BLOCKS)
def _capacity_block(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity == "capacity-block" and len(group.instance_types) > 1:
            yield (
                group_path(group, "instance_types"),
                f"a capacity block holds one instance type, {len(group.instance_types)} are listed; keep its own",
            )


@rule(
    "CAPACITY_BLOCK_MINIMUM",
    "a capacity block's group wants nodes outside the block's time",
    _CAPACITY_BLOCKS,
    severity=Severity.WARNING,
)
def _capacity_block_minimum(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity == "capacity-block" and group.scaling.min > 0:
            yield (
                group_path(group, "scaling.min"),
                f"EKS takes the nodes away before the block ends, and min {group.scaling.min} asks for them back; "
                "set min to 0 and raise desired while the block runs",
            )


@rule(
    "ZONE_NOT_OFFERED",
    "a zone of a group or pool does not offer its instance types",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html",
)
def _zone_not_offered(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    known = set(context.catalogue.zone_ids(region))
    for node in context.nodes:
        names = [kind.name for kind in context.types(node)]
        # EKS launches any type of a group in any of its zones; Karpenter looks for one that is there.
        together = [(name,) for name in names] if isinstance(node, NodeGroup) else [tuple(names)]
        for path, zone in zones_given(node):
            for each in together:
                offered = sorted({where for name in each for where in context.catalogue.offered(name, region)})
                if offered and zone in known and zone not in offered:
                    yield path, f"{zone} does not offer {several(each)}; {', '.join(offered)} do"


def no_zone(context: Context, nodes: Sequence[Node]) -> Iterator[Breach]:
    """Groups or pools without a zone that offers their types."""
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
            yield (
                node_path(node, hardware_field(node)),
                f"the network has {', '.join(choice.zone_ids)}, but {several(demand.instance_types)} needs "
                f"{' or '.join(offered)}; add one of them to network.zones",
            )


@rule("GROUP_NO_ZONE", "no zone of the network offers a group's types", "config/catalogue (offerings)")
def _no_zone(context: Context) -> Iterator[Breach]:
    yield from no_zone(context, context.strategy.node_groups)


def untainted_nodes(context: Context) -> int:
    """How many nodes of the groups any pod may run on, when the cluster is made."""
    count = 0
    for group in context.strategy.node_groups:
        kinds = context.types(group)
        if kinds and not any(taint.effect != "PREFER_NO_SCHEDULE" for taint in node_taints(group, kinds[0].hardware)):
            count += group.scaling.min if group.scaling.desired is None else group.scaling.desired
    return count


@rule(
    "NODES_ALL_TAINTED",
    "no untainted node is there for CoreDNS",
    "https://github.com/aws/containers-roadmap/issues/1389",
)
def _all_tainted(context: Context) -> Iterator[Breach]:
    if all(map(context.types, context.strategy.node_groups)) and not untainted_nodes(context):
        yield (
            "node_groups",
            "every group is tainted or starts with no node, so that CoreDNS and the other add-ons have nowhere to run; "
            "add a CPU group such as {name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 4}}",
        )
