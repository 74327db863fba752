"""Permissions of Karpenter's controller, split into managed policies, and those of its interruption queue."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware import facts
from eks_hardware.iam_policies.document import one_or_many, policy, statements


def names() -> tuple[str, ...]:
    """The policies, by the key that is part of their Terraform address."""
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
    """The policy documents by key; ``account_id`` and the ARNs may be Terraform references.

    Without a queue there is no ``interruption`` policy, without keys of the user's no ``volume-keys``.
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
                ec2="ec2.amazonaws.com.cn" if partition == "aws-cn" else "ec2.amazonaws.com",
            )
        )
        for key, recorded in facts.iam_policies()["karpenter"]["policies"].items()
        if not absent.get(key)
    }


def queue_policy(*, queue_arn: str, rule_arns: Sequence[str]) -> str:
    """Who may use the interruption queue: EventBridge for this cluster's rules, and nobody without TLS."""
    recorded = facts.iam_policies()["karpenter"]["queue"]
    return policy(*statements(recorded, queue=queue_arn, rules=list(rule_arns)))
