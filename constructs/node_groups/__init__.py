"""Managed node groups for NVIDIA GPU, Trainium, Inferentia and CPU."""

from eks_hardware.constructs.node_groups.node_group import NodeGroup

__all__ = ["NodeGroup"]
