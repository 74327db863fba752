"""The root of a strategy file, and its small sections: backend, provider, budget, ignored warnings."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from eks_hardware import facts, field_paths
from eks_hardware.models.base import (
    AccountId,
    Arn,
    BucketName,
    ClusterName,
    IamPolicyArn,
    StrategyModel,
    Tags,
    Text,
    invalid,
    refuse_second_name,
)
from eks_hardware.models.cluster import ClusterSpec
from eks_hardware.models.karpenter import KarpenterSpec
from eks_hardware.models.kubernetes import KubernetesSpec
from eks_hardware.models.network import NetworkSpec
from eks_hardware.models.nodes import NodeGroupSpec
from eks_hardware.models.storage import StorageSpec
from eks_hardware.models.text_patterns import pattern

# https://developer.hashicorp.com/terraform/language/expressions/version-constraints
_CONSTRAINT = r" *(=|!=|>=|>|<=|<|~>)? *[0-9]{1,9}(\.[0-9]{1,9}){0,2} *"
VersionRange = Annotated[str, StringConstraints(pattern=rf"^{_CONSTRAINT}(,{_CONSTRAINT})*$", max_length=100)]

Region = Annotated[str, pattern(r"^[a-z]{2,4}(-[a-z]+)+-[0-9]$", "a region such as us-west-2")]


# Terraform validates the backend's ARNs more strictly than AWS:
# https://github.com/hashicorp/terraform/blob/v1.11.4/internal/backend/remote-state/s3/validate.go
_StateKeyArn = Annotated[
    str,
    pattern(
        r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/"
        r"(mrk-[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$",
        "the ARN of a KMS key whose ID is a UUID of version 1 to 5 (Terraform's backend refuses others), such as "
        "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab",
    ),
]


def _state_key(value: str) -> str:
    """Reject the S3 keys that Terraform rejects.

    Source: https://github.com/hashicorp/terraform/blob/main/internal/backend/remote-state/s3/validate.go
    (validateStringS3Path) and backend.go (validateStringDoesNotContain)
    """
    if value.startswith("/") or value.endswith("/") or "//" in value:
        raise invalid(
            "state_key", "must not start or end with '/' or contain '//'", fix="write it like team/cluster.tfstate"
        )
    depths = list(itertools.accumulate(-1 if part == ".." else 1 for part in value.split("/")[:-1]))
    if min(depths, default=0) < 0:
        # https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
        raise invalid("state_key", "must not have more '..' than folders before them", fix="write it without '..'")
    # The lock file has the key with .tflock at its end: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
    most = _KEY_BYTES - len(".tflock")
    if (length := len(value.encode())) > most:
        raise invalid("state_key", f"must have at most {most} bytes in UTF-8, got {length}; shorten it")
    return value


def _state_path(value: str) -> str:
    """Reject paths that do not name a file for Terraform, which does not expand ``~``."""
    if value.startswith("~"):
        raise invalid(
            "state_path", "must not start with '~', which Terraform does not expand", fix="write the whole path"
        )
    if value.endswith("/") or value.rpartition("/")[2] in (".", ".."):
        raise invalid("state_path", "must be the path of a file", fix="add a name, such as cluster.tfstate")
    return value


_KEY_BYTES = 1024


class LocalBackendSpec(StrategyModel):
    """State in a local file, by default in the project folder.

    Examples:
        >>> LocalBackendSpec(path="research.tfstate").type
        'local'
    """

    type: Literal["local"] = Field(default="local", description="State in a local file.")
    path: Annotated[Text, StringConstraints(min_length=1, max_length=1024), AfterValidator(_state_path)] | None = Field(
        default=None,
        description="Path of the state file; default terraform.<name>.tfstate in the project folder.",
    )


class S3BackendSpec(StrategyModel):
    """State in S3, with a lock file in the bucket (Terraform 1.10 or later).

    Examples:
        >>> S3BackendSpec(type="s3", bucket="example-state").lock
        True
    """

    type: Literal["s3"] = Field(description="State in S3.")
    bucket: BucketName = Field(description="Bucket name.")
    key: Annotated[Text, StringConstraints(min_length=1, max_length=1024), AfterValidator(_state_key)] | None = Field(
        default=None, description="Object key; default: eks-hardware/<name>.tfstate."
    )
    region: Region | None = Field(default=None, description="Region of the bucket; default: the strategy's.")
    kms_key_arn: _StateKeyArn | None = Field(default=None, description="ARN of the key that encrypts the state.")
    profile: Text | None = Field(default=None, description="AWS profile for access to the bucket.")
    role_arn: Arn | None = Field(default=None, description="ARN of the role to assume for access to the bucket.")
    lock: bool = Field(
        default=facts.choices()["s3_backend"]["lock"], description="Lock with a lock file in the bucket."
    )


class RemoteBackendSpec(StrategyModel):
    """State and runs in HCP Terraform or another remote backend.

    Examples:
        >>> RemoteBackendSpec(type="remote", organization="example").hostname
        'app.terraform.io'
    """

    type: Literal["remote"] = Field(description="State in HCP Terraform or Terraform Enterprise.")
    # https://github.com/hashicorp/go-tfe/blob/main/validations.go (reStringID)
    organization: Annotated[Text, pattern(r"^[^/\s]+$", "an organization's name, without spaces and slashes")] = Field(
        description="Organization."
    )
    workspace: Annotated[str, pattern(r"^[A-Za-z0-9_-]{1,90}$", "the name of a workspace")] | None = Field(
        default=None, description="Workspace; default: the strategy's name."
    )
    hostname: Annotated[str, pattern(r"^[a-z0-9.-]+$", "a host name")] = Field(
        default="app.terraform.io", description="Host name of the service."
    )


Backend = Annotated[LocalBackendSpec | S3BackendSpec | RemoteBackendSpec, Field(discriminator="type")]


class AssumeRole(StrategyModel):
    """The role that Terraform assumes.

    Examples:
        >>> AssumeRole(role_arn="arn:aws:iam::111122223333:role/deploy").external_id is None
        True
    """

    role_arn: Arn = Field(description="ARN of the role.")
    # https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html (ExternalId)
    external_id: (
        Annotated[
            str,
            pattern(
                r"^[A-Za-z0-9_+=,.@:/-]+$",
                "an external ID of letters, digits and _+=,.@:/-",
                min_length=2,
                max_length=1224,
            ),
        ]
        | None
    ) = Field(default=None, description="External ID that the role's trust policy requires.")
    session_name: (
        Annotated[str, pattern(r"^[A-Za-z0-9_+=,.@-]{2,64}$", "a session name of 2 to 64 letters, digits and _+=,.@-")]
        | None
    ) = Field(default=None, description="Session name, as shown in CloudTrail.")


class AwsProviderSpec(StrategyModel):
    """Settings of Terraform's AWS provider.

    Examples:
        >>> AwsProviderSpec(account_id="111122223333", profile="research").profile
        'research'
    """

    profile: Text | None = Field(default=None, description="Profile of the shared AWS configuration.")
    assume_role: AssumeRole | None = Field(default=None, description="Role to assume for all API calls.")
    account_id: AccountId | None = Field(
        default=None, description="ID of the AWS account; Terraform refuses to run in any other account."
    )
    version: VersionRange | None = Field(
        default=None,
        description="Version range of the AWS provider; default: '>= 5.100.0, < 7.0.0', with a higher minimum if a "
        "setting requires one.",
    )
    permissions_boundary_arn: IamPolicyArn | None = Field(
        default=None, description="ARN of the permissions boundary for every IAM role that the stack creates."
    )
    iam_path: Annotated[
        str,
        pattern(
            r"^/([A-Za-z0-9+=,.@_-]+/)*$", "a path that begins and ends with /, such as /platform/", max_length=512
        ),
    ] = Field(
        default=facts.choices()["iam_path"]["path"],
        description="Path of every IAM role and policy that the stack creates.",
    )


class SpendingLimit(StrategyModel):
    """The maximum cost of the cluster. It is an error if the strategy can cost more.

    Examples:
        >>> SpendingLimit(usd_per_month_at_max=50000).usd_per_month_at_max
        50000.0
    """

    usd_per_month_at_max: Annotated[float, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)] = Field(
        description="US dollars per month of 730 hours, with every group at its max and every pool at its limits; "
        "usage-based charges (data transfer, logs) are not included.",
    )


class Ignore(StrategyModel):
    """A warning to hide, with the reason. Errors cannot be ignored.

    Examples:
        >>> Ignore(code="ENDPOINT_OPEN", path="cluster.endpoint", reason="IAM decides who gets in").code
        'ENDPOINT_OPEN'
    """

    code: Annotated[str, pattern(r"^[A-Z][A-Z0-9_]*$", "a code such as ENDPOINT_OPEN", max_length=64)] = Field(
        description="Code of the warning, such as ENDPOINT_OPEN."
    )
    path: Annotated[Text, StringConstraints(min_length=1, max_length=512)] = Field(
        description="Path of the field, as `validate` prints it, or of a parent: node_groups[gpu] covers everything "
        "in that group.",
    )
    reason: Annotated[Text, pattern(r"\S.{6,}\S", "a reason of a few words", max_length=512)] = Field(
        description="Why the warning is acceptable here, for the next reader of the file."
    )


class Strategy(StrategyModel):
    """A hardware strategy: the hardware that a team needs, and its region; everything else is derived.

    Examples:
        >>> group = {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}}
        >>> strategy = Strategy(version=1, name="research", region="us-west-2", node_groups=[group])
        >>> strategy.node_groups[0].scaling.max
        3
    """

    version: Literal[1] = Field(description="Version of this file format.")
    name: ClusterName = Field(description="Name of the stack and of the cluster.")
    description: Text = Field(default="", description="Purpose of the cluster.")
    region: Region = Field(examples=["us-west-2"], description="AWS region, such as us-west-2.")
    cluster: ClusterSpec = Field(default=ClusterSpec(), description="The EKS control plane.")
    network: NetworkSpec = Field(default=NetworkSpec(), description="The VPC.")
    node_groups: tuple[NodeGroupSpec, ...] = Field(min_length=1, description="Managed node groups.")
    karpenter: KarpenterSpec | None = Field(
        default=None,
        description="Karpenter; `{}` uses all defaults. By default Karpenter is not installed.",
    )
    kubernetes: KubernetesSpec = Field(
        default=KubernetesSpec(), description="Charts and objects on the cluster, and how they are installed."
    )
    storage: StorageSpec = Field(default=StorageSpec(), description="Shared file systems and buckets.")
    budget: SpendingLimit | None = Field(
        default=None, description="Maximum cost of the cluster; checked before each plan."
    )
    backend: Backend = Field(default=LocalBackendSpec(), description="Storage of the Terraform state.")
    tags: Tags = Field(
        default_factory=dict,
        examples=[{"team": "research"}],
        max_length=30,
        description="Tags for all resources of the stack.",
    )
    aws: AwsProviderSpec = Field(default=AwsProviderSpec(), description="AWS provider settings.")
    ignore: tuple[Ignore, ...] = Field(default=(), max_length=100, description="Warnings to hide, each with a reason.")

    @model_validator(mode="after")
    def _unique_names(self) -> Strategy:
        message = 'two node groups have the name "{value}", and names must be unique in a strategy; rename one'
        refuse_second_name(self.node_groups, "node_groups", message)
        # Placement groups and node-level resources are named after groups and pools.
        groups = [group.name for group in self.node_groups]
        pools = self.karpenter.node_pools if self.karpenter else ()
        for path, pool in field_paths.items("karpenter.node_pools", pools):
            if pool.name in groups:
                message = f'a node group and a node pool have the name "{pool.name}"; rename one'
                raise invalid("name_duplicate", message, field_paths.below(path, "name"))
        return self
