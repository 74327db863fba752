"""Resolve a node group: everything that follows from its instance types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from eks_hardware import aws_names
from eks_hardware.catalogue import Catalogue, InstanceType
from eks_hardware.models import NodeGroupSpec
from eks_hardware.resolve import node, sources
from eks_hardware.resolve.extended_resources import GPU, advertised
from eks_hardware.resolve.gpu_sharing import gpu_shares, sharing_labels, sharing_settings
from eks_hardware.resolve.mappings import frozen, merged
from eks_hardware.resolve.model import CapacityTarget, GpuShares, Reasons, ResolvedNodeGroup
from eks_hardware.spellings import CAPACITY


def resolve_node_group(
    group: NodeGroupSpec,
    *,
    cluster_name: str,
    kubernetes_version: str,
    zone_ids: tuple[str, ...],
    catalogue: Catalogue,
    custom_networking: bool = False,
    common_tags: Mapping[str, str] | None = None,
    shell: tuple[str, ...] = (),
) -> ResolvedNodeGroup:
    """Derive everything about one node group.

    The group's types have passed the rules: they exist, and share architecture and hardware.
    """
    why = Reasons()
    types = tuple(catalogue.get(name) for name in group.instance_types)
    first = types[0]
    hardware = first.hardware
    given = group.model_fields_set
    capacity_block = group.capacity == "capacity-block"
    ami_type, bottlerocket = _ami(group, types)
    store = node.instance_store(group, types)
    shares = gpu_shares(group, types, bottlerocket=bottlerocket)
    max_pods = node.max_pods(group, types, custom_networking=custom_networking)
    scaling = group.scaling
    labels = MappingProxyType(
        {
            **sharing_labels(shares, bottlerocket=bottlerocket),
            **_autoscaler_labels(group, types, shares),
            **node.labels(group, types, bottlerocket=bottlerocket),
        }
    )
    template_name = aws_names.limited(
        cluster_name, group.name, limit=aws_names.LAUNCH_TEMPLATE, separator=node.SEPARATOR
    )
    return ResolvedNodeGroup(
        name=why.strategy("name", group.name),
        cluster_name=why.strategy("cluster_name", cluster_name),
        workload=why.given(
            "workload", group.purpose, when="workload" in given, otherwise="general: no purpose is stated"
        ),
        hardware=why.catalogue(
            "hardware", hardware, node.describe(first), source=sources.of_hardware(first, catalogue)
        ),
        instance_types=why.strategy("instance_types", group.instance_types, node.types_reason(group)),
        architecture=why.catalogue(
            "architecture",
            first.architecture,
            f"the architecture of {first.name}",
            source=catalogue.cited(first, "instances"),
        ),
        ami_type=why.strategy("ami_type", ami_type, "your own image" if group.ami.image_id else "as the strategy says")
        if group.ami.type or group.ami.image_id
        else why.catalogue(
            "ami_type",
            ami_type,
            f"{group.ami.family} with what {first.accelerator.name if first.accelerator else first.architecture} needs",
            source=catalogue.cited(first, "ami_types"),
        ),
        ami_family=node.noted_family(group, why, source=catalogue.cited(first, "ami_types")),
        image_id=why.given(
            "image_id",
            group.ami.image_id,
            when=group.ami.image_id is not None,
            otherwise=f"EKS's own image of {ami_type}",
            source=catalogue.cited(first, "ami_types"),
        ),
        release_version=why.given(
            "release_version",
            group.ami.release_version,
            when=group.ami.release_version is not None,
            otherwise="the newest when the group is made or its launch template changes",
            source=f"{sources.NODE_GROUP} (releaseVersion)",
        ),
        kubernetes_version=why.rule(
            "kubernetes_version",
            kubernetes_version,
            "that of the cluster, the only one that EKS takes",
            source=f"cluster.kubernetes_version; {sources.NODE_GROUP} (version)",
        ),
        capacity=why.given(
            "capacity",
            group.capacity,
            when="capacity" in given,
            otherwise="neither spot nor a reservation is asked for",
        ),
        capacity_type=why.rule(
            "capacity_type",
            CAPACITY[group.capacity].eks,
            f"how the EKS API spells {group.capacity!r}",
            source=sources.CAPACITY_TYPES,
        ),
        market_type=why.rule(
            "market_type",
            "capacity-block" if capacity_block else None,
            "a capacity block is launched under its own market type"
            if capacity_block
            else "only capacity blocks have one",
            source=sources.CAPACITY_TYPES,
        ),
        capacity_target=why.given(
            "capacity_target",
            _capacity_target(group),
            when=group.reservation is not None,
            otherwise="no reservation is named: any capacity of the zones",
        ),
        instance_type_in_launch_template=why.rule(
            "instance_type_in_launch_template",
            capacity_block,
            "EKS takes a capacity block's type from the launch template"
            if capacity_block
            else "EKS takes the types of a group, so that it can have several",
            source=sources.LAUNCH_TEMPLATES,
        ),
        zone_ids=why.given(
            "zone_ids",
            zone_ids,
            when=bool(group.zones or group.reservation),
            otherwise="one zone: EFA traffic does not leave it" if group.efa else "the zones that offer its types",
            source=sources.of_zones(types, catalogue, one_zone=group.efa),
        ),
        min_size=why.given(
            "min_size", scaling.min, when="min" in scaling.model_fields_set, otherwise="no node unless one is asked for"
        ),
        desired_size=why.given(
            "desired_size",
            scaling.min if scaling.desired is None else scaling.desired,
            when=scaling.desired is not None,
            otherwise=f"as many as min_size, {scaling.min}",
        ),
        max_size=why.strategy("max_size", scaling.max),
        autoscaled=why.given(
            "autoscaled",
            scaling.autoscaled,
            when="autoscaled" in scaling.model_fields_set,
            otherwise="the strategy owns the number of nodes",
        ),
        labels=why.rule(
            "labels",
            labels,
            "hardware, workload, accelerator, and what plugins and an autoscaler look for",
            source=sources.of_labels(group, labels, first),
        ),
        taints=node.noted_taints(group, first, why, source=sources.of_taints(first, catalogue)),
        efa_interfaces=node.noted_efa(group, first, why, source=sources.of_efa(group, first, catalogue)),
        placement_group_name=node.placement_group(
            group,
            cluster_name,
            why,
            reserved=group.reservation is not None,
            supported="cluster" in first.placement_strategies,
            source=sources.of_placement(first, catalogue),
        ),
        block_devices=why.rule(
            "block_devices",
            node.block_devices(group, hardware, bottlerocket=bottlerocket),
            node.disk_reason(group, hardware),
            source=sources.of_disks(group, hardware, bottlerocket=bottlerocket),
        ),
        instance_store=why.given(
            "instance_store",
            store,
            when=group.instance_store is not None,
            otherwise="local NVMe as one array for images and ephemeral storage"
            if store == "raid0"
            else "no local disks",
            source=sources.of_instance_store(types, catalogue),
        ),
        max_pods=why.strategy("max_pods", max_pods)
        if group.kubelet.max_pods
        else why.catalogue(
            "max_pods",
            max_pods,
            node.max_pods_reason(max_pods),
            source=sources.of_max_pods(first, catalogue),
        ),
        user_data=why.rule(
            "user_data",
            frozen(
                merged(
                    sharing_settings(shares, types, bottlerocket=bottlerocket),
                    node.system_settings(group, first, bottlerocket=bottlerocket, max_pods=max_pods, store=store),
                )
            ),
            "Bottlerocket settings" if bottlerocket else "spec of an AL2023 NodeConfig",
            source=sources.of_user_data(bottlerocket=bottlerocket),
        ),
        shell=why.rule(
            "shell",
            () if bottlerocket else shell,
            node.shell_reason(shell, bottlerocket=bottlerocket),
            source=node.SHELL,
        ),
        gpu_shares=why.given(
            "gpu_shares", shares, when=group.gpu_sharing is not None, otherwise="a pod gets whole accelerators"
        ),
        metadata_hop_limit=why.rule(
            "metadata_hop_limit",
            2 if group.pods_use_imds else 1,
            "pods reach instance metadata" if group.pods_use_imds else "pods cannot take the node's credentials",
            source=sources.INSTANCE_METADATA,
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
            source=sources.NODE_UPDATES,
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
            source=sources.NODE_UPDATES,
        ),
        launch_template_name=why.rule(
            "launch_template_name",
            template_name,
            "cluster and group, at most 125 characters",
        ),
        tags=why.rule(
            "tags",
            MappingProxyType({**_autoscaler_tags(group, first, shares), **group.tags}),
            "the strategy's, and for an autoscaler what a node will advertise",
            source=_AUTOSCALER_TAGS,
        ),
        instance_tags=why.rule(
            "instance_tags",
            MappingProxyType({"Name": template_name, **(common_tags or {}), **group.tags}),
            "a provider's default tags do not reach what a launch template launches",
            source=sources.DEFAULT_TAGS,
        ),
        reasons=why.frozen(),
    )


def _ami(group: NodeGroupSpec, types: tuple[InstanceType, ...]) -> tuple[str, bool]:
    """The EKS AMI type, and whether it is Bottlerocket."""
    wanted = group.ami.type
    if wanted is None:
        prefix = node.AMI_PREFIXES[group.ami.family]
        fitting = [each for each in types[0].ami_types if each.startswith(prefix) and not each.endswith("FIPS")]
        wanted = fitting[0] if fitting else "CUSTOM"  # type: ignore[assignment]
    return ("CUSTOM" if group.ami.image_id else str(wanted)), node.ami_family(group) == "bottlerocket"


# Cluster Autoscaler knows labels, taints, CPU, memory and whole NVIDIA GPUs of a group without nodes; of what else a
# node will advertise only these tags tell it.
_AUTOSCALER_TAGS = (
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/"
    "cluster-autoscaler/cloudprovider/aws/README.md"
)
_AUTOSCALER_RESOURCE = "k8s.io/cluster-autoscaler/node-template/resources/"


def _autoscaler_tags(group: NodeGroupSpec, kind: InstanceType, shares: GpuShares | None) -> dict[str, str]:
    if not group.scaling.autoscaled:
        return {}
    efa_count = sum(1 for each in kind.efa_interfaces if each.is_efa) if group.efa else 0
    resources = advertised(kind, efa_count=efa_count, shares=shares)
    if shares is None:
        resources.pop(GPU, None)
    elif shares.resource != GPU:
        # What EC2 says of the type would stand: a pod that asks for a whole GPU would start nodes that have none.
        resources[GPU] = 0
    return {f"{_AUTOSCALER_RESOURCE}{name}": str(count) for name, count in resources.items()}


def _autoscaler_labels(
    group: NodeGroupSpec, types: tuple[InstanceType, ...], shares: GpuShares | None
) -> dict[str, str]:
    if not group.scaling.autoscaled or any(GPU not in advertised(kind, shares=shares) for kind in types):
        return {}
    return {node.AUTOSCALER_GPU_LABEL: next(kind.accelerator.label_name for kind in types if kind.accelerator)}


def _capacity_target(group: NodeGroupSpec) -> CapacityTarget | None:
    if group.reservation is None:
        return None
    return CapacityTarget(group.reservation.id, group.reservation.resource_group_arn)


def _max_unavailable(group: NodeGroupSpec) -> int | None:
    update = group.update
    if update.max_unavailable is not None:
        return update.max_unavailable
    return None if update.max_unavailable_percentage is not None else 1
