"""The models of a strategy file: what a user may write, with its limits, and nothing that is derived."""

from eks_hardware.config.models.cluster import (
    AccessEntry,
    AccessPolicy,
    Addon,
    Cluster,
    Endpoint,
    Logging,
    SecretsEncryption,
)
from eks_hardware.config.models.network import ExistingNetwork, FlowLogs, Network
from eks_hardware.config.models.node_group import (
    Ami,
    Disk,
    Kubelet,
    NodeGroup,
    Reservation,
    Scaling,
    Taint,
    Update,
)
from eks_hardware.config.models.strategy import (
    AssumeRole,
    AwsProvider,
    Karpenter,
    LocalBackend,
    RemoteBackend,
    S3Backend,
    Strategy,
)

__all__ = [
    "AccessEntry",
    "AccessPolicy",
    "Addon",
    "Ami",
    "AssumeRole",
    "AwsProvider",
    "Cluster",
    "Disk",
    "Endpoint",
    "ExistingNetwork",
    "FlowLogs",
    "Karpenter",
    "Kubelet",
    "LocalBackend",
    "Logging",
    "Network",
    "NodeGroup",
    "RemoteBackend",
    "Reservation",
    "S3Backend",
    "Scaling",
    "SecretsEncryption",
    "Strategy",
    "Taint",
    "Update",
]
