"""Tolerations and selectors that follow from the nodes of a strategy: groups and pools seen alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from eks_hardware.catalogue import Hardware
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedNodePool, ResolvedStrategy, ResolvedTaint
from eks_hardware.spellings import kubernetes_effect

Node = ResolvedNodeGroup | ResolvedNodePool


def nodes(resolved: ResolvedStrategy) -> tuple[Node, ...]:
    """Every node group and node pool."""
    return (*resolved.node_groups, *resolved.node_pools)


def nodes_with(resolved: ResolvedStrategy, condition: Callable[[Node], bool]) -> tuple[Node, ...]:
    """The groups and pools that meet a condition."""
    return tuple(node for node in nodes(resolved) if condition(node))


def is_nvidia(node: Node) -> bool:
    return node.hardware is Hardware.NVIDIA_GPU


def is_nvidia_al2023(node: Node) -> bool:
    """Whether a node has NVIDIA GPUs and needs a device plugin: Bottlerocket's images bring one."""
    return is_nvidia(node) and node.ami_family == "al2023"


def is_neuron(node: Node) -> bool:
    return node.hardware.is_neuron


def has_efa(node: Node) -> bool:
    return bool(node.efa_interfaces)


def taint_object(taint: ResolvedTaint) -> dict[str, str]:
    """A taint as a Kubernetes object has it."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": kubernetes_effect(taint.effect)}


def tolerations(of: Iterable[Node]) -> list[dict[str, str]]:
    """Tolerations of every taint of some groups and pools, each once, sorted.

    ``Exists`` and not ``Equal``: a value that a team changes on its nodes must not turn its device plugin away
    (https://github.com/NVIDIA/k8s-device-plugin/issues/1934).
    """
    keys = sorted({(taint.key, kubernetes_effect(taint.effect)) for node in of for taint in node.taints})
    return [{"key": key, "operator": "Exists", "effect": each} for key, each in keys]


def label_selector(*alternatives: Mapping[str, str]) -> dict[str, Any]:
    """A node affinity that requires the labels of one of the alternatives."""
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
