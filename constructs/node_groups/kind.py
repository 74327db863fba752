"""Kinds of node groups: what a platform defines for a group of its strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eks_hardware._cdk import Construct, ITerraformDependable
from eks_hardware.constructs.cluster import ClusterRef
from eks_hardware.constructs.iam import IamSettings, Role
from eks_hardware.constructs.network import NetworkRef
from eks_hardware.constructs.node_groups.node_group import NodeGroup
from eks_hardware.resolve import ResolvedNodeGroup


@dataclass(frozen=True, kw_only=True)
class NodeEnvironment:
    """What nodes of a platform share, whatever kind they are.

    Attributes:
        cluster: the cluster they join; nodes depend on its ``before_nodes``.
        network: their subnets by zone id; nodes depend on its ``egress``.
        role: the role of managed nodes. EKS gives it access when the first managed node group is created.
        efa_security_group_id: security group of EFA interfaces, None where no group of the strategy has any.
        iam: path and permissions boundary of every role.

    Examples:
        >>> environment = Platform(stack, "platform", resolved=resolved).node_environment
        >>> environment.role.attach("logs", "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy")
    """

    cluster: ClusterRef
    network: NetworkRef
    role: Role
    efa_security_group_id: str | None
    iam: IamSettings


class Nodes(Protocol):
    """Describes what any kind of node group has: :class:`NodeGroup`, or a construct of yours.

    Examples:
        >>> nodes: Nodes = Platform(stack, "platform", resolved=resolved).nodes["system"]
        >>> len(nodes.ready)
        1
    """

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """Depend on these to wait for the nodes."""
        ...


class NodeGroupKind(Protocol):
    """Describes a function, or a construct's class, that defines the nodes of one group of a strategy.

    Examples:
        A kind that is the usual one, but for a setting:

        >>> def patient(scope, id_, *, resolved, environment):
        ...     group = managed_node_group(scope, id_, resolved=resolved, environment=environment)
        ...     group.resource.add_override("timeouts.create", "60m")
        ...     return group
        >>> platform = Platform(stack, "platform", resolved=resolved, define_node_group=patient)
    """

    def __call__(
        self, scope: Construct, id_: str, *, resolved: ResolvedNodeGroup, environment: NodeEnvironment
    ) -> Nodes:
        """Define the nodes of a group.

        Args:
            scope: the platform.
            id_: ``nodes-`` and the name of the group.
            resolved: the group.
            environment: what the nodes of the platform share.
        """
        ...


def managed_node_group(
    scope: Construct, id_: str, *, resolved: ResolvedNodeGroup, environment: NodeEnvironment
) -> NodeGroup:
    """Define a managed node group: the kind that a platform takes unless told otherwise.

    Args:
        scope: the construct or stack that it belongs to.
        id_: its name there, part of the addresses.
        resolved: the group.
        environment: what the nodes of the platform share.

    Examples:
        Another group in addition to those of a strategy:

        >>> from eks_hardware.catalogue import load
        >>> from eks_hardware.models import NodeGroupSpec
        >>> platform = Platform(stack, "platform", resolved=resolved)
        >>> extra = resolve_node_group(
        ...     NodeGroupSpec(name="extra", instance_types=["g6.xlarge"], scaling={"max": 2}),
        ...     cluster_name=resolved.name,
        ...     kubernetes_version=resolved.cluster.kubernetes_version,
        ...     zone_ids=resolved.network.zone_ids,
        ...     catalogue=load(),
        ... )
        >>> group = managed_node_group(stack, "extra", resolved=extra, environment=platform.node_environment)
    """
    return NodeGroup(
        scope,
        id_,
        resolved=resolved,
        cluster=environment.cluster,
        network=environment.network,
        role=environment.role,
        efa_security_group_id=environment.efa_security_group_id,
    )
