"""Operating system, labels, taints and settings of a node, for node groups and node pools alike."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.data import Cited
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, NodeTemplate
from eks_hardware.resolve import user_data
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.values import ResolvedTaint
from eks_hardware.spellings import kubernetes_effect

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


def default_repair(group: NodeGroupSpec) -> Cited[bool]:
    """Return whether EKS repairs a group's nodes by default."""
    if group.reservation:
        return facts.choices.cite(lambda file: file["node_repair"]["in_reservations"])
    return facts.choices.cite(lambda file: file["node_repair"]["enabled"])


def system_settings(
    template: NodeTemplate, kind: InstanceType, *, bottlerocket: bool, max_pods: int | None, store: str
) -> dict[str, object]:
    """Return the spec of an AL2023 NodeConfig, or Bottlerocket settings; strategy settings override derived ones."""
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
