"""Scores of candidates: cost, policy, maturity and speed, each from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.model import Maturity, ScorePart
from eks_hardware.advisor.ranking.policy import way_of
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

BASES: tuple[Basis, ...] = ("usd_per_run", "usd_per_hour")
"""The measures of cost, the most meaningful first."""
_MOST = 100
_LESS = 0.01
"""The smallest difference between scores that counts."""


class Weighed(NamedTuple):
    """The scored properties of a candidate; None is unknown."""

    costs: Mapping[Basis, float | None]  # US dollars, at an estimated price if its own is unknown
    speed: float | None  # tokens per second
    policy: float  # match with the policy's branch, from 0 to 1
    maturity: Maturity
    nodes: int  # for one job or one replica
    place: tuple[int, ...]  # positions of its region and purchasing option in the request: a tie-breaker
    name: str  # of the instance type: the last tie-breaker
    speed_of_a_node: float | None = None  # with all devices, to find what is better in every measure; None: ``speed``
    tight: bool = False  # whether it may not fit, because memory is estimated
    size: float = 1.0  # GiB of memory of all devices, or of CPU nodes; stands in for an unknown price
    hours: float | None = None  # billed hours of a run


class Scored(NamedTuple):
    """A score."""

    parts: Mapping[ScorePart, float]  # from 0 to 1
    total: float  # from 0 to 100, with the weights of the budget
    within: bool  # whether its cost is within the budget's limit, so that it can be first
    times_the_cheapest: float | None  # its cost divided by the lowest of those that can be first; None if unknown
    times_slower: float | None  # the best speed within the limit of the comparison divided by its own; None if unknown
    compared_up_to: float | None = (
        None  # the limit of the comparison, as a multiple of the lowest cost; None if none is faster at any price
    )
    undercut: bool = False  # whether hardware of unknown speed, which is not compared, costs less than the lowest cost


def basis_of(workload: WorkloadSpec, weighed: Iterable[Weighed]) -> Basis:
    """Return the measure of cost: the first that suits the work and that any candidate has."""
    known: set[Basis] = {
        basis for candidate in weighed for basis, value in candidate.costs.items() if value is not None
    }
    wanted = facts.ranking()["cost_basis"][way_of(workload)]["figures"]
    for basis in BASES:
        if basis in wanted and basis in known:
            return basis
    return "usd_per_hour"


def score(weighed: Sequence[Weighed], *, workload: WorkloadSpec, basis: Basis) -> tuple[Scored, ...]:
    """Return the scores of candidates, in their order.

    Scores for cost and speed are logarithmic, relative to the best: doubling the cost loses as much at one dollar as at
    a hundred. Without a price or an estimate, the usual price of the same memory counts, and the candidate is never
    first. A candidate above the budget's limit scores less than all within it. Speeds are compared with the fastest
    candidate within that limit, or within the limit of ``balanced`` if that is higher. A candidate that is better in
    everything measured (cost, speed, maturity, number of nodes) never scores less, even if it may not fit. A candidate
    of much better value per hour scores more, except with priority performance.
    """
    rules = facts.ranking()
    way = way_of(workload)
    weights, halvings, limit = rules["weights"][workload.budget], rules["halvings"], limit_of(workload)
    doubt = rules["cost_basis"][way]["of_unknown_speed"]
    sure = [candidate for candidate in weighed if doubt == 1 or candidate.speed is not None] or weighed
    cheapest = min((cost for candidate in sure if (cost := candidate.costs[basis]) is not None), default=None)
    relative = [_times(candidate.costs[basis], cheapest) for candidate in weighed]
    compared_up_to = max(limit, rules["limits"]["balanced"])
    fastest, any_price = _fastest(weighed, relative, compared_up_to)
    usual = _usual_price(weighed)
    certain = {id(candidate) for candidate in sure}
    undercut = any(times is not None and times < 1 for times in relative)
    found = []
    for each, times in zip(weighed, relative, strict=True):
        slower = _times(fastest, each.speed)
        counted = times if times is not None else _times(_stand_in(each, usual, basis), cheapest)
        cost = 0.0 if counted is None else _share(max(counted, 1.0), halvings["cost"])
        parts: dict[ScorePart, float] = {
            "cost": cost * (1.0 if id(each) in certain else doubt),
            "policy": each.policy,
            "maturity": rules["maturity"][each.maturity],
            "speed": _share(slower, halvings["speed"]),
        }
        several = each.nodes > 1 and way in rules["several_nodes"]["ways"]
        spread = rules["several_nodes"]["factor"] if several else 1.0
        room = rules["tight_fit"]["factor"][workload.budget] if each.tight else 1.0
        total = _MOST * spread * room * sum(weights[name] * value for name, value in parts.items())
        within = id(each) in certain and (cheapest is None if times is None else times <= limit)
        found.append(
            Scored(
                parts=parts,
                total=total,
                within=within,
                times_the_cheapest=times,
                times_slower=slower,
                compared_up_to=None if any_price else compared_up_to,
                undercut=undercut,
            )
        )
    if workload.budget != "performance" and basis == "usd_per_hour":
        found = _below_better_value(weighed, found)
    return _below_the_limit(_below_what_is_better(weighed, found, basis))


def _fastest(
    weighed: Sequence[Weighed], times_the_cheapest: Sequence[float | None], limit: float
) -> tuple[float | None, bool]:
    """Return the best speed of candidates within the limit, and whether none is faster at any price."""
    known = [(each.speed, times) for each, times in zip(weighed, times_the_cheapest, strict=True) if each.speed]
    fastest = max((speed for speed, _ in known), default=None)
    within = max((speed for speed, times in known if times is not None and times <= limit), default=fastest)
    return within, within == fastest


def _usual_price(weighed: Sequence[Weighed]) -> float | None:
    """Return the median price in US dollars per hour and GiB of memory; None if no price is known."""
    known = [cost / each.size for each in weighed if (cost := each.costs["usd_per_hour"]) is not None]
    return median(known) if known else None


def _stand_in(each: Weighed, usual: float | None, basis: Basis) -> float | None:
    """Return a candidate's cost at the usual price of its memory."""
    hourly = None if usual is None else usual * each.size
    if basis == "usd_per_hour" or hourly is None:
        return hourly
    return None if each.hours is None else hourly * each.hours


def limit_of(workload: WorkloadSpec) -> float:
    """Return the most that the first place may cost, as a multiple of the lowest cost."""
    limits = facts.ranking()["limits"]
    return {"cost": limits["cost"], "balanced": limits["balanced"], "performance": limits["performance"]}[
        workload.budget
    ]


def _below_the_limit(scored: Sequence[Scored]) -> tuple[Scored, ...]:
    """Scale the scores of candidates above the limit down to less than all within it."""
    least = min((candidate.total for candidate in scored if candidate.within), default=None)
    if least is None:
        return tuple(scored)
    return tuple(
        candidate if candidate.within else candidate._replace(total=candidate.total * least / _MOST)
        for candidate in scored
    )


def _below_better_value(weighed: Sequence[Weighed], scored: Sequence[Scored]) -> list[Scored]:
    """Cap every score below that of candidates that cost little more per hour and do far more work per dollar."""
    rule = facts.ranking()["better_value"]
    most, least = rule["most_times_the_price"], rule["least_times_the_work_per_dollar"]
    found = list(scored)
    measured = [
        (cost, each.speed, at)
        for at, each in enumerate(weighed)
        if (cost := each.costs["usd_per_hour"]) and each.speed is not None
    ]
    measured.sort(reverse=True)  # the scores of more expensive candidates are final
    for number, (cost, speed, at) in enumerate(measured):
        for other, faster, index in measured[:number]:
            if cost < other <= most * cost and faster * cost >= least * speed * other:
                total = min(found[at].total, found[index].total - _LESS)
                found[at] = found[at]._replace(total=max(0.0, total))
    return found


def _below_what_is_better(weighed: Sequence[Weighed], scored: Sequence[Scored], basis: Basis) -> tuple[Scored, ...]:
    """Cap every score at that of candidates that are better in everything measured."""
    costs = [_rounded(candidate.costs[basis]) for candidate in weighed]
    order = sorted(range(len(weighed)), key=costs.__getitem__)
    capped = []
    for at, (each, found) in enumerate(zip(weighed, scored, strict=True)):
        most = found.total
        for index in order:
            if costs[index] > costs[at]:
                break
            if scored[index].total < most and _is_better(weighed[index], each, costs[index], costs[at]):
                most = scored[index].total
        capped.append(found._replace(total=most))
    return tuple(capped)


def _is_better(one: Weighed, other: Weighed, cost: float, than: float) -> bool:
    """Return whether ``one`` is not worse than ``other`` in cost, speed, maturity and nodes, and better in one of them.

    ``cost`` is that of ``one``, and ``than`` that of ``other``. False if a cost or speed is unknown.
    """
    scores = facts.ranking()["maturity"]
    fast, slow = one.speed_of_a_node or one.speed, other.speed_of_a_node or other.speed
    if math.inf in (cost, than) or fast is None or slow is None:
        return False
    mine, yours = scores[one.maturity], scores[other.maturity]
    if cost > than or fast < slow or mine < yours or one.nodes > other.nodes:
        return False
    return (cost, -fast, -mine, one.nodes) != (than, -slow, -yours, other.nodes)


def order(weighed: Weighed, scored: Scored, *, basis: Basis) -> tuple[object, ...]:
    """Return a sort key, best first: the limit, score, cost, speed, maturity, nodes, price, order of the request, name.

    Price differences beyond the fourth digit are ignored: prices differ by rounding between regions.
    """
    cost, hourly = weighed.costs[basis], weighed.costs["usd_per_hour"]
    return (
        not scored.within,
        -round(scored.total, 2),
        _rounded(cost),
        -(weighed.speed or 0.0),
        -facts.ranking()["maturity"][weighed.maturity],
        weighed.nodes,
        _rounded(hourly),
        weighed.place,
        weighed.name,
    )


def _rounded(value: float | None) -> float:
    return math.inf if value is None else float(f"{value:.4g}")


def _times(larger: float | None, smaller: float | None) -> float | None:
    """Return a quotient; None if either is unknown. Divided by 0, it is 1 for another 0, and infinite otherwise."""
    if larger is None or smaller is None:
        return None
    return larger / smaller if smaller > 0 else (1.0 if larger == smaller else math.inf)


def _share(times: float | None, halvings: float) -> float:
    if times is None or times == math.inf:
        return 0.0
    return min(1.0, max(0.0, 1 - math.log2(times) / halvings))
