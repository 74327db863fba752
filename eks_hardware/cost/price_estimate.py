"""Estimates of unknown On-Demand prices, for cost lists and the order of recommendations, but not for totals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import median

from eks_hardware.catalogue import Catalogue


@dataclass(frozen=True, kw_only=True)
class PriceEstimate:
    """An estimate of the On-Demand price of an instance in a region where it is unknown."""

    usd_per_hour: float  # of one instance
    cheapest: str  # the region with its lowest known price
    ratio: float | None  # of prices in the two regions; None if no accelerated type has a price in both

    @property
    def how(self) -> str:
        """The calculation in words."""
        if self.ratio is None:
            return "the median of other regions"
        return f"{self.ratio:.2f} times its price in {self.cheapest}, the ratio of the regions' prices"


class PriceEstimates:
    """Estimates from the prices of a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._ratios: dict[tuple[str, str], float | None] = {}

    def of(self, name: str, region: str) -> PriceEstimate | None:
        """Return an estimate of the On-Demand price of a type in a region; None if no region has a price.

        It is the price in the cheapest region, times the median ratio of the prices of accelerated types in both. If no
        such type has a price in both, it is the median price of all regions.
        """
        known = {
            other: price.usd_per_hour
            for other in self._catalogue.regions
            if (price := self._catalogue.price(name, other)) is not None
        }
        if not known:
            return None
        cheapest = min(known, key=lambda other: (known[other], other))
        if (region, cheapest) not in self._ratios:
            self._ratios[region, cheapest] = self._ratio(region, cheapest)
        ratio = self._ratios[region, cheapest]
        usd = median(known.values()) if ratio is None else known[cheapest] * ratio
        return PriceEstimate(usd_per_hour=usd, cheapest=cheapest, ratio=ratio)

    @cached_property
    def _accelerated(self) -> tuple[str, ...]:
        return tuple(kind.name for kind in self._catalogue.select() if kind.accelerator)

    def _ratio(self, region: str, other: str) -> float | None:
        both = [
            here.usd_per_hour / there.usd_per_hour
            for name in self._accelerated
            if (here := self._catalogue.price(name, region)) and (there := self._catalogue.price(name, other))
        ]
        return median(both) if both else None
