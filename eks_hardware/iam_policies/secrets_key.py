"""Policies for the KMS key that encrypts Kubernetes secrets."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.iam_policies.document import policy, statements


def secrets_key_policy(*, partition: str, account_id: str) -> str:
    """Return a key policy that delegates use and administration of the key to the account's IAM policies."""
    recorded = facts.iam_policies()["secrets_key"]["policies"]["key"]
    return policy(*statements(recorded, partition=partition, account=account_id))


def use_of_secrets_key(key_arn: str) -> str:
    """Return the cluster role's permissions for the key."""
    return policy(*statements(facts.iam_policies()["secrets_key"]["policies"]["role"], key=key_arn))
