"""Resolve ``karpenter``: roles, policies, interruption queue and rules of its AWS side."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from eks_hardware import aws_names
from eks_hardware.iam_policies import karpenter as policies
from eks_hardware.models import KarpenterSpec
from eks_hardware.resolve.model import InterruptionRule, Reasons, ResolvedKarpenter

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""What a node's own role needs. The VPC CNI has a Pod Identity role, so AmazonEKS_CNI_Policy is not among them.

Source: https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
"""

# The events of Karpenter's reference template:
# https://karpenter.sh/docs/reference/cloudformation/#interruption-handling
_EVENTS = (
    ("health-event", "aws.health", "AWS Health Event"),
    ("spot-interruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("state-change", "aws.ec2", "EC2 Instance State-change Notification"),
    ("reservation-interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
)


def node_policy_arns(partition: str) -> tuple[str, ...]:
    """ARNs of the managed policies of a node's role."""
    return tuple(f"arn:{partition}:iam::aws:policy/{name}" for name in NODE_POLICIES)


def resolve_karpenter(
    karpenter: KarpenterSpec, *, cluster_name: str, region: str, partition: str, private: bool = False
) -> ResolvedKarpenter:
    """Derive Karpenter's AWS side; ``private`` is a network without a way to the internet."""
    why = Reasons()
    given = karpenter.model_fields_set
    queue = (
        aws_names.limited(cluster_name, "karpenter", limit=aws_names.SQS_QUEUE)
        if karpenter.interruption_queue
        else None
    )
    keys = tuple(dict.fromkeys(pool.disk.kms_key_arn for pool in karpenter.node_pools if pool.disk.kms_key_arn))
    unneeded = {*(() if queue else ("interruption",)), *(() if keys else ("volume-keys",))}
    return ResolvedKarpenter(
        namespace=why.given(
            "namespace",
            karpenter.namespace,
            when="namespace" in given,
            otherwise="kube-system, as Karpenter advises",
        ),
        service_account=why.given(
            "service_account",
            karpenter.service_account,
            when="service_account" in given,
            otherwise="the chart's default",
        ),
        controller_role_name=why.rule(
            "controller_role_name",
            aws_names.limited(cluster_name, region, "karpenter-controller", limit=aws_names.IAM_ROLE),
            "cluster, region and purpose, at most 64 characters",
        ),
        policy_names=why.rule(
            "policy_names",
            MappingProxyType(
                {
                    key: aws_names.limited(cluster_name, region, f"karpenter-{key}", limit=aws_names.IAM_POLICY)
                    for key in policies.KEYS
                    if key not in unneeded
                }
            ),
            "split as Karpenter splits them: one policy would pass 6,144 characters with a long cluster name",
        ),
        node_role_name=why.rule(
            "node_role_name",
            aws_names.limited(cluster_name, region, "karpenter-node", limit=aws_names.IAM_ROLE),
            "cluster, region and purpose, at most 64 characters",
        ),
        node_policy_arns=why.rule(
            "node_policy_arns",
            tuple(dict.fromkeys((*node_policy_arns(partition), *karpenter.node_policies))),
            "join the cluster, pull images, Systems Manager session; and the strategy's own",
            source="https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html",
        ),
        instance_profile_name=why.rule(
            "instance_profile_name",
            aws_names.limited(cluster_name, region, "karpenter-node", limit=aws_names.INSTANCE_PROFILE)
            if private
            else None,
            "IAM has no endpoint in a VPC, so that Karpenter cannot make one itself"
            if private
            else "Karpenter makes one for each EC2NodeClass",
        ),
        queue_name=why.given(
            "queue_name",
            queue,
            when="interruption_queue" in given,
            otherwise="nodes are drained before an interruption",
        ),
        rules=why.rule(
            "rules",
            tuple(_rules(cluster_name)) if queue else (),
            "the five events that Karpenter acts on",
            source="https://karpenter.sh/docs/reference/cloudformation/#interruption-handling",
        ),
        volume_key_arns=why.rule(
            "volume_key_arns",
            keys,
            "Karpenter launches nodes in its own name, so that it needs the use of their volumes' keys"
            if keys
            else "no node pool has a key of its own",
        ),
        reasons=why.frozen(),
    )


def _rules(cluster_name: str) -> Iterator[InterruptionRule]:
    for key, source, detail_type in _EVENTS:
        name = aws_names.limited(cluster_name, f"karpenter-{key}", limit=aws_names.EVENT_RULE)
        yield InterruptionRule(key, name, source, detail_type)
