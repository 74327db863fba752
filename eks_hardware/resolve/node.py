"""Values that follow from a node's settings and instance types, for node groups and node pools alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType, address_count
from eks_hardware.data import Cited
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, NodeTemplate
from eks_hardware.resolve import user_data
from eks_hardware.resolve.derived import Derived, rule, stated_field, stated_or
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.values import BlockDevice, ResolvedTaint
from eks_hardware.spellings import kubernetes_effect

_LARGE_IMAGES = "accelerator images are large"

AMI_PREFIXES = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}
"""Prefixes of an operating system's EKS AMI types."""

# Labels that daemonsets use to select nodes. Without Node Feature Discovery they must be set here:
# https://github.com/NVIDIA/k8s-device-plugin (affinity), https://github.com/aws/eks-charts (EFA plugin).
NVIDIA_PLUGIN_LABEL = {"nvidia.com/gpu.present": "true"}
NEURON_PLUGIN_LABEL = {"aws.amazon.com/neuron.present": "true"}
EFA_LABEL = {"vpc.amazonaws.com/efa.present": "true"}

# Bottlerocket's NVIDIA images include the driver, the toolkit and a device plugin that runs on the host, so no
# daemonset of the plugin may run there. This label also keeps the GPU Operator's daemonsets away
# (https://github.com/bottlerocket-os/bottlerocket/issues/3992, commonOperandsLabelKey in
# https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/controllers/state_manager.go).
NO_OPERANDS_LABEL = {"nvidia.com/gpu.deploy.operands": "false"}


# Cluster Autoscaler treats a node with this label as not ready until it advertises `nvidia.com/gpu`. Without the label
# it starts a second node while the device plugin of the first one starts. A node whose shares have another resource
# name would never be ready: GPULabel in
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go
# and cluster-autoscaler/processors/customresources/gpu_processor.go.
AUTOSCALER_GPU_LABEL = "k8s.amazonaws.com/accelerator"


def ami_family(node: NodeGroupSpec | NodePoolSpec) -> str:
    """Return the operating system of a group or pool: that of a group's AMI type if the strategy sets one."""
    wanted = node.ami.type if isinstance(node, NodeGroupSpec) else None
    if wanted is None:
        return node.ami.family
    return "bottlerocket" if wanted.startswith(AMI_PREFIXES["bottlerocket"]) else "al2023"


def instance_store(template: NodeTemplate, types: tuple[InstanceType, ...]) -> str:
    """Return how local disks are used; none by default if a type has no local disks."""
    if template.instance_store is not None:
        return template.instance_store
    return facts.choices()["instance_store"]["use"] if all(kind.instance_store for kind in types) else "none"


def pod_interfaces(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Return the first card's network interfaces whose addresses pods get; None if the catalogue lacks them.

    An ``efa-only`` interface has no address, and with custom networking no pod uses the primary interface:
    https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html
    """
    most = kind.network_cards[0].max_interfaces if kind.network_cards else None
    if most is None:
        return None
    layout = [interface for interface in kind.efa_interfaces if efa and interface.network_card_index == 0]
    without_address = len(layout) - address_count(layout) if layout else 0
    return most - without_address - (1 if custom_networking else 0)


def pod_addresses(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Return how many pods of a node can have addresses, with prefix delegation; None if the catalogue lacks them.

    Two pods of every node, the CNI's and kube-proxy's, use the node's own address.
    """
    interfaces = pod_interfaces(kind, efa=efa, custom_networking=custom_networking)
    if interfaces is None or not kind.ipv4_per_interface:
        return None
    return interfaces * (kind.ipv4_per_interface - 1) * addresses_per_slot(kind) + 2


def addresses_per_slot(kind: InstanceType) -> int:
    """Return the addresses for pods in one slot of an interface: a prefix, or one address without the Nitro System.

    The VPC CNI ignores prefix delegation on other types:
    https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
    """
    per_prefix: int = facts.eks()["max_pods"]["addresses_per_prefix"]
    return per_prefix if kind.nitro else 1


NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""Managed policies of the node role. The VPC CNI has a Pod Identity role, so AmazonEKS_CNI_Policy is not needed."""
NODE_ROLE = "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html"


def node_policy_arns(partition: str) -> tuple[str, ...]:
    """Return the ARNs of the node role's managed policies."""
    return tuple(f"arn:{partition}:iam::aws:policy/{name}" for name in NODE_POLICIES)


def default_repair(group: NodeGroupSpec) -> Cited[bool]:
    """Return whether EKS repairs the nodes of a group whose strategy does not set it."""
    if group.reservation:
        return facts.choices.cite(lambda file: file["node_repair"]["in_reservations"])
    return facts.choices.cite(lambda file: file["node_repair"]["enabled"])


def recommended_pods(kind: InstanceType) -> int:
    """Return the maximum number of pods that EKS recommends for a node, regardless of its addresses."""
    limits = facts.eks()["max_pods"]
    most: int = limits["small"] if kind.vcpus < limits["small_vcpus_below"] else limits["large"]
    return most


def pods_per_node(template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool) -> int | None:
    """Return a node's maximum number of pods: from the strategy, otherwise the smallest of the group's types.

    It must be set, because EKS ignores prefix delegation when it computes the number for a managed node group
    (https://github.com/aws/containers-roadmap/issues/138).
    """
    if template.kubelet.max_pods is not None:
        return template.kubelet.max_pods
    return fewest_pods(template, types, custom_networking=custom_networking)[1]


def fewest_pods(
    template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool
) -> tuple[InstanceType, int | None]:
    """Return the type with the fewest pods and their number; None (addresses unknown) counts as the fewest."""
    pods: list[tuple[InstanceType, int | None]] = []
    for kind in types:
        addresses = pod_addresses(kind, efa=template.efa, custom_networking=custom_networking)
        pods.append((kind, None if addresses is None else min(addresses, recommended_pods(kind))))
    return min(pods, key=lambda pod: pod[1] or 0)


def system_settings(
    template: NodeTemplate, kind: InstanceType, *, bottlerocket: bool, max_pods: int | None, store: str
) -> dict[str, object]:
    """Return the spec of an AL2023 NodeConfig, or Bottlerocket settings; the strategy's override derived ones."""
    kubelet = user_data.kubelet_settings(template.kubelet, max_pods)
    if bottlerocket:
        neuron = kind.hardware.is_neuron
        derived = user_data.bottlerocket_settings(kubelet, instance_store=store, neuron=neuron)
    else:
        derived = user_data.node_config_spec(kubelet, instance_store=store)
    return merged(derived, template.user_data)


def plugin_labels(hardware: Hardware, *, efa: bool, bottlerocket: bool) -> dict[str, str]:
    """Return the labels that decide which daemonsets run on a node."""
    chosen = dict(EFA_LABEL) if efa else {}
    if hardware is Hardware.NVIDIA_GPU:
        chosen |= NO_OPERANDS_LABEL if bottlerocket else NVIDIA_PLUGIN_LABEL
    elif hardware.is_neuron:
        chosen |= NEURON_PLUGIN_LABEL
    return chosen


def taints(template: NodeTemplate, hardware: Hardware) -> tuple[ResolvedTaint, ...]:
    """Return the strategy's taints, after the one that keeps other pods off accelerated nodes."""
    own = tuple(ResolvedTaint(taint.key, taint.value, kubernetes_effect(taint.effect)) for taint in template.taints)
    # Device plugins tolerate a taint with the name of their resource.
    key = accelerator_resource(hardware)
    if key is None or not template.accelerator_taint or any(taint.key == key for taint in own):
        return own
    return (ResolvedTaint(key, "true", facts.choices()["accelerator_taint"]["effect"]), *own)


def disk_size(template: NodeTemplate, hardware: Hardware) -> Derived[int]:
    """Derive the size of the volume for container images, in GiB."""
    given = template.disk.size_gib
    if hardware is Hardware.CPU:
        return stated_or(
            given, facts.choices.cite(lambda file: file["cpu_disk"]["size_gib"]), "room for images and logs"
        )
    return stated_or(given, facts.choices.cite(lambda file: file["accelerated_disk"]["size_gib"]), _LARGE_IMAGES)


def disk_type(template: NodeTemplate) -> Derived[str]:
    """Derive the type of the volume for container images."""
    row = facts.choices.cite(lambda file: file["volume_type"]["type"])
    return stated_field(template.disk, "type", row, "the cheaper type")


def disk_throughput(template: NodeTemplate, hardware: Hardware) -> Derived[int | None]:
    """Derive the throughput of the volume for container images in MiB/s; None if its type has no setting for it."""
    disk = template.disk
    if disk.type != "gp3":
        return rule(None, "only gp3 volumes have a throughput setting")
    if hardware is Hardware.CPU:
        row = facts.nodes.cite(lambda file: file["volumes"]["gp3_throughput_mibps"])
        return stated_or(disk.throughput_mibps, row, "gp3's default throughput")
    return stated_or(
        disk.throughput_mibps,
        facts.choices.cite(lambda file: file["accelerated_disk_throughput"]["mibps"]),
        _LARGE_IMAGES,
    )


def disk_layout(*, bottlerocket: bool) -> Cited[Mapping[str, Any]]:
    """Return the volumes of an operating system's images: ``root``, ``data``, and which one stores container images."""
    family = "Bottlerocket" if bottlerocket else "AL2023"
    return facts.karpenter.cite(lambda file: file["block_devices"]["families"][family])


def block_devices(template: NodeTemplate, hardware: Hardware, *, bottlerocket: bool) -> tuple[BlockDevice, ...]:
    """Return the EBS volumes of a node; the last one stores container images."""
    disk, layout = template.disk, disk_layout(bottlerocket=bottlerocket).value
    images = BlockDevice(
        device_name=layout["ephemeral_device"],
        size_gib=disk_size(template, hardware).value,
        volume_type=disk_type(template).value,
        iops=disk.iops,
        throughput_mibps=disk_throughput(template, hardware).value,
        kms_key_arn=disk.kms_key_arn,
    )
    if layout["data"] is None:
        return (images,)
    # Bottlerocket stores images and logs on its second volume; the first one is the read-only system.
    root = layout["root"]
    return (BlockDevice(root["device"], root["size_gib"], "gp3", None, None, disk.kms_key_arn), images)
