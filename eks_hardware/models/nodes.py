"""``node_groups`` and ``karpenter.node_pools``: the settings that both share, and those of only one of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from eks_hardware import facts
from eks_hardware.models.base import (
    AccountId,
    ImageId,
    InstanceTypeName,
    JsonObject,
    KmsKeyArn,
    Name,
    ReservationId,
    StrategyModel,
    Tags,
    ZoneId,
    invalid,
    refuse_other_than_one,
    refuse_second,
)
from eks_hardware.models.needs import Needs
from eks_hardware.models.text_patterns import LABEL_KEY, LABEL_VALUE, pattern
from eks_hardware.models.workload import Purpose, WorkloadSpec
from eks_hardware.spellings import RESERVED, Capacity, kubernetes_effect
from eks_hardware.units import seconds

LabelKey = Annotated[str, StringConstraints(pattern=LABEL_KEY)]
LabelValue = Annotated[
    str, pattern(LABEL_VALUE, "a label value: at most 63 letters, digits, hyphens, underscores and dots")
]

_PURCHASE = facts.choices()["capacity"]["purchase"]
_SYSTEM = facts.choices()["operating_system"]["family"]

# Kubernetes writes NoSchedule, the EKS API NO_SCHEDULE; users write both
# (https://github.com/awsdocs/amazon-eks-user-guide/pull/618).
TaintEffect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"]


# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
Quantity = Annotated[
    str, pattern(r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|[KMGTPE]i|[MGTPE])?$", "an amount such as 500m, 16 or 64Gi")
]

_GP3_IOPS = 3000
_GP3_IOPS_PER_MIBPS = 4

# The kubelet's own thresholds: https://kubernetes.io/docs/concepts/architecture/garbage-collection/
_GC_HIGH_PERCENT = 85
_GC_LOW_PERCENT = 80


class Disk(StrategyModel):
    """The volume for container images: the root volume, or the data volume on Bottlerocket.

    Examples:
        >>> Disk(size_gib=500, throughput_mibps=500).type
        'gp3'
    """

    size_gib: Annotated[int, Field(ge=20, le=16384)] | None = Field(
        default=None,
        description=f"Size in GiB. Default: {facts.choices()['cpu_disk']['size_gib']} for CPU nodes, "
        f"{facts.choices()['accelerated_disk']['size_gib']} for accelerated nodes, because their images are large.",
    )
    type: Literal["gp3", "io2"] = Field(default=facts.choices()["volume_type"]["type"], description="EBS volume type.")
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = Field(
        default=None, description="Provisioned IOPS; gp3 includes 3,000."
    )
    throughput_mibps: Annotated[int, Field(ge=125, le=1000)] | None = Field(
        default=None,
        description="Throughput in MiB/s, gp3 only; default 125, or "
        f"{facts.choices()['accelerated_disk_throughput']['mibps']} for accelerated nodes.",
    )
    kms_key_arn: KmsKeyArn | None = Field(
        default=None,
        description="ARN of the key; default: the account's EBS key. The volume is always encrypted.",
    )

    @model_validator(mode="after")
    def _volume_can_be_made(self) -> Disk:
        # https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html#gp3-ebs-volume-type
        if self.type == "io2" and self.iops is None:
            raise invalid("disk_iops", "io2 requires 'iops' and has no default; add it", "type")
        if self.throughput_mibps is None:
            return self
        if self.type != "gp3":
            raise invalid("disk_throughput", "only gp3 supports a throughput; remove it", "throughput_mibps")
        iops, needed = self.iops or _GP3_IOPS, self.throughput_mibps * _GP3_IOPS_PER_MIBPS
        if needed > iops:
            allowed = f"{iops // _GP3_IOPS_PER_MIBPS} for {iops} IOPS (1 MiB/s per {_GP3_IOPS_PER_MIBPS} IOPS)"
            message = f"must be at most {allowed}, got {self.throughput_mibps}; lower it, or raise 'iops' to {needed}"
            raise invalid("disk_throughput", message, "throughput_mibps")
        return self


class Taint(StrategyModel):
    """A taint on every node of the group.

    Examples:
        >>> Taint(key="team", value="research", effect="NoSchedule").key
        'team'
    """

    key: Annotated[LabelKey, StringConstraints(max_length=63)] = Field(description="Taint key.")
    value: LabelValue = Field(default="", description="Taint value.")
    effect: TaintEffect = Field(
        default=facts.choices()["taint"]["effect"],
        description="Taint effect, in the spelling of Kubernetes or of the EKS API.",
    )


class Kubelet(StrategyModel):
    """Settings of the kubelet, written to the AL2023 NodeConfig or Bottlerocket TOML.

    Examples:
        >>> Kubelet(max_pods=110, cpu_manager_policy="static").max_pods
        110
    """

    max_pods: Annotated[int, Field(ge=4, le=737)] | None = Field(
        default=None,
        description="Maximum pods per node; by default derived from network interfaces and prefix delegation.",
    )
    cpu_manager_policy: Literal["none", "static"] | None = Field(
        default=None, description="'static' gives exclusive cores to Guaranteed pods that request whole CPUs."
    )
    topology_manager_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = Field(
        default=None, description="Alignment of devices, CPUs and memory to NUMA nodes."
    )
    image_gc_high_threshold_percent: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="Disk usage at which the kubelet starts to remove unused images, in percent."
    )
    image_gc_low_threshold_percent: Annotated[int, Field(ge=0, le=99)] | None = Field(
        default=None, description="Disk usage at which the kubelet stops removing images, in percent."
    )
    system_reserved: dict[Literal["cpu", "memory", "ephemeral-storage", "pid"], Quantity] = Field(
        examples=[{"memory": "1Gi"}],
        default_factory=dict,
        description="Resources reserved for operating system daemons, such as {memory: 1Gi}.",
    )
    kube_reserved: dict[Literal["cpu", "memory", "ephemeral-storage", "pid"], Quantity] = Field(
        examples=[{"memory": "1Gi"}],
        default_factory=dict,
        description="Resources reserved for the kubelet and the container runtime.",
    )

    @model_validator(mode="after")
    def _thresholds_ordered(self) -> Kubelet:
        high, low = self.image_gc_high_threshold_percent, self.image_gc_low_threshold_percent
        if (_GC_LOW_PERCENT if low is None else low) >= (_GC_HIGH_PERCENT if high is None else high):
            own = f"the kubelet's defaults are {_GC_LOW_PERCENT} and {_GC_HIGH_PERCENT}"
            message = f"the low threshold must be below the high one ({own}); set both"
            field = f"image_gc_{'low' if high is None else 'high'}_threshold_percent"
            raise invalid("kubelet_image_gc", message, field)
        return self


class TimeSlicing(StrategyModel):
    """Time-slicing: several pods take turns on one GPU, without memory or fault isolation.

    Examples:
        >>> TimeSlicing(replicas=4).replicas
        4
    """

    replicas: Annotated[int, Field(ge=2, le=48)] = Field(description="Pods that share one GPU.")
    rename: bool = Field(
        default=False,
        description="Advertise shared GPUs as nvidia.com/gpu.shared. A pod that requests a whole GPU then never gets a "
        "shared one.",
    )


class GpuSharing(StrategyModel):
    """Sharing of one GPU by several pods, either in turns or in Multi-Instance GPU slices.

    Examples:
        >>> GpuSharing(mig_profile="1g.10gb").time_slicing is None
        True
    """

    time_slicing: TimeSlicing | None = Field(default=None, description="Pods take turns on each GPU.")
    mig_profile: Annotated[str, pattern(r"^[1-9]g\.[1-9][0-9]{0,2}gb$", "a MIG profile such as 1g.10gb")] | None = (
        Field(
            default=None,
            description="Partition every GPU into as many slices of this MIG profile as fit, such as 1g.10gb.",
        )
    )

    @model_validator(mode="after")
    def _one_way(self) -> GpuSharing:
        ways = {"time_slicing": self.time_slicing, "mig_profile": self.mig_profile}
        refuse_other_than_one("gpu_sharing_way", ways)
        return self


class NodeTemplate(StrategyModel):
    """Node settings that groups and pools share.

    Examples:
        >>> issubclass(NodeGroupSpec, NodeTemplate), issubclass(NodePoolSpec, NodeTemplate)
        (True, True)
    """

    name: Name = Field(description="Name of the group or pool, unique within the strategy.")
    workload: Purpose | WorkloadSpec = Field(
        default=facts.choices()["workload"]["purpose"],
        description="Purpose of the nodes, which sets a label and the update and repair policies. Alternatively, a "
        "description of the workload, for which eks-hardware chooses the instance types.",
    )
    zones: tuple[ZoneId, ...] = Field(
        default=(),
        description="Zone IDs for this group or pool; default: the zones that offer its instance types.",
    )
    efa: bool = Field(
        default=False,
        description="Elastic Fabric Adapter: use all EFA interfaces of the instance type, with all nodes in one zone.",
    )
    placement_group: Literal["auto", "cluster", "none"] = Field(
        default="auto",
        description="'auto': a cluster placement group only for nodes that have EFA and no reservation.",
    )
    disk: Disk = Field(default=Disk(), description="The volume for container images.")
    instance_store: Literal["raid0", "mount", "none"] | None = Field(
        default=None,
        description="Use of local NVMe disks: one RAID0 array for the kubelet and containerd, a mount for each disk, "
        "or none. Default: 'raid0' if the type has local NVMe disks.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict,
        examples=[{"team": "research"}],
        description="Labels in addition to the derived labels; a label here overrides a derived one with the same key.",
    )
    taints: tuple[Taint, ...] = Field(
        default=(), max_length=49, description="Taints in addition to the derived taint; EKS allows 50 in total."
    )
    accelerator_taint: bool = Field(
        default=facts.choices()["accelerator_taint"]["enabled"],
        description="Taint accelerated nodes, so that only pods that request the accelerator run there.",
    )
    kubelet: Kubelet = Field(default=Kubelet(), description="Settings of the kubelet.")
    pods_use_imds: bool = Field(
        default=False, description="Give pods access to instance metadata (hop limit 2); prefer Pod Identity."
    )
    detailed_monitoring: bool = Field(
        default=facts.choices()["detailed_monitoring"]["enabled"],
        description="EC2 metrics every minute instead of every five.",
    )
    tags: Tags = Field(
        examples=[{"team": "research"}],
        default_factory=dict,
        max_length=10,
        description="Tags for these instances and volumes (AWS allows 50 in total, and EKS adds some).",
    )
    user_data: JsonObject = Field(
        default_factory=dict,
        examples=[{"kubelet": {"config": {"podPidsLimit": 4096}}}],
        description="Operating system settings, merged over the derived ones: a NodeConfig `spec` on AL2023, "
        "`settings` on Bottlerocket.",
    )
    gpu_sharing: GpuSharing | None = Field(
        default=None, description="Share each NVIDIA GPU between several pods; by default pods get whole GPUs."
    )
    needs: Needs = Field(
        default=Needs(),
        description="Requirements of the software that runs on the nodes; checked against their hardware and images.",
    )

    @property
    def purpose(self) -> Purpose:
        """The purpose of the nodes, as one word."""
        return self.workload.purpose if isinstance(self.workload, WorkloadSpec) else self.workload

    @property
    def described(self) -> WorkloadSpec | None:
        """The workload description; None if the strategy lists instance types instead."""
        return self.workload if isinstance(self.workload, WorkloadSpec) else None

    @model_validator(mode="after")
    def _no_taint_twice(self) -> NodeTemplate:
        # Both spellings of an effect mean the same effect.
        taints = [f"{taint.key}:{kubernetes_effect(taint.effect)}" for taint in self.taints]
        message = '"{value}" is listed twice, and a node can have only one taint with this key and effect; remove one'
        refuse_second(taints, "taints", "item_duplicate", message)
        return self


# --- managed node groups


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
    """The number of nodes in the group.

    Examples:
        >>> Scaling(min=1, max=4).autoscaled
        False
    """

    min: Annotated[int, Field(ge=0, le=5000)] = Field(
        default=facts.choices()["group_size"]["min"], description="Minimum number of nodes."
    )
    desired: Annotated[int, Field(ge=0, le=5000)] | None = Field(
        default=None, description="Number of nodes to run; default: `min`."
    )
    max: Annotated[int, Field(ge=1, le=5000)] = Field(
        description="Maximum number of nodes; new accounts have a quota of 450 per group (`validate --quotas`)."
    )
    autoscaled: bool = Field(
        default=facts.choices()["autoscaled"]["enabled"],
        description="Whether an autoscaler controls the number of nodes. An apply then keeps the current number, "
        "within min and max.",
    )

    @property
    def initial(self) -> int:
        """The initial number of nodes."""
        return self.min if self.desired is None else self.desired

    @model_validator(mode="after")
    def _ordered(self) -> Scaling:
        if self.min > self.max:
            message = f"must be at most max {self.max}, got {self.min}; lower min, or raise max"
            raise invalid("scaling_bounds", message, "min")
        if self.desired is not None and not self.min <= self.desired <= self.max:
            message = f"must be between min {self.min} and max {self.max}, got {self.desired}; change one of them"
            raise invalid("scaling_bounds", message, "desired")
        return self


class Reservation(StrategyModel):
    """The On-Demand Capacity Reservation or Capacity Block for the group's nodes.

    Examples:
        >>> Reservation(id="cr-0123456789abcdef0", zone="usw2-az1").zone
        'usw2-az1'
    """

    id: ReservationId | None = Field(
        default=None, description="ID of an On-Demand Capacity Reservation or of a Capacity Block."
    )
    resource_group_arn: (
        Annotated[
            str,
            pattern(
                r"^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9_./-]+$",
                "the ARN of a resource group, such as arn:aws:resource-groups:us-west-2:111122223333:group/gpus",
            ),
        ]
        | None
    ) = Field(default=None, description="ARN of a resource group of capacity reservations.")
    zone: ZoneId = Field(description="Zone ID of the reservation, the only zone with its capacity.")

    @model_validator(mode="after")
    def _one_target(self) -> Reservation:
        targets = {"id": self.id, "resource_group_arn": self.resource_group_arn}
        refuse_other_than_one("reservation_target", targets)
        return self


class Ami(StrategyModel):
    """The machine image; by default derived from the hardware.

    Examples:
        >>> Ami(family="bottlerocket").image_id is None
        True
        >>> Ami(image_id="ami-0123456789abcdef0").family
        'al2023'
    """

    family: Literal["al2023", "bottlerocket"] = Field(default=_SYSTEM, description="Operating system.")
    type: AmiType | None = Field(
        default=None, description="EKS AMI type; by default derived from hardware, architecture and family."
    )
    release_version: (
        Annotated[str, pattern(r"^[0-9A-Za-z._-]+$", "an AMI release such as 1.35.0-20260810", max_length=64)] | None
    ) = Field(
        default=None,
        description="AMI release to pin, such as 1.35.0-20261101. By default EKS uses the newest release when it "
        "creates the group, and again whenever its launch template changes (disk, tags, kubelet); pin it for training.",
    )
    image_id: ImageId | None = Field(
        default=None, description="Your own image (AMI type CUSTOM), based on the EKS image of `family`."
    )


class Update(StrategyModel):
    """The number of nodes that may be unavailable at once during an update.

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
        description="'default' launches new nodes before it terminates old ones; 'minimal' terminates first, for "
        "capacity that cannot double, such as a full reservation. Raises the minimum version of the AWS provider.",
    )

    @model_validator(mode="after")
    def _one_measure(self) -> Update:
        if self.max_unavailable is not None and self.max_unavailable_percentage is not None:
            message = "must not be set together with 'max_unavailable', got both; remove one"
            raise invalid("update_unavailable", message, "max_unavailable_percentage")
        return self


class NodeGroupSpec(NodeTemplate):
    """One EKS managed node group; most settings are derived from its instance types.

    Examples:
        >>> NodeGroupSpec(name="h100", instance_types=["p5.48xlarge"], efa=True, scaling={"max": 4}).scaling.min
        0
    """

    instance_types: tuple[InstanceTypeName, ...] = Field(
        default=(),
        max_length=20,
        description="EC2 instance types, best first; all with one architecture and one kind of accelerator. "
        "Alternatively, describe the workload in `workload: {...}`.",
    )
    scaling: Scaling = Field(description="Number of nodes.")
    capacity: Capacity = Field(default=_PURCHASE, description="Purchase option.")
    reservation: Reservation | None = Field(
        default=None, description="For capacity 'reserved' and 'capacity-block': the reservation and its zone."
    )
    ami: Ami = Field(default=Ami(), description="Machine image.")
    update: Update = Field(default=Update(), description="Update strategy.")
    node_repair: bool | None = Field(
        default=None,
        description="Let EKS replace or reboot unhealthy nodes. Default: true; false for reserved capacity, which may "
        "have no room for a replacement.",
    )

    @model_validator(mode="after")
    def _one_choice_of_hardware(self) -> NodeGroupSpec:
        if self.described and self.instance_types:
            raise invalid(
                "node_group_hardware",
                "must not be set together with a 'workload' description, got both; remove the types, or set 'workload' "
                f"to a purpose such as {self.purpose}",
                "instance_types",
            )
        if not self.described and not self.instance_types:
            message = "must have 'instance_types', or a workload description as 'workload: {...}', got neither; add one"
            raise invalid(
                "node_group_hardware", message, "instance_types" if "instance_types" in self.model_fields_set else ""
            )
        refuse_second(self.instance_types, "instance_types", "item_duplicate")
        return self

    @model_validator(mode="after")
    def _reservation_goes_with_capacity(self) -> NodeGroupSpec:
        reserved = self.capacity in RESERVED
        if reserved and self.reservation is None:
            message = f"capacity '{self.capacity}' requires a 'reservation' with its ID and zone; add it"
            raise invalid("reservation_missing", message, "capacity")
        if not reserved and self.reservation is not None:
            fix = "set capacity to 'reserved' or 'capacity-block'"
            message = f"a reservation has no effect with capacity '{self.capacity}'; {fix}"
            raise invalid("reservation_unused", message, "reservation")
        if self.reservation is not None and set(self.zones) - {self.reservation.zone}:
            message = f"the reservation sets the zone {self.reservation.zone}, so 'zones' has no effect; remove it"
            raise invalid("reservation_zone", message, "zones")
        return self


# --- Karpenter's node pools


# https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms
AmiVersion = Annotated[
    str, pattern(r"^(latest|v[0-9][0-9A-Za-z.-]{0,30})$", "an AMI release such as v20260810, or latest")
]

# https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecexpireafter
Duration = Annotated[
    str, pattern(r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$", "a duration such as 30m or 1h30m", min_length=2)
]

# https://karpenter.sh/docs/concepts/disruption/#schedule
_MACRO, _FIELD = "@(hourly|daily|midnight|weekly|monthly|annually|yearly)", "[0-9*/,A-Za-z-]+"
CronSchedule = Annotated[str, StringConstraints(pattern=rf"^({_MACRO}|{_FIELD}( {_FIELD}){{4}})$")]

InstanceFamilyName = Annotated[str, pattern(r"^[a-z][a-z0-9-]{1,30}$", "an instance family such as g6e")]
InstanceSizeName = Annotated[str, pattern(r"^[a-z0-9-]{2,30}$", "an instance size such as 12xlarge")]


class PoolAmi(StrategyModel):
    """The machine image of a pool's nodes.

    Examples:
        >>> PoolAmi(family="bottlerocket").family
        'bottlerocket'
        >>> PoolAmi(image_id="ami-0123456789abcdef0").version is None
        True
    """

    family: Literal["al2023", "bottlerocket"] = Field(default=_SYSTEM, description="Operating system.")
    version: AmiVersion | None = Field(
        default=None,
        description="Release to pin; default: the release in `karpenter.ami_versions`, or else the catalogue's. With "
        "'latest', Karpenter replaces nodes whenever AWS publishes an image.",
    )
    image_id: ImageId | None = Field(default=None, description="Your own image, based on the EKS image of `family`.")


class PoolReservation(StrategyModel):
    """Capacity reservations or Capacity Blocks that a pool may use, by ID or by tags.

    Examples:
        >>> PoolReservation(tags={"team": "research"}).id is None
        True
    """

    id: ReservationId | None = Field(default=None, description="ID of one reservation.")
    tags: Tags = Field(
        default_factory=dict,
        examples=[{"team": "research"}],
        description="Tags that reservations must have; all must match.",
    )
    owner_account_id: AccountId | None = Field(
        default=None, description="ID of the account that shares the reservation."
    )
    zone: ZoneId | None = Field(default=None, description="Zone ID of the reservation; required with `id`.")

    @model_validator(mode="after")
    def _one_selector(self) -> PoolReservation:
        refuse_other_than_one("reservation_target", {"id": self.id, "tags": self.tags})
        if self.id and self.zone is None:
            raise invalid("reservation_zone", "requires the 'zone' of the reservation; add it", "id")
        if self.id and self.owner_account_id:
            message = "must not be set together with 'id', got both; remove one"
            raise invalid("reservation_target", message, "owner_account_id")
        return self


class Budget(StrategyModel):
    """The number of a pool's nodes that may be disrupted at once.

    Examples:
        >>> Budget(nodes="0", reasons=["Underutilized"], schedule="0 9 * * mon-fri", duration="8h").nodes
        '0'
    """

    nodes: Annotated[
        str, pattern(r"^((100|[0-9]{1,2})%|[0-9]{1,5})$", 'a number or percentage of nodes, such as "3" or "10%"')
    ] = Field(description="Number or percentage of nodes, in quotes: '0', '3', '10%'.")
    reasons: tuple[Literal["Underutilized", "Empty", "Drifted"], ...] = Field(
        default=(), description="Reasons that the budget applies to; empty means all."
    )
    schedule: CronSchedule | None = Field(
        default=None, description="Cron expression in UTC for the start of the budget; requires `duration`."
    )
    duration: Duration | None = Field(default=None, description="Duration of the budget after `schedule`, such as 8h.")

    @model_validator(mode="after")
    def _schedule_with_duration(self) -> Budget:
        if (self.schedule is None) != (self.duration is None):
            field = "duration" if self.schedule is None else "schedule"
            raise invalid("budget_schedule", "'schedule' and 'duration' require each other; set both or neither", field)
        if self.duration is not None and not seconds(self.duration):
            raise invalid(
                "duration_zero", "must be longer than zero", "duration", fix="set 8h or similar, or remove the budget"
            )
        refuse_second(self.reasons, "reasons", "item_duplicate")
        return self


class Disruption(StrategyModel):
    """When Karpenter may remove or replace a node; the defaults follow the pool's workload.

    Examples:
        >>> Disruption(consolidation="when-empty", expire_after="never").expire_after
        'never'
    """

    consolidation: Literal["when-empty", "when-empty-or-underutilized"] | None = Field(
        default=None,
        description="Default: 'when-empty' for training and development, otherwise 'when-empty-or-underutilized'.",
    )
    consolidate_after: Duration | Literal["never"] | None = Field(
        default=None,
        examples=["10m"],
        description="Time that a node must be empty or underutilized before Karpenter consolidates it.",
    )
    expire_after: Duration | Literal["never"] | None = Field(
        default=None,
        examples=["168h"],
        description="Maximum age of a node before Karpenter replaces it; default for training: never.",
    )
    termination_grace_period: Duration | None = Field(
        default=None,
        description="Maximum time for a node to drain before its remaining pods are killed; by default unlimited.",
    )
    budgets: tuple[Budget, ...] | None = Field(
        default=None, max_length=50, description="Disruption budgets instead of the derived ones."
    )

    @model_validator(mode="after")
    def _nodes_live(self) -> Disruption:
        # With a duration of 0, Karpenter would replace each node as soon as it launched.
        if self.expire_after not in (None, "never") and not seconds(self.expire_after):
            raise invalid(
                "duration_zero", "must be longer than zero", "expire_after", fix="set 168h or similar, or 'never'"
            )
        return self


class NodePoolSpec(NodeTemplate):
    """Nodes that Karpenter launches when pods need them. Choose the hardware in one of three ways.

    Examples:
        >>> NodePoolSpec(name="l4", instance_families=["g6"], limits={"nvidia.com/gpu": 4}).name
        'l4'
    """

    instance_types: tuple[InstanceTypeName, ...] = Field(
        default=(), max_length=60, description="EC2 instance types, instead of `instance_families` or `accelerator`."
    )
    instance_families: tuple[InstanceFamilyName, ...] = Field(
        default=(),
        max_length=20,
        description="Instance families, such as [g5, g6], in every size that the region offers.",
    )
    accelerator: Annotated[str, pattern(r"^[a-z0-9-]{1,40}$", "an accelerator such as h100 or trainium2")] | None = (
        Field(
            default=None,
            description="Accelerator name, such as l4, h100 or trainium; selects every instance type that has it.",
        )
    )
    instance_sizes: tuple[InstanceSizeName, ...] = Field(
        default=(), description="Only these sizes of `instance_families` or `accelerator`, such as [xlarge]."
    )
    capacity: tuple[Capacity, ...] = Field(
        default=(_PURCHASE,),
        min_length=1,
        description="Allowed purchase options. Karpenter tries reservations first, then Spot, then On-Demand.",
    )
    reservations: tuple[PoolReservation, ...] = Field(
        default=(), max_length=30, description="For capacity 'reserved' and 'capacity-block': the reservations."
    )
    limits: dict[Literal["cpu", "memory", "nodes", "nvidia.com/gpu", "aws.amazon.com/neuron"], Quantity | int] = Field(
        examples=[{"nvidia.com/gpu": 8}],
        description="Maximum total over all nodes of the pool: accelerators for an accelerated pool, cpu for any other "
        "pool. The other limits are derived.",
    )
    weight: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None,
        description="If several pools fit a pod, Karpenter tries the pool with the highest weight first.",
    )
    ami: PoolAmi = Field(default=PoolAmi(), description="Machine image.")
    disruption: Disruption = Field(default=Disruption(), description="When nodes may be removed or replaced.")

    @model_validator(mode="after")
    def _one_choice_of_hardware(self) -> NodePoolSpec:
        given = {name: getattr(self, name) for name in ("instance_types", "instance_families", "accelerator")}
        ways = [name for name, value in given.items() if value]
        if self.described:
            if ways or self.instance_sizes:
                raise invalid(
                    "node_pool_hardware",
                    "must not be set together with a 'workload' description, got both; remove this, or set 'workload' "
                    f"to a purpose such as {self.purpose}",
                    [*ways, "instance_sizes"][0],
                )
            return self
        refuse_other_than_one("node_pool_hardware", given, at_second=True)
        if self.instance_sizes and self.instance_types:
            message = "must not be set together with 'instance_types', which include the sizes; remove 'instance_sizes'"
            raise invalid("node_pool_hardware", message, "instance_sizes")
        return self

    @model_validator(mode="after")
    def _each_item_once(self) -> NodePoolSpec:
        for name in ("instance_types", "instance_families", "capacity"):
            refuse_second(getattr(self, name), name, "item_duplicate")
        return self

    @model_validator(mode="after")
    def _reservations_go_with_capacity(self) -> NodePoolSpec:
        reserved = bool(RESERVED.intersection(self.capacity))
        if reserved and not self.reservations:
            message = "this capacity requires 'reservations'; add the reservations to use"
            raise invalid("reservation_missing", message, "capacity")
        if self.reservations and not reserved:
            message = "reservations have no effect without capacity 'reserved' or 'capacity-block'; add one"
            raise invalid("reservation_unused", message, "reservations")
        return self
