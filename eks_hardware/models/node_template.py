"""What managed node groups and Karpenter's node pools have in common: the settings of a node."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware.models.base import JsonObject, KmsKeyArn, Name, StrategyModel, Tags, ZoneId, refuse_second
from eks_hardware.models.needs import Needs
from eks_hardware.models.text_patterns import form
from eks_hardware.models.workload import Purpose, WorkloadSpec
from eks_hardware.spellings import kubernetes_effect

Capacity = Literal["on-demand", "spot", "reserved", "capacity-block"]

LabelKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
    ),
]
LabelValue = Annotated[
    str,
    form(
        r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$",
        "a label value: at most 63 letters, digits, hyphens, underscores and dots",
    ),
]

# Kubernetes writes NoSchedule, the EKS API NO_SCHEDULE; people write both
# (https://github.com/awsdocs/amazon-eks-user-guide/pull/618).
TaintEffect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"]


# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
Quantity = Annotated[
    str, form(r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|[KMGTPE]i|[MGTPE])?$", "an amount such as 500m, 16 or 64Gi")
]

_GP3_IOPS = 3000
_GP3_IOPS_PER_MIBPS = 4

# Kubelet's own thresholds: https://kubernetes.io/docs/concepts/architecture/garbage-collection/
_GC_HIGH_PERCENT = 85
_GC_LOW_PERCENT = 80

LISTED_TWICE = "'{value}' is listed twice; remove one"


class Disk(StrategyModel):
    """The volume that container images live on: the root volume, on Bottlerocket the data volume.

    Examples:
        >>> Disk(size_gib=500, throughput_mibps=500).type
        'gp3'
    """

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
    """A taint on every node of the group.

    Examples:
        >>> Taint(key="team", value="research", effect="NoSchedule").key
        'team'
    """

    key: Annotated[LabelKey, StringConstraints(max_length=63)] = Field(description="Taint key.")
    value: LabelValue = Field(default="", description="Taint value.")
    effect: TaintEffect = Field(default="NoSchedule", description="Taint effect, in either spelling.")


class Kubelet(StrategyModel):
    """Kubelet settings, written as AL2023 NodeConfig or Bottlerocket TOML.

    Examples:
        >>> Kubelet(max_pods=110, cpu_manager_policy="static").max_pods
        110
    """

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


class TimeSlicing(StrategyModel):
    """Several pods take turns on one GPU, without memory or fault isolation.

    Examples:
        >>> TimeSlicing(replicas=4).replicas
        4
    """

    replicas: Annotated[int, Field(ge=2, le=48)] = Field(description="Pods that share one GPU.")
    rename: bool = Field(
        default=False,
        description="Advertise the shares as nvidia.com/gpu.shared, so that a pod that asks for a whole GPU never "
        "lands on a share.",
    )


class GpuSharing(StrategyModel):
    """How one GPU is given to several pods: either in turns or in Multi-Instance GPU slices.

    Examples:
        >>> GpuSharing(mig_profile="1g.10gb").time_slicing is None
        True
    """

    time_slicing: TimeSlicing | None = Field(default=None, description="Pods take turns on each GPU.")
    mig_profile: Annotated[str, form(r"^[1-9]g\.[1-9][0-9]{0,2}gb$", "a MIG profile such as 1g.10gb")] | None = Field(
        default=None,
        description="Cut every GPU into as many slices of this MIG profile as fit, such as 1g.10gb.",
    )

    @model_validator(mode="after")
    def _one_way(self) -> GpuSharing:
        if (self.time_slicing is None) == (self.mig_profile is None):
            raise PydanticCustomError(
                "gpu_sharing_way", "needs either 'time_slicing' or 'mig_profile', exactly one of them"
            )
        return self


class NodeTemplate(StrategyModel):
    """The settings of a node, however it comes to be.

    Examples:
        >>> issubclass(NodeGroup, NodeTemplate), issubclass(NodePool, NodeTemplate)
        (True, True)
    """

    name: Name = Field(description="Name of the group or pool, unique within the strategy.")
    workload: Purpose | WorkloadSpec = Field(
        default="general",
        description="What the nodes are for: label, update and repair policy. Or what is to run on them, from which "
        "their instance types are chosen.",
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
    pods_use_imds: bool = Field(
        default=False, description="Let pods reach instance metadata (hop limit 2); use Pod Identity instead."
    )
    detailed_monitoring: bool = Field(default=False, description="EC2 metrics every minute instead of every five.")
    tags: Tags = Field(
        default_factory=dict,
        max_length=10,
        description="Tags for these instances and volumes (AWS allows 50 in all, EKS adds some).",
    )
    user_data: JsonObject = Field(
        default_factory=dict,
        description="Operating-system settings merged over the derived ones: a NodeConfig `spec` on AL2023, "
        "`settings` on Bottlerocket.",
    )
    gpu_sharing: GpuSharing | None = Field(
        default=None, description="Give one NVIDIA GPU to several pods; without it a pod gets whole GPUs."
    )
    needs: Needs = Field(
        default=Needs(),
        description="What the software demands of the nodes; checked against their hardware and images.",
    )

    @property
    def purpose(self) -> Purpose:
        """What the nodes are for, in a word."""
        return self.workload.purpose if isinstance(self.workload, WorkloadSpec) else self.workload

    @property
    def described(self) -> WorkloadSpec | None:
        """What is to run on the nodes, where the strategy says that rather than instance types."""
        return self.workload if isinstance(self.workload, WorkloadSpec) else None

    @model_validator(mode="after")
    def _no_taint_twice(self) -> NodeTemplate:
        # Both spellings of an effect are one effect.
        taints = [f"{taint.key}:{kubernetes_effect(taint.effect)}" for taint in self.taints]
        message = "'{value}' is listed twice, and a node takes a taint of one key and effect once; remove one"
        refuse_second(taints, "taints[{index}]", "item_duplicate", message)
        return self
