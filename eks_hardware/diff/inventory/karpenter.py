"""What ``constructs/karpenter`` and ``constructs/pod_identity`` make."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware.diff.inventory.cluster import ClusterIds
from eks_hardware.diff.inventory.iam import ACCOUNT, POD_TRUST, add_pod_identity, add_policy, add_role, attach
from eks_hardware.diff.inventory.resource import Inventory, Path, Reference
from eks_hardware.iam_policies import karpenter as policies
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.resolve import (
    ResolvedKarpenter,
    ResolvedNodePool,
    ResolvedProvider,
    ResolvedStrategy,
    ServiceRole,
)

_HERE: Path = ("platform", "karpenter")
_OWNER = "karpenter"


def add_karpenter(
    inventory: Inventory, resolved: ResolvedStrategy, karpenter: ResolvedKarpenter, cluster: ClusterIds
) -> None:
    """Add Karpenter's AWS side."""
    provider = resolved.provider
    queue = _queue(inventory, karpenter, resolved.partition, resolved.region) if karpenter.queue_name else None
    nodes = add_role(
        inventory,
        (*_HERE, "node-role"),
        _OWNER,
        name=karpenter.node_role_name,
        provider=provider,
        trust=assumed_by_service("ec2.amazonaws.com"),
        policy_arns=karpenter.node_policy_arns,
        description=cluster.name,
    )
    access = {"cluster_name": cluster.name, "principal_arn": nodes.arn, "type": "EC2_LINUX"}
    inventory.add("aws_eks_access_entry", (*_HERE, "node-access"), _OWNER, access, name="of its nodes")
    if karpenter.instance_profile_name:
        profile = {"name": karpenter.instance_profile_name, "path": provider.iam_path, "role": nodes.name}
        inventory.add("aws_iam_instance_profile", (*_HERE, "instance-profile"), _OWNER, profile, name="of its nodes")
    controller = add_role(
        inventory,
        (*_HERE, "controller-role"),
        _OWNER,
        name=karpenter.controller_role_name,
        provider=provider,
        trust=POD_TRUST,
        description=cluster.name,
    )
    documents = policies.documents(
        cluster_name=cluster.name,
        region=resolved.region,
        partition=resolved.partition,
        account_id=ACCOUNT,
        node_role_arn="${node-role}",
        queue_arn="${queue}" if queue else None,
        volume_key_arns=karpenter.volume_key_arns,
    )
    marks = {"${node-role}": nodes.arn, "${queue}": Reference(queue, "arn") if queue else None}
    for key, document in documents.items():
        policy_arn = add_policy(
            inventory,
            (*_HERE, f"policy-{key}"),
            _OWNER,
            name=karpenter.policy_names[key],
            provider=provider,
            document=(document, *(reference for mark, reference in marks.items() if mark in document)),
            description=f"{cluster.name}: {key}",
        )
        attach(inventory, controller, f"attach-{key}", policy_arn, _OWNER)
    account = {"namespace": karpenter.namespace, "service_account": karpenter.service_account}
    add_pod_identity(
        inventory, (*_HERE, "pod-identity"), _OWNER, cluster_name=cluster.name, role=controller, of=account
    )
    tag = {"resource_id": cluster.security_group, "key": "karpenter.sh/discovery", "value": cluster.name}
    inventory.add("aws_ec2_tag", (*_HERE, "discovery-tag"), _OWNER, tag, name="of the cluster security group")
    _placement_groups(inventory, resolved.node_pools)


def _placement_groups(inventory: Inventory, pools: Sequence[ResolvedNodePool]) -> None:
    for pool in pools:
        if pool.placement_group_name:
            path = (*_HERE, f"placement-group-{pool.name}")
            owner = f"karpenter.node_pools[{pool.name}]"
            inventory.add("aws_placement_group", path, owner, {"strategy": "cluster"}, of=pool)


def _queue(inventory: Inventory, karpenter: ResolvedKarpenter, partition: str, region: str) -> Path:
    queue = inventory.add("aws_sqs_queue", (*_HERE, "queue"), _OWNER, of=karpenter)
    for rule in karpenter.rules:
        pattern = {"name": rule.name, "event_pattern": (rule.source, rule.detail_type)}
        inventory.add("aws_cloudwatch_event_rule", (*_HERE, f"rule-{rule.key}"), _OWNER, pattern, name=rule.key)
        target = {"rule": rule.name, "arn": Reference(queue, "arn")}
        inventory.add("aws_cloudwatch_event_target", (*_HERE, f"target-{rule.key}"), _OWNER, target, name=rule.key)
    arns = tuple(f"{partition}:{region}:{rule.name}" for rule in karpenter.rules)
    policy = {"queue_url": Reference(queue, "url"), "policy": (*arns, Reference(queue, "arn"))}
    inventory.add("aws_sqs_queue_policy", (*_HERE, "queue-policy"), _OWNER, policy)
    return queue


def add_service_role(inventory: Inventory, role: ServiceRole, cluster: ClusterIds, provider: ResolvedProvider) -> None:
    """Add the role of a chart's service account."""
    here = ("platform", f"service-role-{role.key}")
    owner = f"kubernetes.charts.{role.key}"
    made = add_role(
        inventory,
        (*here, "role"),
        owner,
        name=role.role_name,
        provider=provider,
        trust=POD_TRUST,
        description=f"{role.namespace}/{role.service_account}",
    )
    for each in role.policies:
        policy_arn = add_policy(
            inventory,
            (*here, f"policy-{each.key}"),
            owner,
            name=each.name,
            provider=provider,
            document=each.statements,
            description=f"{role.namespace}/{role.service_account}: {each.key}",
        )
        attach(inventory, made, f"attach-{each.key}", policy_arn, owner)
    account = {"namespace": role.namespace, "service_account": role.service_account}
    add_pod_identity(inventory, (*here, "pod-identity"), owner, cluster_name=cluster.name, role=made, of=account)
