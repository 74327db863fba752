"""An IAM role that a service account gets through EKS Pod Identity."""

from __future__ import annotations

from eks_hardware._cdk import Construct, EksPodIdentityAssociation, IamPolicy, TerraformResource
from eks_hardware.config import facts
from eks_hardware.config.policies.document import assumed_by_pods
from eks_hardware.config.policies.service_roles import document
from eks_hardware.config.resolve import ServiceRole
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import IamSettings, Role, account_id


class PodIdentityRole(Construct):
    """Defines the role of a chart's service account, with policies of its own.

    Creates: ``aws_iam_role``, ``aws_iam_policy`` and ``aws_iam_role_policy_attachment`` for each policy,
    ``aws_eks_pod_identity_association``.

    Args:
        resolved: the role.
        cluster: the cluster that the service account is on.
        region: AWS region.
        iam: path and permissions boundary of the role and its policies.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: ServiceRole,
        cluster: ClusterRef,
        region: str,
        iam: IamSettings | None = None,
    ) -> None:
        super().__init__(scope, id_)
        iam = iam or IamSettings()
        self._role = Role(
            self,
            "role",
            name=resolved.role_name,
            description=f"Service account {resolved.namespace}/{resolved.service_account}",
            assume_role_policy=assumed_by_pods(),
            settings=iam,
        )
        for each in resolved.policies:
            managed = IamPolicy(
                self,
                f"policy-{each.key}",
                name=each.name,
                path=iam.path,
                description=f"Service account {resolved.namespace}/{resolved.service_account}: {each.key}",
                policy=document(
                    each.statements, partition=facts.partition(region), region=region, account_id=account_id(self)
                ),
            )
            self._role.attach(f"attach-{each.key}", managed.arn)
        association = EksPodIdentityAssociation(
            self,
            "pod-identity",
            cluster_name=cluster.name,
            namespace=resolved.namespace,
            service_account=resolved.service_account,
            role_arn=self._role.role_arn,
            depends_on=list(self._role.permissions),
        )
        self._ready: tuple[TerraformResource, ...] = (*self._role.permissions, association)

    @property
    def role_arn(self) -> str:
        """ARN of the role (token)."""
        return self._role.role_arn

    @property
    def ready(self) -> tuple[TerraformResource, ...]:
        """What the chart waits for, so that its pods start with credentials and stop with them."""
        return self._ready
