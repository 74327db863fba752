"""``facts/choices.json``: this project's choices, where neither a strategy nor a source sets a value."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text


class Switch(Sourced):
    enabled: bool


class KubernetesSupport(Sourced):
    upgrade_policy: Literal["standard", "extended"]


class ControlPlaneTier(Sourced):
    tier: Literal["standard", "tier-xl", "tier-2xl", "tier-4xl", "tier-8xl"]


class ControlPlaneLogs(Sourced):
    types: list[Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]]
    retention_days: Literal[90, 180, 365, 400, 545, 731]


class LogGroup(Sourced):
    kept: bool


class PublicEndpoint(Sourced):
    cidrs: list[str]


class ClusterAccess(Sourced):
    creator_is_admin: bool


class Vpc(Sourced):
    cidr: Text


class Zones(Sourced):
    count: int


class SubnetSplit(Sourced):
    """Prefix lengths of a zone's block within the VPC, and of each subnet within the block."""

    zone_bits: int
    private_bits: int
    public_bits: int
    control_plane_bits: int


class GatewayEndpoints(Sourced):
    services: list[Literal["s3", "dynamodb"]]


class NatGateways(Sourced):
    mode: Literal["none", "single", "one-per-zone"]


class FlowLogs(Switch):
    traffic: Literal["ALL", "ACCEPT", "REJECT"]
    retention_days: Literal[90, 180, 365, 400, 545, 731]


class FlowLogInterval(Sourced):
    seconds: Literal[60, 600]


class Workload(Sourced):
    purpose: Literal["system", "general", "training", "inference", "development"]


class Purchase(Sourced):
    purchase: Literal["on-demand", "spot"]


class GroupSize(Sourced):
    min: int


class NodeRepair(Switch):
    in_reservations: bool


class OperatingSystem(Sourced):
    family: Literal["al2023", "bottlerocket"]


class Taint(Sourced):
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"]


class AcceleratorTaint(Switch, Taint):
    pass


class VolumeType(Sourced):
    type: Literal["gp3", "io2"]


class DiskSize(Sourced):
    size_gib: int


class DiskThroughput(Sourced):
    mibps: int


class InstanceStore(Sourced):
    use: Literal["raid0", "mount", "none"]


class Budget(TypedDict):
    nodes: str
    reasons: NotRequired[list[str]]


class Disruption(Sourced):
    consolidation_policy: str
    consolidate_after: str
    expire_after: str
    budgets: list[Budget]
    why: Text


class HopLimit(Sourced):
    nodes: int
    pods: int


class NodeUpdates(Sourced):
    max_unavailable: int


class ControlPlaneZones(Sourced):
    count: int


class EfaTraining(Sourced):
    interfaces: int


class KarpenterReplicas(Sourced):
    replicas: int


class KarpenterNames(Sourced):
    namespace: Text
    service_account: Text


class KubernetesDelivery(Sourced):
    delivery: Literal["helm", "manifests"]
    stack: Literal["same", "separate"]


class Backend(Sourced):
    type: Literal["local"]
    path: Text


class S3Backend(Sourced):
    key: Text
    lock: bool


class FsxLustre(Sourced):
    throughput_mibps_per_tib: int


class FsxLustreSize(Sourced):
    size_gib: int


class FsxLustreDeployment(Sourced):
    deployment: Literal["persistent-2", "scratch-2"]


class EfsThroughput(Sourced):
    throughput: Literal["elastic", "bursting"]


class MountedBucket(Sourced):
    read_only: bool


class IamPath(Sourced):
    path: Text


class DescribedWorkload(Sourced):
    purchase: list[Literal["on-demand", "spot"]]
    activation_checkpointing: bool


class Choices(About):
    """The file. ``disruption`` is keyed by a pool's purpose."""

    kubernetes_support: KubernetesSupport
    control_plane_tier: ControlPlaneTier
    control_plane_logs: ControlPlaneLogs
    secrets_encryption: Switch
    log_group: LogGroup
    public_endpoint: PublicEndpoint
    cluster_access: ClusterAccess
    zonal_shift: Switch
    vpc: Vpc
    zones: Zones
    subnets: SubnetSplit
    nat_gateways: NatGateways
    gateway_endpoints: GatewayEndpoints
    flow_logs: FlowLogs
    flow_log_interval: FlowLogInterval
    workload: Workload
    capacity: Purchase
    group_size: GroupSize
    autoscaled: Switch
    node_repair: NodeRepair
    detailed_monitoring: Switch
    operating_system: OperatingSystem
    accelerator_taint: AcceleratorTaint
    taint: Taint
    volume_type: VolumeType
    cpu_disk: DiskSize
    accelerated_disk: DiskSize
    accelerated_disk_throughput: DiskThroughput
    instance_store: InstanceStore
    disruption: dict[str, Disruption]
    metadata_hop_limit: HopLimit
    node_updates: NodeUpdates
    control_plane_zones: ControlPlaneZones
    efa_training: EfaTraining
    karpenter_replicas: KarpenterReplicas
    karpenter_names: KarpenterNames
    karpenter_interruptions: Switch
    kubernetes_delivery: KubernetesDelivery
    neuron_monitor: Switch
    backend: Backend
    s3_backend: S3Backend
    fsx_lustre: FsxLustre
    fsx_lustre_size: FsxLustreSize
    fsx_lustre_deployment: FsxLustreDeployment
    efs_throughput: EfsThroughput
    mounted_bucket: MountedBucket
    iam_path: IamPath
    described_workload: DescribedWorkload
