"""Rules about node groups: instance types, images, EFA, capacity."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.config.catalogue import Hardware, InstanceType
from eks_hardware.config.errors import Severity
from eks_hardware.config.models import NodeGroup
from eks_hardware.config.resolve import has_pod_subnets, pod_interfaces, zones
from eks_hardware.config.rules.registry import Breach, Context, group_path, rule

_MNG_TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
_EFA_TYPES = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html#efa-instance-types"
_CAPACITY_BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
_AMIS = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"


def _each_type(context: Context) -> Iterator[tuple[NodeGroup, str, InstanceType]]:
    for group in context.strategy.node_groups:
        for index, name in enumerate(group.instance_types):
            kind = context.catalogue.find(name)
            if kind is not None:
                yield group, group_path(group, f"instance_types[{index}]"), kind


def _several(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown


@rule("INSTANCE_TYPE_UNKNOWN", "an instance type is not in the catalogue", "config/catalogue")
def _unknown(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        for index, name in enumerate(group.instance_types):
            if context.catalogue.find(name) is None:
                close = context.catalogue.suggest(name)
                hint = f"did you mean {_several(close, 3)}?" if close else "see 'eks-hardware instances'"
                yield (
                    group_path(group, f"instance_types[{index}]"),
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
            where = f"it is in {_several(elsewhere)}" if elsewhere else "no known region offers it"
            yield path, f"{region} does not offer {kind.name}; {where}"


@rule("GROUP_MIXED_ARCHITECTURE", "the types of a group differ in architecture", _MNG_TEMPLATES)
def _mixed_architecture(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        by_architecture = {kind.architecture: kind.name for kind in context.types(group)}
        if len(by_architecture) > 1:
            both = ", ".join(f"{name} is {architecture}" for architecture, name in sorted(by_architecture.items()))
            yield (
                group_path(group, "instance_types"),
                f"one group has one architecture and one image: {both}; make a group of each",
            )


@rule("GROUP_MIXED_HARDWARE", "the types of a group differ in accelerator", _AMIS)
def _mixed_hardware(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        kinds = {kind.hardware.value: kind.name for kind in context.types(group)}
        if len(kinds) > 1:
            both = ", ".join(f"{name} is {hardware}" for hardware, name in sorted(kinds.items()))
            yield (
                group_path(group, "instance_types"),
                f"one group has one kind of hardware, with one image, taint and device plugin: {both}; "
                "make a group of each",
            )


@rule("AMI_NONE", "no EKS image fits an instance type", _AMIS)
def _no_ami(context: Context) -> Iterator[Breach]:
    for group, path, kind in _each_type(context):
        if group.ami.image_id or kind.withdrawn:
            continue
        family = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}[group.ami.family]
        fitting = [ami for ami in kind.ami_types if ami.startswith(family)]
        if not group.ami.type and not fitting:
            accelerator = kind.accelerator.name if kind.accelerator else kind.architecture
            others = [ami for ami in kind.ami_types if ami != "CUSTOM"]
            fix = f"set ami.type to {' or '.join(others)}" if others else "build an image and set ami.image_id"
            yield path, f"no {family} image of EKS has a driver for {kind.name} ({accelerator}); {fix}"


@rule("AMI_TYPE_MISMATCH", "an AMI type does not fit an instance type", _AMIS)
def _ami_mismatch(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        wanted = group.ami.type
        for kind in context.types(group):
            if wanted and not kind.withdrawn and wanted not in kind.ami_types:
                allowed = ", ".join(kind.ami_types) or "none of EKS's images"
                yield group_path(group, "ami.type"), f"{wanted} does not fit {kind.name}; it takes {allowed}"


@rule("AMI_CONFLICT", "settings of the image contradict each other", _MNG_TEMPLATES)
def _ami_conflict(context: Context) -> Iterator[Breach]:
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
    for group, path, kind in _each_type(context):
        if group.efa and not kind.supports_efa:
            siblings = tuple(
                each.name
                for each in context.catalogue.select(family=kind.family, efa=True, region=context.strategy.region)
            )
            fix = f"use {_several(siblings)}" if siblings else f"no {kind.family} type has it"
            yield path, f"{kind.name} has no EFA; {fix}, or set efa: false"


@rule("EFA_UNKNOWN_LAYOUT", "the interface layout of a type is not known", "config/catalogue")
def _efa_unknown(context: Context) -> Iterator[Breach]:
    for group, path, kind in _each_type(context):
        if group.efa and kind.supports_efa and not kind.efa_interfaces:
            yield (
                path,
                f"the EFA layout of {kind.name} is not known, and guessing it fails at launch; set efa: false",
            )


@rule(
    "EFA_ONE_TYPE",
    "an EFA group has several instance types",
    "https://github.com/terraform-aws-modules/terraform-aws-eks (element 0 decides the interfaces)",
)
def _efa_one_type(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        layouts = {kind.efa_interfaces for kind in context.types(group) if kind.supports_efa}
        if group.efa and len(layouts) > 1:
            yield (
                group_path(group, "instance_types"),
                "the types have different EFA interfaces, and a launch template has one layout; make a group of each",
            )


@rule(
    "EFA_ONE_ZONE",
    "an EFA group lists several zones",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
)
def _efa_one_zone(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.efa and len(group.zones) > 1:
            yield (
                group_path(group, "zones"),
                f"EFA traffic does not leave a zone, but {len(group.zones)} are listed; keep one of them",
            )


@rule(
    "PLACEMENT_GROUP_ONE_ZONE",
    "a group in a cluster placement group lists several zones",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-cluster",
)
def _placement_one_zone(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        # With EFA it is EFA_ONE_ZONE that says so.
        if group.placement_group == "cluster" and not group.efa and len(group.zones) > 1:
            yield (
                group_path(group, "zones"),
                f"a cluster placement group is in one zone, but {len(group.zones)} are listed; keep one of them",
            )


@rule(
    "EFA_SPOT",
    "EFA nodes are bought as spot",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html",
    severity=Severity.WARNING,
)
def _efa_spot(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.efa and group.capacity == "spot":
            yield (
                group_path(group, "capacity"),
                "one interruption stops a whole EFA job, and a placement group narrows spot capacity; "
                "prefer on-demand or a reservation",
            )


@rule("PLACEMENT_GROUP_UNSUPPORTED", "a type cannot be in a cluster placement group", _EFA_TYPES)
def _placement(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        for kind in context.types(group):
            strategies = kind.placement_strategies
            if group.placement_group == "cluster" and strategies and "cluster" not in strategies:
                yield (
                    group_path(group, "placement_group"),
                    f"{kind.name} cannot be in a cluster placement group; set it to auto or none",
                )


@rule(
    "POD_NETWORK_NO_INTERFACE",
    "pods have subnets of their own, and a type no network interface for them",
    "https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html",
)
def _no_interface_for_pods(context: Context) -> Iterator[Breach]:
    if not has_pod_subnets(context.strategy.network):
        return
    for group, path, kind in _each_type(context):
        if pod_interfaces(kind, efa=group.efa, custom_networking=True) == 0:
            fix = "set efa: false, or take" if group.efa else "take"
            yield (
                path,
                f"with pod subnets no pod uses the primary interface, and the first network card of {kind.name} has "
                f"no other; {fix} network.pod_cidr or pod_subnets out",
            )


@rule(
    "INSTANCE_STORE_UNSUPPORTED",
    "Bottlerocket cannot mount local disks one by one",
    "https://bottlerocket.dev/en/os/latest/#/concepts/ephemeral-storage/",
)
def _instance_store(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        bottlerocket = (group.ami.type or group.ami.family).lower().startswith("bottlerocket")
        if bottlerocket and group.instance_store == "mount":
            yield (
                group_path(group, "instance_store"),
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
    "a zone of a group does not offer its instance types",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html",
)
def _zone_not_offered(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    for group in context.strategy.node_groups:
        where = "reservation.zone" if group.reservation else "zones"
        known = set(context.catalogue.zone_ids(region))
        for zone in zones.pinned_zones(group):
            if zone not in known:
                continue
            for kind in context.types(group):
                offered = context.catalogue.offered(kind.name, region)
                if offered and zone not in offered:
                    yield (
                        group_path(group, where),
                        f"{zone} does not offer {kind.name}; {', '.join(offered)} do",
                    )


@rule("GROUP_NO_ZONE", "no zone of the network offers a group's types", "config/catalogue (offerings)")
def _no_zone(context: Context) -> Iterator[Breach]:
    if not context.region_known:
        return
    region, choice = context.strategy.region, context.zone_choice()
    for group in context.strategy.node_groups:
        kinds = context.types(group)
        if len(kinds) < len(group.instance_types) or zones.pinned_zones(group):
            continue
        if not all(context.catalogue.offered(kind.name, region) for kind in kinds):
            continue
        offered = zones.offered_zones(context.catalogue, group, region)
        if not zones.of_group(group, choice, region, context.catalogue):
            yield (
                group_path(group, "instance_types"),
                f"the network has {', '.join(choice.zone_ids)}, but {_several(group.instance_types)} needs "
                f"{' or '.join(offered)}; add one of them to network.zones",
            )


@rule(
    "NODES_ALL_TAINTED",
    "no untainted node is there for CoreDNS",
    "https://github.com/aws/containers-roadmap/issues/1389",
)
def _all_tainted(context: Context) -> Iterator[Breach]:
    accelerated = {Hardware.NVIDIA_GPU, Hardware.TRAINIUM, Hardware.INFERENTIA}
    for group in context.strategy.node_groups:
        kinds = context.types(group)
        if not kinds:
            return
        tainted = (kinds[0].hardware in accelerated and group.accelerator_taint) or any(
            not taint.effect.lower().startswith("prefer") for taint in group.taints
        )
        started = group.scaling.min if group.scaling.desired is None else group.scaling.desired
        if not tainted and started > 0:
            return
    yield (
        "node_groups",
        "every group is tainted or starts with no node, so that CoreDNS and the other add-ons have nowhere to run; "
        "add a CPU group such as {name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 4}}",
    )
