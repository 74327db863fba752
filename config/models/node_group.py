"""``node_groups``: EKS managed node groups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware.config.models.base import (
    InstanceTypeName,
    JsonObject,
    KmsKeyArn,
    Name,
    StrategyModel,
    Tags,
    ZoneId,
    refuse_second,
)

Workload = Literal["system", "general", "training", "inference", "development"]
Capacity = Literal["on-demand", "spot", "reserved", "capacity-block"]

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

LabelKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
    ),
]
LabelValue = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$")]

# Kubernetes writes NoSchedule, the EKS API NO_SCHEDULE; people write both
# (https://github.com/awsdocs/amazon-eks-user-guide/pull/618).
TaintEffect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"]


# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
Quantity = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|[KMGTPE]i|[MGTPE])?$")]

_GP3_IOPS = 3000
_GP3_IOPS_PER_MIBPS = 4

# Kubelet's own thresholds: https://kubernetes.io/docs/concepts/architecture/garbage-collection/
_GC_HIGH_PERCENT = 85
_GC_LOW_PERCENT = 80


class Scaling(StrategyModel):
    """How many nodes the group has."""

    min: Annotated[int, Field(ge=0, le=450)] = Field(default=0, description="Fewest nodes.")
    desired: Annotated[int, Field(ge=0, le=450)] | None = Field(
        default=None, description="Nodes to run; default: `min`."
    )
    max: Annotated[int, Field(ge=1, le=450)] = Field(
        description="Most nodes (450 is EKS's default quota of nodes per managed node group)."
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
                "min is {min}, above max {max}",
                {"min": self.min, "max": self.max, "field": "min"},
            )
        if self.desired is not None and not self.min <= self.desired <= self.max:
            raise PydanticCustomError(
                "scaling_bounds",
                "desired is {desired}; it has to lie between min {min} and max {max}",
                {"desired": self.desired, "min": self.min, "max": self.max, "field": "desired"},
            )
        return self


class Reservation(StrategyModel):
    """The capacity reservation or capacity block that the group's nodes are launched into."""

    id: Annotated[str, StringConstraints(pattern=r"^cr-[0-9a-f]{8,17}$")] | None = Field(
        default=None, description="Id of an On-Demand Capacity Reservation or of a Capacity Block."
    )
    resource_group_arn: (
        Annotated[
            str,
            StringConstraints(pattern=r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_./-]+$"),
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
    """The machine image; derived from the hardware unless said here."""

    family: Literal["al2023", "bottlerocket"] = Field(default="al2023", description="Operating system.")
    type: AmiType | None = Field(
        default=None, description="EKS AMI type; derived from hardware, architecture and family without it."
    )
    release_version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z._-]+$", max_length=64)] | None = Field(
        default=None,
        description="AMI release to pin, such as 1.35.0-20261101. Without it EKS takes the newest release when "
        "the group is made, and again whenever its launch template changes (disk, tags, kubelet): pin it for training.",
    )
    image_id: Annotated[str, StringConstraints(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = Field(
        default=None, description="Your own image (AMI type CUSTOM), built on the EKS image of `family`."
    )


class Disk(StrategyModel):
    """The volume that container images live on: the root volume, on Bottlerocket the data volume."""

    size_gib: Annotated[int, Field(ge=20, le=16384)] | None = Field(
        default=None,
        description="Size in GiB. Default: 50 for CPU, 200 for accelerated nodes (images are large).",
    )
    type: Literal["gp3", "io2"] = Field(default="gp3", description="EBS volume type.")
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = Field(
        default=None, description="Provisioned IOPS; gp3 comes with 3,000."
    )
    throughput_mibps: Annotated[int, Field(ge=125, le=1000)] | None = Field(
        default=None, description="Throughput in MiB/s, gp3 only; default 125, or 500 for accelerated nodes."
    )
    kms_key_arn: KmsKeyArn | None = Field(
        default=None,
        description="Key for the volume; without it the account's EBS key. It is always encrypted.",
    )

    @model_validator(mode="after")
    def _volume_can_be_made(self) -> Disk:
        # https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-ebs-volume-type
        if self.type == "io2" and self.iops is None:
            raise PydanticCustomError("disk_iops", "io2 has no default; give 'iops'", {"field": "type"})
        if self.throughput_mibps is None:
            return self
        if self.type != "gp3":
            raise PydanticCustomError(
                "disk_throughput", "only gp3 has a throughput of its own; remove it", {"field": "throughput_mibps"}
            )
        most = (self.iops or _GP3_IOPS) // _GP3_IOPS_PER_MIBPS
        if self.throughput_mibps > most:
            raise PydanticCustomError(
                "disk_throughput",
                "gp3 gives 1 MiB/s for {ratio} IOPS, so that {iops} allow {most}; raise 'iops' to {needed}",
                {
                    "ratio": _GP3_IOPS_PER_MIBPS,
                    "iops": self.iops or _GP3_IOPS,
                    "most": most,
                    "needed": self.throughput_mibps * _GP3_IOPS_PER_MIBPS,
                    "field": "throughput_mibps",
                },
            )
        return self


class Taint(StrategyModel):
    """A taint on every node of the group."""

    key: Annotated[LabelKey, StringConstraints(max_length=63)] = Field(description="Taint key.")
    value: LabelValue = Field(default="", description="Taint value.")
    effect: TaintEffect = Field(default="NoSchedule", description="Taint effect, in either spelling.")


class Kubelet(StrategyModel):
    """Kubelet settings, written as AL2023 NodeConfig or Bottlerocket TOML."""

    max_pods: Annotated[int, Field(ge=4, le=737)] | None = Field(
        default=None,
        description="Most pods a node; derived from interfaces and prefix delegation without it.",
    )
    cpu_manager_policy: Literal["none", "static"] | None = Field(
        default=None, description="'static' pins pods with whole CPUs to cores."
    )
    topology_manager_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = Field(
        default=None, description="How devices, CPUs and memory are aligned to NUMA nodes."
    )
    image_gc_high_threshold_percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Disk use above which unused images are removed."
    )
    image_gc_low_threshold_percent: Annotated[int, Field(ge=0, le=99)] | None = Field(
        default=None, description="Disk use at which removing images stops."
    )
    system_reserved: dict[Literal["cpu", "memory", "ephemeral-storage", "pid"], Quantity] = Field(
        default_factory=dict, description="Resources kept for the system, such as {memory: 1Gi}."
    )
    kube_reserved: dict[Literal["cpu", "memory", "ephemeral-storage", "pid"], Quantity] = Field(
        default_factory=dict, description="Resources kept for kubelet and container runtime."
    )

    @model_validator(mode="after")
    def _thresholds_ordered(self) -> Kubelet:
        high, low = self.image_gc_high_threshold_percent, self.image_gc_low_threshold_percent
        if (_GC_LOW_PERCENT if low is None else low) >= (_GC_HIGH_PERCENT if high is None else high):
            raise PydanticCustomError(
                "kubelet_image_gc",
                "the low threshold has to be below the high one (kubelet's own are {low} and {high}); give both",
                {
                    "low": _GC_LOW_PERCENT,
                    "high": _GC_HIGH_PERCENT,
                    "field": f"image_gc_{'low' if high is None else 'high'}_threshold_percent",
                },
            )
        return self


class Update(StrategyModel):
    """How many nodes may be down at once while the group is updated."""

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
                "update_unavailable", "takes 'max_unavailable' or 'max_unavailable_percentage', not both"
            )
        return self


class NodeGroup(StrategyModel):
    """One EKS managed node group; everything that follows from its instance types is derived."""

    name: Name = Field(description="Name of the group.")
    workload: Workload = Field(
        default="general", description="What the nodes are for: label, update and repair policy."
    )
    instance_types: tuple[InstanceTypeName, ...] = Field(
        min_length=1,
        max_length=20,
        description="EC2 instance types, best first; one architecture and one kind of accelerator a group.",
    )
    scaling: Scaling = Field(description="Number of nodes.")
    capacity: Capacity = Field(default="on-demand", description="How the nodes are bought.")
    reservation: Reservation | None = Field(
        default=None, description="For capacity 'reserved' and 'capacity-block': which, and in which zone."
    )
    zones: tuple[ZoneId, ...] = Field(
        default=(),
        description="Zone ids for this group; derived from where its types are offered without it.",
    )
    efa: bool = Field(
        default=False, description="Elastic Fabric Adapter: every EFA interface the type has, in one zone."
    )
    placement_group: Literal["auto", "cluster", "none"] = Field(
        default="auto", description="'auto': a cluster placement group with EFA and without a reservation."
    )
    ami: Ami = Field(default=Ami(), description="Machine image.")
    disk: Disk = Field(default=Disk(), description="The volume for container images.")
    instance_store: Literal["raid0", "mount", "none"] | None = Field(
        default=None,
        description="What to do with local NVMe disks: one RAID0 array for kubelet and containerd, a mount of each "
        "disk, or nothing. Default: 'raid0' where the type has them.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict, description="Labels beside the derived ones; one with the same key wins."
    )
    taints: tuple[Taint, ...] = Field(
        default=(), max_length=49, description="Taints beside the derived one; EKS allows 50 in all."
    )
    accelerator_taint: bool = Field(
        default=True,
        description="Taint accelerated nodes, so that only pods that ask for the accelerator land there.",
    )
    kubelet: Kubelet = Field(default=Kubelet(), description="Kubelet settings.")
    update: Update = Field(default=Update(), description="Update strategy.")
    node_repair: bool | None = Field(
        default=None,
        description="Let EKS replace or reboot unhealthy nodes. Default: on, but off for reserved capacity, "
        "where a replacement may find no room.",
    )
    pods_use_imds: bool = Field(
        default=False, description="Let pods reach instance metadata (hop limit 2); use Pod Identity instead."
    )
    detailed_monitoring: bool = Field(default=False, description="EC2 metrics every minute instead of every five.")
    tags: Tags = Field(
        default_factory=dict,
        max_length=10,
        description="Tags for this group's instances and volumes (AWS allows 50 in all, EKS adds some).",
    )
    user_data: JsonObject = Field(
        default_factory=dict,
        description="Operating-system settings merged over the derived ones: a NodeConfig `spec` on AL2023, "
        "`settings` on Bottlerocket.",
    )

    @model_validator(mode="after")
    def _nothing_twice(self) -> NodeGroup:
        message = "'{value}' is listed twice; remove one"
        refuse_second(self.instance_types, "instance_types[{index}]", "item_duplicate", message)
        # Both spellings of an effect are one effect.
        taints = [f"{taint.key}:{taint.effect.replace('_', '').lower()}" for taint in self.taints]
        refuse_second(taints, "taints[{index}]", "item_duplicate", message)
        return self

    @model_validator(mode="after")
    def _reservation_goes_with_capacity(self) -> NodeGroup:
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
