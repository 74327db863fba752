"""Service Quotas of an account as limits: plans with more vCPUs than a quota allows are not recommended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eks_hardware.advisor.fitting.gates import sold_as
from eks_hardware.advisor.model import AccountQuotas, Candidate, Gate, Miss, Plan, Prominent, Request
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.limits import money
from eks_hardware.advisor.ranking.policy import way_of
from eks_hardware.printable import counted, joined, number, usd
from eks_hardware.quotas import QuotaNeed, vcpu_need
from eks_hardware.spellings import CAPACITY

_SOURCE = "config/quotas/service_quotas.json"


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """A plan that needs more vCPUs than a quota allows."""

    draft: Draft
    need: QuotaNeed
    value: float  # of the quota

    @property
    def text(self) -> str:
        """The need and the quota, without an action."""
        nodes = self.draft.nodes
        needs = f"{counted(nodes, 'node')} {_need(nodes)} {vcpus_of(self.need)}"
        return f"{needs}, but the quota in {self.draft.region} is {number(self.value)}"


def _need(nodes: int) -> str:
    return "needs" if nodes == 1 else "need"


def vcpus_of(need: QuotaNeed) -> str:
    """Return the vCPUs and the quota that counts them: ``384 vCPUs of L-417A185B (Running On-Demand P instances)``."""
    return f"{number(need.needed)} {need.unit} of {need.code} ({need.name})"


def shortage_of(draft: Draft, quotas: AccountQuotas) -> Shortage | None:
    """Return the shortage of a plan that exceeds its option's quota; None if it does not, or the quota is unknown."""
    need = vcpu_need(draft.fit.kind, draft.nodes, draft.purchase)
    value = quotas.value(need.code, draft.region)
    if value is None or need.needed <= value:
        return None
    return Shortage(draft=draft, need=need, value=value)


def closest_misses(shortages: list[Shortage], request: Request) -> Iterator[Miss]:
    """Yield one miss for each family: the plan with the smallest shortage of vCPUs."""
    closest: dict[str, Shortage] = {}
    for shortage in sorted(shortages, key=lambda each: each.need.needed - each.value):
        closest.setdefault(shortage.draft.fit.kind.family, shortage)
    for shortage in closest.values():
        kind = shortage.draft.fit.kind
        name = f"{kind.name}: " if kind.accelerator else ""  # CPU families with the same text share one rejection
        text = f"{name}{shortage.text}; request an increase{_or_else(shortage.draft, request)}"
        yield Miss(kind=kind, gates=(Gate("QUOTA", False, text, _SOURCE),), text=text)


def _or_else(draft: Draft, request: Request) -> str:
    """Return the other purchasing option that the quotas may allow; empty if there is none."""
    other = "on-demand" if draft.purchase == "spot" else "spot"
    workload, kind = request.workload, draft.fit.kind
    if other in workload.purchase or not sold_as((other,), kind):
        return ""
    if other == "spot" and way_of(workload) in ("real-time", "development") and not workload.interruptible:
        return ""
    need = vcpu_need(kind, draft.nodes, other)
    value = request.quotas.value(need.code, draft.region) if request.quotas else None
    if need.code is None or (value is not None and value < need.needed):
        return ""
    return f" or choose {CAPACITY[other].words}"


def plan_of(shortage: Shortage) -> Plan:
    """Return the plan to show if none is within the quotas, with the quota that it needs."""
    draft, need = shortage.draft, shortage.need
    price, planned = "", draft.per is None  # the length of other training runs is only assumed
    if planned and draft.usd_per_run is not None:
        price = f" ({money(draft.usd_per_run)})"
    elif draft.usd_per_hour is not None:
        price = f" ({usd(draft.usd_per_hour)} USD per hour)"
    takes = f"it takes {draft.nodes} x {draft.fit.kind.name}{price}, which {_need(draft.nodes)} {vcpus_of(need)}"
    return Plan(
        fit=draft.fit,
        nodes=draft.nodes,
        region=draft.region,
        hours=draft.hours if planned else None,
        usd_per_run=draft.usd_per_run if planned else None,
        text=f"{takes}; the quota in {draft.region} is {number(shortage.value)}",
        remedy=f"a quota of {number(need.needed)} {need.unit} for {need.code} in {draft.region}",
        quota=need,
    )


def quota_notes(request: Request, first: Candidate | None, better: Shortage | None) -> Iterator[str]:
    """Yield notes about hardware that only a quota excludes, and about regions without values.

    ``better`` is the plan that would rank above the first candidate.
    """
    if request.quotas is None:
        return
    if better and first and (better.draft.fit.kind, better.draft.usd_per_hour) != (first.fit.kind, first.usd_per_hour):
        where = f" in {better.draft.region}" if better.draft.fit.kind is first.fit.kind else ""
        yield Prominent(f"without its quota, {better.draft.fit.kind.name}{where} would be first: {better.text}")
    if unknown := [region for region in request.regions if not request.quotas.knows(region)]:
        yield Prominent(f"no quotas are given for {joined(unknown, 'and')}, so plans there are not limited")
