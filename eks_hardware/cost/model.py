"""What a strategy costs: lines of units and their prices, each with its source; frozen plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

HOURS_PER_MONTH = 730
"""Hours of a month, as AWS's own calculator has it: 365 x 24 / 12."""

Level = Literal["min", "desired", "max"]
"""How many nodes there are: the fewest, as many as asked for, or the most; node pools count 0, 0, and their limits."""

LEVELS: tuple[Level, ...] = get_args(Level)
"""Every level, in this order."""

Purchase = Literal["on-demand", "spot", "reserved-1y", "reserved-3y", "savings-plan-1y", "savings-plan-3y"]
"""How an instance is bought."""

PURCHASES: tuple[Purchase, ...] = get_args(Purchase)
"""Every way, in this order."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A price, with where it is from.

    Attributes:
        usd_per_hour: US dollars per hour of one unit, taxes aside.
        as_of: day, or month, that the figure is of (ISO 8601); ``undated`` where the source does not say.
        source: where it was read.
        note: why it may be off, for a figure that was carried over or inferred.

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
    """One thing that is paid for by the hour.

    Attributes:
        path: the field of the strategy behind it: ``node_groups[gpu]``, ``network.nat_gateways``, ``cluster``.
        name: what is paid: ``p4d.24xlarge, on demand``, ``EKS control plane``.
        kind: ``instances``, ``volumes``, ``control-plane``, ``nat``, ``addresses``, ``endpoints``, ``keys``,
            ``storage``.
        figure: price of one unit; None where no source has it.
        units: how many at each level. A pool's nodes may be a fraction where its limits end within a node.
        note: what is assumed, or why there is no price.
        figure_at_max: price of one unit at ``max``, if it differs: of the most expensive instance type of a group, or
            On-Demand instead of Spot.
        unpriced: instance types that may be launched at ``max`` and have no price.
        instance_type: the type whose price ``figure`` is, for ``instances``; None where no type bounds the cost.

    Examples:
        >>> lines = cost_of(resolved).lines
        >>> lines[0].path
        'node_groups[system]'
    """

    path: str
    name: str
    kind: str
    figure: Figure | None
    units: Mapping[Level, float]
    note: str | None = None
    figure_at_max: Figure | None = None
    unpriced: tuple[str, ...] = ()
    instance_type: str | None = None

    def figure_at(self, level: Level) -> Figure | None:
        """The price of one unit that counts at a level."""
        return self.figure_at_max if level == "max" and self.figure_at_max else self.figure

    def usd_per_hour(self, level: Level) -> float | None:
        """US dollars per hour of all units; None where they have no price, 0 where there are none."""
        units = self.units[level]
        figure = self.figure_at(level)
        if not units:
            return 0.0
        return None if figure is None else units * figure.usd_per_hour

    def is_unknown(self, level: Level) -> bool:
        """Whether a price is missing that counts at a level."""
        if not self.units[level]:
            return False
        return self.figure_at(level) is None or (level == "max" and bool(self.unpriced))


@dataclass(frozen=True, kw_only=True)
class StrategyCost:
    """What a strategy costs, as far as it is paid for by the hour.

    Attributes:
        name: of the strategy.
        region: AWS region that the prices are of.
        lines: everything that is counted.
        not_counted: what is billed by use, or not known to the strategy; one phrase each.

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
        """US dollars per hour of what has a price."""
        return sum(line.usd_per_hour(level) or 0.0 for line in self.lines)

    def usd_per_month(self, level: Level) -> float:
        """US dollars per month of 730 hours of what has a price."""
        return self.usd_per_hour(level) * HOURS_PER_MONTH

    def unknown(self, level: Level) -> tuple[CostLine, ...]:
        """Lines that count at a level and whose price is not, or not wholly, known."""
        return tuple(line for line in self.lines if line.is_unknown(level))
