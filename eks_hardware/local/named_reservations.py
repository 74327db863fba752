"""The capacity reservations that a strategy names, which exist on AWS before the strategy is deployed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodePool, ResolvedNodes, ResolvedStrategy

POOL_INSTANCES = 4
"""The instance count of a pool's reservation. A group's reservation has the group's maximum number of nodes."""

_BLOCK = "capacity-block"


def named(strategy: Strategy, resolved: ResolvedStrategy) -> list[dict[str, Any]]:
    """Return the reservations for :meth:`eks_hardware.local.emulator.Emulator.add_reservations`.

    A reservation has the first instance type and zone of its group or pool.
    """
    specs = {node_pool.name: node_pool for node_pool in strategy.karpenter.node_pools} if strategy.karpenter else {}
    reservations = [*_of_groups(resolved)]
    for pool in resolved.node_pools:
        reservations += _of_pool(pool, is_block=_BLOCK in specs[pool.name].capacity)
    return reservations


def _of_groups(resolved: ResolvedStrategy) -> Iterator[dict[str, Any]]:
    for group in resolved.node_groups:
        if target := group.capacity_target:
            is_block = group.capacity == _BLOCK
            yield {
                **_hardware(group, is_block=is_block),
                "count": max(group.max_size, 1),
                "id": target.reservation_id,
                "group_arn": target.resource_group_arn,
            }


def _of_pool(pool: ResolvedNodePool, *, is_block: bool) -> Iterator[dict[str, Any]]:
    for selector in pool.reservations:
        yield {
            **_hardware(pool, is_block=is_block),
            "count": POOL_INSTANCES,
            "id": selector.id,
            "tags": dict(selector.tags),
            "owner": selector.owner_account_id,
        }


def _hardware(node: ResolvedNodes, *, is_block: bool) -> dict[str, Any]:
    return {"instance_type": node.instance_types[0], "zone_id": node.zone_ids[0], "is_block": is_block}
