"""From a strategy to everything that follows from it: the one place where anything is derived."""

from eks_hardware.config.resolve.cluster import resolve_cluster
from eks_hardware.config.resolve.karpenter import node_policy_arns, resolve_karpenter
from eks_hardware.config.resolve.model import (
    BlockDevice,
    CapacityTarget,
    ExistingSubnets,
    InterruptionRule,
    Origin,
    Reason,
    Resolved,
    ResolvedAccessEntry,
    ResolvedAddon,
    ResolvedCluster,
    ResolvedKarpenter,
    ResolvedNetwork,
    ResolvedNodeGroup,
    ResolvedProvider,
    ResolvedStrategy,
    ResolvedSubnet,
    ResolvedTaint,
    SubnetRole,
)
from eks_hardware.config.resolve.network import has_pod_subnets, resolve_network
from eks_hardware.config.resolve.node_groups import pod_interfaces, resolve_node_group
from eks_hardware.config.resolve.strategy import provider_floor, resolve

__all__ = [
    "BlockDevice",
    "CapacityTarget",
    "ExistingSubnets",
    "InterruptionRule",
    "Origin",
    "Reason",
    "Resolved",
    "ResolvedAccessEntry",
    "ResolvedAddon",
    "ResolvedCluster",
    "ResolvedKarpenter",
    "ResolvedNetwork",
    "ResolvedNodeGroup",
    "ResolvedProvider",
    "ResolvedStrategy",
    "ResolvedSubnet",
    "ResolvedTaint",
    "SubnetRole",
    "has_pod_subnets",
    "node_policy_arns",
    "pod_interfaces",
    "provider_floor",
    "resolve",
    "resolve_cluster",
    "resolve_karpenter",
    "resolve_network",
    "resolve_node_group",
]
