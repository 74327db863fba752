"""What ``constructs/cluster`` makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eks_hardware.diff.inventory.iam import POD_TRUST, add_pod_identity, add_role
from eks_hardware.diff.inventory.network import NetworkIds
from eks_hardware.diff.inventory.resource import Inventory, Path, Reference
from eks_hardware.iam_policies.cluster import secrets_key_policy
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.resolve import ResolvedAccessEntry, ResolvedAddon, ResolvedCluster, ResolvedProvider

_HERE: Path = ("platform", "cluster")
_OWNER = "cluster"


@dataclass(frozen=True)
class ClusterIds:
    """What other resources refer to; the name is known before there is a cluster."""

    name: str
    resource: Path

    @property
    def security_group(self) -> Reference:
        """The group that EKS puts on every node."""
        return Reference(self.resource, "cluster_security_group_id")

    @property
    def details(self) -> tuple[Reference, ...]:
        """What goes into the user data of an own image."""
        return tuple(
            Reference(self.resource, each) for each in ("endpoint", "certificate_authority", "service_ipv4_cidr")
        )


def add_cluster(
    inventory: Inventory, cluster: ResolvedCluster, network: NetworkIds, provider: ResolvedProvider
) -> ClusterIds:
    """Add the control plane with its add-ons and access entries."""
    inventory.add(
        "aws_cloudwatch_log_group",
        (*_HERE, "log-group"),
        _OWNER,
        {
            "name": cluster.log_group_name,
            "retention_in_days": cluster.log_retention_days,
            "skip_destroy": cluster.log_group_kept,
        },
        name="of the control plane",
    )
    role = add_role(
        inventory,
        (*_HERE, "role"),
        _OWNER,
        name=cluster.role_name,
        provider=provider,
        trust=assumed_by_service("eks.amazonaws.com"),
        policy_arns=(f"arn:{cluster.partition}:iam::aws:policy/AmazonEKSClusterPolicy",),
        description=cluster.name,
    )
    key = _secrets_key(inventory, cluster, role.name)
    public = bool(cluster.public_cidrs)
    tier = cluster.control_plane_tier
    resource = inventory.add(
        "aws_eks_cluster",
        (*_HERE, "Resource"),
        _OWNER,
        {
            "role_arn": role.arn,
            "vpc_config.subnet_ids": tuple(network.control_plane.values()),
            "vpc_config.endpoint_public_access": public,
            "vpc_config.public_access_cidrs": tuple(sorted(cluster.public_cidrs)) if public else None,
            "encryption_config": key,
            "zonal_shift_config": True if cluster.zonal_shift else None,
            "control_plane_scaling_config.tier": tier if tier != "standard" else None,
            "enabled_cluster_log_types": tuple(sorted(cluster.log_types)),
        },
        of=cluster,
    )
    ids = ClusterIds(cluster.name, resource)
    for entry in cluster.access_entries:
        _access_entry(inventory, entry, ids)
    for addon in cluster.addons:
        _addon(inventory, addon, cluster, network, ids, provider)
    return ids


def _secrets_key(inventory: Inventory, cluster: ResolvedCluster, role_name: str) -> Any:
    """The key of Kubernetes secrets: a reference, an ARN, or None."""
    if not cluster.secrets_encrypted:
        return None
    key: Any = cluster.kms_key_arn
    if key is None:
        here = (*_HERE, "secrets-key")
        arguments = {
            "description": cluster.name,
            "policy": secrets_key_policy(partition=cluster.partition, account_id=""),
        }
        made = inventory.add("aws_kms_key", (*here, "Resource"), "cluster.secrets_encryption", arguments)
        inventory.add(
            "aws_kms_alias",
            (*here, "alias"),
            "cluster.secrets_encryption",
            {"target_key_id": Reference(made)},
            of=cluster,
        )
        key = Reference(made, "arn")
    policy = {"name": "secrets-encryption", "role": role_name, "policy": (key,)}
    inventory.add(
        "aws_iam_role_policy", (*_HERE, "secrets-key-use"), "cluster.secrets_encryption", policy, name="use of the key"
    )
    return key


def _access_entry(inventory: Inventory, entry: ResolvedAccessEntry, cluster: ClusterIds) -> None:
    owner = f"cluster.access_entries[{entry.key}]"
    common = {"cluster_name": cluster.name, "principal_arn": entry.principal_arn}
    groups = tuple(sorted(entry.kubernetes_groups)) or None
    inventory.add(
        "aws_eks_access_entry",
        (*_HERE, f"access-{entry.key}"),
        owner,
        {**common, "kubernetes_groups": groups, "type": "STANDARD"},
    )
    for policy_arn, namespaces in entry.policies:
        name = policy_arn.rpartition("/")[2]
        scope = {"policy_arn": policy_arn, "access_scope": tuple(sorted(namespaces))}
        path = (*_HERE, f"access-{entry.key}-{name}")
        inventory.add("aws_eks_access_policy_association", path, owner, {**common, **scope}, name=name)


def _addon(
    inventory: Inventory,
    addon: ResolvedAddon,
    cluster: ResolvedCluster,
    network: NetworkIds,
    ids: ClusterIds,
    provider: ResolvedProvider,
) -> None:
    here = (*_HERE, f"addon-{addon.name}")
    owner = f"cluster.addons.{addon.name}"
    configuration: Any = addon.configuration or None
    if addon.name == "vpc-cni" and cluster.custom_networking:
        configuration = (configuration, tuple(sorted(network.pod.items())), ids.security_group)
    inventory.add(
        "aws_eks_addon",
        (*here, "Resource"),
        owner,
        {"cluster_name": ids.name, "configuration_values": configuration},
        of=addon,
    )
    if addon.service_account is None or addon.role_name is None:
        return
    role = add_role(
        inventory,
        (*here, "role"),
        owner,
        name=addon.role_name,
        provider=provider,
        trust=POD_TRUST,
        policy_arns=addon.policy_arns,
        description=addon.name,
    )
    if addon.statements:
        policy = {"name": "storage", "role": role.name, "policy": addon.statements}
        inventory.add("aws_iam_role_policy", (*here, "policy"), owner, policy, name="storage")
    account = {"namespace": addon.namespace, "service_account": addon.service_account}
    add_pod_identity(inventory, (*here, "pod-identity"), owner, cluster_name=ids.name, role=role, of=account)
