"""How candidates are weighed against each other: cost, policy, maturity and speed, each from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eks_hardware.advisor.model import Maturity
from eks_hardware.advisor.ranking import policy
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.policy import Basis

BASES: tuple[Basis, ...] = ("usd_per_run", "usd_per_million_tokens", "usd_per_hour")
"""The figures of cost, from what says most of the work to what says least."""
_MOST = 100


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """What is weighed of a candidate.

    Attributes:
        costs: US dollars by basis: ``usd_per_run``, ``usd_per_million_tokens``, ``usd_per_hour``; None where unknown.
        speed: tokens per second, None where unknown.
        policy: how far it is what the policy's branch names, from 0 to 1.
        maturity: of the software on it.
        nodes: that one job or one replica takes.
        place: of its region and purchase in what was asked: breaks ties.
        name: of the instance type: breaks the rest.
    """

    costs: Mapping[Basis, float | None]
    speed: float | None
    policy: float
    maturity: Maturity
    nodes: int
    place: tuple[int, ...]
    name: str


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A score.

    Attributes:
        parts: from 0 to 1, by name: ``cost``, ``policy``, ``maturity``, ``speed``.
        total: from 0 to 100, by the weights of the budget.
        times_the_cheapest: its cost against the lowest one, None where it is unknown.
        times_slower: the best speed against its own, None where it is unknown.
    """

    parts: Mapping[str, float]
    total: float
    times_the_cheapest: float | None
    times_slower: float | None


def basis_of(workload: WorkloadSpec, weighed: Iterable[Weighed]) -> Basis:
    """The figure of cost by which candidates are compared: the first that suits the work and that any of them has."""
    known: set[Basis] = {basis for each in weighed for basis, value in each.costs.items() if value is not None}
    wanted = policy.load().cost_basis[way_of(workload)]
    for each in BASES:
        if each in wanted and each in known:
            return each
    return "usd_per_hour"


def basis_why(workload: WorkloadSpec) -> str:
    """Why the policy compares the cost of a workload by that figure, in a sentence."""
    return policy.load().cost_basis_why[way_of(workload)]


def score(weighed: Sequence[Weighed], *, workload: WorkloadSpec, basis: Basis) -> tuple[Scored, ...]:
    """Weigh candidates against each other.

    Cost and speed count by their logarithm, against the best of all: what is twice as dear loses as much whether it
    costs one dollar or a hundred. What is unknown counts 0, and is never guessed. Whatever is better in every way that
    is measured (cost, speed, maturity, number of nodes) scores no less.

    Args:
        weighed: the candidates.
        workload: its budget has the weights of the parts.
        basis: from :func:`basis_of`.

    Returns:
        The scores, in the order of the candidates.
    """
    rules = policy.load()
    costs = [each.costs[basis] for each in weighed]
    speeds = [each.speed for each in weighed]
    cheapest = min((each for each in costs if each is not None), default=None)
    fastest = max((each for each in speeds if each is not None), default=None)
    weights, doubt = rules.weights[workload.budget], rules.of_unknown_speed[way_of(workload)]
    found = []
    for each, cost, speed in zip(weighed, costs, speeds, strict=True):
        dearer = None if cost is None or cheapest is None else _times(cost, cheapest)
        slower = None if speed is None or fastest is None else _times(fastest, speed)
        parts = {
            "cost": _share(dearer, rules.halvings["cost"]) * (doubt if speed is None else 1.0),
            "policy": each.policy,
            "maturity": rules.maturity_scores[each.maturity],
            "speed": _share(slower, rules.halvings["speed"]),
        }
        spread = rules.several_nodes.get(way_of(workload), 1.0) if each.nodes > 1 else 1.0
        total = _MOST * spread * sum(weights[name] * value for name, value in parts.items())
        found.append(Scored(parts=parts, total=total, times_the_cheapest=dearer, times_slower=slower))
    return _below_what_is_better(weighed, found, basis)


def _below_what_is_better(weighed: Sequence[Weighed], scored: Sequence[Scored], basis: Basis) -> tuple[Scored, ...]:
    """Nothing scores more than what is better in every way that can be measured, whatever the policy prefers."""
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
    scores = policy.load().maturity_scores
    if one.costs[basis] is None or one.speed is None or other.speed is None:
        return False
    cost, than = _rounded(one.costs[basis]), _rounded(other.costs[basis])
    mine, yours = scores[one.maturity], scores[other.maturity]
    if cost > than or one.speed < other.speed or mine < yours or one.nodes > other.nodes:
        return False
    return (cost, -one.speed, -mine, one.nodes) != (than, -other.speed, -yours, other.nodes)


def order(weighed: Weighed, scored: Scored, *, budget: str, basis: Basis) -> tuple[object, ...]:
    """Sort key, best first: the score, then the price, then the order that was given, then the name.

    With budget ``cost`` whatever has no price stands behind all that have one. Software that its maker
    has ended stands behind all that is kept up, whatever it costs. Differences beyond the fourth digit
    are none: prices differ by rounding from one region to another.
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


def way_of(workload: WorkloadSpec) -> str:
    """What the policy tells kinds of work apart by: the task, and for inference the way of serving."""
    return (workload.serving or "real-time") if workload.task == "inference" else workload.task


def _times(larger: float, smaller: float) -> float:
    """A quotient; what is free is as cheap as anything."""
    return larger / smaller if smaller > 0 else (1.0 if larger == smaller else math.inf)


def _share(times: float | None, halvings: float) -> float:
    if times is None or times == math.inf:
        return 0.0
    return max(0.0, 1 - math.log2(times) / halvings)
