"""The derivation of all values from a strategy; nothing is derived anywhere else."""

from eks_hardware.resolve.change import change
from eks_hardware.resolve.cluster import resolve_cluster
from eks_hardware.resolve.extended_resources import accelerator_resource, extended_resources_of
from eks_hardware.resolve.gpu_sharing import mig_profiles
from eks_hardware.resolve.karpenter import node_policy_arns, resolve_karpenter
from eks_hardware.resolve.kubernetes import resolve_kubernetes
from eks_hardware.resolve.model import (
    BlockDevice,
    CapacityTarget,
    ExistingSubnets,
    GpuShares,
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
    ResolvedSubnet,
    ResolvedTaint,
    SubnetRole,
)
from eks_hardware.resolve.model_kubernetes import (
    CapacityOverlay,
    DisruptionBudget,
    ReservationSelector,
    ResolvedBucket,
    ResolvedChart,
    ResolvedDisruption,
    ResolvedEfs,
    ResolvedFsxLustre,
    ResolvedKubernetes,
    ResolvedNodePool,
    ResolvedStorage,
    ResolvedTeam,
    ServicePolicy,
    ServiceRole,
)
from eks_hardware.resolve.network import has_pod_subnets, resolve_network
from eks_hardware.resolve.node import ami_family, pod_interfaces
from eks_hardware.resolve.node_fields import resolve_node_group, resolve_node_pool
from eks_hardware.resolve.pool_types import has_huge_pages, known_to_karpenter, pool_types
from eks_hardware.resolve.storage import resolve_storage
from eks_hardware.resolve.strategy import ResolvedStrategy, provider_floor, resolve

__all__ = [
    "BlockDevice",
    "CapacityOverlay",
    "CapacityTarget",
    "DisruptionBudget",
    "ExistingSubnets",
    "GpuShares",
    "InterruptionRule",
    "Origin",
    "Reason",
    "ReservationSelector",
    "Resolved",
    "ResolvedAccessEntry",
    "ResolvedAddon",
    "ResolvedBucket",
    "ResolvedChart",
    "ResolvedCluster",
    "ResolvedDisruption",
    "ResolvedEfs",
    "ResolvedFsxLustre",
    "ResolvedKarpenter",
    "ResolvedKubernetes",
    "ResolvedNetwork",
    "ResolvedNodeGroup",
    "ResolvedNodePool",
    "ResolvedProvider",
    "ResolvedStorage",
    "ResolvedStrategy",
    "ResolvedSubnet",
    "ResolvedTaint",
    "ResolvedTeam",
    "ServicePolicy",
    "ServiceRole",
    "SubnetRole",
    "accelerator_resource",
    "ami_family",
    "change",
    "extended_resources_of",
    "has_huge_pages",
    "has_pod_subnets",
    "known_to_karpenter",
    "mig_profiles",
    "node_policy_arns",
    "pod_interfaces",
    "pool_types",
    "provider_floor",
    "resolve",
    "resolve_cluster",
    "resolve_karpenter",
    "resolve_kubernetes",
    "resolve_network",
    "resolve_node_group",
    "resolve_node_pool",
    "resolve_storage",
]
