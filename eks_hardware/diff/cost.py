"""Changes in cost."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.catalogue import Catalogue
from eks_hardware.cost import LEVELS, Level, StrategyCost, cost_of
from eks_hardware.resolve import ResolvedStrategy


@dataclass(frozen=True)
class CostChange:
    """Cost before and after, of items with a known price."""

    before: StrategyCost
    after: StrategyCost

    def usd_per_hour(self, level: Level) -> tuple[float, float]:
        """Return US dollars per hour, before and after."""
        return self.before.usd_per_hour(level), self.after.usd_per_hour(level)

    def usd_per_month(self, level: Level) -> tuple[float, float]:
        """Return US dollars per month, before and after."""
        return self.before.usd_per_month(level), self.after.usd_per_month(level)

    def is_unpriced(self, level: Level) -> bool:
        """Return whether nodes have no price, so that the change is unknown."""
        return self.before.is_unpriced(level) or self.after.is_unpriced(level)

    @property
    def any(self) -> bool:
        """Whether a figure or the list of items without a price changes."""
        known = any(round(one, 4) != round(other, 4) for one, other in map(self.usd_per_hour, LEVELS))
        return known or self.unknown_before != self.unknown_after

    @property
    def unknown_before(self) -> tuple[str, ...]:
        """Items without a known price before the change. The figures leave them out."""
        return _unknown(self.before)

    @property
    def unknown_after(self) -> tuple[str, ...]:
        """Items without a known price after the change."""
        return _unknown(self.after)


def cost_change(before: ResolvedStrategy, after: ResolvedStrategy, catalogue: Catalogue) -> CostChange:
    """Return the cost of both strategies."""
    return CostChange(cost_of(before, catalogue), cost_of(after, catalogue))


def _unknown(cost: StrategyCost) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{line.path}: {line.name}" for level in LEVELS for line in cost.unknown(level)))
