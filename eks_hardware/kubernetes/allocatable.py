"""CPU and memory that pods, including daemonsets, can use on a node.

Karpenter computes the same amounts before a node exists, so a pod that fits here gets a node. Each AMI reserves CPU and
memory for the kubelet and the container runtime by its own formulas, and part of the memory never reaches the guest.

Sources:

- AL2023: https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go
  (``withDefaultReservedResources``) and ``eni_max_pods.go`` (the number of pods in these formulas)
- Bottlerocket: https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/api/schnauzer/src/helpers/mod.rs
  (``kube_reserve_cpu``, ``kube_reserve_memory``)
- reserved memory: config/facts/memory.json (``host``)
- memory that never reaches the guest: config/facts/karpenter.json (``settings``, ``memory``)
- huge pages of nodes with EFA: config/facts/eks.json (``efa_huge_pages``)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.kubernetes.nodes import Node
from eks_hardware.resolve import ResolvedNodePool
from eks_hardware.resolve.huge_pages import HugePages, huge_pages
from eks_hardware.resolve.reserved import assumed_pods, kube_reserved, memory_of_guest
from eks_hardware.units import GIB, MIB, amount

# The kubelet's default for maxPods, used only for types whose number of pods is unknown.
DEFAULT_PODS = 110


def allocatable(node: Node, kind: InstanceType) -> dict[str, Fraction]:
    """Return the CPUs and the bytes of memory that pods can use on one node of a group or pool."""
    al2023 = node.ami_family == "al2023"
    kube, system = _reserved(node, "kube"), _reserved(node, "system")
    pods = (assumed_pods(kind) if al2023 else None) or node.max_pods or DEFAULT_PODS
    kube = {**kube_reserved(kind.vcpus, pods), **kube}
    memory = kube["memory"] + facts.memory()["host"]["eviction_mib"] * MIB
    memory += efa_huge_pages(node, kind).taken_mib * MIB
    whole = memory_of_guest(Fraction(kind.memory_gib) * GIB, arm64=kind.architecture == "arm64")
    return {
        "cpu": kind.vcpus - kube["cpu"] - system.get("cpu", 0),
        "memory": max(whole - memory - system.get("memory", 0), Fraction(0)),
    }


def efa_huge_pages(node: Node, kind: InstanceType) -> HugePages:
    """Return the huge pages that one node of a group or pool reserves; none without EFA."""
    if not node.efa_count:
        return HugePages(0, 0)
    return huge_pages(kind, ami_family=node.ami_family, own_image=bool(node.image_id), settings=node.user_data)


def _reserved(node: Node, what: str) -> dict[str, Fraction]:
    """Return the amounts that the strategy reserves for ``kube`` or ``system``, by resource."""
    reserved: Mapping[str, Any]
    if isinstance(node, ResolvedNodePool):
        reserved = node.kubelet.get(f"{what}Reserved", {})
    elif node.ami_family == "al2023":
        reserved = node.user_data.get("kubelet", {}).get("config", {}).get(f"{what}Reserved", {})
    else:
        reserved = node.user_data.get("kubernetes", {}).get(f"{what}-reserved", {})
    return {name: amount(value) for name, value in reserved.items() if name in ("cpu", "memory")}
