"""Policies for Karpenter's controller, split into managed policies, and for its interruption queue."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.iam_policies.document import ec2_service, one_or_many, policy, statements


def names() -> tuple[str, ...]:
    """Return the policies' keys, which are part of their Terraform addresses."""
    return tuple(facts.iam_policies()["karpenter"]["policies"])


def documents(
    *,
    cluster_name: str,
    region: str,
    partition: str,
    account_id: str,
    node_role_arn: str,
    queue_arn: str | None,
    volume_key_arns: Sequence[str] = (),
) -> dict[str, str]:
    """Return the policy documents by key; ``account_id`` and the ARNs may be Terraform references.

    Without a queue, there is no ``interruption`` policy. Without your own KMS keys, there is no ``volume-keys`` policy.
    """
    absent = {"interruption": queue_arn is None, "volume-keys": not volume_key_arns}
    return {
        key: policy(
            *statements(
                recorded,
                cluster=cluster_name,
                region=region,
                partition=partition,
                account=account_id,
                node_role=node_role_arn,
                queue=queue_arn or "",
                volume_keys=one_or_many(volume_key_arns),
                ec2=ec2_service(partition),
            )
        )
        for key, recorded in facts.iam_policies()["karpenter"]["policies"].items()
        if not absent.get(key)
    }


def queue_policy(*, queue_arn: str, rule_arns: Sequence[str]) -> str:
    """Return the queue's policy: EventBridge may send events for this cluster's rules, and TLS is required."""
    recorded = facts.iam_policies()["karpenter"]["queue"]
    return policy(*statements(recorded, queue=queue_arn, rules=list(rule_arns)))
