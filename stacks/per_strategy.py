"""The one or two stacks of a strategy."""

from __future__ import annotations

from eks_hardware._cdk import Construct
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.stacks.extension import Extension
from eks_hardware.stacks.hardware_stack import HardwareStack
from eks_hardware.stacks.kubernetes_stack import KubernetesStack


def strategy_stacks(
    scope: Construct, resolved: ResolvedStrategy, *, extension: Extension | None = None
) -> tuple[HardwareStack] | tuple[HardwareStack, KubernetesStack]:
    """Define the stack of a strategy and, with ``kubernetes.stack: separate`` and any charts, the stack of its charts.

    Args:
        scope: the app.
        resolved: the strategy (``eks_hardware.resolve.resolve``).
        extension: additions to the strategy.

    Examples:
        >>> (hardware,) = strategy_stacks(app, resolved)
        >>> hardware.platform.cluster.resource.add_override("timeouts.create", "45m")
    """
    hardware = HardwareStack(scope, resolved=resolved, extension=extension)
    if hardware.resolved.kubernetes_backend is None or not hardware.bundle.releases:
        return (hardware,)
    return hardware, KubernetesStack(scope, resolved=hardware.resolved, hardware=hardware)
