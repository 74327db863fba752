"""Resolve a node group: everything that follows from its instance types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from eks_hardware.config import facts, names
from eks_hardware.config.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.config.models import NodeGroup
from eks_hardware.config.resolve import user_data
from eks_hardware.config.resolve.merge import frozen, merged
from eks_hardware.config.resolve.model import (
    BlockDevice,
    CapacityTarget,
    Reasons,
    ResolvedNodeGroup,
    ResolvedTaint,
)

# Not "-": cluster demo with group gpu-x and cluster demo-gpu with group x must not share a name.
_SEPARATOR = "/"

_CPU_DISK_GIB = 50
_ACCELERATED_DISK_GIB = 200
_ACCELERATED_THROUGHPUT_MIBPS = 500
_GP3_DEFAULT_THROUGHPUT_MIBPS = 125

# Capacity as a strategy writes it -> capacityType of the EKS API. A reservation is On-Demand capacity with a target.
_CAPACITY_TYPES = {
    "on-demand": "ON_DEMAND",
    "spot": "SPOT",
    "reserved": "ON_DEMAND",
    "capacity-block": "CAPACITY_BLOCK",
}

_TAINT_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}

# The taint that keeps other pods off the hardware; device plugins tolerate these keys.
_TAINT_KEYS = {
    Hardware.NVIDIA_GPU: "nvidia.com/gpu",
    Hardware.TRAINIUM: "aws.amazon.com/neuron",
    Hardware.INFERENTIA: "aws.amazon.com/neuron",
}

# Labels that the device plugins' charts select on; where a node has no NFD they have to be set by hand:
# https://github.com/NVIDIA/k8s-device-plugin (affinity), https://github.com/aws/eks-charts (EFA plugin).
_PLUGIN_LABELS = {
    Hardware.NVIDIA_GPU: {"nvidia.com/gpu.present": "true"},
    Hardware.TRAINIUM: {"aws.amazon.com/neuron.present": "true"},
    Hardware.INFERENTIA: {"aws.amazon.com/neuron.present": "true"},
}
_EFA_LABEL = {"vpc.amazonaws.com/efa.present": "true"}

_NEURON = frozenset({Hardware.TRAINIUM, Hardware.INFERENTIA})


def resolve_node_group(
    group: NodeGroup,
    *,
    cluster_name: str,
    kubernetes_version: str,
    zone_ids: tuple[str, ...],
    catalogue: Catalogue,
    custom_networking: bool = False,
    common_tags: Mapping[str, str] | None = None,
) -> ResolvedNodeGroup:
    """Derive everything about one node group.

    The group's types have passed the rules: they exist, and share architecture and hardware.
    """
    why = Reasons()
    types = tuple(catalogue.get(name) for name in group.instance_types)
    first = types[0]
    given = group.model_fields_set
    capacity_block = group.capacity == "capacity-block"
    ami_type, bottlerocket = _ami(group, types)
    efa = first.efa_interfaces if group.efa else ()
    store = _instance_store(group, types)
    max_pods = _max_pods(group, types, custom_networking=custom_networking)
    scaling = group.scaling
    template_name = names.limited(cluster_name, group.name, limit=names.LAUNCH_TEMPLATE, separator=_SEPARATOR)
    return ResolvedNodeGroup(
        name=why.strategy("name", group.name),
        cluster_name=why.strategy("cluster_name", cluster_name),
        workload=why.given("workload", group.workload, when="workload" in given, otherwise="general purpose"),
        hardware=why.catalogue("hardware", first.hardware, _describe(first)),
        instance_types=why.strategy("instance_types", group.instance_types),
        architecture=why.catalogue("architecture", first.architecture, f"the architecture of {first.name}"),
        ami_type=why.strategy("ami_type", ami_type)
        if group.ami.type
        else why.catalogue("ami_type", ami_type, _ami_reason(group, first, ami_type)),
        ami_family=why.rule(
            "ami_family", "bottlerocket" if bottlerocket else "al2023", "the operating system of the AMI type"
        ),
        image_id=why.given(
            "image_id",
            group.ami.image_id,
            when=group.ami.image_id is not None,
            otherwise="EKS's image of the AMI type",
        ),
        release_version=why.given(
            "release_version",
            group.ami.release_version,
            when=group.ami.release_version is not None,
            otherwise="the newest when the group is made or its launch template changes",
        ),
        kubernetes_version=why.rule("kubernetes_version", kubernetes_version, "the cluster's"),
        capacity=why.given("capacity", group.capacity, when="capacity" in given, otherwise="on demand"),
        capacity_type=why.rule(
            "capacity_type", _CAPACITY_TYPES[group.capacity], f"how the EKS API spells {group.capacity!r}"
        ),
        market_type=why.rule(
            "market_type",
            "capacity-block" if capacity_block else None,
            "a capacity block is launched under its own market type"
            if capacity_block
            else "only capacity blocks have one",
        ),
        capacity_target=why.given(
            "capacity_target",
            _capacity_target(group),
            when=group.reservation is not None,
            otherwise="any capacity of the zone",
        ),
        instance_type_in_launch_template=why.rule(
            "instance_type_in_launch_template",
            capacity_block,
            "EKS takes a capacity block's type from the launch template"
            if capacity_block
            else "EKS takes several types",
        ),
        zone_ids=why.given(
            "zone_ids",
            zone_ids,
            when=bool(group.zones or group.reservation),
            otherwise="one zone: EFA traffic does not leave it" if group.efa else "the zones that offer its types",
        ),
        min_size=why.given("min_size", scaling.min, when="min" in scaling.model_fields_set, otherwise="from zero"),
        desired_size=why.given(
            "desired_size",
            scaling.min if scaling.desired is None else scaling.desired,
            when=scaling.desired is not None,
            otherwise="min",
        ),
        max_size=why.strategy("max_size", scaling.max),
        autoscaled=why.given(
            "autoscaled",
            scaling.autoscaled,
            when="autoscaled" in scaling.model_fields_set,
            otherwise="the strategy owns the number of nodes",
        ),
        labels=why.rule("labels", _labels(group, first), "hardware, workload, accelerator, and what plugins select on"),
        taints=why.rule("taints", _taints(group, first), _taint_reason(group, first)),
        efa_interfaces=why.catalogue(
            "efa_interfaces",
            efa,
            f"{first.name} has {first.max_efa_interfaces} EFA interfaces on {len(first.network_cards)} network cards"
            if efa
            else "EFA is not asked for",
        ),
        placement_group_name=_placement_group(
            group, cluster_name, why, supported="cluster" in first.placement_strategies
        ),
        block_devices=why.rule("block_devices", _block_devices(group, first, bottlerocket), _disk_reason(group, first)),
        instance_store=why.given(
            "instance_store",
            store,
            when=group.instance_store is not None,
            otherwise="local NVMe as one array for images and ephemeral storage"
            if store == "raid0"
            else "no local disks",
        ),
        max_pods=why.strategy("max_pods", max_pods)
        if group.kubelet.max_pods
        else why.catalogue(
            "max_pods",
            max_pods,
            "addresses of the first network card with prefix delegation, within EKS's limit",
        ),
        user_data=why.rule(
            "user_data",
            frozen(_user_data(group, first, bottlerocket=bottlerocket, max_pods=max_pods, store=store)),
            "Bottlerocket settings" if bottlerocket else "spec of an AL2023 NodeConfig",
        ),
        metadata_hop_limit=why.rule(
            "metadata_hop_limit",
            2 if group.pods_use_imds else 1,
            "pods reach instance metadata" if group.pods_use_imds else "pods cannot take the node's credentials",
        ),
        detailed_monitoring=why.given(
            "detailed_monitoring",
            group.detailed_monitoring,
            when="detailed_monitoring" in given,
            otherwise="five-minute metrics cost nothing",
        ),
        node_repair=why.given(
            "node_repair",
            group.capacity not in ("reserved", "capacity-block") if group.node_repair is None else group.node_repair,
            when=group.node_repair is not None,
            otherwise="off: a replacement may find no room in the reservation"
            if group.reservation
            else "unhealthy nodes are replaced",
        ),
        max_unavailable=why.given(
            "max_unavailable",
            _max_unavailable(group),
            when=group.update.max_unavailable is not None,
            otherwise="one node at a time",
        ),
        max_unavailable_percentage=why.given(
            "max_unavailable_percentage",
            group.update.max_unavailable_percentage,
            when=group.update.max_unavailable_percentage is not None,
            otherwise="a number of nodes is used",
        ),
        update_strategy=why.given(
            "update_strategy",
            group.update.strategy.upper() if group.update.strategy else None,
            when=group.update.strategy is not None,
            otherwise="EKS's: new nodes start before old ones go",
        ),
        launch_template_name=why.rule(
            "launch_template_name",
            template_name,
            "cluster and group, at most 125 characters",
        ),
        tags=why.strategy("tags", MappingProxyType(dict(group.tags))),
        instance_tags=why.rule(
            "instance_tags",
            MappingProxyType({"Name": template_name, **(common_tags or {}), **group.tags}),
            "a provider's default tags do not reach what a launch template launches",
        ),
        reasons=why.frozen(),
    )


def _describe(kind: InstanceType) -> str:
    accelerator = kind.accelerator
    return (
        f"{kind.name} has {accelerator.count} x {accelerator.name}"
        if accelerator
        else f"{kind.name} has no accelerator"
    )


def _ami(group: NodeGroup, types: tuple[InstanceType, ...]) -> tuple[str, bool]:
    """The EKS AMI type, and whether it is Bottlerocket."""
    wanted = group.ami.type
    if wanted is None:
        prefix = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}[group.ami.family]
        fitting = [each for each in types[0].ami_types if each.startswith(prefix) and not each.endswith("FIPS")]
        wanted = fitting[0] if fitting else "CUSTOM"  # type: ignore[assignment]
    own_family = group.ami.family == "bottlerocket" and group.ami.type is None
    bottlerocket = own_family or str(wanted).startswith("BOTTLEROCKET")
    return ("CUSTOM" if group.ami.image_id else str(wanted)), bottlerocket


def _ami_reason(group: NodeGroup, kind: InstanceType, ami_type: str) -> str:
    if ami_type == "CUSTOM":
        return "your own image"
    return f"{group.ami.family} with what {kind.accelerator.name if kind.accelerator else kind.architecture} needs"


def _instance_store(group: NodeGroup, types: tuple[InstanceType, ...]) -> str:
    if group.instance_store is not None:
        return group.instance_store
    return "raid0" if all(kind.instance_store for kind in types) else "none"


def pod_interfaces(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Network interfaces of the first card whose addresses pods get; None where the type's are not known.

    An ``efa-only`` interface has no address, and with custom networking no pod uses the primary interface:
    https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html
    """
    most = kind.network_cards[0].max_interfaces if kind.network_cards else None
    if most is None:
        return None
    layout = kind.efa_interfaces if efa else ()
    taken = sum(1 for each in layout if each.network_card_index == 0 and each.interface_type == "efa-only")
    return most - taken - (1 if custom_networking else 0)


def _max_pods(
    group: NodeGroup,
    types: tuple[InstanceType, ...],
    *,
    custom_networking: bool,
) -> int | None:
    """Pods a node, the least of the group's types.

    EKS does not see prefix delegation when it computes this for a managed node group
    (https://github.com/aws/containers-roadmap/issues/138), so that it is set.
    """
    if group.kubelet.max_pods is not None:
        return group.kubelet.max_pods
    limits = facts.eks("max_pods")
    pods: list[int] = []
    for kind in types:
        interfaces = pod_interfaces(kind, efa=group.efa, custom_networking=custom_networking)
        if interfaces is None or not kind.ipv4_per_interface:
            return None
        addresses = interfaces * (kind.ipv4_per_interface - 1) * limits["addresses_per_prefix"] + 2
        cap = limits["small"] if kind.vcpus < limits["small_vcpus_below"] else limits["large"]
        pods.append(min(addresses, cap))
    return min(pods)


def _user_data(
    group: NodeGroup, kind: InstanceType, *, bottlerocket: bool, max_pods: int | None, store: str
) -> dict[str, Any]:
    if bottlerocket:
        derived = user_data.bottlerocket_settings(
            group.kubelet, max_pods=max_pods, instance_store=store, neuron=kind.hardware in _NEURON
        )
    else:
        derived = user_data.node_config_spec(group.kubelet, max_pods=max_pods, instance_store=store)
    return merged(derived, group.user_data)


def _capacity_target(group: NodeGroup) -> CapacityTarget | None:
    if group.reservation is None:
        return None
    return CapacityTarget(group.reservation.id, group.reservation.resource_group_arn)


def _labels(group: NodeGroup, kind: InstanceType) -> Mapping[str, str]:
    derived = {"hardware-type": kind.hardware.value, "workload-type": group.workload}
    if kind.accelerator:
        derived["accelerator"] = kind.accelerator.label_name
    derived |= _PLUGIN_LABELS.get(kind.hardware, {})
    if group.efa:
        derived |= _EFA_LABEL
    return MappingProxyType({**derived, **group.labels})


def _taints(group: NodeGroup, kind: InstanceType) -> tuple[ResolvedTaint, ...]:
    own = tuple(
        ResolvedTaint(taint.key, taint.value, _TAINT_EFFECTS.get(taint.effect, taint.effect)) for taint in group.taints
    )
    key = _TAINT_KEYS.get(kind.hardware)
    if key is None or not group.accelerator_taint or any(taint.key == key for taint in own):
        return own
    return (ResolvedTaint(key, "true", "NO_SCHEDULE"), *own)


def _taint_reason(group: NodeGroup, kind: InstanceType) -> str:
    if kind.hardware not in _TAINT_KEYS:
        return "nothing to keep other pods from"
    return "only pods that ask for the accelerator land here" if group.accelerator_taint else "switched off"


def _placement_group(group: NodeGroup, cluster_name: str, why: Reasons, *, supported: bool) -> str | None:
    name = names.limited(cluster_name, group.name, limit=names.PLACEMENT_GROUP, separator=_SEPARATOR)
    field = "placement_group_name"
    if group.placement_group == "cluster":
        return why.strategy(field, name)
    if group.placement_group == "none":
        return why.strategy(field, None)
    if group.efa and group.reservation is None and not supported:
        return why.catalogue(field, None, "the type cannot be in a cluster placement group")
    if group.efa and group.reservation is None:
        return why.rule(field, name, "EFA nodes are placed close together")
    if group.reservation is not None:
        # https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3661
        return why.rule(field, None, "a placement group that the reservation lacks leaves its capacity unused")
    return why.rule(field, None, "only EFA needs one")


def _block_devices(group: NodeGroup, kind: InstanceType, bottlerocket: bool) -> tuple[BlockDevice, ...]:
    disk = group.disk
    accelerated = kind.hardware is not Hardware.CPU
    throughput = disk.throughput_mibps
    if throughput is None and disk.type == "gp3":
        throughput = _ACCELERATED_THROUGHPUT_MIBPS if accelerated else _GP3_DEFAULT_THROUGHPUT_MIBPS
    images = BlockDevice(
        # Bottlerocket keeps images and logs on its second volume; the first holds the read-only system.
        device_name="/dev/xvdb" if bottlerocket else "/dev/xvda",
        size_gib=disk.size_gib or (_ACCELERATED_DISK_GIB if accelerated else _CPU_DISK_GIB),
        volume_type=disk.type,
        iops=disk.iops,
        throughput_mibps=throughput,
        kms_key_arn=disk.kms_key_arn,
    )
    if not bottlerocket:
        return (images,)
    system = BlockDevice("/dev/xvda", 4, "gp3", None, None, disk.kms_key_arn)
    return (system, images)


def _disk_reason(group: NodeGroup, kind: InstanceType) -> str:
    if group.disk.size_gib is not None:
        return "size as the strategy says"
    return "accelerator images are large" if kind.accelerator else "room for images and logs"


def _max_unavailable(group: NodeGroup) -> int | None:
    update = group.update
    if update.max_unavailable is not None:
        return update.max_unavailable
    return None if update.max_unavailable_percentage is not None else 1
