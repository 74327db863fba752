"""What follows from the settings of a node and its instance types, for node groups and node pools alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType, address_count
from eks_hardware.data import Cited, cite
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, NodeTemplate
from eks_hardware.resolve import user_data
from eks_hardware.resolve.derived import Derived, rule, stated_or
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model import BlockDevice, ResolvedTaint
from eks_hardware.spellings import eks_effect

CHOICES = "facts/choices.json"
"""What this project chooses where a strategy says nothing."""

_LARGE_IMAGES = "accelerator images are large"

AMI_PREFIXES = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}
"""How the EKS AMI types of an operating system begin."""

# Labels that daemonsets select nodes on; without Node Feature Discovery they have to be set:
# https://github.com/NVIDIA/k8s-device-plugin (affinity), https://github.com/aws/eks-charts (EFA plugin).
NVIDIA_PLUGIN_LABEL = {"nvidia.com/gpu.present": "true"}
NEURON_PLUGIN_LABEL = {"aws.amazon.com/neuron.present": "true"}
EFA_LABEL = {"vpc.amazonaws.com/efa.present": "true"}

# Bottlerocket's NVIDIA images bring driver, toolkit and a device plugin that runs on the host: no daemonset of the
# plugin is wanted there, and this label keeps the GPU Operator's away too
# (https://github.com/bottlerocket-os/bottlerocket/issues/3992, commonOperandsLabelKey in
# https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/controllers/state_manager.go).
NO_OPERANDS_LABEL = {"nvidia.com/gpu.deploy.operands": "false"}


# Cluster Autoscaler takes a node with this label for not ready as long as it advertises no `nvidia.com/gpu`; without it
# a second node starts while the first one's device plugin does. A node whose shares have another name would never be
# ready: GPULabel in
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/aws/aws_cloud_provider.go
# and cluster-autoscaler/processors/customresources/gpu_processor.go.
AUTOSCALER_GPU_LABEL = "k8s.amazonaws.com/accelerator"


def ami_family(node: NodeGroupSpec | NodePoolSpec) -> str:
    """The operating system of a group or pool: that of a group's AMI type where the strategy names one."""
    wanted = node.ami.type if isinstance(node, NodeGroupSpec) else None
    if wanted is None:
        return node.ami.family
    return "bottlerocket" if wanted.startswith(AMI_PREFIXES["bottlerocket"]) else "al2023"


def instance_store(template: NodeTemplate, types: tuple[InstanceType, ...]) -> str:
    """What is done with local disks; by default one array where every type has them."""
    if template.instance_store is not None:
        return template.instance_store
    return "raid0" if all(kind.instance_store for kind in types) else "none"


def pod_interfaces(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Network interfaces of the first card whose addresses pods get; None where the type's are not known.

    An ``efa-only`` interface has no address, and with custom networking no pod uses the primary interface:
    https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html
    """
    most = kind.network_cards[0].max_interfaces if kind.network_cards else None
    if most is None:
        return None
    layout = [each for each in kind.efa_interfaces if efa and each.network_card_index == 0]
    without_address = len(layout) - address_count(layout) if layout else 0
    return most - without_address - (1 if custom_networking else 0)


def pod_addresses(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Pods of a node that there are addresses for, with prefix delegation; None where the type's are not known.

    Two pods of every node, the CNI's and kube-proxy's, use the node's own address.
    """
    interfaces = pod_interfaces(kind, efa=efa, custom_networking=custom_networking)
    if interfaces is None or not kind.ipv4_per_interface:
        return None
    per_prefix: int = facts.eks()["max_pods"]["addresses_per_prefix"]
    return interfaces * (kind.ipv4_per_interface - 1) * per_prefix + 2


def recommended_pods(kind: InstanceType) -> int:
    """The most pods that EKS recommends for a node, whatever its addresses."""
    limits = facts.eks()["max_pods"]
    most: int = limits["small"] if kind.vcpus < limits["small_vcpus_below"] else limits["large"]
    return most


def max_pods(template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool) -> int | None:
    """The most pods of a node: as the strategy says, else the fewest of the group's types.

    EKS does not see prefix delegation when it computes this for a managed node group
    (https://github.com/aws/containers-roadmap/issues/138), so that it is set.
    """
    if template.kubelet.max_pods is not None:
        return template.kubelet.max_pods
    return fewest_pods(template, types, custom_networking=custom_networking)[1]


def fewest_pods(
    template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool
) -> tuple[InstanceType, int | None]:
    """The type that has the fewest pods, with their number; None counts as the fewest: its addresses are not known."""
    pods: list[tuple[InstanceType, int | None]] = []
    for kind in types:
        addresses = pod_addresses(kind, efa=template.efa, custom_networking=custom_networking)
        pods.append((kind, None if addresses is None else min(addresses, recommended_pods(kind))))
    return min(pods, key=lambda each: each[1] or 0)


def system_settings(
    template: NodeTemplate, kind: InstanceType, *, bottlerocket: bool, max_pods: int | None, store: str
) -> dict[str, Any]:
    """Spec of an AL2023 NodeConfig, or Bottlerocket settings; the strategy's own are merged over the derived ones."""
    kubelet = user_data.kubelet_settings(template.kubelet, max_pods)
    if bottlerocket:
        neuron = kind.hardware.is_neuron
        derived = user_data.bottlerocket_settings(kubelet, instance_store=store, neuron=neuron)
    else:
        derived = user_data.node_config_spec(kubelet, instance_store=store)
    return merged(derived, template.user_data)


def plugin_labels(hardware: Hardware, *, efa: bool, bottlerocket: bool) -> dict[str, str]:
    """The labels that decide which daemonsets run on a node."""
    chosen = dict(EFA_LABEL) if efa else {}
    if hardware is Hardware.NVIDIA_GPU:
        chosen |= NO_OPERANDS_LABEL if bottlerocket else NVIDIA_PLUGIN_LABEL
    elif hardware.is_neuron:
        chosen |= NEURON_PLUGIN_LABEL
    return chosen


def taints(template: NodeTemplate, hardware: Hardware) -> tuple[ResolvedTaint, ...]:
    """The strategy's taints, after the one that keeps other pods off accelerated nodes."""
    own = tuple(ResolvedTaint(taint.key, taint.value, eks_effect(taint.effect)) for taint in template.taints)
    # Device plugins tolerate a taint that is called as their resource is.
    key = accelerator_resource(hardware)
    if key is None or not template.accelerator_taint or any(taint.key == key for taint in own):
        return own
    return (ResolvedTaint(key, "true", "NO_SCHEDULE"), *own)


def disk_size(template: NodeTemplate, hardware: Hardware) -> Derived[int]:
    """Size of the volume for container images, in GiB."""
    given = template.disk.size_gib
    if hardware is Hardware.CPU:
        return stated_or(given, cite(CHOICES, "cpu_disk", "size_gib"), "room for images and logs")
    return stated_or(given, cite(CHOICES, "accelerated_disk", "size_gib"), _LARGE_IMAGES)


def disk_throughput(template: NodeTemplate, hardware: Hardware) -> Derived[int | None]:
    """Throughput of the volume for container images in MiB/s; None where its type has none of its own."""
    disk = template.disk
    if disk.type != "gp3":
        return rule(None, "only gp3 has a throughput of its own")
    if hardware is Hardware.CPU:
        row = cite("facts/nodes.json", "volumes", "gp3_throughput_mibps")
        return stated_or(disk.throughput_mibps, row, "gp3's own")
    return stated_or(disk.throughput_mibps, cite(CHOICES, "accelerated_disk_throughput", "mibps"), _LARGE_IMAGES)


def disk_layout(*, bottlerocket: bool) -> Cited[Mapping[str, Any]]:
    """Volumes of the images of an operating system: ``root``, ``data``, and which of them images are kept on."""
    family = "Bottlerocket" if bottlerocket else "AL2023"
    return cite("facts/karpenter.json", "block_devices", "families", family)


def block_devices(template: NodeTemplate, hardware: Hardware, *, bottlerocket: bool) -> tuple[BlockDevice, ...]:
    """The EBS volumes of a node, that for container images last."""
    disk, layout = template.disk, disk_layout(bottlerocket=bottlerocket).value
    images = BlockDevice(
        device_name=layout["ephemeral_device"],
        size_gib=disk_size(template, hardware).value,
        volume_type=disk.type,
        iops=disk.iops,
        throughput_mibps=disk_throughput(template, hardware).value,
        kms_key_arn=disk.kms_key_arn,
    )
    if layout["data"] is None:
        return (images,)
    # Bottlerocket keeps images and logs on its second volume; the first holds the read-only system.
    root = layout["root"]
    return (BlockDevice(root["device"], root["size_gib"], "gp3", None, None, disk.kms_key_arn), images)
