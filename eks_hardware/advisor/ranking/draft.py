"""A candidate on its way: it fits and is priced, and is not scored yet."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.advisor.model import Fit, Maturity
from eks_hardware.advisor.ranking import policy
from eks_hardware.advisor.speed import throughput
from eks_hardware.advisor.speed.estimate import Speed
from eks_hardware.cost import Figure


@dataclass(frozen=True, kw_only=True)
class Draft:
    """An instance type on which the workload fits, in a region, bought in one way.

    Attributes:
        fit: how it sits there.
        region: where.
        purchase: how it is bought.
        figure: price of one instance, None where unknown.
        at_most: the price is an upper bound: that of on demand, which spot does not exceed.
        speed: estimates.
        maturity: of the software on it.
        maturity_why: why so.
    """

    fit: Fit
    region: str
    purchase: str
    figure: Figure | None
    at_most: bool
    speed: Speed
    maturity: Maturity
    maturity_why: str

    @property
    def usd_per_hour(self) -> float | None:
        """US dollars per hour of all nodes."""
        return None if self.figure is None else self.figure.usd_per_hour * self.fit.nodes

    @property
    def usd_per_million_tokens(self) -> float | None:
        """US dollars per million tokens, with every replica at work."""
        return throughput.usd_per_million_tokens(self.usd_per_hour, self.speed.tokens_per_second)

    @property
    def usd_per_run(self) -> float | None:
        """US dollars of the whole training run, of which the policy counts an hour at least."""
        hours, hourly = self.speed.hours, self.usd_per_hour
        return None if hours is None or hourly is None else max(hours, policy.load().least_hours) * hourly
