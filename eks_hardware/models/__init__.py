"""The models of a strategy file: what a user may write, with its limits, and nothing that is derived."""

from eks_hardware.models.budget import SpendingLimit
from eks_hardware.models.cluster import (
    AccessEntry,
    AccessPolicy,
    AddonSpec,
    ClusterSpec,
    Endpoint,
    Logging,
    SecretsEncryption,
)
from eks_hardware.models.ignore import Ignore
from eks_hardware.models.karpenter import (
    AmiVersions,
    Budget,
    Disruption,
    FeatureGates,
    KarpenterSpec,
    NodePoolSpec,
    PoolAmi,
    PoolReservation,
)
from eks_hardware.models.kubernetes import Chart, ContainerDefaults, KubernetesSpec, Team
from eks_hardware.models.needs import Needs
from eks_hardware.models.network import ExistingNetwork, FlowLogs, NetworkSpec
from eks_hardware.models.node_group import Ami, NodeGroupSpec, Reservation, Scaling, Update
from eks_hardware.models.node_template import Disk, GpuSharing, Kubelet, NodeTemplate, Taint, TimeSlicing
from eks_hardware.models.storage import Efs, FsxLustre, S3Bucket, StorageSpec
from eks_hardware.models.strategy import (
    AssumeRole,
    AwsProviderSpec,
    LocalBackendSpec,
    RemoteBackendSpec,
    S3BackendSpec,
    Strategy,
)
from eks_hardware.models.workload import Latency, ModelShape, WorkloadSpec

__all__ = [
    "AccessEntry",
    "AccessPolicy",
    "AddonSpec",
    "Ami",
    "AmiVersions",
    "AssumeRole",
    "AwsProviderSpec",
    "Budget",
    "Chart",
    "ClusterSpec",
    "ContainerDefaults",
    "Disk",
    "Disruption",
    "Efs",
    "Endpoint",
    "ExistingNetwork",
    "FeatureGates",
    "FlowLogs",
    "FsxLustre",
    "GpuSharing",
    "Ignore",
    "KarpenterSpec",
    "Kubelet",
    "KubernetesSpec",
    "Latency",
    "LocalBackendSpec",
    "Logging",
    "ModelShape",
    "Needs",
    "NetworkSpec",
    "NodeGroupSpec",
    "NodePoolSpec",
    "NodeTemplate",
    "PoolAmi",
    "PoolReservation",
    "RemoteBackendSpec",
    "Reservation",
    "S3BackendSpec",
    "S3Bucket",
    "Scaling",
    "SecretsEncryption",
    "SpendingLimit",
    "StorageSpec",
    "Strategy",
    "Taint",
    "Team",
    "TimeSlicing",
    "Update",
    "WorkloadSpec",
]
