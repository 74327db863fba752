"""Administrator access to the cluster."""

from __future__ import annotations

from eks_hardware.models import ClusterSpec

ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


def has_admin(cluster: ClusterSpec) -> bool:
    """Return whether any principal has administrator access to the cluster."""
    by_entry = (each for entry in cluster.access_entries for each in entry.policies)
    return bool(
        cluster.admins
        or cluster.creator_is_admin
        or any(each.policy == ADMIN_POLICY and not each.namespaces for each in by_entry)
    )
