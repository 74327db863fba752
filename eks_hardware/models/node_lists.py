"""Groups and pools with a workload description whose instance types have not been chosen yet.

This package does not choose them. ``eks_hardware.validation`` loads a strategy with the choices in its lock file.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from eks_hardware import field_paths
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Strategy

NODE_LISTS = ("node_groups", "karpenter.node_pools")
"""The lists with items that can be checked independently."""

_GROUPS, _POOLS = NODE_LISTS

UNCHOSEN = (
    "the hardware for this workload is not chosen yet; load the strategy with eks_hardware.validation, as the commands "
    "do, or set instance_types"
)


def pools_of(strategy: Strategy) -> tuple[NodePoolSpec, ...]:
    """Return Karpenter's node pools; none without Karpenter."""
    return strategy.karpenter.node_pools if strategy.karpenter else ()


def nodes_by_path(strategy: Strategy) -> Mapping[str, NodeGroupSpec | NodePoolSpec]:
    """Return every group and pool by its path, such as ``node_groups[gpu]``."""
    return {
        **{field_paths.item(_GROUPS, group.name): group for group in strategy.node_groups},
        **{field_paths.item(_POOLS, pool.name): pool for pool in pools_of(strategy)},
    }


def unchosen(strategy: Strategy) -> tuple[str, ...]:
    """Return the paths of the groups and pools without instance types, in file order."""
    return tuple(path for path, node in nodes_by_path(strategy).items() if node.described and not node.instance_types)


def with_nodes(strategy: Strategy, nodes: Mapping[str, NodeGroupSpec | NodePoolSpec]) -> Strategy:
    """Return a copy of the strategy in which these groups and pools replace its own."""
    groups = tuple(node for node in nodes.values() if isinstance(node, NodeGroupSpec))
    pools = tuple(node for node in nodes.values() if isinstance(node, NodePoolSpec))
    changed: dict[str, object] = {"node_groups": groups}
    if strategy.karpenter and pools != strategy.karpenter.node_pools:
        changed["karpenter"] = strategy.karpenter.model_copy(update={"node_pools": pools})
    return strategy.model_copy(update=changed)


def without(strategy: Strategy, paths: Container[str]) -> Strategy:
    """Return a copy of the strategy without some groups and pools; use it only to check the others."""
    kept = {path: node for path, node in nodes_by_path(strategy).items() if path not in paths}
    return with_nodes(strategy, kept)


def lists_of(paths: Iterable[str]) -> frozenset[str]:
    """Return the lists that contain these groups and pools."""
    return frozenset(map(field_paths.list_of, paths))
