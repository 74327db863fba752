"""How candidates are weighed against each other: cost, policy, maturity and speed, each from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.model import Maturity, ScorePart
from eks_hardware.advisor.ranking.policy import way_of
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

BASES: tuple[Basis, ...] = ("usd_per_run", "usd_per_million_tokens", "usd_per_hour")
"""The figures of cost, the most telling first."""
_MOST = 100


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What is weighed of a candidate; None is unknown."""

    costs: Mapping[Basis, float | None]  # US dollars
    speed: float | None  # tokens per second
    policy: float  # how far it is what the policy's branch names, from 0 to 1
    maturity: Maturity
    nodes: int  # that one job or one replica takes
    place: tuple[int, ...]  # of its region and purchase in what was asked: breaks ties
    name: str  # of the instance type: breaks the rest


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A score."""

    parts: Mapping[ScorePart, float]  # from 0 to 1
    total: float  # from 0 to 100, by the weights of the budget
    times_the_cheapest: float | None  # its cost divided by the lowest; None where it is unknown
    times_slower: float | None  # the best speed divided by its own; None where it is unknown


def basis_of(workload: WorkloadSpec, weighed: Iterable[Weighed]) -> Basis:
    """The figure of cost by which candidates are compared: the first that suits the work and that any of them has."""
    known: set[Basis] = {basis for each in weighed for basis, value in each.costs.items() if value is not None}
    wanted = facts.ranking()["cost_basis"][way_of(workload)]["figures"]
    for each in BASES:
        if each in wanted and each in known:
            return each
    return "usd_per_hour"


def score(weighed: Sequence[Weighed], *, workload: WorkloadSpec, basis: Basis) -> tuple[Scored, ...]:
    """The scores of candidates, in their order.

    Cost and speed count by their logarithm, relative to the best: twice the cost loses as much whether it is one
    dollar or a hundred. What is unknown counts 0, and is never guessed. What is better in everything that is
    measured (cost, speed, maturity, number of nodes) scores no less.
    """
    rules = facts.ranking()
    way = way_of(workload)
    weights, halvings = rules["weights"][workload.budget], rules["halvings"]
    cheapest = min((cost for each in weighed if (cost := each.costs[basis]) is not None), default=None)
    fastest = max((each.speed for each in weighed if each.speed is not None), default=None)
    found = []
    for each in weighed:
        dearer, slower = _times(each.costs[basis], cheapest), _times(fastest, each.speed)
        doubt = rules["cost_basis"][way]["of_unknown_speed"] if each.speed is None else 1.0
        parts: dict[ScorePart, float] = {
            "cost": _share(dearer, halvings["cost"]) * doubt,
            "policy": each.policy,
            "maturity": rules["maturity"][each.maturity],
            "speed": _share(slower, halvings["speed"]),
        }
        several = each.nodes > 1 and way in rules["several_nodes"]["ways"]
        spread = rules["several_nodes"]["factor"] if several else 1.0
        total = _MOST * spread * sum(weights[name] * value for name, value in parts.items())
        found.append(Scored(parts=parts, total=total, times_the_cheapest=dearer, times_slower=slower))
    return _below_what_is_better(weighed, found, basis)


def _below_what_is_better(weighed: Sequence[Weighed], scored: Sequence[Scored], basis: Basis) -> tuple[Scored, ...]:
    """Nothing scores more than what is better in everything that can be measured, whatever the policy prefers."""
    order = sorted(range(len(weighed)), key=lambda index: _rounded(weighed[index].costs[basis]))
    capped = []
    for each, found in zip(weighed, scored, strict=True):
        most = found.total
        for index in order:
            other = weighed[index]
            if _rounded(other.costs[basis]) > _rounded(each.costs[basis]):
                break
            if scored[index].total < most and _is_better(other, each, basis):
                most = scored[index].total
        capped.append(replace(found, total=most))
    return tuple(capped)


def _is_better(one: Weighed, other: Weighed, basis: Basis) -> bool:
    """Whether it costs no more, is as fast and as mature and on as few nodes, and is ahead in one of these."""
    scores = facts.ranking()["maturity"]
    if one.costs[basis] is None or one.speed is None or other.speed is None:
        return False
    cost, than = _rounded(one.costs[basis]), _rounded(other.costs[basis])
    mine, yours = scores[one.maturity], scores[other.maturity]
    if cost > than or one.speed < other.speed or mine < yours or one.nodes > other.nodes:
        return False
    return (cost, -one.speed, -mine, one.nodes) != (than, -other.speed, -yours, other.nodes)


def order(weighed: Weighed, scored: Scored, *, budget: str, basis: Basis) -> tuple[object, ...]:
    """Sort key, best first: the score, then the price, then the order that was given, then the name.

    With budget ``cost``, candidates without a price come after all that have one. Software that its maker has ended
    comes after all that is maintained, whatever it costs. Differences beyond the fourth digit are none: prices differ
    by rounding from one region to another.
    """
    cost, hourly = weighed.costs[basis], weighed.costs["usd_per_hour"]
    return (
        budget == "cost" and hourly is None,
        weighed.maturity == "archived",
        -round(scored.total, 2),
        _rounded(cost),
        -(weighed.speed or 0.0),
        _rounded(hourly),
        weighed.place,
        weighed.name,
    )


def _rounded(value: float | None) -> float:
    return math.inf if value is None else float(f"{value:.4g}")


def _times(larger: float | None, smaller: float | None) -> float | None:
    """A quotient, None where one of the two is unknown; what is free is as cheap as anything."""
    if larger is None or smaller is None:
        return None
    return larger / smaller if smaller > 0 else (1.0 if larger == smaller else math.inf)


def _share(times: float | None, halvings: float) -> float:
    if times is None or times == math.inf:
        return 0.0
    return max(0.0, 1 - math.log2(times) / halvings)
