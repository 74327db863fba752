"""Administrator access to the cluster."""

from __future__ import annotations

from eks_hardware.models import ClusterSpec

ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


def administrators(cluster: ClusterSpec) -> frozenset[str]:
    """Return the ARNs of principals with administrator access to the whole cluster, excluding the cluster's creator."""
    by_entry = (
        entry.principal_arn
        for entry in cluster.access_entries
        if any(policy.policy == ADMIN_POLICY and not policy.namespaces for policy in entry.policies)
    )
    return frozenset((*cluster.admins, *by_entry))


def has_admin(cluster: ClusterSpec) -> bool:
    """Return whether any principal has administrator access to the cluster."""
    return cluster.creator_is_admin or bool(administrators(cluster))
