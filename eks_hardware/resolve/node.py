"""What follows from the settings of a node and its instance types, for node groups and node pools alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from eks_hardware import aws_names, facts
from eks_hardware.catalogue import EfaInterface, Hardware, InstanceType
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, NodeTemplate
from eks_hardware.resolve import user_data
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.model import BlockDevice, Reasons, ResolvedTaint
from eks_hardware.spellings import eks_effect

# Not "-": cluster demo with group gpu-x and cluster demo-gpu with group x must not share a name.
SEPARATOR = "/"

AMI_PREFIXES = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}
"""How the EKS AMI types of an operating system begin."""

_CPU_DISK_GIB = 50
_ACCELERATED_DISK_GIB = 200
_ACCELERATED_THROUGHPUT_MIBPS = 500
_GP3_DEFAULT_THROUGHPUT_MIBPS = 125

# The taint that keeps other pods off the hardware; device plugins tolerate these keys.
_TAINT_KEYS = {
    Hardware.NVIDIA_GPU: "nvidia.com/gpu",
    Hardware.TRAINIUM: "aws.amazon.com/neuron",
    Hardware.INFERENTIA: "aws.amazon.com/neuron",
}

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


def noted_family(node: NodeGroupSpec | NodePoolSpec, why: Reasons, *, source: str) -> str:
    """The operating system of a group or pool; notes the reason, with its source."""
    field = "ami_family"
    family = ami_family(node)
    if isinstance(node, NodeGroupSpec) and node.ami.type:
        return why.rule(field, family, f"the operating system of {node.ami.type}", source=source)
    if "family" in node.ami.model_fields_set:
        return why.strategy(field, family)
    return why.default(field, family, "AL2023 unless the strategy names another", source=source)


def types_reason(template: NodeTemplate) -> str:
    """Why a group or pool has its instance types: they are written there, or locked for what is to run on it."""
    return "locked for the workload that it describes" if template.described else "as the strategy says"


def describe(kind: InstanceType) -> str:
    """What accelerators a type has, in words."""
    accelerator = kind.accelerator
    return (
        f"{kind.name} has {accelerator.count} x {accelerator.name}"
        if accelerator
        else f"{kind.name} has no accelerator"
    )


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
    layout = kind.efa_interfaces if efa else ()
    taken = sum(1 for each in layout if each.network_card_index == 0 and each.interface_type == "efa-only")
    return most - taken - (1 if custom_networking else 0)


def pod_addresses(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Pods of a node that there are addresses for, with prefix delegation; None where the type's are not known.

    Two pods of every node, the CNI's and kube-proxy's, use the node's own address.
    """
    interfaces = pod_interfaces(kind, efa=efa, custom_networking=custom_networking)
    if interfaces is None or not kind.ipv4_per_interface:
        return None
    per_prefix: int = facts.eks("max_pods")["addresses_per_prefix"]
    return interfaces * (kind.ipv4_per_interface - 1) * per_prefix + 2


def recommended_pods(kind: InstanceType) -> int:
    """The most pods that EKS recommends for a node, whatever its addresses."""
    limits = facts.eks("max_pods")
    most: int = limits["small"] if kind.vcpus < limits["small_vcpus_below"] else limits["large"]
    return most


def max_pods(
    template: NodeTemplate,
    types: tuple[InstanceType, ...],
    *,
    custom_networking: bool,
) -> int | None:
    """Pods a node, the least of the group's types.

    EKS does not see prefix delegation when it computes this for a managed node group
    (https://github.com/aws/containers-roadmap/issues/138), so that it is set.
    """
    if template.kubelet.max_pods is not None:
        return template.kubelet.max_pods
    pods: list[int] = []
    for kind in types:
        addresses = pod_addresses(kind, efa=template.efa, custom_networking=custom_networking)
        if addresses is None:
            return None
        pods.append(min(addresses, recommended_pods(kind)))
    return min(pods)


def system_settings(
    template: NodeTemplate, kind: InstanceType, *, bottlerocket: bool, max_pods: int | None, store: str
) -> dict[str, Any]:
    """Spec of an AL2023 NodeConfig, or Bottlerocket settings; the strategy's own are merged over the derived ones."""
    if bottlerocket:
        derived = user_data.bottlerocket_settings(
            template.kubelet, max_pods=max_pods, instance_store=store, neuron=kind.hardware.is_neuron
        )
    else:
        derived = user_data.node_config_spec(template.kubelet, max_pods=max_pods, instance_store=store)
    return merged(derived, template.user_data)


def labels(template: NodeTemplate, types: Sequence[InstanceType], *, bottlerocket: bool) -> Mapping[str, str]:
    """Hardware, workload, accelerator (where all types have the same), and what daemonsets select on."""
    hardware = types[0].hardware
    derived = {"hardware-type": hardware.value, "workload-type": template.purpose}
    accelerators = {kind.accelerator.label_name for kind in types if kind.accelerator}
    if len(accelerators) == 1:
        derived["accelerator"] = accelerators.pop()
    derived |= plugin_labels(hardware, efa=template.efa, bottlerocket=bottlerocket)
    return MappingProxyType({**derived, **template.labels})


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
    key = _TAINT_KEYS.get(hardware)
    if key is None or not template.accelerator_taint or any(taint.key == key for taint in own):
        return own
    return (ResolvedTaint(key, "true", "NO_SCHEDULE"), *own)


def noted_taints(template: NodeTemplate, kind: InstanceType, why: Reasons, *, source: str) -> tuple[ResolvedTaint, ...]:
    """The taints of a group or pool; notes the reason, with its source."""
    field = "taints"
    chosen = taints(template, kind.hardware)
    if len(chosen) > len(template.taints):
        text = "only pods that ask for the accelerator land here"
        return why.rule(field, chosen, f"{text}; and the strategy's own" if template.taints else text, source=source)
    if chosen:
        return why.strategy(field, chosen)
    if kind.hardware in _TAINT_KEYS:
        return why.strategy(field, chosen, "accelerator_taint is false")
    text = "for which there is no usual taint" if kind.accelerator else "to keep other pods from"
    return why.rule(field, chosen, f"{describe(kind)} {text}", source=source)


def noted_efa(template: NodeTemplate, kind: InstanceType, why: Reasons, *, source: str) -> tuple[EfaInterface, ...]:
    """Network interfaces of a group or pool with EFA, none without it; notes the reason, with its source."""
    field = "efa_interfaces"
    cards = len(kind.network_cards)
    most = f"{kind.max_efa_interfaces} EFA interfaces on {cards} network cards"
    if template.efa:
        return why.catalogue(field, kind.efa_interfaces, f"{kind.name} has {most}", source=source)
    could = f"could have {most}" if kind.supports_efa else "has no EFA"
    return why.default(field, (), f"efa is not asked for; {kind.name} {could}", source=source)


def max_pods_reason(max_pods: int | None) -> str:
    """Why a node takes as many pods as it does where its file names no number."""
    if max_pods is None:
        return "kubelet's own number: the addresses of the type are not known"
    return "addresses of the first network card with prefix delegation, within EKS's limit"


SHELL = "facts/storage.json lustre_client"
"""Where the lines of a node's script stand."""


def shell_reason(shell: Sequence[str], *, bottlerocket: bool) -> str:
    """Why a node runs a script before it joins, or none."""
    if not shell:
        return "no storage of the strategy needs a client on the nodes"
    return "Bottlerocket runs no shell script" if bottlerocket else "the Lustre client, before the node joins"


def block_devices(template: NodeTemplate, hardware: Hardware, *, bottlerocket: bool) -> tuple[BlockDevice, ...]:
    """The EBS volumes of a node, that for container images last."""
    disk = template.disk
    accelerated = hardware is not Hardware.CPU
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


def disk_reason(template: NodeTemplate, hardware: Hardware) -> str:
    """Why the disk has its size."""
    if template.disk.size_gib is not None:
        return "size as the strategy says, device names as the image has them"
    return "accelerator images are large" if hardware is not Hardware.CPU else "room for images and logs"


def placement_group(
    template: NodeTemplate,
    cluster_name: str,
    why: Reasons,
    *,
    reserved: bool,
    supported: bool,
    source: str,
) -> str | None:
    """Name of the cluster placement group of a node, None without one; notes the reason, with its source."""
    field = "placement_group_name"
    name = aws_names.limited(cluster_name, template.name, limit=aws_names.PLACEMENT_GROUP, separator=SEPARATOR)
    if template.placement_group == "cluster":
        return why.strategy(field, name)
    if template.placement_group == "none":
        return why.strategy(field, None)
    if reserved:
        text = "a placement group that the reservation lacks leaves its capacity unused"
        page = "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3661"
        return why.rule(field, None, text, source=page)
    if not template.efa:
        return why.rule(field, None, "without EFA nothing needs nodes close together", source=source)
    if not supported:
        return why.catalogue(field, None, "the type cannot be in a cluster placement group", source=source)
    return why.rule(field, name, "EFA nodes are placed close together", source=source)
