"""VPC, subnets, routes and endpoints."""

from eks_hardware.constructs.network.network import Network
from eks_hardware.constructs.network.ref import NetworkRef

__all__ = ["Network", "NetworkRef"]
