"""A candidate before scoring: it fits and has a price."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware import facts
from eks_hardware.advisor.model import Fit, Maturity
from eks_hardware.advisor.speed.estimate import Speed
from eks_hardware.advisor.speed.throughput import usd_per_million_tokens
from eks_hardware.cost import Figure


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An instance type on which the workload fits, in a region, with a purchasing option."""

    fit: Fit
    region: str
    purchase: str
    figure: Figure | None  # price of one instance
    at_most: bool  # the price is the On-Demand price, which the Spot price does not exceed
    speed: Speed
    maturity: Maturity  # of the software on it
    maturity_why: str

    @property
    def usd_per_hour(self) -> float | None:
        """US dollars per hour of all nodes."""
        return None if self.figure is None else self.figure.usd_per_hour * self.fit.nodes

    @property
    def usd_per_million_tokens(self) -> float | None:
        """US dollars per million tokens, with every replica in use."""
        return usd_per_million_tokens(self.usd_per_hour, self.speed.tokens_per_second)

    @property
    def usd_per_run(self) -> float | None:
        """US dollars of the whole training run, for at least the policy's minimum of an hour."""
        hours, hourly = self.speed.hours, self.usd_per_hour
        least = facts.ranking()["run"]["least_hours"]
        return None if hours is None or hourly is None else max(hours, least) * hourly
