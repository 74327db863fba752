"""The stack of one strategy, as extensions see it."""

from __future__ import annotations

from eks_hardware._cdk import Construct, TerraformStack
from eks_hardware.constructs.kubernetes import HelmReleases
from eks_hardware.constructs.platform import Platform
from eks_hardware.kubernetes import Bundle
from eks_hardware.resolve import ResolvedStrategy


class StrategyStack(TerraformStack):
    """A stack with the name of its strategy. ``HardwareStack`` defines its content.

    Args:
        scope: the app.
        resolved: the strategy.

    Creates: nothing.

    Examples:
        >>> isinstance(HardwareStack(app, resolved=resolved), StrategyStack)
        True
    """

    resolved: ResolvedStrategy
    """The strategy, after any changes by the extension."""
    bundle: Bundle
    """Charts and objects on the cluster, however they are installed."""
    platform: Platform
    """All resources of the strategy."""
    releases: HelmReleases | None
    """The Helm releases, if this stack installs any."""

    def __init__(self, scope: Construct, *, resolved: ResolvedStrategy) -> None:
        super().__init__(scope, resolved.name)
        self.resolved = resolved
