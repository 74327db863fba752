"""Data model of a strategy's cost: lines with quantities and prices, each price with its source. Frozen plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

HOURS_PER_MONTH = 730
"""Hours per month, as in the AWS Pricing Calculator: 365 x 24 / 12."""

Level = Literal["min", "desired", "max"]
"""The number of nodes to count: minimum, desired or maximum. Node pools count 0, 0, and their limits."""

LEVELS: tuple[Level, ...] = get_args(Level)
"""All levels, in this order."""

Purchase = Literal[
    "on-demand", "spot", "capacity-block", "reserved-1y", "reserved-3y", "savings-plan-1y", "savings-plan-3y"
]
"""A purchasing option of an instance."""

PURCHASES: tuple[Purchase, ...] = get_args(Purchase)
"""All purchasing options, in this order."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A price with its source.

    Attributes:
        usd_per_hour: US dollars per hour of one unit, without taxes.
        as_of: day or month of the price (ISO 8601); ``undated`` if the source has no date.
        source: where it was read.
        note: why the price may be inaccurate, if it was carried over or inferred.

    Examples:
        >>> figure = cost_of(resolved).lines[0].figure
        >>> figure.usd_per_hour > 0, figure.source != ""
        (True, True)
    """

    usd_per_hour: float
    as_of: str
    source: str
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class CostLine:
    """One item that is billed by the hour.

    Attributes:
        path: the strategy's field that causes the cost: ``node_groups[gpu]``, ``network.nat_gateways``, ``cluster``.
        name: the billed item: ``p4d.24xlarge, On-Demand``, ``EKS control plane``.
        short_name: the name without details: ``p4d.24xlarge``.
        kind: ``instances``, ``volumes``, ``control-plane``, ``nat``, ``addresses``, ``endpoints``, ``keys``,
            ``storage``.
        figure: price of one unit; None if unknown.
        units: quantity at each level. A pool's number of nodes is fractional if a limit ends within a node.
        note: an assumption, or why the price is unknown.
        figure_at_max: price of one unit at ``max``, if it differs: of the most expensive instance type of a group, or
            On-Demand instead of Spot.
        unpriced: instance types that can be launched at ``max`` and have no known price.
        ceiling: price that one unit does not exceed, if its own price is unknown: On-Demand for Spot and a Capacity
            Block.
        instance_type: for ``instances``, the type of the price in ``figure``; None if no type bounds the cost.
        instance_type_at_max: the type that counts at ``max``, if it differs.
        capacity_types: for ``instances``, how they are bought: ``on-demand``, ``spot``, ``reserved``,
            ``capacity-block``.

    Examples:
        >>> lines = cost_of(resolved).lines
        >>> lines[0].path
        'node_groups[system]'
    """

    path: str
    name: str
    short_name: str
    kind: str
    figure: Figure | None
    units: Mapping[Level, float]
    note: str | None = None
    figure_at_max: Figure | None = None
    unpriced: tuple[str, ...] = ()
    ceiling: Figure | None = None
    instance_type: str | None = None
    instance_type_at_max: str | None = None
    capacity_types: tuple[str, ...] = ()

    def figure_at(self, level: Level) -> Figure | None:
        """Return the price of one unit at a level."""
        return self.figure_at_max if level == "max" and self.figure_at_max else self.figure

    def instance_type_at(self, level: Level) -> str | None:
        """Return the instance type whose price counts at a level."""
        return self.instance_type_at_max if level == "max" and self.instance_type_at_max else self.instance_type

    def usd_per_hour(self, level: Level) -> float | None:
        """Return US dollars per hour of all units; None if the price is unknown, 0 without units."""
        units = self.units[level]
        figure = self.figure_at(level)
        if not units:
            return 0.0
        return None if figure is None else units * figure.usd_per_hour

    def usd_per_hour_at_most(self, level: Level) -> float | None:
        """Return an upper bound of US dollars per hour for all units; None if no bound is known."""
        if not self.is_unknown(level):
            return self.usd_per_hour(level)
        return None if self.ceiling is None else self.units[level] * self.ceiling.usd_per_hour

    def is_unknown(self, level: Level) -> bool:
        """Return whether a price that counts at a level is missing."""
        if not self.units[level]:
            return False
        return self.figure_at(level) is None or (level == "max" and bool(self.unpriced))


def sum_of(lines: Iterable[CostLine], level: Level) -> float:
    """Return US dollars per hour of all lines with a known price."""
    return sum(line.usd_per_hour(level) or 0.0 for line in lines)


@dataclass(frozen=True, kw_only=True)
class StrategyCost:
    """The cost of a strategy, as far as AWS bills it by the hour.

    Attributes:
        name: name of the strategy.
        region: AWS region of the prices.
        lines: every item that is included.
        not_counted: items that are billed by usage or unknown to the strategy; one phrase each.

    Examples:
        >>> cost = cost_of(resolved)
        >>> cost.usd_per_month("min") < cost.usd_per_month("max")
        True
    """

    name: str
    region: str
    lines: tuple[CostLine, ...]
    not_counted: tuple[str, ...]

    def usd_per_hour(self, level: Level) -> float:
        """Return US dollars per hour of all items with a known price."""
        return sum_of(self.lines, level)

    def usd_per_month(self, level: Level) -> float:
        """Return US dollars per month of 730 hours of all items with a known price."""
        return self.usd_per_hour(level) * HOURS_PER_MONTH

    def usd_per_hour_at_most(self, level: Level) -> float | None:
        """Return an upper bound of US dollars per hour for all items; None if an item has no known bound."""
        bounds = [line.usd_per_hour_at_most(level) for line in self.lines]
        return None if None in bounds else sum(bound for bound in bounds if bound is not None)

    def in_words(self, level: Level, shown: Callable[[float], str], *, hours: int = 1, between: str = " / ") -> str:
        """Return the total of some hours: one amount, or its bounds if a price is unknown.

        If no price bounds the total, its bound is ``at most unknown``: known prices may be a small part of the total.
        """
        known = shown(self.usd_per_hour(level) * hours)
        if not self.unknown(level):
            return known
        bound = self.usd_per_hour_at_most(level)
        most = "unknown" if bound is None else shown(bound * hours)
        return f"at most {most}" if most == known else f"at least {known}{between}at most {most}"

    def unknown(self, level: Level) -> tuple[CostLine, ...]:
        """Return lines that count at a level and have unknown or partly unknown prices."""
        return tuple(line for line in self.lines if line.is_unknown(level))
