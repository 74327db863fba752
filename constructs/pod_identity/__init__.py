"""IAM roles of service accounts, through EKS Pod Identity."""

from eks_hardware.constructs.pod_identity.role import PodIdentityRole

__all__ = ["PodIdentityRole"]
