"""The cost of a strategy's On-Demand nodes with a commitment of 1 or 3 years."""

from __future__ import annotations

from typing import NamedTuple

from eks_hardware.catalogue import Catalogue
from eks_hardware.cost.instance_prices import instance_figure
from eks_hardware.cost.model import CostLine, Level, Purchase, StrategyCost

TERMS: tuple[Purchase, ...] = ("reserved-1y", "reserved-3y", "savings-plan-1y", "savings-plan-3y")
"""All commitments, in this order."""

_DISCOUNTED = {"on-demand", "reserved"}
"""Capacity types that a commitment makes cheaper. It has no effect on Spot and Capacity Blocks."""


class Commitment(NamedTuple):
    """Prices of On-Demand nodes that run all the time, with and without a commitment, in US dollars per hour.

    Attributes:
        level: the level whose nodes are counted.
        on_demand: the price of these nodes without a commitment.
        by_term: the price with each commitment; None if no type has a price for it. Types without one count at the
            On-Demand price.
        left_out: for each commitment, the types that count at the On-Demand price.

    Examples:
        >>> found = commitment(cost_of(resolved), load())
        >>> found is not None and found.level
        'max'
    """

    level: Level
    on_demand: float
    by_term: dict[Purchase, float | None]
    left_out: dict[Purchase, tuple[str, ...]]


def commitment(cost: StrategyCost, catalogue: Catalogue) -> Commitment | None:
    """Return the price of the nodes at ``min``, or at ``max`` if accelerated ones run only there.

    It counts the first type of each group, and the type that bounds the cost of each pool. It leaves out those that can
    use Spot or Capacity Blocks. It is None without nodes, and if a type has no On-Demand price.
    """
    lines = [line for line in cost.lines if line.kind == "instances" and _is_discounted(line)]
    accelerated = [line for line in lines if _is_accelerated(line, catalogue)]
    level: Level = "max" if accelerated and not any(line.units["min"] for line in accelerated) else "min"
    lines = [line for line in lines if line.units[level]]
    counted = [(line, usd) for line in lines if (usd := _price(line, cost.region, catalogue))]
    if not lines or len(counted) < len(lines):
        return None
    by_term: dict[Purchase, float | None] = {}
    left_out: dict[Purchase, tuple[str, ...]] = {}
    for term in TERMS:
        prices = [(line, usd, _price(line, cost.region, catalogue, term)) for line, usd in counted]
        known = any(committed for _, _, committed in prices)
        by_term[term] = (
            sum(line.units[level] * (committed or usd) for line, usd, committed in prices) if known else None
        )
        left_out[term] = tuple(dict.fromkeys(line.short_name for line, _, committed in prices if not committed))
    return Commitment(level, sum(line.units[level] * usd for line, usd in counted), by_term, left_out)


def _is_discounted(line: CostLine) -> bool:
    return line.instance_type is not None and _DISCOUNTED.issuperset(line.capacity_types)


def _is_accelerated(line: CostLine, catalogue: Catalogue) -> bool:
    return catalogue.get(line.instance_type or "").accelerator is not None


def _price(line: CostLine, region: str, catalogue: Catalogue, purchase: Purchase = "on-demand") -> float | None:
    figure = instance_figure(catalogue, line.instance_type or "", region, purchase)
    return figure.usd_per_hour if figure else None
