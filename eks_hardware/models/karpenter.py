"""``karpenter``: the controller and its node pools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware.models.base import (
    IamPolicyArn,
    InstanceTypeName,
    Name,
    StrategyModel,
    Tags,
    ZoneId,
    refuse_second,
)
from eks_hardware.models.node_template import LISTED_TWICE, Capacity, NodeTemplate, Quantity
from eks_hardware.models.text_patterns import form

# https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms
AmiVersion = Annotated[
    str, form(r"^(latest|v[0-9][0-9A-Za-z.-]{0,30})$", "an AMI release such as v20260810, or latest")
]

# https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecexpireafter
Duration = Annotated[
    str, form(r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$", "a duration such as 30m or 1h30m", min_length=2)
]

# https://karpenter.sh/docs/concepts/disruption/#schedule
_MACRO, _FIELD = "@(hourly|daily|midnight|weekly|monthly|annually|yearly)", "[0-9*/,A-Za-z-]+"
CronSchedule = Annotated[str, StringConstraints(pattern=rf"^({_MACRO}|{_FIELD}( {_FIELD}){{4}})$")]

InstanceFamilyName = Annotated[str, form(r"^[a-z][a-z0-9-]{1,30}$", "an instance family such as g6e")]
InstanceSizeName = Annotated[str, form(r"^[a-z0-9-]{2,30}$", "an instance size such as 12xlarge")]


class AmiVersions(StrategyModel):
    """Image releases for all node pools, by operating system.

    Examples:
        >>> AmiVersions(bottlerocket="v1.50.0").bottlerocket
        'v1.50.0'
    """

    al2023: AmiVersion | None = Field(default=None, description="Release of the AL2023 images, such as v20260820.")
    bottlerocket: AmiVersion | None = Field(default=None, description="Release of Bottlerocket, such as v1.50.0.")


class FeatureGates(StrategyModel):
    """Karpenter's feature gates.

    Examples:
        >>> FeatureGates(spot_to_spot_consolidation=True).spot_to_spot_consolidation
        True
    """

    node_repair: bool | None = Field(default=None, description="Replace unhealthy nodes (alpha).")
    spot_to_spot_consolidation: bool | None = Field(
        default=None, description="Replace a spot node by a cheaper spot node (alpha)."
    )
    static_capacity: bool | None = Field(default=None, description="Pools with a fixed number of nodes (alpha).")
    node_overlay: bool | None = Field(
        default=None, description="NodeOverlay objects (alpha). On by default where a pool shares its GPUs."
    )
    capacity_buffer: bool | None = Field(default=None, description="CapacityBuffer objects (alpha).")


class PoolAmi(StrategyModel):
    """The machine image of a pool's nodes.

    Examples:
        >>> PoolAmi(family="bottlerocket").family
        'bottlerocket'
    """

    family: Literal["al2023", "bottlerocket"] = Field(default="al2023", description="Operating system.")
    version: AmiVersion | None = Field(
        default=None,
        description="Release to pin; default: that of `karpenter.ami_versions`, or the catalogue's. 'latest' replaces "
        "nodes whenever AWS publishes an image.",
    )
    image_id: Annotated[str, form(r"^ami-[0-9a-f]{8,17}$", "an AMI id such as ami-0123456789abcdef0")] | None = Field(
        default=None, description="Your own image, built on the EKS image of `family`."
    )


class PoolReservation(StrategyModel):
    """Capacity reservations or capacity blocks that a pool may use, by id or by tag.

    Examples:
        >>> PoolReservation(tags={"team": "research"}).id is None
        True
    """

    id: (
        Annotated[str, form(r"^cr-[0-9a-f]{8,17}$", "the id of a capacity reservation, such as cr-0123456789abcdef0")]
        | None
    ) = Field(default=None, description="Id of one reservation.")
    tags: Tags = Field(default_factory=dict, description="Tags that a reservation has to carry, all of them.")
    owner_account_id: (
        Annotated[str, form(r"^[0-9]{12}$", 'an account id of 12 digits in quotes, such as "111122223333"')] | None
    ) = Field(default=None, description="Account that shares the reservation.")
    zone: ZoneId | None = Field(default=None, description="Zone id of the reservation; needed beside `id`.")

    @model_validator(mode="after")
    def _one_selector(self) -> PoolReservation:
        if (self.id is None) == (not self.tags):
            raise PydanticCustomError("reservation_target", "needs either 'id' or 'tags', exactly one of them")
        if self.id and self.zone is None:
            raise PydanticCustomError(
                "reservation_zone", "needs the 'zone' of the reservation: capacity is bound to it", {"field": "id"}
            )
        if self.id and self.owner_account_id:
            raise PydanticCustomError(
                "reservation_target", "an id is enough; remove this", {"field": "owner_account_id"}
            )
        return self


class Budget(StrategyModel):
    """How many nodes of a pool may be disrupted at once.

    Examples:
        >>> Budget(nodes="0", reasons=["Underutilized"], schedule="0 9 * * mon-fri", duration="8h").nodes
        '0'
    """

    nodes: Annotated[
        str, form(r"^((100|[0-9]{1,2})%|[0-9]{1,5})$", 'a number or percentage of nodes, such as "3" or "10%"')
    ] = Field(description="Number of nodes or percentage, in quotes: '0', '3', '10%'.")
    reasons: tuple[Literal["Underutilized", "Empty", "Drifted"], ...] = Field(
        default=(), description="Reasons that the budget is for; empty means all."
    )
    schedule: CronSchedule | None = Field(
        default=None, description="Cron expression in UTC at which the budget starts to hold; needs `duration`."
    )
    duration: Duration | None = Field(default=None, description="How long it holds after `schedule`, such as 8h.")

    @model_validator(mode="after")
    def _schedule_with_duration(self) -> Budget:
        if (self.schedule is None) != (self.duration is None):
            raise PydanticCustomError(
                "budget_schedule",
                "'schedule' and 'duration' go together; give both or neither",
                {"field": "duration" if self.schedule is None else "schedule"},
            )
        refuse_second(self.reasons, "reasons[{index}]", "item_duplicate", LISTED_TWICE)
        return self


class Disruption(StrategyModel):
    """When Karpenter may remove or replace a node; each default follows the pool's workload.

    Examples:
        >>> Disruption(consolidation="when-empty", expire_after="never").expire_after
        'never'
    """

    consolidation: Literal["when-empty", "when-empty-or-underutilized"] | None = Field(
        default=None,
        description="Training and development: 'when-empty'; else 'when-empty-or-underutilized'.",
    )
    consolidate_after: Duration | Literal["never"] | None = Field(
        default=None, description="How long a node has to be empty or underutilized first."
    )
    expire_after: Duration | Literal["never"] | None = Field(
        default=None, description="Age at which a node is replaced; training: never."
    )
    termination_grace_period: Duration | None = Field(
        default=None, description="How long a node drains before its pods are killed; without it as long as it takes."
    )
    budgets: tuple[Budget, ...] | None = Field(
        default=None, max_length=50, description="Budgets in place of the derived ones."
    )


class NodePoolSpec(NodeTemplate):
    """Nodes that Karpenter makes when pods need them. Says what hardware in one of three ways.

    Examples:
        >>> NodePoolSpec(name="l4", instance_families=["g6"], limits={"nvidia.com/gpu": 4}).name
        'l4'
    """

    instance_types: tuple[InstanceTypeName, ...] = Field(
        default=(), max_length=60, description="EC2 instance types; or give `instance_families` or `accelerator`."
    )
    instance_families: tuple[InstanceFamilyName, ...] = Field(
        default=(), max_length=20, description="Instance families, such as [g5, g6]: every size the region offers."
    )
    accelerator: Annotated[str, form(r"^[a-z0-9-]{1,40}$", "an accelerator such as h100 or trainium2")] | None = Field(
        default=None, description="Name of an accelerator, such as l4, h100 or trainium: every type that has it."
    )
    instance_sizes: tuple[InstanceSizeName, ...] = Field(
        default=(), description="Keep only these sizes of `instance_families` or `accelerator`, such as [xlarge]."
    )
    capacity: tuple[Capacity, ...] = Field(
        default=("on-demand",),
        min_length=1,
        description="How nodes may be bought. Karpenter takes a reservation first, then spot, then on demand.",
    )
    reservations: tuple[PoolReservation, ...] = Field(
        default=(), max_length=30, description="For capacity 'reserved' and 'capacity-block': which ones."
    )
    limits: dict[Literal["cpu", "memory", "nodes", "nvidia.com/gpu", "aws.amazon.com/neuron"], Quantity | int] = Field(
        description="The most that all nodes of the pool have together: accelerators for an accelerated pool, "
        "cpu for another one. The rest is derived."
    )
    weight: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Of several pools that fit a pod, the one with the highest weight is tried first."
    )
    ami: PoolAmi = Field(default=PoolAmi(), description="Machine image.")
    disruption: Disruption = Field(default=Disruption(), description="When nodes may be removed or replaced.")

    @model_validator(mode="after")
    def _one_choice_of_hardware(self) -> NodePoolSpec:
        ways = [name for name in ("instance_types", "instance_families", "accelerator") if getattr(self, name)]
        if self.described:
            if ways or self.instance_sizes:
                raise PydanticCustomError(
                    "node_pool_hardware",
                    "'workload' describes what the types are chosen from; remove this, or name the workload in a "
                    "word, such as {purpose}",
                    {"purpose": self.purpose, "field": [*ways, "instance_sizes"][0]},
                )
            return self
        if len(ways) != 1:
            raise PydanticCustomError(
                "node_pool_hardware",
                "needs exactly one of 'instance_types', 'instance_families' and 'accelerator'",
                {"field": ways[1]} if len(ways) > 1 else {},
            )
        if self.instance_sizes and self.instance_types:
            raise PydanticCustomError(
                "node_pool_hardware", "the types name their sizes; remove this", {"field": "instance_sizes"}
            )
        refuse_second(self.instance_types, "instance_types[{index}]", "item_duplicate", LISTED_TWICE)
        refuse_second(self.instance_families, "instance_families[{index}]", "item_duplicate", LISTED_TWICE)
        refuse_second(self.capacity, "capacity[{index}]", "item_duplicate", LISTED_TWICE)
        return self

    @model_validator(mode="after")
    def _reservations_go_with_capacity(self) -> NodePoolSpec:
        reserved = bool({"reserved", "capacity-block"} & set(self.capacity))
        if reserved and not self.reservations:
            raise PydanticCustomError(
                "reservation_missing",
                "this capacity needs 'reservations': which ones may be used",
                {"field": "capacity"},
            )
        if self.reservations and not reserved:
            raise PydanticCustomError(
                "reservation_unused",
                "reservations are given, but capacity has neither 'reserved' nor 'capacity-block'; add one",
                {"field": "reservations"},
            )
        return self


class KarpenterSpec(StrategyModel):
    """Karpenter: the controller, its AWS side, and the node pools it makes nodes for.

    Examples:
        >>> pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
        >>> KarpenterSpec(node_pools=[pool]).node_pools[0].name
        'l4'
    """

    namespace: Name = Field(default="kube-system", description="Namespace that the controller runs in.")
    service_account: Name = Field(default="karpenter", description="Service account of the controller.")
    interruption_queue: bool = Field(
        default=True, description="Tell Karpenter of spot interruptions, health events and state changes."
    )
    node_policies: tuple[IamPolicyArn, ...] = Field(
        default=(), description="Further managed policies for the role of Karpenter's nodes."
    )
    replicas: Annotated[int, Field(ge=1, le=5)] = Field(
        default=2, description="Controllers: one works, the others stand by."
    )
    feature_gates: FeatureGates = Field(default=FeatureGates(), description="Features that are still alpha.")
    ami_versions: AmiVersions = Field(default=AmiVersions(), description="Image releases for all node pools.")
    node_pools: tuple[NodePoolSpec, ...] = Field(default=(), max_length=100, description="Node pools.")

    @model_validator(mode="after")
    def _unique_pool_names(self) -> KarpenterSpec:
        refuse_second(
            [pool.name for pool in self.node_pools],
            "node_pools[{index}].name",
            "name_duplicate",
            "two node pools are called '{value}'; names are unique within a strategy",
        )
        return self
