"""The root of a strategy file, and its small sections: backend, provider, budget, ignored warnings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from eks_hardware import field_paths
from eks_hardware.models.base import (
    Arn,
    ClusterName,
    IamPolicyArn,
    StrategyModel,
    Tags,
    Text,
    form,
    invalid,
    refuse_second_name,
)
from eks_hardware.models.cluster import ClusterSpec
from eks_hardware.models.karpenter import KarpenterSpec
from eks_hardware.models.kubernetes import KubernetesSpec
from eks_hardware.models.network import NetworkSpec
from eks_hardware.models.nodes import NodeGroupSpec
from eks_hardware.models.storage import StorageSpec

# https://developer.hashicorp.com/terraform/language/expressions/version-constraints
_CONSTRAINT = r" *(=|!=|>=|>|<=|<|~>)? *[0-9]{1,9}(\.[0-9]{1,9}){0,2} *"
VersionRange = Annotated[str, StringConstraints(pattern=rf"^{_CONSTRAINT}(,{_CONSTRAINT})*$", max_length=100)]

Region = Annotated[str, form(r"^[a-z]{2,3}(-[a-z]+)+-[0-9]$", "a region such as us-west-2")]


# What Terraform's own check of the backend takes, which is less than AWS does:
# https://github.com/hashicorp/terraform/blob/v1.11.4/internal/backend/remote-state/s3/validate.go
_StateKeyArn = Annotated[
    str,
    form(
        r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/"
        r"(mrk-[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$",
        "the ARN of a KMS key, such as arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab",
    ),
]


class LocalBackendSpec(StrategyModel):
    """State in a file beside the project.

    Examples:
        >>> LocalBackendSpec(path="research.tfstate").type
        'local'
    """

    type: Literal["local"] = Field(default="local", description="State in a local file.")
    path: Annotated[Text, StringConstraints(min_length=1, max_length=1024)] | None = Field(
        default=None,
        description="Path of the state file; default terraform.<name>.tfstate in the project folder.",
    )


class S3BackendSpec(StrategyModel):
    """State in S3, locked by a lock file in the bucket (Terraform 1.10 or newer).

    Examples:
        >>> S3BackendSpec(type="s3", bucket="example-state").lock
        True
    """

    type: Literal["s3"] = Field(description="State in S3.")
    bucket: Annotated[str, form(r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", "a bucket name such as my-models")] = Field(
        description="Bucket name."
    )
    key: Annotated[Text, StringConstraints(min_length=1, max_length=1024)] | None = Field(
        default=None, description="Object key; default eks-hardware/<name>.tfstate."
    )
    region: Region | None = Field(default=None, description="Region of the bucket; default: the strategy's.")
    kms_key_arn: _StateKeyArn | None = Field(default=None, description="Key that encrypts the state.")
    profile: Text | None = Field(default=None, description="AWS profile for the bucket.")
    role_arn: Arn | None = Field(default=None, description="Role to assume for the bucket.")
    lock: bool = Field(default=True, description="Lock with a lock file in the bucket.")


class RemoteBackendSpec(StrategyModel):
    """State and runs in HCP Terraform or another remote backend.

    Examples:
        >>> RemoteBackendSpec(type="remote", organization="example").hostname
        'app.terraform.io'
    """

    type: Literal["remote"] = Field(description="State in HCP Terraform or Terraform Enterprise.")
    organization: Annotated[Text, StringConstraints(min_length=1)] = Field(description="Organization.")
    workspace: Annotated[str, form(r"^[A-Za-z0-9_-]{1,90}$", "the name of a workspace")] | None = Field(
        default=None, description="Workspace; default: the strategy's name."
    )
    hostname: Annotated[str, form(r"^[a-z0-9.-]+$", "the name of a host")] = Field(
        default="app.terraform.io", description="Host of the service."
    )


Backend = Annotated[LocalBackendSpec | S3BackendSpec | RemoteBackendSpec, Field(discriminator="type")]


class AssumeRole(StrategyModel):
    """The role that Terraform assumes.

    Examples:
        >>> AssumeRole(role_arn="arn:aws:iam::111122223333:role/deploy").external_id is None
        True
    """

    role_arn: Arn = Field(description="ARN of the role.")
    external_id: Annotated[Text, StringConstraints(min_length=2, max_length=1224)] | None = Field(
        default=None, description="External id that the role's trust policy asks for."
    )
    session_name: (
        Annotated[
            str, form(r"^[A-Za-z0-9_+=,.@-]{2,64}$", "the name of a session: 2 to 64 letters, digits and _+=,.@-")
        ]
        | None
    ) = Field(default=None, description="Name of the session, as it stands in CloudTrail.")


class AwsProviderSpec(StrategyModel):
    """How Terraform talks to AWS.

    Examples:
        >>> AwsProviderSpec(account_id="111122223333", profile="research").profile
        'research'
    """

    profile: Text | None = Field(default=None, description="Profile of the shared AWS configuration.")
    assume_role: AssumeRole | None = Field(default=None, description="Role to assume before anything else.")
    account_id: (
        Annotated[str, form(r"^[0-9]{12}$", 'an account id of 12 digits in quotes, such as "111122223333"')] | None
    ) = Field(default=None, description="The account that is meant; Terraform refuses to run in another one.")
    version: VersionRange | None = Field(
        default=None,
        description="Version range of the AWS provider; default '>= 5.100.0, < 7.0.0', or a higher lower end where a "
        "setting needs it.",
    )
    permissions_boundary_arn: IamPolicyArn | None = Field(
        default=None, description="Permissions boundary for every IAM role the stack makes."
    )
    iam_path: Annotated[
        str,
        form(r"^/([A-Za-z0-9+=,.@_-]+/)*$", "a path that begins and ends with /, such as /platform/", max_length=512),
    ] = Field(default="/", description="Path of every IAM role and policy the stack makes.")


class SpendingLimit(StrategyModel):
    """What the cluster may cost; a strategy that may cost more is refused.

    Examples:
        >>> SpendingLimit(usd_per_month_at_max=50000).usd_per_month_at_max
        50000.0
    """

    usd_per_month_at_max: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)] = Field(
        description="US dollars per month of 730 hours with every group at its max and every pool at its limits; what "
        "is billed by use (data transfer, logs) is not counted."
    )


class Ignore(StrategyModel):
    """A warning that is not shown, and why. Errors cannot be ignored.

    Examples:
        >>> Ignore(code="ENDPOINT_OPEN", path="cluster.endpoint", reason="IAM decides who gets in").code
        'ENDPOINT_OPEN'
    """

    code: Annotated[str, form(r"^[A-Z][A-Z0-9_]*$", "a code such as ENDPOINT_OPEN", max_length=64)] = Field(
        description="Code of the warning, such as ENDPOINT_OPEN."
    )
    path: Annotated[Text, StringConstraints(min_length=1, max_length=512)] = Field(
        description="The field that the warning is about, as validate prints it, or what it lies in: "
        "node_groups[gpu] stands for everything in that group."
    )
    reason: Annotated[Text, form(r"\S.{6,}\S", "a reason of a few words", max_length=512)] = Field(
        description="Why it is all right here, for whoever reads the file next."
    )


class Strategy(StrategyModel):
    """A hardware strategy: which hardware a team wants, and where; everything else is derived.

    Examples:
        >>> group = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
        >>> strategy = Strategy(version=1, name="research", region="us-west-2", node_groups=[group])
        >>> strategy.node_groups[0].scaling.max
        3
    """

    version: Literal[1] = Field(description="Version of this file format.")
    name: ClusterName = Field(description="Name of the stack and of the cluster.")
    description: Text = Field(default="", description="What the cluster is for.")
    region: Region = Field(description="AWS region, such as us-west-2.")
    cluster: ClusterSpec = Field(default=ClusterSpec(), description="The EKS control plane.")
    network: NetworkSpec = Field(default=NetworkSpec(), description="The VPC.")
    node_groups: tuple[NodeGroupSpec, ...] = Field(min_length=1, description="Managed node groups.")
    karpenter: KarpenterSpec | None = Field(
        default=None,
        description="Karpenter; an empty map takes every default, without it there is none.",
    )
    kubernetes: KubernetesSpec = Field(
        default=KubernetesSpec(), description="What runs on the cluster, and how it gets there."
    )
    storage: StorageSpec = Field(default=StorageSpec(), description="Shared file systems and buckets.")
    budget: SpendingLimit | None = Field(default=None, description="What the cluster may cost; checked before a plan.")
    backend: Backend = Field(default=LocalBackendSpec(), description="Where Terraform keeps its state.")
    tags: Tags = Field(default_factory=dict, max_length=30, description="Tags for everything in the stack.")
    aws: AwsProviderSpec = Field(default=AwsProviderSpec(), description="AWS provider settings.")
    ignore: tuple[Ignore, ...] = Field(
        default=(), max_length=100, description="Warnings that are known and accepted, each with its reason."
    )

    @model_validator(mode="after")
    def _unique_names(self) -> Strategy:
        message = "two node groups are called '{value}'; names are unique within a strategy"
        refuse_second_name(self.node_groups, "node_groups", message)
        # Placement groups and node-level resources are named after groups and pools alike.
        groups = [group.name for group in self.node_groups]
        pools = self.karpenter.node_pools if self.karpenter else ()
        for path, pool in field_paths.items("karpenter.node_pools", pools):
            if pool.name in groups:
                message = f"a node group and a node pool are called '{pool.name}'; names are unique within a strategy"
                raise invalid("name_duplicate", message, field_paths.below(path, "name"))
        return self
