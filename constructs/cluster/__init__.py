"""The EKS control plane, its add-ons and its secrets key."""

from eks_hardware.constructs.cluster.addon import Addon
from eks_hardware.constructs.cluster.cluster import Cluster
from eks_hardware.constructs.cluster.encryption import SecretsKey
from eks_hardware.constructs.cluster.ref import ClusterRef

__all__ = ["Addon", "Cluster", "ClusterRef", "SecretsKey"]
