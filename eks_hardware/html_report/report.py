"""The data of the page, from the same functions that the commands use."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware.catalogue import Hardware, load
from eks_hardware.cost import LEVELS, CostLine, StrategyCost, cost_of
from eks_hardware.explain import Section, sections
from eks_hardware.findings import Finding
from eks_hardware.html_report.nodes import NodeSet, node_sets
from eks_hardware.models import Strategy
from eks_hardware.quotas import QuotaNeed, quota_needs
from eks_hardware.resolve import ResolvedStrategy, resolve

_SHOWN = ("strategy", "network", "cluster", "groups", "karpenter", "pools", "storage")
"""Parts of the resolved strategy on the page: hardware and infrastructure."""

SMALL = 0.05
"""Share of the total up to which an item is small."""
_FEW = 2


@dataclass(frozen=True, kw_only=True)
class Report:
    """A strategy with all data about it.

    ``findings`` are its warnings, including accepted ones, and the error of an exceeded budget. ``version`` is the
    tool's.
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
        """The sum of the maximum sizes of all node groups."""
        return sum(group.max_size for group in self.resolved.node_groups)

    @property
    def devices_at_max(self) -> dict[Hardware, tuple[int, int]]:
        """Maximum accelerators by kind of hardware: in node groups, and within the limits of pools."""
        groups, pools = Counter[Hardware](), Counter[Hardware]()
        for node in self.nodes:
            if node.devices:
                (pools if node.is_pool else groups)[node.hardware] += node.most_devices
        kinds = dict.fromkeys(node.hardware for node in self.nodes if node.devices)
        return {kind: (groups[kind], pools[kind]) for kind in kinds}

    @property
    def to_raise(self) -> tuple[QuotaNeed, ...]:
        """Quotas with a default below the need."""
        return tuple(quota for quota in self.quotas if quota.above_default)

    @property
    def small_lines(self) -> tuple[CostLine, ...]:
        """Items other than instances that cost little at every level; empty if there are only one or two."""
        totals = {level: self.cost.usd_per_hour(level) for level in LEVELS}
        small = tuple(
            line
            for line in self.cost.lines
            if line.kind != "instances"
            and not line.is_unknown("max")
            and all((line.usd_per_hour(level) or 0.0) <= SMALL * totals[level] for level in LEVELS)
        )
        return small if len(small) > _FEW else ()

    @property
    def large_lines(self) -> tuple[CostLine, ...]:
        """All items that are not in ``small_lines``."""
        small = self.small_lines
        return tuple(line for line in self.cost.lines if line not in small)

    @property
    def settings(self) -> tuple[Section, ...]:
        """Every resolved value with its reason, by part."""
        return tuple(section for section in sections(self.resolved) if section.kind in _SHOWN)

    @property
    def price_sources(self) -> tuple[tuple[str, str], ...]:
        """Dates and sources of all prices, each pair once, sorted."""
        figures = (
            figure for line in self.cost.lines for figure in (line.figure, line.figure_at_max, line.ceiling) if figure
        )
        return tuple(sorted({(figure.as_of, figure.source) for figure in figures}))


def report_of(
    strategy: Strategy, findings: Sequence[Finding] = (), *, version: str, today: datetime.date | None = None
) -> Report:
    """Resolve a strategy that passed the rules, and collect the data of the page.

    ``today`` decides between standard and extended support.
    """
    catalogue = load()
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
