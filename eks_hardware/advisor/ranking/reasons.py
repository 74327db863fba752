"""What is said about candidates and about an answer: sentences, the most important first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.model import Candidate, Rejection, Request
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.policy import Branch, Match, way_of
from eks_hardware.advisor.ranking.score import Scored

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

_BASIS_WORDS: dict[Basis, str] = {
    "usd_per_run": "for the run",
    "usd_per_million_tokens": "per million tokens",
    "usd_per_hour": "by the hour",
}
_SAME = 1.005  # what rounds to 1.00
_TIGHT = 0.95
_HOURS = 24
_MONTH_DAYS = 30
_LONG_HOURS = 90 * _HOURS
_NAMED = 4
_POLICY: dict[Match, str] = {
    "named": "what the policy names",
    "instead": "stands in for what the policy names",
    "hardware": "of the kind of hardware that the policy names",
    "other": "the policy names other hardware",
}
_UNITS = (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3))


def short(number: int) -> str:
    """A count in few characters.

    >>> short(8_030_261_248), short(350_000_000), short(12)
    ('8.03B', '350M', '12')
    """
    for unit, size in _UNITS:
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def reasons_of(draft: Draft, scored: Scored, basis: Basis, branch: Branch, cautions: Sequence[Branch]) -> Iterator[str]:
    """Why a candidate ranks where it does, for the branch of the policy that the workload takes."""
    yield _cost(draft, scored, basis)
    yield _speed(draft, scored)
    kind = draft.fit.kind
    match = branch.match(kind)
    yield _POLICY[match]
    if branch.today and match in ("named", "instead"):
        yield f"since then: {branch.today['text']}"
    for each in cautions:
        if each.match(kind) == "named":
            yield f'the policy warns: "{plain(each.quote)}" ({each.document})'
    if draft.maturity != "mature":
        stands = "software of unknown maturity" if draft.maturity == "unknown" else f"software: {draft.maturity}"
        yield f"{stands}; {draft.maturity_why}" if draft.maturity_why else stands
    used = draft.fit.memory_gib / draft.fit.available_gib
    if used > _TIGHT:
        yield f"tight: {used:.0%} of the memory of a device"
    yield from draft.fit.notes
    if draft.fit.nodes > 1 and draft.speed.hours is None and not draft.fit.parallelism.data > 1:
        yield f"over {draft.fit.nodes} nodes: {facts.ranking()['several_nodes']['why']}"
    if draft.at_most:
        yield f"no source has a spot price of {kind.name}: counted at the on-demand price, which spot does not exceed"
    if draft.figure is None:
        yield _no_price(draft)
    elif draft.figure.note:
        yield f"price: {draft.figure.note}"
    if draft.purchase == "reserved":
        yield "a capacity reservation is billed at the on-demand rate, whether it is used or not"


def _cost(draft: Draft, scored: Scored, basis: Basis) -> str:
    if scored.times_the_cheapest is None:
        return "price unknown" if draft.usd_per_hour is None else f"cost {_BASIS_WORDS[basis]} unknown"
    if scored.times_the_cheapest < _SAME:
        return f"cheapest {_BASIS_WORDS[basis]}"
    return f"{scored.times_the_cheapest:.3g} times the cheapest {_BASIS_WORDS[basis]}"


def _speed(draft: Draft, scored: Scored) -> str:
    if scored.times_slower is None:
        return "speed unknown"
    hours = draft.speed.hours
    run = "" if hours is None else f": {_span(hours)}"
    if scored.times_slower < _SAME:
        return f"fastest{run}"
    return f"{scored.times_slower:.3g} times slower than the fastest{run}"


def _span(hours: float) -> str:
    if hours > _HOURS:
        days = hours / _HOURS
        return f"{days:,.0f} days" if days >= 10 else f"{days:.1f} days"
    return f"{hours:.1f} hours" if hours >= 0.1 else "minutes"


def _no_price(draft: Draft) -> str:
    kind = draft.fit.kind.name
    if draft.purchase == "capacity-block":
        return f"capacity blocks of {kind} have a price for each offer: ask AWS for offers"
    return f"no source has a price of {kind} ({draft.purchase}) in {draft.region}: ask AWS before you rely on it"


def plain(quote: str) -> str:
    """A quote without the marks of its document's format: ``**``."""
    return quote.replace("**", "")


def notes_of(
    request: Request, branch: Branch, best: Sequence[Candidate], rejections: Sequence[Rejection], basis: Basis
) -> Iterator[str]:
    """What a user should know about the whole answer; ``best`` has one candidate of each family, best first."""
    workload, rules = request.workload, facts.ranking()
    yield from _of_named(branch, best, rejections)
    yield from (f"estimated: {each}" for each in request.shape.estimated)
    if not best:
        return
    yield f"cost is compared {_BASIS_WORDS[basis]}: {rules['cost_basis'][way_of(workload)]['why']}"
    dates = sorted({each.price_as_of for each in best if each.price_as_of})
    if dates:
        span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        yield f"prices are of {span}, without tax, and of instances only; `eks-hardware cost` adds the rest"
    bounded = [each.fit.kind.family for each in best if each.price_at_most]
    if bounded:
        rest = f" and {len(bounded) - _NAMED} more" if len(bounded) > _NAMED else ""
        yield f"no source has spot prices of {', '.join(bounded[:_NAMED])}{rest}: as spot they cost less than here"
    if any(each.purchase == "spot" for each in best):
        yield "spot prices are a snapshot and move all the time: take them for an order of magnitude"
    yield "an offering is no capacity: a region may have a type and none of it free"
    first = best[0]
    if first.hours is not None and first.hours > _LONG_HOURS:
        days = first.hours / _HOURS
        nodes = math.ceil(first.fit.nodes * days / _MONTH_DAYS)
        now = f"{first.fit.nodes} x {first.fit.kind.name}"
        yield f"the run takes {days:,.0f} days on {now}: about {nodes:,} would take {_MONTH_DAYS}, for much the same"
    if first.hours is not None and first.hours < rules["run"]["least_hours"]:
        yield rules["run"]["why"]
    if any(each.maturity == "archived" for each in best) and first.maturity != "archived":
        yield "software that its maker has ended stands behind all that is kept up, whatever its score"
    if first.fit.kind.supports_capacity_block and first.purchase != "capacity-block":
        kind = first.fit.kind.name
        yield f"{kind} is sought after, so that AWS sells capacity blocks of it: plan for one, or for a reservation"
    if workload.trains and workload.training_tokens is None:
        yield "say how many tokens the run has (training_tokens) to get its hours and its cost"
    if workload.interruptible and "spot" not in workload.purchase:
        yield "the work may be interrupted: bought as spot it may cost less"


def _of_named(branch: Branch, best: Sequence[Candidate], rejections: Sequence[Rejection]) -> Iterator[str]:
    """Where what the policy names ranks, if it is not first."""
    if best and branch.match(best[0].fit.kind) == "named":
        return
    cited = f'the policy names other hardware than the first: "{plain(branch.quote)}"'
    if not best:
        cited = f'the policy names "{plain(branch.quote)}"'
    since = f"; {branch.today['text']}" if branch.today else ""
    for place, each in enumerate(best, 1):
        if branch.match(each.fit.kind) == "named":
            stands = "" if each.maturity == "mature" else f", software {each.maturity}"
            yield f"{cited}. {each.fit.kind.name} stands at {place}{stands}{since}"
            return
    for rejected in rejections:
        if branch.names_family(rejected.family):
            yield f"{cited}. {rejected.family} is out, {rejected.code}: {rejected.text}{since}"
            return
    yield f"{cited}{since}"
