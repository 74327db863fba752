"""A candidate before scoring: it fits and has a price."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.model import AboutCost, Fit, Maturity
from eks_hardware.advisor.speed.estimate import Speed
from eks_hardware.advisor.speed.throughput import usd_per_million_tokens
from eks_hardware.cost import Figure
from eks_hardware.cost.price_estimate import PriceEstimate

_SECONDS_PER_HOUR = 3600


class Draft(NamedTuple):
    """An instance type on which the workload fits, in a region, with a purchasing option."""

    fit: Fit
    region: str
    purchase: str
    figure: Figure | None  # price of one instance
    at_most: bool  # the price is the On-Demand price, which the price of this option does not exceed
    speed: Speed
    maturity: Maturity  # of the software on the type
    maturity_why: str
    replicas: int | None = None  # replicas that the users need; None: one job, one replica, or as many as fit (batch)
    sequences: int = 1  # concurrent sequences of one of these replicas
    tokens: int | None = None  # of the run; None for work that is not a run
    estimate: PriceEstimate | None = None  # for one instance; set if its price is unknown
    per: Literal["node", "device"] | None = None  # unit whose speed counts, if a run can have any number

    @property
    def nodes(self) -> int:
        """Nodes of the job, of the replica, or of all replicas."""
        return self.fit.nodes_for(self.replicas or 1)

    @property
    def usd_per_hour(self) -> float | None:
        """US dollars per hour of all nodes."""
        return None if self.figure is None else self.figure.usd_per_hour * self.nodes

    @property
    def counted_usd_per_hour(self) -> float | None:
        """US dollars per hour that count in the ranking: at an estimated price if the price is unknown."""
        if self.figure is None and self.estimate is not None:
            return self.estimate.usd_per_hour * self.nodes
        return self.usd_per_hour

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of all nodes, with every device in use."""
        each = self.speed.tokens_per_second
        return None if each is None else each * self.nodes / self.fit.nodes

    @property
    def rate(self) -> float | None:
        """Tokens per second that count in the ranking.

        For a run, it is the average over the billed hours. If the run can have any number of nodes or devices, it is
        the rate of a single one: more are faster on any type. For users, it is the rate of one request.
        """
        return self._rate(self.per)

    @property
    def rate_of_a_node(self) -> float | None:
        """The same rate with all devices of a node, for a run that can have any number of nodes or devices."""
        return self._rate(self.per and "node")

    def _rate(self, per: Literal["node", "device"] | None) -> float | None:
        each = self.speed.per_replica
        if self.tokens is not None:
            hours = self.billed_hours
            parts = {"node": self.nodes, "device": self.fit.devices or self.nodes, None: 1}[per]
            return None if hours is None else self.tokens / hours / _SECONDS_PER_HOUR / parts
        return each / self.sequences if each is not None and self.replicas else each

    @property
    def usd_per_million_tokens(self) -> float | None:
        """US dollars per million tokens. For user requests, idle devices are paid for, too."""
        return usd_per_million_tokens(self.usd_per_hour, self._used)

    @property
    def _used(self) -> float | None:
        """Tokens per second of the devices that have work."""
        if self.tokens is None and self.speed.per_replica is not None:
            return self.speed.per_replica * (self.replicas or 1)
        return self.speed.tokens_per_second

    @property
    def about(self) -> AboutCost | None:
        """The cost at the estimated price; None if the price is known, or has no estimate."""
        hourly = self.counted_usd_per_hour
        if self.figure is not None or self.estimate is None or hourly is None:
            return None
        return AboutCost(
            usd_per_hour=hourly,
            usd_per_million_tokens=usd_per_million_tokens(hourly, self._used),
            usd_per_run=self.counted_usd_per_run,
            how=self.estimate.how,
        )

    @property
    def hours(self) -> float | None:
        """Hours of the run."""
        return None if self.tokens is None else self.speed.hours_of(self.tokens)

    @property
    def billed_hours(self) -> float | None:
        """Hours of the run, at least the policy's minimum."""
        return None if self.hours is None else max(self.hours, facts.ranking()["run"]["least_hours"])

    @property
    def usd_per_run(self) -> float | None:
        """US dollars of the whole run."""
        return None if self.usd_per_hour is None else self.counted_usd_per_run

    @property
    def counted_usd_per_run(self) -> float | None:
        """US dollars of the whole run that count in the ranking."""
        billed, hourly = self.billed_hours, self.counted_usd_per_hour
        return None if billed is None or hourly is None else billed * hourly
