"""The stacks of a strategy, the app that creates them from strategy files, and extensions of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_hardware._lazy_names import lazy_names

if TYPE_CHECKING:
    from eks_hardware.stacks.app import main, strategies
    from eks_hardware.stacks.backend import define_backend, remote_state
    from eks_hardware.stacks.extension import Extension
    from eks_hardware.stacks.hardware_stack import HardwareStack
    from eks_hardware.stacks.kubernetes_stack import KubernetesStack
    from eks_hardware.stacks.per_strategy import strategy_stacks
    from eks_hardware.stacks.strategy_stack import StrategyStack

__all__ = [
    "Extension",
    "HardwareStack",
    "KubernetesStack",
    "StrategyStack",
    "define_backend",
    "main",
    "remote_state",
    "strategies",
    "strategy_stacks",
]

# The framework starts Node. Names are imported on first use, so an invalid file is reported without starting Node.
_MODULES = {
    "app": "main strategies",
    "backend": "define_backend remote_state",
    "extension": "Extension",
    "hardware_stack": "HardwareStack",
    "kubernetes_stack": "KubernetesStack",
    "per_strategy": "strategy_stacks",
    "strategy_stack": "StrategyStack",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
