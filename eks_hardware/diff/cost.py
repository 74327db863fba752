"""What changes in cost."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.catalogue import Catalogue
from eks_hardware.cost import LEVELS, Level, StrategyCost, cost_of
from eks_hardware.resolve import ResolvedStrategy


@dataclass(frozen=True)
class CostChange:
    """Cost before and after, of what has a price."""

    before: StrategyCost
    after: StrategyCost

    def usd_per_hour(self, level: Level) -> tuple[float, float]:
        """US dollars per hour, before and after."""
        return self.before.usd_per_hour(level), self.after.usd_per_hour(level)

    def usd_per_month(self, level: Level) -> tuple[float, float]:
        """US dollars per month, before and after."""
        return self.before.usd_per_month(level), self.after.usd_per_month(level)

    @property
    def any(self) -> bool:
        """Whether a figure changes, or what has no price."""
        known = any(round(one, 4) != round(other, 4) for one, other in map(self.usd_per_hour, LEVELS))
        return known or self.unknown_before != self.unknown_after

    @property
    def unknown_before(self) -> tuple[str, ...]:
        """What has no price and is therefore not in the figures."""
        return _unknown(self.before)

    @property
    def unknown_after(self) -> tuple[str, ...]:
        """The same, after the change."""
        return _unknown(self.after)


def cost_change(before: ResolvedStrategy, after: ResolvedStrategy, catalogue: Catalogue) -> CostChange:
    """The cost of both strategies."""
    return CostChange(cost_of(before, catalogue), cost_of(after, catalogue))


def _unknown(cost: StrategyCost) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{line.path}: {line.name}" for level in LEVELS for line in cost.unknown(level)))
