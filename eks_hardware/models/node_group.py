"""``node_groups``: EKS managed node groups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware.models.base import InstanceTypeName, StrategyModel, ZoneId, refuse_second
from eks_hardware.models.node_template import LISTED_TWICE, Capacity, NodeTemplate
from eks_hardware.models.text_patterns import form

AmiType = Literal[
    "AL2023_ARM_64_NVIDIA",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_x86_64_STANDARD",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_ARM_64_FIPS",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_x86_64_FIPS",
    "BOTTLEROCKET_x86_64_NVIDIA",
]


class Scaling(StrategyModel):
    """How many nodes the group has.

    Examples:
        >>> Scaling(min=1, max=4).autoscaled
        False
    """

    min: Annotated[int, Field(ge=0, le=5000)] = Field(default=0, description="Fewest nodes.")
    desired: Annotated[int, Field(ge=0, le=5000)] | None = Field(
        default=None, description="Nodes to run; default: `min`."
    )
    max: Annotated[int, Field(ge=1, le=5000)] = Field(
        description="Most nodes; 450 is the quota of a group in a new account (`validate --quotas`)."
    )
    autoscaled: bool = Field(
        default=False,
        description="An autoscaler owns the number of nodes: an apply keeps what is running, within min and max.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Scaling:
        if self.min > self.max:
            raise PydanticCustomError(
                "scaling_bounds",
                "min is {min}, above max {max}; lower min, or raise max",
                {"min": self.min, "max": self.max, "field": "min"},
            )
        if self.desired is not None and not self.min <= self.desired <= self.max:
            raise PydanticCustomError(
                "scaling_bounds",
                "desired is {desired}; it has to lie between min {min} and max {max}; change one of them",
                {"desired": self.desired, "min": self.min, "max": self.max, "field": "desired"},
            )
        return self


class Reservation(StrategyModel):
    """The capacity reservation or capacity block that the group's nodes are launched into.

    Examples:
        >>> Reservation(id="cr-0123456789abcdef0", zone="usw2-az1").zone
        'usw2-az1'
    """

    id: (
        Annotated[str, form(r"^cr-[0-9a-f]{8,17}$", "the id of a capacity reservation, such as cr-0123456789abcdef0")]
        | None
    ) = Field(default=None, description="Id of an On-Demand Capacity Reservation or of a Capacity Block.")
    resource_group_arn: (
        Annotated[
            str,
            form(
                r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_./-]+$",
                "the ARN of a resource group, such as arn:aws:resource-groups:us-west-2:111122223333:group/gpus",
            ),
        ]
        | None
    ) = Field(default=None, description="ARN of a resource group of capacity reservations.")
    zone: ZoneId = Field(description="Zone id that the reservation is in: capacity is bound to it.")

    @model_validator(mode="after")
    def _one_target(self) -> Reservation:
        if (self.id is None) == (self.resource_group_arn is None):
            raise PydanticCustomError(
                "reservation_target", "needs either 'id' or 'resource_group_arn', exactly one of them"
            )
        return self


class Ami(StrategyModel):
    """The machine image; derived from the hardware unless said here.

    Examples:
        >>> Ami(family="bottlerocket").image_id is None
        True
    """

    family: Literal["al2023", "bottlerocket"] = Field(default="al2023", description="Operating system.")
    type: AmiType | None = Field(
        default=None, description="EKS AMI type; derived from hardware, architecture and family without it."
    )
    release_version: (
        Annotated[str, form(r"^[0-9A-Za-z._-]+$", "an AMI release such as 1.35.0-20260810", max_length=64)] | None
    ) = Field(
        default=None,
        description="AMI release to pin, such as 1.35.0-20261101. Without it EKS takes the newest release when "
        "the group is made, and again whenever its launch template changes (disk, tags, kubelet): pin it for training.",
    )
    image_id: Annotated[str, form(r"^ami-[0-9a-f]{8,17}$", "an AMI id such as ami-0123456789abcdef0")] | None = Field(
        default=None, description="Your own image (AMI type CUSTOM), built on the EKS image of `family`."
    )


class Update(StrategyModel):
    """How many nodes may be down at once while the group is updated.

    Examples:
        >>> Update(max_unavailable=1).max_unavailable
        1
    """

    max_unavailable: Annotated[int, Field(ge=1, le=100)] | None = Field(default=None, description="Number of nodes.")
    max_unavailable_percentage: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Percentage of the nodes."
    )

    strategy: Literal["default", "minimal"] | None = Field(
        default=None,
        description="'default' starts new nodes before old ones go, 'minimal' the other way round: for capacity that "
        "cannot be doubled, such as a full reservation. Raises the lower end of the AWS provider range.",
    )

    @model_validator(mode="after")
    def _one_measure(self) -> Update:
        if self.max_unavailable is not None and self.max_unavailable_percentage is not None:
            raise PydanticCustomError(
                "update_unavailable",
                "'max_unavailable' says it already; keep one of the two",
                {"field": "max_unavailable_percentage"},
            )
        return self


class NodeGroupSpec(NodeTemplate):
    """One EKS managed node group; everything that follows from its instance types is derived.

    Examples:
        >>> NodeGroupSpec(name="h100", instance_types=["p5.48xlarge"], efa=True, scaling={"max": 4}).scaling.min
        0
    """

    instance_types: tuple[InstanceTypeName, ...] = Field(
        default=(),
        max_length=20,
        description="EC2 instance types, best first; one architecture and one kind of accelerator a group. Or say "
        "what is to run, as `workload: {...}`.",
    )
    scaling: Scaling = Field(description="Number of nodes.")
    capacity: Capacity = Field(default="on-demand", description="How the nodes are bought.")
    reservation: Reservation | None = Field(
        default=None, description="For capacity 'reserved' and 'capacity-block': which, and in which zone."
    )
    ami: Ami = Field(default=Ami(), description="Machine image.")
    update: Update = Field(default=Update(), description="Update strategy.")
    node_repair: bool | None = Field(
        default=None,
        description="Let EKS replace or reboot unhealthy nodes. Default: on, but off for reserved capacity, "
        "where a replacement may find no room.",
    )

    @property
    def repairs(self) -> bool:
        """Whether EKS replaces or reboots unhealthy nodes."""
        return self.reservation is None if self.node_repair is None else self.node_repair

    @model_validator(mode="after")
    def _one_choice_of_hardware(self) -> NodeGroupSpec:
        if self.described and self.instance_types:
            raise PydanticCustomError(
                "node_group_hardware",
                "'workload' describes what the types are chosen from; remove them, or name the workload in a word, "
                "such as {purpose}",
                {"purpose": self.purpose, "field": "instance_types"},
            )
        if not self.described and not self.instance_types:
            raise PydanticCustomError(
                "node_group_hardware",
                "needs 'instance_types', or what is to run as 'workload: {...}'",
                {"field": "instance_types"} if "instance_types" in self.model_fields_set else {},
            )
        return self

    @model_validator(mode="after")
    def _no_type_twice(self) -> NodeGroupSpec:
        refuse_second(self.instance_types, "instance_types[{index}]", "item_duplicate", LISTED_TWICE)
        return self

    @model_validator(mode="after")
    def _reservation_goes_with_capacity(self) -> NodeGroupSpec:
        reserved = self.capacity in ("reserved", "capacity-block")
        if reserved and self.reservation is None:
            raise PydanticCustomError(
                "reservation_missing",
                "capacity '{capacity}' needs a 'reservation' with its id and zone",
                {"capacity": self.capacity, "field": "capacity"},
            )
        if not reserved and self.reservation is not None:
            raise PydanticCustomError(
                "reservation_unused",
                "a reservation is given, but capacity is '{capacity}'; set capacity to 'reserved' or 'capacity-block'",
                {"capacity": self.capacity, "field": "reservation"},
            )
        if self.reservation is not None and set(self.zones) - {self.reservation.zone}:
            raise PydanticCustomError(
                "reservation_zone",
                "the reservation is in {zone}, so that 'zones' has no effect; remove it",
                {"zone": self.reservation.zone, "field": "zones"},
            )
        return self
