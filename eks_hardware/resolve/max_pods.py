"""The maximum number of pods on a node, from the addresses of its network interfaces and EKS's recommendation."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType, address_count
from eks_hardware.models import NodeTemplate

HOST_PODS = 2
"""Pods of every node that use the node's own address: the CNI's and kube-proxy's."""


def pod_interfaces(kind: InstanceType, *, efa: bool, custom_networking: bool) -> int | None:
    """Return how many interfaces of the first network card provide pod addresses; None if unknown.

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
    """Return how many pods a node can run with its addresses and prefix delegation, with HOST_PODS; None if unknown."""
    interfaces = pod_interfaces(kind, efa=efa, custom_networking=custom_networking)
    if interfaces is None or not kind.ipv4_per_interface:
        return None
    return interfaces * (kind.ipv4_per_interface - 1) * addresses_per_slot(kind) + HOST_PODS


def fewest_addresses(
    template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool
) -> tuple[InstanceType, int] | None:
    """Return the type with the fewest pods by its addresses, and their number; None if no type's number is known."""
    known = [
        (kind, addresses)
        for kind in types
        if (addresses := pod_addresses(kind, efa=template.efa, custom_networking=custom_networking)) is not None
    ]
    return min(known, key=lambda pod: pod[1], default=None)


def addresses_per_slot(kind: InstanceType) -> int:
    """Return the addresses for pods in one slot of an interface: a prefix, or one address without the Nitro System.

    The VPC CNI ignores prefix delegation on other types:
    https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
    """
    per_prefix: int = facts.eks()["max_pods"]["addresses_per_prefix"]
    return per_prefix if kind.nitro else 1


def delegation(kind: InstanceType) -> str:
    """Return whether a type's addresses come in prefixes, as explanations and messages say it."""
    return "with prefix delegation" if kind.nitro else "without prefix delegation, which requires a Nitro type"


def recommended_pods(kind: InstanceType) -> int:
    """Return the maximum number of pods that EKS recommends for a node, regardless of its addresses."""
    limits = facts.eks()["max_pods"]
    most: int = limits["small"] if kind.vcpus < limits["small_vcpus_below"] else limits["large"]
    return most


def pods_per_node(template: NodeTemplate, types: Sequence[InstanceType], *, custom_networking: bool) -> int | None:
    """Return a node's maximum number of pods: the strategy's, otherwise the lowest of the group's types.

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
