"""The KMS key of Kubernetes secrets."""

from __future__ import annotations

from eks_hardware._cdk import Construct, KmsAlias, KmsKey
from eks_hardware.constructs.iam import account_id
from eks_hardware.iam_policies.cluster import secrets_key_policy


class SecretsKey(Construct):
    """Defines a customer-managed key with a policy, an alias and yearly rotation.

    Creates: ``aws_kms_key``, ``aws_kms_alias``.

    Args:
        scope: the construct or stack that it belongs to.
        id_: its name there, part of the addresses.
        cluster_name: cluster whose secrets it encrypts, for the description.
        alias: name of the key, with ``alias/`` in front.
        partition: AWS partition, ``aws`` but for GovCloud and China.
        deletion_days: how long a deleted key can be called back, 7 to 30 days.

    Examples:
        >>> key = SecretsKey(stack, "secrets", cluster_name="shared", alias="alias/shared-secrets", partition="aws")
        >>> key.resource.add_override("multi_region", True)
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
        self._key = KmsKey(
            self,
            "Resource",
            description=f"Kubernetes secrets of the EKS cluster {cluster_name}",
            enable_key_rotation=True,
            deletion_window_in_days=deletion_days,
            policy=secrets_key_policy(partition=partition, account_id=account_id(self)),
        )
        KmsAlias(self, "alias", name=alias, target_key_id=self._key.key_id)

    @property
    def resource(self) -> KmsKey:
        """The Terraform resource, to depend on or to override."""
        return self._key

    @property
    def key_arn(self) -> str:
        """ARN of the key (token)."""
        return self._key.arn
