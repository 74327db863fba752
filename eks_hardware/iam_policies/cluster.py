"""Policies of the control plane."""

from __future__ import annotations

from eks_hardware.iam_policies.document import allow, policy

# Spelled out instead of kms:*, so that a review sees what the account may do with the key.
# https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
_ADMINISTRATION = (
    "kms:CancelKeyDeletion",
    "kms:CreateAlias",
    "kms:CreateGrant",
    "kms:DeleteAlias",
    "kms:DescribeKey",
    "kms:DisableKey",
    "kms:DisableKeyRotation",
    "kms:EnableKey",
    "kms:EnableKeyRotation",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListAliases",
    "kms:ListGrants",
    "kms:ListKeyPolicies",
    "kms:ListResourceTags",
    "kms:PutKeyPolicy",
    "kms:RevokeGrant",
    "kms:ScheduleKeyDeletion",
    "kms:TagResource",
    "kms:UntagResource",
    "kms:UpdateAlias",
    "kms:UpdateKeyDescription",
)

_USE = ("kms:Decrypt", "kms:Encrypt")


def secrets_key_policy(*, partition: str, account_id: str) -> str:
    """Key policy that hands the key's use and administration to the account's IAM policies.

    In a key policy the resource ``*`` means the key itself.
    """
    statement = allow("AccountThroughIam", sorted((*_ADMINISTRATION, *_USE)), ["*"])
    statement["Principal"] = {"AWS": f"arn:{partition}:iam::{account_id}:root"}
    return policy(statement)


def use_of_secrets_key(key_arn: str) -> str:
    """What the cluster's role needs of the key.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html
    """
    actions = ["kms:Encrypt", "kms:Decrypt", "kms:ListGrants", "kms:DescribeKey"]
    return policy(allow("SecretsEncryption", actions, [key_arn]))
