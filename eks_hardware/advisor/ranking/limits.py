"""Limits of a reasonable training run: its duration, its nodes and its cost."""

from __future__ import annotations

import math
from collections.abc import Iterable

from eks_hardware import facts
from eks_hardware.advisor.model import Plan
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.work import is_planned, longest_hours
from eks_hardware.models import WorkloadSpec

_HOURS_PER_DAY = 24
_DAYS_PER_YEAR = 365
_LONG_DAYS = 2 * _DAYS_PER_YEAR
_MILLION = 1_000_000


def plan_above(workload: WorkloadSpec, draft: Draft) -> Plan | None:
    """Return the plan of a training run if it is above a limit; None if it is reasonable.

    A run without a token count or a time limit has no plan. In the workload, ``nodes`` accepts that number of nodes at
    any cost, and ``within`` replaces the default limit on the duration.
    """
    hours, cost, rules = draft.hours, draft.counted_usd_per_run, facts.ranking()["run"]
    if hours is None or not is_planned(workload):
        return None
    longest = longest_hours(workload)
    name = f"{draft.nodes} x {draft.fit.kind.name}"
    price = "" if cost is None else f", for {'about ' if draft.about else ''}{money(cost)}"
    if hours > longest:
        text = f"{name} {'takes' if draft.nodes == 1 else 'take'} {span(hours)}{price}; the limit is {span(longest)}"
        return _plan(draft, hours, text, f"--within {math.ceil(hours / _HOURS_PER_DAY)}d")
    text = f"it takes {name} to finish in {span(hours)}{price}"
    if workload.nodes:
        if draft.nodes == workload.nodes:
            return None
        return _plan(draft, hours, f"{text}; the request has {workload.nodes} nodes", f"--nodes {draft.nodes}")
    most = rules["most_nodes"]["value"]
    if draft.nodes > most:
        return _plan(draft, hours, f"{text}; the limit is {most} nodes", f"--nodes {draft.nodes}")
    if cost is not None and cost > rules["most_usd"]["value"]:
        limit = money(rules["most_usd"]["value"])
        return _plan(draft, hours, f"{text}; the limit is {limit}", f"--nodes {draft.nodes}")
    return None


def _plan(draft: Draft, hours: float, text: str, remedy: str) -> Plan:
    return Plan(
        fit=draft.fit,
        nodes=draft.nodes,
        region=draft.region,
        hours=hours,
        usd_per_run=draft.usd_per_run,
        text=text,
        remedy=remedy,
    )


def closest_plan(plans: Iterable[Plan], workload: WorkloadSpec) -> Plan | None:
    """Return the plan to show if none is within the limits; None if there is none.

    It is the cheapest plan that finishes in time, or the one with the fewest nodes if the workload sets ``nodes``. If
    none finishes in time, it is the fastest.
    """
    known_plans = list(plans)
    timely = [plan for plan in known_plans if plan.remedy.startswith("--nodes")]
    if not timely:
        return min(known_plans, key=lambda plan: plan.hours or math.inf, default=None)
    if workload.nodes:
        return min(timely, key=lambda plan: (plan.nodes, plan.usd_per_run or math.inf))
    return min(timely, key=lambda plan: plan.usd_per_run or math.inf)


def money(usd: float) -> str:
    """Return an amount of US dollars in words.

    >>> money(38_240_000.0), money(4_300.2)
    ('38 million USD', '4,300 USD')
    """
    return f"{usd / _MILLION:,.0f} million USD" if usd >= 10 * _MILLION else f"{usd:,.0f} USD"


def span(hours: float) -> str:
    """Return a duration in words.

    >>> span(330_288.0), span(1440.0), span(30.0), span(2.5)
    ('38 years', '60 days', '1.2 days', '2.5 hours')
    """
    days = hours / _HOURS_PER_DAY
    if days >= _LONG_DAYS:
        return f"{days / _DAYS_PER_YEAR:,.0f} years"
    if hours > _HOURS_PER_DAY:
        return f"{days:,.0f} days" if days >= 10 else f"{days:.1f} days"
    return f"{hours:.1f} hours" if hours >= 0.1 else "minutes"
