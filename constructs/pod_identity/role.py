"""An IAM role of a service account, through EKS Pod Identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware import facts
from eks_hardware._cdk import Construct, EksPodIdentityAssociation, IamPolicy, TerraformResource
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import IamSettings, Role, account_id
from eks_hardware.iam_policies.document import assumed_by_pods
from eks_hardware.iam_policies.service_roles import document
from eks_hardware.resolve import ServicePolicy, ServiceRole


class PodIdentityRole(Construct):
    """The IAM role of a chart's service account, with its own policies.

    Creates: ``aws_iam_role``, ``aws_iam_policy`` and ``aws_iam_role_policy_attachment`` for each policy,
    ``aws_eks_pod_identity_association``.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the role, from ``service_roles`` of ``eks_hardware.resolve.resolve_kubernetes``.
        cluster: cluster of the service account.
        region: AWS region.
        iam: path and permissions boundary of the role and its policies.

    Examples:
        >>> from eks_hardware.iam_policies.document import allow
        >>> read = allow("ReadModels", ["s3:GetObject"], ["arn:{partition}:s3:::models-{account}/*"])
        >>> models = PodIdentityRole.from_statements(
        ...     stack,
        ...     "models",
        ...     name="shared-models",
        ...     namespace="inference",
        ...     service_account="server",
        ...     statements=[read],
        ...     cluster=cluster,
        ...     region="us-west-2",
        ... )
        >>> len(models.ready)
        2
    """

    role: Role
    """The role, with its Terraform resource."""
    role_arn: str
    """ARN of the role (token)."""
    ready: tuple[TerraformResource, ...]
    """Make the chart depend on these, so that its pods have credentials from their start until they are deleted."""

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
        description = f"Service account {resolved.namespace}/{resolved.service_account}"
        self.role = role = Role(
            self,
            "role",
            name=resolved.role_name,
            description=description,
            assume_role_policy=assumed_by_pods(),
            settings=iam,
        )
        self.role_arn = role.role_arn
        for policy in resolved.policies:
            managed = IamPolicy(
                self,
                f"policy-{policy.key}",
                name=policy.name,
                path=iam.path,
                description=f"{description}: {policy.key}",
                policy=document(
                    policy.statements, partition=facts.partition(region), region=region, account_id=account_id(self)
                ),
            )
            role.attach(f"attach-{policy.key}", managed.arn)
        association = EksPodIdentityAssociation(
            self,
            "pod-identity",
            cluster_name=cluster.name,
            namespace=resolved.namespace,
            service_account=resolved.service_account,
            role_arn=role.role_arn,
            depends_on=list(role.permissions),
        )
        self.ready = (*role.permissions, association)

    @classmethod
    def from_statements(
        cls,
        scope: Construct,
        id_: str,
        *,
        name: str,
        namespace: str,
        service_account: str,
        statements: Sequence[Mapping[str, object]],
        cluster: ClusterRef,
        region: str,
        iam: IamSettings | None = None,
    ) -> PodIdentityRole:
        """Define the role of your own service account, with one policy.

        Args:
            name: name of the role and its policy, at most 64 characters.
            namespace: namespace of the service account.
            service_account: name of the service account; the chart creates it, without annotations.
            statements: policy statements (``eks_hardware.iam_policies.document.allow``); ``{partition}``, ``{region}``
                and ``{account}`` in them are replaced.
        """
        policy = ServicePolicy("permissions", name, tuple(statements))
        resolved = ServiceRole(
            key=id_,
            role_name=name,
            namespace=namespace,
            service_account=service_account,
            policies=(policy,),
            reasons={},
        )
        return cls(scope, id_, resolved=resolved, cluster=cluster, region=region, iam=iam)
