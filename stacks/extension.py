"""A team's additions to every strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_hardware.kubernetes import Bundle
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedStrategy

if TYPE_CHECKING:
    # These imports start Node; an invalid strategy file is reported without it.
    from eks_hardware._cdk import Construct
    from eks_hardware.constructs.node_groups import NodeEnvironment, Nodes
    from eks_hardware.constructs.platform import Platform
    from eks_hardware.stacks.strategy_stack import StrategyStack


class Extension:
    """Additions to the stacks of every strategy. Override the methods that you need; the defaults add nothing.

    The app calls the methods for each strategy, in the order below. ``kubernetes.delivery`` also applies to an
    extension's charts: Helm releases in the same stack or in a second one, or written files.

    Examples:
        >>> class Ours(Extension):
        ...     def change(self, resolved):
        ...         return change(resolved, {"cluster.log_retention_days": 30}, because="our auditors want a month")
        ...
        ...     def releases(self, bundle, resolved):
        ...         return bundle.plus(ObjectRelease(name="ours", namespace="kube-system", objects=()))
        >>> stacks = strategy_stacks(app, resolved, extension=Ours())
        >>> "ours" in stacks[0].releases.releases
        True
    """

    def change(self, resolved: ResolvedStrategy) -> ResolvedStrategy:
        """Change derived values before anything is defined (``eks_hardware.resolve.change``).

        Args:
            resolved: the strategy.
        """
        return resolved

    def node_group(
        self, scope: Construct, id_: str, *, resolved: ResolvedNodeGroup, environment: NodeEnvironment
    ) -> Nodes:
        """Define the nodes of a group: a managed node group, or your own kind.

        Args:
            scope: the platform.
            id_: ``nodes-`` and the name of the group.
            resolved: the group.
            environment: settings that all nodes of the platform share.
        """
        from eks_hardware.constructs.node_groups import managed_node_group

        return managed_node_group(scope, id_, resolved=resolved, environment=environment)

    def resources(self, stack: StrategyStack, platform: Platform) -> None:
        """Define your own resources, after the strategy's resources and before any chart.

        Args:
            stack: the stack of the strategy.
            platform: the strategy's resources; ``add_nodes`` and ``add_release_parts`` make charts wait for your
                resources.
        """

    def releases(self, bundle: Bundle, resolved: ResolvedStrategy) -> Bundle:  # noqa: ARG002
        """Change the charts and objects to install: ``bundle.plus(ChartRelease(...))``.

        Args:
            bundle: charts and objects of the strategy.
            resolved: the strategy.
        """
        return bundle

    def overrides(self, stack: StrategyStack) -> None:
        """Override attributes of resources, after everything is defined (``eks_hardware.constructs.resources``).

        Args:
            stack: the stack of the strategy.
        """
