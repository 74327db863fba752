"""Rules about amounts of memory and CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eks_hardware import field_paths
from eks_hardware.models import NodePoolSpec
from eks_hardware.rules.registry import Breach, Context, error, node_path

_BYTES = ("memory", "storage")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@error("QUANTITY_UNIT")
def _unit(context: Context) -> Iterator[Breach]:
    for path, name, amount in _amounts(context):
        resource = name.rpartition(".")[2]
        if resource.endswith(_BYTES) and amount.endswith("m"):
            number = amount[:-1]
            yield (
                path,
                f"{amount} of {resource} is {number} thousandths of a byte; write {number}Mi for mebibytes",
            )
        elif resource == "cpu" and amount.endswith(_BINARY):
            yield path, f"cpu must be a number of cores or thousandths of a core, got {amount}; write 4 or 500m"


def _amounts(context: Context) -> Iterator[tuple[str, str, str]]:
    """Yield path, resource and value of every amount that is a text."""
    for node in context.nodes:
        for name, reserved in (("system", node.kubelet.system_reserved), ("kube", node.kubelet.kube_reserved)):
            yield from _texts(node_path(node, f"kubelet.{name}_reserved"), reserved)
        if isinstance(node, NodePoolSpec):
            yield from _texts(node_path(node, "limits"), node.limits)
    for team in context.strategy.kubernetes.teams:
        path = field_paths.item("kubernetes.teams", team.name)
        yield from _texts(f"{path}.quota", team.quota)
        yield from _texts(f"{path}.container_defaults.requests", team.container_defaults.requests)
        yield from _texts(f"{path}.container_defaults.limits", team.container_defaults.limits)


def _texts(path: str, amounts: Mapping[Any, str | int]) -> Iterator[tuple[str, str, str]]:
    for name, amount in amounts.items():
        if isinstance(amount, str):
            yield field_paths.below(path, name), name, amount
