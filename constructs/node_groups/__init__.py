"""Node groups for NVIDIA GPU, Trainium, Inferentia and CPU: managed node groups, and your own kinds."""

from eks_hardware.constructs.node_groups.adopted import AdoptedNodeGroup
from eks_hardware.constructs.node_groups.kind import NodeEnvironment, NodeGroupKind, Nodes, managed_node_group
from eks_hardware.constructs.node_groups.launch_template import launch_template
from eks_hardware.constructs.node_groups.node_group import NodeGroup

__all__ = [
    "AdoptedNodeGroup",
    "NodeEnvironment",
    "NodeGroup",
    "NodeGroupKind",
    "Nodes",
    "launch_template",
    "managed_node_group",
]
