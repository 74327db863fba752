"""One strategy, one stack: stacks, the app that makes them of strategy files, and what a team adds to both."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eks_hardware.stacks.app import main, strategies
    from eks_hardware.stacks.backend import define_backend, remote_state
    from eks_hardware.stacks.extension import Extension
    from eks_hardware.stacks.hardware_stack import HardwareStack
    from eks_hardware.stacks.kubernetes_stack import KubernetesStack
    from eks_hardware.stacks.per_strategy import strategy_stacks

__all__ = [
    "Extension",
    "HardwareStack",
    "KubernetesStack",
    "define_backend",
    "main",
    "remote_state",
    "strategies",
    "strategy_stacks",
]

# The framework starts Node: names are imported on first use, so a wrong file is reported without it.
_MODULES = {
    "Extension": "extension",
    "HardwareStack": "hardware_stack",
    "KubernetesStack": "kubernetes_stack",
    "define_backend": "backend",
    "main": "app",
    "remote_state": "backend",
    "strategies": "app",
    "strategy_stacks": "per_strategy",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
