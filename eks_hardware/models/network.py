"""``network``: the VPC, made or given."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from eks_hardware.models.base import Cidr, StrategyModel, SubnetId, VpcId, ZoneId, form, invalid
from eks_hardware.models.cluster import RetentionDays

NatGateways = Literal["none", "single", "one-per-zone"]
ServiceName = Annotated[
    str, form(r"^[a-z0-9][a-z0-9.-]*$", "the name of an AWS service, such as ecr.api", max_length=64)
]


class FlowLogs(StrategyModel):
    """VPC flow logs to CloudWatch Logs.

    Examples:
        >>> FlowLogs(traffic="ALL").retention_days
        365
    """

    enabled: bool = Field(default=True, description="Record traffic.")
    traffic: Literal["ALL", "ACCEPT", "REJECT"] = Field(
        default="REJECT",
        description="Which traffic is recorded: what is refused is little, and what a review asks for.",
    )
    retention_days: RetentionDays = Field(default=365, description="Days that flow logs are kept.")


class ExistingNetwork(StrategyModel):
    """A VPC and subnets that someone else owns. Nothing in it is changed but discovery tags, if asked.

    Examples:
        >>> subnets = {"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"}
        >>> ExistingNetwork(vpc_id="vpc-01234567", private_subnets=subnets).tag_subnets
        False
    """

    vpc_id: VpcId = Field(description="Id of the VPC.")
    private_subnets: dict[ZoneId, SubnetId] = Field(
        min_length=1, description="Subnets for nodes, by zone id, one a zone."
    )
    control_plane_subnets: dict[ZoneId, SubnetId] = Field(
        default_factory=dict,
        description="Subnets for the control plane's interfaces, by zone id; without them the private ones are used.",
    )
    pod_subnets: dict[ZoneId, SubnetId] = Field(
        default_factory=dict, description="Subnets for pods (VPC CNI custom networking), by zone id."
    )
    tag_subnets: bool = Field(
        default=False, description="Put karpenter.sh/discovery and load-balancer tags on the subnets."
    )


class NetworkSpec(StrategyModel):
    """The VPC that the cluster runs in.

    Examples:
        >>> NetworkSpec(cidr="10.40.0.0/16", zones=3).private
        False
    """

    cidr: Cidr = Field(default="10.0.0.0/16", description="IPv4 network of the VPC, /16 to /22.")
    pod_cidr: Cidr | None = Field(
        default=None,
        description="A second IPv4 network for pods, /16 to /21 inside 100.64.0.0/10; pods then take no address "
        "from `cidr` (VPC CNI custom networking).",
    )
    zones: tuple[ZoneId, ...] | Annotated[int, Field(ge=2, le=6)] = Field(
        default=3,
        description="Zone ids, or how many zones to start from. A zone is added where a node group's instance type "
        "is not offered in those; zones that EKS excludes are avoided.",
    )
    nat_gateways: NatGateways | None = Field(
        default=None,
        description="How nodes reach the internet. 'single' is cheapest, 'one-per-zone' survives the loss of a zone. "
        "Default: 'single', or 'none' when `private` is set.",
    )
    private: bool = Field(
        default=False,
        description="No way to or from the internet: no NAT gateway, no public subnets, AWS services through "
        "interface endpoints.",
    )
    interface_endpoints: tuple[ServiceName, ...] | None = Field(
        default=None,
        description="Services to reach through interface endpoints, such as ecr.api. Default: none, or all that "
        "nodes need when there is no NAT gateway.",
    )
    gateway_endpoints: tuple[Literal["s3", "dynamodb"], ...] = Field(
        default=("s3",),
        description="Gateway endpoints (no charge). S3 is always there: image layers come from it.",
    )
    flow_logs: FlowLogs = Field(
        default=FlowLogs(), description="VPC flow logs, of refused traffic unless it says more."
    )
    existing: ExistingNetwork | None = Field(
        default=None, description="Use a VPC that exists; only this and nothing else of `network` is read."
    )

    @model_validator(mode="after")
    def _existing_stands_alone(self) -> NetworkSpec:
        others = sorted(self.model_fields_set - {"existing"})
        if self.existing is not None and others:
            message = f"an existing VPC is given, so '{others[0]}' has no effect; remove it"
            raise invalid("network_existing_conflict", message, others[0])
        return self
