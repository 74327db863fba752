"""The KMS key for Kubernetes secrets."""

from __future__ import annotations

from eks_hardware._cdk import Construct, KmsAlias, KmsKey
from eks_hardware.constructs.iam import account_id
from eks_hardware.iam_policies.secrets_key import secrets_key_policy


class SecretsKey(Construct):
    """A customer managed key with a policy, an alias and yearly rotation; a deleted key can be restored for 30 days.

    Creates: ``aws_kms_key``, ``aws_kms_alias``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        cluster_name: cluster whose secrets the key encrypts, for the description.
        alias: alias of the key, with the prefix ``alias/``.
        partition: AWS partition: ``aws``, ``aws-us-gov`` or ``aws-cn``.

    Examples:
        >>> key = SecretsKey(stack, "secrets", cluster_name="shared", alias="alias/shared-secrets", partition="aws")
        >>> key.resource.add_override("multi_region", True)
    """

    resource: KmsKey
    """The Terraform resource, to depend on or to override."""
    key_arn: str
    """ARN of the key (token)."""

    def __init__(self, scope: Construct, id_: str, *, cluster_name: str, alias: str, partition: str) -> None:
        super().__init__(scope, id_)
        self.resource = KmsKey(
            self,
            "Resource",
            description=f"Kubernetes secrets of the EKS cluster {cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            policy=secrets_key_policy(partition=partition, account_id=account_id(self)),
        )
        self.key_arn = self.resource.arn
        KmsAlias(self, "alias", name=alias, target_key_id=self.resource.key_id)
