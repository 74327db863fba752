"""The managed policies of the node role."""

from __future__ import annotations

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""Managed policies of the node role. The VPC CNI has a Pod Identity role, so AmazonEKS_CNI_Policy is not needed."""
NODE_ROLE = "https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html"


def node_policy_arns(partition: str) -> tuple[str, ...]:
    """Return the ARNs of the node role's managed policies."""
    return tuple(f"arn:{partition}:iam::aws:policy/{name}" for name in NODE_POLICIES)
