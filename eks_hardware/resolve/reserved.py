"""CPU and memory that an EKS image withholds from pods by default: see :mod:`eks_hardware.kubernetes.allocatable`."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType
from eks_hardware.units import MIB

# Number of cores, and what is reserved of each: 6% of the first, 1% of the second, ...
_CPU_STEPS = ((1, Fraction(60)), (2, Fraction(10)), (4, Fraction(5)), (1 << 16, Fraction(5, 2)))


def kube_reserved(vcpus: int, pods: int) -> dict[str, Fraction]:
    """Return the CPUs and bytes of memory that both images reserve for the kubelet and the runtime by default."""
    host = facts.memory()["host"]
    memory = (host["reserved_mib"] + host["reserved_mib_per_pod"] * pods) * MIB
    return {"cpu": Fraction(_millicores(vcpus), 1000), "memory": Fraction(memory)}


def memory_of_guest(memory: Fraction, *, arm64: bool) -> Fraction:
    """Return the bytes of an instance's memory that its operating system sees, by Karpenter's assumption."""
    karpenter = facts.karpenter()
    if arm64:
        memory -= karpenter["memory"]["reserved_mib_arm64"] * MIB
    return memory * _share_of_guest(karpenter["settings"]["defaults"]["vmMemoryOverheadPercent"])


@cache
def _share_of_guest(overhead: float) -> Fraction:
    return 1 - Fraction(str(overhead))


def pods_with_addresses(interfaces: int, ipv4_per_interface: int) -> int:
    """Return the number of pods that AL2023 and Bottlerocket assume: without prefix delegation."""
    return interfaces * (ipv4_per_interface - 1) + 2


def assumed_pods(kind: InstanceType) -> int | None:
    """Return the pods that AL2023 assumes: the number without prefix delegation, regardless of ``maxPods``."""
    interfaces = kind.network_cards[0].max_interfaces if kind.network_cards else None
    if interfaces is None or not kind.ipv4_per_interface:
        return None
    return pods_with_addresses(interfaces, kind.ipv4_per_interface)


def _millicores(vcpus: int) -> int:
    kept, below = Fraction(0), 0
    for upto, each in _CPU_STEPS:
        kept += max(min(vcpus, upto) - below, 0) * each
        below = upto
    return math.floor(kept)
