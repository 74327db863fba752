"""Kinds of node groups: the constructs that a platform defines for a group of its strategy."""

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
    """Settings that all nodes of a platform share, whatever their kind.

    Attributes:
        cluster: the cluster that the nodes join; nodes depend on its ``before_nodes``.
        network: the nodes' subnets by zone id; nodes depend on its ``egress``.
        role: role of managed nodes. EKS grants it access when the first managed node group is created.
        efa_security_group_id: security group of EFA interfaces; None if no group or pool of the strategy has EFA.
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
    """The interface of every kind of node group: :class:`NodeGroup`, or your own construct.

    Examples:
        >>> nodes: Nodes = Platform(stack, "platform", resolved=resolved).nodes["system"]
        >>> len(nodes.ready)
        1
    """

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """Resources to depend on in order to wait for the nodes."""
        ...


class NodeGroupKind(Protocol):
    """A function or construct class that defines the nodes of one group of a strategy.

    Examples:
        The default kind with one setting changed:

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
            environment: settings that all nodes of the platform share.
        """
        ...


def managed_node_group(
    scope: Construct, id_: str, *, resolved: ResolvedNodeGroup, environment: NodeEnvironment
) -> NodeGroup:
    """Define a managed node group, the default kind of a platform.

    Args:
        scope: parent construct or stack.
        id_: construct id, part of the Terraform addresses.
        resolved: the group.
        environment: settings that all nodes of the platform share.

    Examples:
        Another group in addition to the strategy's groups:

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
