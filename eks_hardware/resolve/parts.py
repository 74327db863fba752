"""The resolved objects of a strategy and their places, which ``explain`` prints and :func:`change` accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eks_hardware.resolve.strategy import ResolvedStrategy
from eks_hardware.resolve.values import Resolved

Route = tuple[str | int, ...]
"""Attributes, keys and indices that lead from the strategy to one of its parts."""


@dataclass(frozen=True)
class Part:
    """A resolved object: its kind (``groups``), its place (``node_groups[gpu]``) and the route to it.

    The name is that of the group, pool, add-on or chart; it is empty if there is only one of its kind.
    """

    kind: str
    path: str
    value: Resolved
    route: Route
    name: str = ""


def parts(resolved: ResolvedStrategy) -> Iterator[Part]:
    """Yield every resolved object, in the order of a strategy file."""
    yield Part("strategy", "strategy", resolved, ())
    yield Part("network", "network", resolved.network, ("network",))
    yield Part("cluster", "cluster", resolved.cluster, ("cluster",))
    for index, addon in enumerate(resolved.cluster.addons):
        yield Part("addons", f"cluster.addons.{addon.name}", addon, ("cluster", "addons", index), addon.name)
    for index, group in enumerate(resolved.node_groups):
        yield Part("groups", f"node_groups[{group.name}]", group, ("node_groups", index), group.name)
    if resolved.karpenter:
        yield Part("karpenter", "karpenter", resolved.karpenter, ("karpenter",))
    for index, pool in enumerate(resolved.node_pools):
        path = f"karpenter.node_pools[{pool.name}]"
        yield Part("pools", path, pool, ("node_pools", index), pool.name)
        yield Part("disruption", f"{path}.disruption", pool.disruption, ("node_pools", index, "disruption"), pool.name)
    yield Part("charts", "kubernetes", resolved.kubernetes, ("kubernetes",))
    for key, chart in resolved.kubernetes.charts.items():
        yield Part("charts", f"kubernetes.charts.{key}", chart, ("kubernetes", "charts", key), key)
    for index, role in enumerate(resolved.kubernetes.service_roles):
        path = f"kubernetes.service_roles[{role.key}]"
        yield Part("charts", path, role, ("kubernetes", "service_roles", index), role.key)
    yield Part("storage", "storage", resolved.storage, ("storage",))
    for name in ("fsx_lustre", "efs"):
        if system := getattr(resolved.storage, name):
            yield Part("storage", f"storage.{name}", system, ("storage", name), name)
    yield Part("provider", "aws", resolved.provider, ("provider",))
