"""The node group or pool of a workload."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware import software
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType
from eks_hardware.kubernetes.nodes import Node, name_label
from eks_hardware.kubernetes.nodes import nodes as all_nodes
from eks_hardware.models import NodeTemplate, Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.printable import quoted
from eks_hardware.resolve import ResolvedNodePool, ResolvedStrategy
from eks_hardware.suggestions import did_you_mean
from eks_hardware.workloads.request import WorkloadError


@dataclass(frozen=True, kw_only=True)
class Target:
    """The nodes of a workload."""

    resolved: ResolvedStrategy
    node: Node
    template: NodeTemplate  # the group or pool in the strategy's file
    kinds: tuple[InstanceType, ...]

    @property
    def name(self) -> str:
        """Name of the group or pool."""
        return self.node.name

    @property
    def is_pool(self) -> bool:
        """Whether it is a Karpenter node pool."""
        return isinstance(self.node, ResolvedNodePool)

    @property
    def hardware(self) -> Hardware:
        """Kind of hardware of its nodes."""
        return self.node.hardware

    @property
    def called(self) -> str:
        """Its name in messages: ``node group gpu-training``."""
        return f"{'node pool' if self.is_pool else 'node group'} {self.name}"

    @property
    def label(self) -> dict[str, str]:
        """The label that only its nodes have."""
        return name_label(self.node)

    @property
    def runs_system(self) -> bool:
        """Whether the cluster's system pods run on its nodes: a system group, or without one, groups without taints."""
        groups = self.resolved.node_groups
        if any(group.workload == "system" for group in groups):
            return self.node.workload == "system"
        return not self.is_pool and not self.node.tainted

    @property
    def driver(self) -> str | None:
        """The version of the accelerator's driver in its AMI."""
        if self.node.image_id or not (self.hardware is Hardware.NVIDIA_GPU or self.hardware.is_neuron):
            return None
        image_driver = software.image_driver(
            self.hardware, self.node.ami_family, self.node.ami_release, self.resolved.kubernetes.kubernetes_version
        )
        return image_driver.driver if image_driver else None


def find_target(strategy: Strategy, resolved: ResolvedStrategy, name: str, catalogue: Catalogue) -> Target:
    """Return the group or pool with a name.

    Raises:
        WorkloadError: WORKLOAD_GROUP_UNKNOWN, WORKLOAD_HARDWARE.
    """
    nodes = {each.name: each for each in all_nodes(resolved)}
    if name not in nodes:
        fix = did_you_mean(name, nodes)
        raise WorkloadError(
            "WORKLOAD_GROUP_UNKNOWN", "--group", f"{resolved.name} has no node group or pool {quoted(name)}; {fix}"
        )
    template: NodeTemplate = next(each for each in (*strategy.node_groups, *pools_of(strategy)) if each.name == name)
    node = nodes[name]
    kinds = tuple(catalogue.get(kind) for kind in node.instance_types)
    target = Target(resolved=resolved, node=node, template=template, kinds=kinds)
    if target.hardware is Hardware.OTHER:
        devices = sorted({kind.accelerator.name for kind in kinds if kind.accelerator})
        raise WorkloadError(
            "WORKLOAD_HARDWARE",
            "--group",
            f"{target.called} has {', '.join(devices)}, for which no device plugin is installed: pods cannot request "
            "them; choose a group with NVIDIA GPUs, Trainium, Inferentia or CPUs",
        )
    return target
