"""Charts and objects on the cluster, installed by the Helm provider."""

from eks_hardware.constructs.kubernetes.adopted import adopted_releases
from eks_hardware.constructs.kubernetes.platform import platform_releases, references
from eks_hardware.constructs.kubernetes.provider import cluster_helm_provider
from eks_hardware.constructs.kubernetes.releases import HelmReleases

__all__ = ["HelmReleases", "adopted_releases", "cluster_helm_provider", "platform_releases", "references"]
