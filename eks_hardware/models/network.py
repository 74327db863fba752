"""``network``: a new or existing VPC."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from eks_hardware import facts
from eks_hardware.models.base import Cidr, StrategyModel, SubnetId, VpcId, ZoneId, invalid
from eks_hardware.models.cluster import RetentionDays
from eks_hardware.models.text_patterns import pattern

NatGateways = Literal["none", "single", "one-per-zone"]
ServiceName = Annotated[
    str, pattern(r"^[a-z0-9][a-z0-9.-]*$", "the name of an AWS service, such as ecr.api", max_length=64)
]


_FLOW_LOGS = facts.choices()["flow_logs"]


class FlowLogs(StrategyModel):
    """VPC flow logs to CloudWatch Logs.

    Examples:
        >>> FlowLogs(traffic="ALL").retention_days
        365
    """

    enabled: bool = Field(default=_FLOW_LOGS["enabled"], description="Record traffic.")
    traffic: Literal["ALL", "ACCEPT", "REJECT"] = Field(
        default=_FLOW_LOGS["traffic"],
        description="Traffic to record. There is little rejected traffic, and audits usually require its logs.",
    )
    retention_days: RetentionDays = Field(
        default=_FLOW_LOGS["retention_days"], description="Number of days to keep flow logs."
    )


_SUBNETS = [{"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"}]


class ExistingNetwork(StrategyModel):
    """An existing VPC and subnets. The stack changes nothing in it, except for discovery tags with `tag_subnets`.

    Examples:
        >>> ExistingNetwork(
        ...     vpc_id="vpc-01234567", private_subnets={"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"}
        ... ).tag_subnets
        False
    """

    vpc_id: VpcId = Field(description="ID of the VPC.")
    private_subnets: dict[ZoneId, SubnetId] = Field(
        min_length=1, examples=_SUBNETS, description="Subnets for nodes, by zone ID, one per zone."
    )
    control_plane_subnets: dict[ZoneId, SubnetId] = Field(
        default_factory=dict,
        examples=_SUBNETS,
        description="Subnets for the control plane's interfaces, by zone ID; default: the private subnets.",
    )
    pod_subnets: dict[ZoneId, SubnetId] = Field(
        default_factory=dict, examples=_SUBNETS, description="Subnets for pods (VPC CNI custom networking), by zone ID."
    )
    tag_subnets: bool = Field(
        default=False, description="Add karpenter.sh/discovery and load-balancer tags to the subnets."
    )


class NetworkSpec(StrategyModel):
    """The VPC of the cluster.

    Examples:
        >>> NetworkSpec(cidr="10.40.0.0/16", zones=3).private
        False
    """

    cidr: Cidr = Field(default=facts.choices()["vpc"]["cidr"], description="IPv4 network of the VPC, /16 to /22.")
    pod_cidr: Cidr | None = Field(
        default=None,
        description="A second IPv4 network for pods, /16 to /21 inside 100.64.0.0/10; pods then use no addresses of "
        "`cidr` (VPC CNI custom networking).",
    )
    zones: tuple[ZoneId, ...] | Annotated[int, Field(ge=2, le=6)] = Field(
        default=facts.choices()["zones"]["count"],
        examples=[3],
        description="Zone IDs, or the number of zones. The stack adds a zone if none of these offers a node group's "
        "instance type, and avoids zones that EKS excludes.",
    )
    nat_gateways: NatGateways | None = Field(
        default=None,
        description="NAT gateways. 'single' is cheapest, 'one-per-zone' survives the loss of a zone. Default: "
        "'single', or 'none' with `private`.",
    )
    private: bool = Field(
        default=False,
        description="No internet access: no NAT gateway, no public subnets, and interface endpoints for AWS services.",
    )
    interface_endpoints: tuple[ServiceName, ...] | None = Field(
        default=None,
        description="Services that get interface endpoints, such as ecr.api. Default: none; without a NAT gateway, all "
        "that nodes need.",
    )
    gateway_endpoints: tuple[Literal["s3", "dynamodb"], ...] = Field(
        default=tuple(facts.choices()["gateway_endpoints"]["services"]),
        description="Gateway endpoints (free of charge). S3 is always included, because image layers are in S3.",
    )
    flow_logs: FlowLogs = Field(default=FlowLogs(), description="VPC flow logs; by default for rejected traffic only.")
    existing: ExistingNetwork | None = Field(
        default=None, description="Existing VPC to use; omit every other field of `network`."
    )

    @model_validator(mode="after")
    def _existing_stands_alone(self) -> NetworkSpec:
        others = sorted(self.model_fields_set - {"existing"})
        if self.existing is not None and others:
            message = "must not be set together with 'existing', got both; remove one"
            raise invalid("network_existing_conflict", message, others[0])
        return self
