"""One strategy, one stack or two."""

from __future__ import annotations

from eks_hardware._cdk import Construct, TerraformStack
from eks_hardware.config.resolve import ResolvedStrategy
from eks_hardware.kubernetes import bundle
from eks_hardware.stacks.hardware_stack import HardwareStack
from eks_hardware.stacks.kubernetes_stack import KubernetesStack


def strategy_stacks(scope: Construct, resolved: ResolvedStrategy) -> tuple[TerraformStack, ...]:
    """Define the stack of a strategy and, where it wants one and has charts, the stack of its charts."""
    releases = bundle(resolved)
    hardware = HardwareStack(scope, resolved=resolved, releases=releases)
    if resolved.kubernetes_backend is None or not releases.releases:
        return (hardware,)
    return hardware, KubernetesStack(scope, resolved=resolved, hardware=hardware, releases=releases)
