"""``cluster``: the EKS control plane and its add-ons."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from eks_hardware import facts
from eks_hardware.models.base import (
    Cidr,
    IamPrincipalArn,
    JsonObject,
    KmsKeyArn,
    KubernetesMinor,
    Name,
    StrategyModel,
    Text,
    invalid,
    refuse_second,
    refuse_second_name,
)
from eks_hardware.models.text_patterns import pattern

LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]

# CloudWatch Logs accepts only these:
# https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
RetentionDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]

AddonName = Literal[
    "amazon-cloudwatch-observability",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
    "aws-mountpoint-s3-csi-driver",
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "metrics-server",
    "snapshot-controller",
    "vpc-cni",
]


class Endpoint(StrategyModel):
    """Access to the Kubernetes API from outside the VPC. The private endpoint is always on.

    Examples:
        >>> Endpoint(public_cidrs=["93.184.216.34/32"]).public_cidrs
        ('93.184.216.34/32',)
    """

    public_cidrs: tuple[Cidr, ...] = Field(
        default=tuple(facts.choices()["public_endpoint"]["cidrs"]),
        description="IPv4 networks with access to the public endpoint; an empty list turns the public endpoint off. "
        "To allow everyone, list 0.0.0.0/0.",
    )


def _not_of_the_system(value: str) -> str:
    # EKS rejects them: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
    if value.startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
        raise invalid(
            "access_group_reserved",
            "must not start with a prefix that EKS reserves",
            fix="use the policy AmazonEKSClusterAdminPolicy instead of system:masters",
        )
    return value


KubernetesGroup = Annotated[Text, AfterValidator(_not_of_the_system)]


class AccessPolicy(StrategyModel):
    """One EKS access policy of an access entry.

    Examples:
        >>> AccessPolicy(policy="AmazonEKSViewPolicy", namespaces=["research"]).namespaces
        ('research',)
    """

    policy: Annotated[
        str,
        pattern(r"^Amazon[A-Za-z]+$", "the name of an EKS access policy, such as AmazonEKSViewPolicy"),
    ] = Field(
        description="Name of an EKS access policy, such as AmazonEKSViewPolicy "
        "(https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html)."
    )
    namespaces: tuple[Text, ...] = Field(
        default=(), description="Namespaces that the policy is limited to; empty means the whole cluster."
    )


class AccessEntry(StrategyModel):
    """An IAM principal with access to the Kubernetes API.

    Examples:
        >>> AccessEntry(name="oncall", principal_arn="arn:aws:iam::111122223333:role/oncall").kubernetes_groups
        ()
    """

    name: Name = Field(description="Name of this entry; part of its Terraform address, not sent to AWS.")
    principal_arn: IamPrincipalArn = Field(description="ARN of the IAM role or user.")
    kubernetes_groups: tuple[KubernetesGroup, ...] = Field(
        default=(), description="Kubernetes groups for RBAC, in addition to policies or instead of them."
    )
    policies: tuple[AccessPolicy, ...] = Field(default=(), description="EKS access policies of the principal.")

    @model_validator(mode="after")
    def _unique_policies(self) -> AccessEntry:
        policies = [policy.policy for policy in self.policies]
        message = '"{value}" is listed twice; merge the two and their namespaces'
        refuse_second(policies, "policies", "access_policy_duplicate", message, key="policy")
        return self


_LOGS = facts.choices()["control_plane_logs"]


class Logging(StrategyModel):
    """Control-plane logs, in a log group that the stack owns.

    Examples:
        >>> Logging(types=["api", "audit"], retention_days=30).types
        ('api', 'audit')
    """

    types: tuple[LogType, ...] = Field(
        default=tuple(_LOGS["types"]),
        description="Log types to deliver to CloudWatch Logs.",
    )
    retention_days: RetentionDays = Field(
        default=_LOGS["retention_days"], description="Number of days to keep log events."
    )
    keep_on_destroy: bool = Field(
        default=facts.choices()["log_group"]["kept"],
        description="Keep the log group in the account when the stack is destroyed.",
    )


class SecretsEncryption(StrategyModel):
    """Envelope encryption of Kubernetes secrets. EKS cannot turn it off for an existing cluster.

    Examples:
        >>> SecretsEncryption().enabled
        True
    """

    enabled: bool = Field(
        default=facts.choices()["secrets_encryption"]["enabled"],
        description="Encrypt Kubernetes secrets with a KMS key.",
    )
    kms_key_arn: KmsKeyArn | None = Field(
        default=None, description="ARN of an existing key in the cluster's region; by default the stack creates one."
    )


class AddonSpec(StrategyModel):
    """Settings of one EKS add-on.

    Examples:
        >>> AddonSpec(version="v1.13.2-eksbuild.4").version
        'v1.13.2-eksbuild.4'
        >>> AddonSpec(configuration={"replicaCount": 4}).enabled
        True
    """

    enabled: bool = Field(default=True, description="Install the add-on.")
    version: (
        Annotated[
            str,
            pattern(
                r"^v(0|[1-9][0-9]{0,5})(\.(0|[1-9][0-9]{0,5})){2}-eksbuild\.(0|[1-9][0-9]{0,5})$",
                "an add-on version such as v1.20.4-eksbuild.2",
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Exact add-on version; default: EKS's default for the Kubernetes version.",
    )
    configuration: JsonObject = Field(
        default_factory=dict,
        examples=[{"replicaCount": 4}],
        description="Configuration values, merged over the derived ones.",
    )


class ClusterSpec(StrategyModel):
    """The EKS control plane.

    Examples:
        >>> ClusterSpec(kubernetes_version="1.35", creator_is_admin=True).upgrade_policy
        'standard'
    """

    kubernetes_version: KubernetesMinor = Field(
        default=facts.eks()["versions"]["default"],
        description="Kubernetes minor version in quotes: 1.30 without quotes is the number 1.3.",
    )
    endpoint: Endpoint = Field(default=Endpoint(), description="Access to the Kubernetes API.")
    admins: tuple[IamPrincipalArn, ...] = Field(
        default=(), description="IAM roles or users with AmazonEKSClusterAdminPolicy, as access entries."
    )
    access_entries: tuple[AccessEntry, ...] = Field(
        default=(), description="Additional IAM principals, with their access policies."
    )
    creator_is_admin: bool = Field(
        default=facts.choices()["cluster_access"]["creator_is_admin"],
        description="Make the principal that creates the cluster an administrator. EKS reads this only at creation.",
    )
    logging: Logging = Field(default=Logging(), description="Control-plane logs.")
    secrets_encryption: SecretsEncryption = Field(
        default=SecretsEncryption(), description="Envelope encryption of Kubernetes secrets."
    )
    service_cidr: Cidr | None = Field(
        default=None,
        description="IPv4 network for Kubernetes services; by default EKS picks 10.100.0.0/16 or 172.20.0.0/16.",
    )
    deletion_protection: bool | None = Field(
        default=None,
        description="Whether EKS refuses to delete the cluster. If set, it raises the minimum version of the AWS "
        "provider.",
    )
    upgrade_policy: Literal["standard", "extended"] = Field(
        default=facts.choices()["kubernetes_support"]["upgrade_policy"],
        description="Behavior at the end of standard support for the version: 'standard' upgrades the control plane, "
        "'extended' keeps the version for twelve months at about six times the hourly price.",
    )
    zonal_shift: bool = Field(
        default=facts.choices()["zonal_shift"]["enabled"],
        description="Register the cluster for ARC zonal shift, which moves traffic away from an impaired zone.",
    )
    control_plane_tier: Literal["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"] = Field(
        default=facts.choices()["control_plane_tier"]["tier"],
        description="Provisioned control-plane capacity. A tier above standard has an hourly price and raises the "
        "minimum version of the AWS provider.",
    )
    addons: dict[AddonName, AddonSpec] = Field(
        default_factory=dict,
        examples=[{"aws-ebs-csi-driver": {}, "coredns": {"configuration": {"replicaCount": 4}}}],
        description="EKS add-ons: turn one on or off, pin its version, configure it.",
    )

    @model_validator(mode="after")
    def _unique_entry_names(self) -> ClusterSpec:
        message = 'two access entries have the name "{value}", and names must be unique in a cluster; rename one'
        refuse_second_name(self.access_entries, "access_entries", message)
        return self
