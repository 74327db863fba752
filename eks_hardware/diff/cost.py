"""Changes in cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from eks_hardware.catalogue import Catalogue
from eks_hardware.cost import LEVELS, CostLine, Level, StrategyCost, cost_of
from eks_hardware.resolve import ResolvedStrategy


@dataclass(frozen=True)
class CostChange:
    """Cost of the items with a known price, before and after the change."""

    before: StrategyCost
    after: StrategyCost

    def usd_per_hour(self, level: Level) -> tuple[float, float]:
        """Return US dollars per hour, before and after."""
        return self.before.usd_per_hour(level), self.after.usd_per_hour(level)

    def usd_per_month(self, level: Level) -> tuple[float, float]:
        """Return US dollars per month, before and after."""
        return self.before.usd_per_month(level), self.after.usd_per_month(level)

    def bounds(self, level: Level) -> tuple[float, float]:
        """Return the smallest and the largest possible change of the cost per hour; infinite where it has no bound.

        If the unknown price of nodes is the same before and after, only a change in their number counts.
        """
        least = most = 0.0
        for _, _, (low, high) in self._lines(level):
            least += low
            most += high
        return least, most

    def unbounded(self, level: Level) -> tuple[str, ...]:
        """Return the items whose change in cost has no bound: instance types, volumes."""
        lines = (
            line
            for before, after, change in self._lines(level)
            if not all(map(math.isfinite, change))
            for line in (after, before)
            if line and line.usd_per_hour_at_most(level) is None
        )
        return tuple(dict.fromkeys(name for line in lines for name in line.unpriced or (line.short_name,)))

    def _lines(self, level: Level) -> Iterator[tuple[CostLine | None, CostLine | None, tuple[float, float]]]:
        """Yield each item before and after, with the smallest and the largest possible change of its cost."""
        before, after = ({(line.path, line.name): line for line in each.lines} for each in (self.before, self.after))
        for key in dict.fromkeys((*before, *after)):
            one, other = before.get(key), after.get(key)
            was, is_ = (_amounts(line, level) for line in (one, other))
            if (shared := _same_unknown_price(one, other, level)) is not None:
                was, is_ = (0.0, 0.0), (min(0.0, shared), max(0.0, shared))
            yield one, other, (is_[0] - was[1], is_[1] - was[0])

    @property
    def any(self) -> bool:
        """Whether a figure or the list of items without a price changes."""
        known = any(round(one, 4) != round(other, 4) for one, other in map(self.usd_per_hour, LEVELS))
        return known or self.unknown_before != self.unknown_after

    @property
    def unknown_before(self) -> tuple[str, ...]:
        """Items without a known price before the change. The figures exclude them."""
        return _unknown(self.before)

    @property
    def unknown_after(self) -> tuple[str, ...]:
        """Items without a known price after the change."""
        return _unknown(self.after)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Items without a known price before or after the change, each once."""
        return tuple(dict.fromkeys((*self.unknown_after, *self.unknown_before)))


def cost_change(before: ResolvedStrategy, after: ResolvedStrategy, catalogue: Catalogue) -> CostChange:
    """Return the cost of both strategies."""
    return CostChange(cost_of(before, catalogue), cost_of(after, catalogue))


def _amounts(line: CostLine | None, level: Level) -> tuple[float, float]:
    """Return the minimum and the maximum cost of a line per hour."""
    if line is None:
        return 0.0, 0.0
    most = line.usd_per_hour_at_most(level)
    return line.usd_per_hour(level) or 0.0, math.inf if most is None else most


def _same_unknown_price(before: CostLine | None, after: CostLine | None, level: Level) -> float | None:
    """Return the maximum cost per hour of added nodes (negative for removed ones), if only the number of nodes changes.

    The cost is infinite if it has no known bound. Lines without an instance type can mean other nodes, so they give
    None.
    """
    if before is None or after is None or before.ceiling != after.ceiling:
        return None
    if before.kind == "instances" and before.instance_type is None:
        return None
    added = after.units[level] - before.units[level]
    if not added and before == after:
        return 0.0
    if any(line.figure_at(level) is not None for line in (before, after)):
        return None
    return added * (before.ceiling.usd_per_hour if before.ceiling else math.inf) if added else 0.0


def _unknown(cost: StrategyCost) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{line.path}: {line.name}" for level in LEVELS for line in cost.unknown(level)))
