"""The derivation of all values from a strategy; nothing is derived anywhere else.

Names are imported on first use: rules share a few functions with the derivation, and need none of its classes.
"""

from typing import TYPE_CHECKING

from eks_hardware._lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from eks_hardware.resolve.change import change
    from eks_hardware.resolve.cluster import resolve_cluster
    from eks_hardware.resolve.extended_resources import accelerator_resource, extended_resources_of
    from eks_hardware.resolve.gpu_sharing import mig_profiles
    from eks_hardware.resolve.karpenter import resolve_karpenter
    from eks_hardware.resolve.kubernetes import resolve_kubernetes
    from eks_hardware.resolve.max_pods import pod_interfaces
    from eks_hardware.resolve.model import (
        CapacityTarget,
        ExistingSubnets,
        InterruptionRule,
        ResolvedAccessEntry,
        ResolvedAddon,
        ResolvedCluster,
        ResolvedKarpenter,
        ResolvedNetwork,
        ResolvedNodeGroup,
        ResolvedNodes,
        ResolvedProvider,
        ResolvedSubnet,
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
    from eks_hardware.resolve.network import resolve_network
    from eks_hardware.resolve.node import ami_family
    from eks_hardware.resolve.node_fields import resolve_node_group, resolve_node_pool
    from eks_hardware.resolve.node_role import node_policy_arns
    from eks_hardware.resolve.pool_types import has_huge_pages, known_to_karpenter
    from eks_hardware.resolve.provider_versions import provider_floor
    from eks_hardware.resolve.storage import resolve_storage
    from eks_hardware.resolve.strategy import ResolvedStrategy, resolve
    from eks_hardware.resolve.values import BlockDevice, GpuShares, Origin, Reason, Resolved, ResolvedTaint, SubnetRole
    from eks_hardware.resolve.vpc import has_pod_subnets

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
    "ResolvedNodes",
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

_MODULES = {
    "change": "change",
    "cluster": "resolve_cluster",
    "extended_resources": "accelerator_resource extended_resources_of",
    "gpu_sharing": "mig_profiles",
    "karpenter": "resolve_karpenter",
    "kubernetes": "resolve_kubernetes",
    "max_pods": "pod_interfaces",
    "model": (
        "CapacityTarget ExistingSubnets InterruptionRule ResolvedAccessEntry ResolvedAddon ResolvedCluster "
        "ResolvedKarpenter ResolvedNetwork ResolvedNodeGroup ResolvedNodes ResolvedProvider ResolvedSubnet"
    ),
    "model_kubernetes": (
        "CapacityOverlay DisruptionBudget ReservationSelector ResolvedBucket ResolvedChart ResolvedDisruption "
        "ResolvedEfs ResolvedFsxLustre ResolvedKubernetes ResolvedNodePool ResolvedStorage ResolvedTeam "
        "ServicePolicy ServiceRole"
    ),
    "network": "resolve_network",
    "node": "ami_family",
    "node_fields": "resolve_node_group resolve_node_pool",
    "node_role": "node_policy_arns",
    "pool_types": "has_huge_pages known_to_karpenter",
    "provider_versions": "provider_floor",
    "storage": "resolve_storage",
    "strategy": "ResolvedStrategy resolve",
    "values": "BlockDevice GpuShares Origin Reason Resolved ResolvedTaint SubnetRole",
    "vpc": "has_pod_subnets",
}
# Otherwise type checkers accept every name.
if not TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(__name__, _MODULES)
