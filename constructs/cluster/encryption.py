"""The KMS key of Kubernetes secrets."""

from __future__ import annotations

from eks_hardware._cdk import Construct, KmsAlias, KmsKey
from eks_hardware.config.policies.cluster import secrets_key_policy
from eks_hardware.constructs.iam import account_id


class SecretsKey(Construct):
    """Defines a customer-managed key with a policy, an alias and yearly rotation.

    Creates: ``aws_kms_key``, ``aws_kms_alias``.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        cluster_name: str,
        alias: str,
        partition: str,
        deletion_days: int = 30,
    ) -> None:
        super().__init__(scope, id_)
        key = KmsKey(
            self,
            "Resource",
            description=f"Kubernetes secrets of the EKS cluster {cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=deletion_days,
            policy=secrets_key_policy(partition=partition, account_id=account_id(self)),
        )
        KmsAlias(self, "alias", name=alias, target_key_id=key.key_id)
        self._arn = key.arn

    @property
    def key_arn(self) -> str:
        """ARN of the key (token)."""
        return self._arn
