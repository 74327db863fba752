"""Rules about the budget: the cost at maximum size, and unknown prices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from eks_hardware.catalogue import InstanceType
from eks_hardware.models import NodeGroupSpec, NodePoolSpec
from eks_hardware.resolve.pool_types import node_capacity
from eks_hardware.rules.registry import Breach, Context, Node, error, limit_path, node_path, warning
from eks_hardware.suggestions import several
from eks_hardware.units import GIB, amount

if TYPE_CHECKING:
    from eks_hardware.cost import CostLine, StrategyCost

_FIELD = "budget.usd_per_month_at_max"
_SHOWN = 3
_ROUNDING = 1e-9


@error("BUDGET_EXCEEDED")
def _exceeded(context: Context) -> Iterator[Breach]:
    cost, budget = _cost(context), context.strategy.budget
    if cost is None or budget is None:
        return
    most, limit = _at_max(cost), budget.usd_per_month_at_max
    if most <= limit:
        return
    largest = sorted(cost.lines, key=_monthly, reverse=True)[:_SHOWN]
    parts = ", ".join(f"{line.path} {_usd(_monthly(line))} ({line.units['max']:g} x {line.name})" for line in largest)
    least = "at least " if _without_price(cost) else ""
    yield (
        _FIELD,
        f"with all groups and pools at their maximum, the cluster costs {least}{_usd(most)} a month, "
        f"{_usd(most - limit)} over the budget of {_usd(limit)}; the largest items are {parts}; "
        f"{_remedy(context, cost, most - limit)}, or raise the budget",
    )


@warning("BUDGET_UNKNOWN")
def _unknown(context: Context) -> Iterator[Breach]:
    cost, budget = _cost(context), context.strategy.budget
    if cost is None or budget is None:
        return
    unknown, known = _without_price(cost), _at_max(cost)
    if unknown and known <= budget.usd_per_month_at_max and not _fits_at_most(cost, budget.usd_per_month_at_max):
        names = several([f"{', '.join(line.unpriced) or line.name} ({line.path})" for line in unknown], _SHOWN)
        yield (
            _FIELD,
            f"the price of {names} is unknown, so the cost at maximum size is at least {_usd(known)} a "
            f"month{_at_most(cost)}; ask AWS for the price, and ignore this with the answer as the reason",
        )


def _at_max(cost: StrategyCost) -> float:
    """Return the monthly USD at maximum size, with Spot at the On-Demand price even if its Spot price is unknown."""
    return cost.usd_per_month("max") + sum(_monthly(line) for line in cost.lines if _is_bounded_spot(line))


def _without_price(cost: StrategyCost) -> list[CostLine]:
    """Return the lines without a price at maximum size, except Spot lines with an On-Demand price."""
    return [line for line in cost.unknown("max") if not _is_bounded_spot(line)]


def _is_bounded_spot(line: CostLine) -> bool:
    unknown = line.is_unknown("max") and line.usd_per_hour_at_most("max") is not None
    return unknown and line.capacity_types == ("spot",)


def _fits_at_most(cost: StrategyCost, limit: float) -> bool:
    """Return whether the budget covers the cost even at the upper bounds of unknown prices."""
    bound = _upper(cost)
    return bound is not None and bound <= limit


def _at_most(cost: StrategyCost) -> str:
    bound = _upper(cost)
    return "" if bound is None else f", at most {_usd(bound)} at On-Demand prices"


def _upper(cost: StrategyCost) -> float | None:
    from eks_hardware.cost import HOURS_PER_MONTH

    hourly = cost.usd_per_hour_at_most("max")
    return None if hourly is None else hourly * HOURS_PER_MONTH


def _cost(context: Context) -> StrategyCost | None:
    """Return the strategy's cost; None without a budget, or if the number or types of nodes are unknown."""
    # Checked first: without a budget the rule reads no other section.
    if context.strategy.budget is None or not context.region_known:
        return None
    if not all(_is_told(context, node) for node in context.nodes):
        return None
    return context.cost


def _is_told(context: Context, node: Node) -> bool:
    """Return whether the types of a group or pool are known and a pool's limits are valid; other rules report those."""
    known = len(context.types(node))
    limits = node.limits if isinstance(node, NodePoolSpec) else {}
    amounts = all(
        str(given).isdigit() or ("/" not in name and isinstance(given, str)) for name, given in limits.items()
    )
    return bool(known) and known >= len(node.instance_types) and amounts


def _remedy(context: Context, cost: StrategyCost, over: float) -> str:
    """Return how to shrink the most expensive group or pool that can absorb the overrun alone."""
    by_cost = sorted(((_of_node(node, cost), node) for node in context.nodes), key=lambda each: each[0], reverse=True)
    for usd, node in by_cost:
        # A group that costs no more than the overrun cannot absorb it alone. An unknown price counts as zero.
        if usd <= over:
            break
        kept = 1 - over / usd
        if isinstance(node, NodeGroupSpec):
            lower = _lower_max(node, kept)
        else:
            lower = _lower_limits(node, context.types(node), kept)
        if lower:
            return f"lower {lower}"
    return "no single group or pool can save that much: lower several"


def _of_node(node: Node, cost: StrategyCost) -> float:
    """Return the monthly cost of a group or pool with its disks."""
    paths = (node_path(node), node_path(node, "disk"))
    return sum(_monthly(line) for line in cost.lines if line.path in paths)


def _lower_max(group: NodeGroupSpec, kept: float) -> str | None:
    """Return the max at which the group costs ``kept`` of its current cost; None if that is below its minimum."""
    fits = math.floor(group.scaling.max * kept + _ROUNDING)
    least = max(1, group.scaling.initial)
    return f"{node_path(group, 'scaling.max')} to {fits}" if fits >= least else None


def _lower_limits(pool: NodePoolSpec, types: Sequence[InstanceType], kept: float) -> str | None:
    """Return the limits at which the pool costs ``kept`` of its current cost; None if no node would fit."""
    limits = {str(name): amount(given) * Fraction(max(kept, 0)) for name, given in pool.limits.items()}
    units = {"memory": GIB}
    whole = {name: math.floor(limit / units.get(name, 1)) for name, limit in limits.items()}
    needs = [{name: count / units.get(name, 1) for name, count in node_capacity(kind).items()} for kind in types]
    if not any(all(need.get(name, 0) <= limit for name, limit in whole.items()) for need in needs):
        return None
    return " and ".join(
        f"{limit_path(pool, name)} to {limit}{'Gi' if name == 'memory' else ''}" for name, limit in whole.items()
    )


def _monthly(line: CostLine) -> float:
    from eks_hardware.cost import HOURS_PER_MONTH

    hourly = line.usd_per_hour_at_most("max") if _is_bounded_spot(line) else line.usd_per_hour("max")
    return (hourly or 0.0) * HOURS_PER_MONTH


def _usd(amount: float) -> str:
    """Format an amount as ``1,234 USD``, with cents below 10 USD."""
    return f"{amount:,.2f} USD" if amount < 10 else f"{amount:,.0f} USD"
