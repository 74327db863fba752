"""Policies of the key of Kubernetes secrets."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.iam_policies.document import policy, statements


def secrets_key_policy(*, partition: str, account_id: str) -> str:
    """Key policy that hands the key's use and administration to the account's IAM policies."""
    recorded = facts.iam_policies()["secrets_key"]["policies"]["key"]
    return policy(*statements(recorded, partition=partition, account=account_id))


def use_of_secrets_key(key_arn: str) -> str:
    """What the cluster's role needs of the key."""
    return policy(*statements(facts.iam_policies()["secrets_key"]["policies"]["role"], key=key_arn))
