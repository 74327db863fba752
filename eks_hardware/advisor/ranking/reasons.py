"""Reasons for candidates and notes on the result, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import answer_tokens, context_of
from eks_hardware.advisor.fitting.fit import beyond_context
from eks_hardware.advisor.model import Candidate, Prominent, Rejection, Request
from eks_hardware.advisor.ranking.draft import Draft
from eks_hardware.advisor.ranking.limits import span
from eks_hardware.advisor.ranking.policy import Branch, Match, way_of
from eks_hardware.advisor.ranking.score import Scored
from eks_hardware.advisor.shapes.public import not_estimated
from eks_hardware.catalogue import load
from eks_hardware.printable import joined, ratio, usd
from eks_hardware.units import COUNTS

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

_BASIS_WORDS: dict[Basis, str] = {
    "usd_per_run": "per run",
    "usd_per_hour": "per hour",
}
_SAME = 1.005  # smaller differences come from rounding
_CLOSE = 1.05  # smaller ratios round to 1.0
_LONG_HOURS = 365 * 24
_NAMED = 4
_SHORT_CONTEXT = 128
"""A smaller context is more likely a number of thousands without its k than intended."""
_POLICY: dict[Match, str] = {
    "named": "recommended by the {name}",
    "instead": "replaces what the {name} recommends",
    "hardware": "same kind of hardware as the {name} recommends",
    "other": "the {name} recommends other hardware",
}


def short(number: int) -> str:
    """Return a count in few characters.

    >>> short(8_030_261_248), short(350_000_000), short(12)
    ('8.03B', '350M', '12')
    """
    for unit, size in reversed(COUNTS.items()):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def reasons_of(draft: Draft, scored: Scored, basis: Basis, branch: Branch, cautions: Sequence[Branch]) -> Iterator[str]:
    """Yield the reasons for a candidate's rank, for the workload's branch of the policy."""
    cost = _cost(draft, scored, basis)
    yield f"{cost}, at an estimated price" if draft.about else cost
    yield _speed(draft, scored)
    kind = draft.fit.kind
    match = branch.match(kind)
    if branch.applies:
        yield _POLICY[match].format(name=branch.policy)
    if branch.today and match in ("named", "instead"):
        yield f"update: {branch.today['text']}"
    for caution in cautions:
        if caution.match(kind) == "named":
            yield f'the {caution.policy} warns: "{plain(caution.quote)}" ({caution.document})'
    if draft.maturity != "mature":
        software = "software of unknown maturity" if draft.maturity == "unknown" else f"software: {draft.maturity}"
        why = f"; {draft.maturity_why}" if draft.maturity_why else ""
        yield Prominent(f"{software}{why} (software: mature in a workload file excludes it)")
    if draft.fit.used > facts.ranking()["tight_fit"]["share"]:
        yield Prominent(f"tight fit: uses {draft.fit.used:.0%} of the memory of a device")
    yield from draft.fit.notes
    layout = draft.fit.parallelism
    if draft.fit.nodes > 1 and draft.hours is None and (layout.data == 1 or layout.sharding == "none"):
        yield Prominent(f"over {draft.fit.nodes} nodes: {facts.ranking()['several_nodes']['why']}")
    if draft.at_most:
        what = "Spot price" if draft.purchase == "spot" else "Capacity Block price"
        yield Prominent(f"{what} of {kind.name} unknown: the On-Demand price, its upper limit, is used")
    if draft.figure is None:
        yield Prominent(_no_price(draft))
    elif draft.figure.note:
        yield f"price: {draft.figure.note}"
    if draft.purchase == "reserved":
        yield "a capacity reservation is billed at the On-Demand rate, whether it is used or not"


def _cost(draft: Draft, scored: Scored, basis: Basis) -> str:
    if scored.times_the_cheapest is None:
        return "price unknown" if draft.usd_per_hour is None else f"cost {_BASIS_WORDS[basis]} unknown"
    if scored.times_the_cheapest < 1 / _SAME:
        return f"costs less {_BASIS_WORDS[basis]} than all hardware of known speed"
    lowest = f"lowest cost {_BASIS_WORDS[basis]}{' of known speed' if scored.undercut else ''}"
    if scored.times_the_cheapest < _SAME:
        return lowest
    if scored.times_the_cheapest < _CLOSE:
        return f"close to the {lowest}"
    return f"{ratio(scored.times_the_cheapest)} the {lowest}"


def _speed(draft: Draft, scored: Scored) -> str:
    if scored.times_slower is None:
        return "speed unknown"
    hours = draft.hours
    of_node = f" per {draft.per}" if draft.per else ""
    run = "" if hours is None or hours > _LONG_HOURS else f": {span(hours)}"
    limit = scored.compared_up_to
    fastest = "the fastest" if limit is None else f"the fastest within {limit:g}x the lowest cost"
    if scored.times_slower < 1 / _CLOSE:
        return f"{ratio(1 / scored.times_slower)} faster{of_node} than {fastest}{run}"
    if scored.times_slower < _SAME:
        return f"{fastest.removeprefix('the ')}{run}" if limit else f"fastest{of_node}{run}"
    if scored.times_slower < _CLOSE:
        return f"almost as fast{of_node} as {fastest}{run}"
    return f"{ratio(scored.times_slower)} slower{of_node} than {fastest}{run}"


def _no_price(draft: Draft) -> str:
    kind = draft.fit.kind.name
    if draft.purchase == "capacity-block":
        return f"each Capacity Block offering of {kind} has its own price: get offerings from AWS"
    about = draft.estimate and f"about {usd(draft.estimate.usd_per_hour)} USD per hour, {draft.estimate.how}; "
    return f"the price of {kind} ({draft.purchase}) in {draft.region} is unknown: {about or ''}check it with AWS"


def plain(quote: str) -> str:
    """Return a quote without Markdown's ``**``."""
    return quote.replace("**", "")


def notes_of(
    request: Request, branch: Branch, best: Sequence[Candidate], rejections: Sequence[Rejection], basis: Basis
) -> Iterator[str]:
    """Yield notes on the whole result, those about this request first.

    ``best`` has one candidate of each family, best first.
    """
    workload, rules = request.workload, facts.ranking()
    context = workload.context_length
    if context and context < _SHORT_CONTEXT:
        yield Prominent(f"the context is {context} tokens; if you meant {context}k, set {context * 1024}")
    if beyond := beyond_context(request):
        yield Prominent(f"{beyond}: choose a smaller context or another model")
    yield from _of_lengths(request)
    if what := not_estimated(request.shape.architecture or ""):
        yield Prominent(
            f"{what} is not estimated: the figures are for a transformer of the same size; measure your own"
        )
    yield from _of_named(branch, best, rejections)
    yield from (f"estimated: {field}" for field in request.shape.estimated)
    if not best:
        return
    yield from _of_first(request, best)
    yield f"costs are compared {_BASIS_WORDS[basis]}: {rules['cost_basis'][way_of(workload)]['why']}"
    dates = sorted({candidate.price_as_of for candidate in best if candidate.price_as_of})
    if dates:
        span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        yield f"prices are from {span}, without tax, and for instances only; `eks-hardware cost` adds other items"
    bounded = [candidate.fit.kind.family for candidate in best if candidate.price_at_most]
    if bounded:
        rest = f" and {len(bounded) - _NAMED} more" if len(bounded) > _NAMED else ""
        what = "Capacity Block" if best[0].purchase == "capacity-block" else "Spot"
        yield f"{what} prices of {', '.join(bounded[:_NAMED])}{rest} are unknown, but at most the prices shown"
    if any(candidate.purchase == "spot" for candidate in best):
        yield "Spot prices are a snapshot and change constantly: use them as an order of magnitude"
    yield "a region that offers an instance type may have no capacity for it"


def _of_first(request: Request, best: Sequence[Candidate]) -> Iterator[str]:
    """Yield notes about the first candidate, and about fields that would change the result."""
    workload, first, rules = request.workload, best[0], facts.ranking()
    if load().offerings_known(first.region) == "nothing":
        yield Prominent(
            f"the types that AWS offers in {first.region} are unknown: check with "
            f"`aws ec2 describe-instance-type-offerings --region {first.region}`"
        )
    if first.hours is not None and first.hours < rules["run"]["least_hours"]:
        yield rules["run"]["why"]
    if first.fit.kind.supports_capacity_block and first.purchase != "capacity-block":
        kind = first.fit.kind.name
        yield f"{kind} is in high demand: plan for a Capacity Block or a capacity reservation"
    if workload.trains and not workload.training_tokens:
        yield Prominent("add --tokens and --within 30d for the number of nodes that finish in time")
    if workload.interruptible and "spot" not in workload.purchase:
        yield "the workload is interruptible: Spot may cost less"


def _of_lengths(request: Request) -> Iterator[str]:
    """Yield notes on prompt and answer lengths that have no effect, or that exceed the context."""
    workload, context = request.workload, context_of(request)
    given = [name for name in ("prompt_tokens", "answer_tokens") if getattr(workload, name) is not None]
    if given and request.shape.generates is False:
        has = "have" if len(given) > 1 else "has"
        yield Prominent(f"{joined(given, 'and')} {has} no effect, because the model generates no tokens")
    elif given and (needed := (workload.prompt_tokens or 1) + answer_tokens(request)) > context:
        yield Prominent(
            f"a prompt and its answer have {needed} tokens, but the context has {context}: set context_length to at "
            f"least {needed}"
        )


def _of_named(branch: Branch, best: Sequence[Candidate], rejections: Sequence[Rejection]) -> Iterator[str]:
    """Yield the rank of the recommended hardware, if it is not first."""
    if not branch.applies or (best and branch.match(best[0].fit.kind) == "named"):
        return
    others = "other instance types: " if best else ""
    cited = f'the {branch.policy} recommends {others}"{plain(branch.quote)}"'
    since = f"; {branch.today['text']}" if branch.today else ""
    for place, each in enumerate(best, 1):
        if branch.match(each.fit.kind) == "named":
            software = "" if each.maturity == "mature" else f", software {each.maturity}"
            yield f"{cited}. {each.fit.kind.name} is number {place}{software}{since}"
            return
    for rejected in rejections:
        if branch.names_family(rejected.family):
            yield f"{cited}. {rejected.family} is rejected, {rejected.code}: {rejected.text}{since}"
            return
    yield f"{cited}{since}"
