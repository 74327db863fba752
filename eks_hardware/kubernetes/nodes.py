"""Tolerations and selectors derived from a strategy's nodes, for groups and pools alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from eks_hardware.catalogue import Hardware
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedNodePool, ResolvedStrategy, ResolvedTaint
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES

Node = ResolvedNodeGroup | ResolvedNodePool

POOL_LABEL = "karpenter.sh/nodepool"
"""The label that Karpenter adds to a pool's nodes: https://karpenter.sh/docs/concepts/nodepools/."""
TYPE_LABEL = "node.kubernetes.io/instance-type"
# https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
_GROUP_LABEL = "eks.amazonaws.com/nodegroup"
ARCHITECTURE_LABEL = "kubernetes.io/arch"
_HARDWARE_LABELS = ("hardware-type", "accelerator", "workload-type")


def nodes(resolved: ResolvedStrategy) -> tuple[Node, ...]:
    """Return all node groups and node pools."""
    return (*resolved.node_groups, *resolved.node_pools)


def nodes_with(resolved: ResolvedStrategy, condition: Callable[[Node], bool]) -> tuple[Node, ...]:
    """Return the groups and pools that meet a condition."""
    return tuple(node for node in nodes(resolved) if condition(node))


def is_nvidia(node: Node) -> bool:
    """Return whether a node has NVIDIA GPUs."""
    return node.hardware is Hardware.NVIDIA_GPU


def is_nvidia_al2023(node: Node) -> bool:
    """Return whether a node has NVIDIA GPUs and needs a device plugin, which Bottlerocket's AMIs already include."""
    return is_nvidia(node) and node.ami_family == "al2023"


def is_neuron(node: Node) -> bool:
    """Return whether a node has Trainium or Inferentia devices."""
    return node.hardware.is_neuron


def has_efa(node: Node) -> bool:
    """Return whether a node has EFA interfaces."""
    return bool(node.efa_interfaces)


def name_label(node: Node) -> dict[str, str]:
    """Return the label that identifies the nodes of this group or pool."""
    return {_GROUP_LABEL if isinstance(node, ResolvedNodeGroup) else POOL_LABEL: node.name}


def selecting_labels(node: Node) -> dict[str, str]:
    """Return the labels by which jobs select hardware, which are also the labels of Kueue's flavors.

    Kueue compares a job's node selector only with a flavor's label keys. A flavor without ``kubernetes.io/arch``
    would accept a job for x86 and run it on Graviton. A job without these labels can get another hardware's flavor.
    """
    labels = {name: node.labels[name] for name in _HARDWARE_LABELS if name in node.labels}
    return {**labels, ARCHITECTURE_LABEL: KUBERNETES_ARCHITECTURES[node.architecture]}


def taint_object(taint: ResolvedTaint) -> dict[str, str]:
    """Return a taint as in a Kubernetes object."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def tolerations(of: Iterable[Node]) -> list[dict[str, str]]:
    """Return sorted tolerations for all taints of some groups and pools, without duplicates.

    The operator is ``Exists`` instead of ``Equal``: a team may change a taint's value on its nodes, and the device
    plugin must still run there (https://github.com/NVIDIA/k8s-device-plugin/issues/1934).
    """
    keys = sorted({(taint.key, taint.effect) for node in of for taint in node.taints})
    return [{"key": key, "operator": "Exists", "effect": each} for key, each in keys]


def label_selector(*alternatives: Mapping[str, str]) -> dict[str, object]:
    """Return a node affinity that requires all labels of at least one alternative."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": key, "operator": "In", "values": [value]} for key, value in sorted(labels.items())
                        ]
                    }
                    for labels in alternatives
                ]
            }
        }
    }
