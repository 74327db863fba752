"""What the page shows, gathered from the engines: nothing in it is computed a second time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware.catalogue import Catalogue, Hardware, load
from eks_hardware.cost import StrategyCost, cost_of
from eks_hardware.findings import Finding
from eks_hardware.html_report.nodes import NodeSet, node_sets
from eks_hardware.models import Strategy
from eks_hardware.quotas import QuotaNeed, quota_needs
from eks_hardware.resolve import ResolvedStrategy, resolve


@dataclass(frozen=True, kw_only=True)
class Report:
    """A strategy with everything that is said about it.

    Attributes:
        resolved: what the strategy resolves to.
        nodes: its node groups and pools.
        cost: what it costs by the hour.
        quotas: what it needs of Service Quotas.
        findings: warnings, those that the strategy ignores too, and that it is over its budget.
        budget_usd_per_month: what it may cost at its most; None where the strategy does not say.
        version: version of the tool.
    """

    resolved: ResolvedStrategy
    nodes: tuple[NodeSet, ...]
    cost: StrategyCost
    quotas: tuple[QuotaNeed, ...]
    findings: tuple[Finding, ...]
    budget_usd_per_month: float | None
    version: str

    @property
    def nodes_at_max(self) -> int:
        """Nodes of all node groups together at their most."""
        return sum(group.max_size for group in self.resolved.node_groups)

    @property
    def devices_at_max(self) -> dict[Hardware, tuple[int, int]]:
        """Accelerators at most, in node groups and in what the limits of pools allow, by kind of hardware."""
        found: dict[Hardware, tuple[int, int]] = {}
        for each in self.nodes:
            if each.devices:
                groups, pools = found.get(each.hardware, (0, 0))
                found[each.hardware] = (
                    groups + (0 if each.is_pool else each.most_devices),
                    pools + (each.most_devices if each.is_pool else 0),
                )
        return found

    @property
    def to_raise(self) -> tuple[QuotaNeed, ...]:
        """Quotas of which a new account has less than is needed."""
        return tuple(each for each in self.quotas if falls_short(each))


def falls_short(need: QuotaNeed) -> bool:
    """Whether a new account has less of a quota than is needed, with what an update starts on top."""
    return need.default is not None and need.needed + need.surge > need.default


def report_of(
    strategy: Strategy,
    findings: Sequence[Finding] = (),
    *,
    version: str,
    catalogue: Catalogue | None = None,
    today: datetime.date | None = None,
) -> Report:
    """Resolve a strategy that passed the rules, and ask every engine about it.

    Args:
        strategy: the strategy.
        findings: what was found in it.
        version: version of the tool.
        catalogue: the hardware catalogue; the packaged one by default.
        today: the day that decides between standard and extended support.
    """
    catalogue = catalogue or load()
    resolved = resolve(strategy, catalogue)
    return Report(
        resolved=resolved,
        nodes=node_sets(resolved, catalogue),
        cost=cost_of(resolved, catalogue, today=today),
        quotas=quota_needs(strategy, resolved, catalogue),
        findings=tuple(findings),
        budget_usd_per_month=strategy.budget.usd_per_month_at_max if strategy.budget else None,
        version=version,
    )
