"""The models of a strategy file: what a user may write, with its limits, and nothing that is derived."""

from eks_hardware.config.models.budget import SpendingLimit
from eks_hardware.config.models.cluster import (
    AccessEntry,
    AccessPolicy,
    Addon,
    Cluster,
    Endpoint,
    Logging,
    SecretsEncryption,
)
from eks_hardware.config.models.ignore import Ignore
from eks_hardware.config.models.karpenter import (
    AmiVersions,
    Budget,
    Disruption,
    FeatureGates,
    Karpenter,
    NodePool,
    PoolAmi,
    PoolReservation,
)
from eks_hardware.config.models.kubernetes import Chart, ContainerDefaults, Kubernetes, Team
from eks_hardware.config.models.needs import Needs
from eks_hardware.config.models.network import ExistingNetwork, FlowLogs, Network
from eks_hardware.config.models.node_group import (
    Ami,
    NodeGroup,
    Reservation,
    Scaling,
    Update,
)
from eks_hardware.config.models.node_template import Disk, GpuSharing, Kubelet, NodeTemplate, Taint, TimeSlicing
from eks_hardware.config.models.storage import Efs, FsxLustre, S3Bucket, Storage
from eks_hardware.config.models.strategy import (
    AssumeRole,
    AwsProvider,
    LocalBackend,
    RemoteBackend,
    S3Backend,
    Strategy,
)
from eks_hardware.config.models.workload import Latency, ModelShape, Workload

__all__ = [
    "AccessEntry",
    "AccessPolicy",
    "Addon",
    "Ami",
    "AmiVersions",
    "AssumeRole",
    "AwsProvider",
    "Budget",
    "Chart",
    "Cluster",
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
    "Karpenter",
    "Kubelet",
    "Kubernetes",
    "Latency",
    "LocalBackend",
    "Logging",
    "ModelShape",
    "Needs",
    "Network",
    "NodeGroup",
    "NodePool",
    "NodeTemplate",
    "PoolAmi",
    "PoolReservation",
    "RemoteBackend",
    "Reservation",
    "S3Backend",
    "S3Bucket",
    "Scaling",
    "SecretsEncryption",
    "SpendingLimit",
    "Storage",
    "Strategy",
    "Taint",
    "Team",
    "TimeSlicing",
    "Update",
    "Workload",
]
