"""Weighing: what is cheaper, faster or better known never loses by it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from eks_hardware.advisor.ranking.score import Scored, Weighed, basis_of, order, score
from eks_hardware.facts.schemas.policy import Basis
from eks_hardware.models import WorkloadSpec
from helpers.cases import in_one_test

BUDGETS = ("cost", "balanced", "performance")


def asked(task: str = "inference", **said: Any) -> WorkloadSpec:
    return WorkloadSpec.model_validate({"task": task, "model": {"parameters": "8B"}, **said})


def candidate(
    name: str = "a",
    *,
    hourly: float | None = 1.0,
    tokens: float | None = None,
    run: float | None = None,
    speed: float | None = 100.0,
    policy: float = 0.4,
    maturity: Any = "mature",
    nodes: int = 1,
    place: int = 0,
) -> Weighed:
    costs: dict[Basis, float | None] = {
        "usd_per_hour": hourly,
        "usd_per_million_tokens": tokens,
        "usd_per_run": run,
    }
    return Weighed(costs=costs, speed=speed, policy=policy, maturity=maturity, nodes=nodes, place=(place,), name=name)


def ranked(weighed: list[Weighed], workload: WorkloadSpec) -> list[str]:
    basis = basis_of(workload, weighed)
    rows = zip(weighed, score(weighed, workload=workload, basis=basis), strict=True)
    return [one.name for one, _ in sorted(rows, key=lambda row: order(*row, budget=workload.budget, basis=basis))]


def scored(weighed: list[Weighed], **said: Any) -> tuple[Scored, ...]:
    workload = asked(**said)
    return score(weighed, workload=workload, basis=basis_of(workload, weighed))


@in_one_test("budget", BUDGETS)
@in_one_test(
    ("better", "worse"),
    [
        ({"hourly": 1.0}, {"hourly": 2.0}),
        ({"hourly": 100.0}, {"hourly": 110.0}),
        ({"speed": 200.0}, {"speed": 100.0}),
        ({"policy": 1.0}, {"policy": 0.8}),
        ({"maturity": "mature"}, {"maturity": "beta"}),
        ({"maturity": "maintenance"}, {"maturity": "archived"}),
        ({"hourly": 99.0}, {"hourly": None}),
        ({"speed": 100.0}, {"speed": None}),
        ({"place": 0}, {"place": 1}),
    ],
)
def test_what_is_better_ranks_first(budget: str, better: dict[str, Any], worse: dict[str, Any]) -> None:
    both = [candidate("worse", **worse), candidate("better", **better)]
    assert ranked(both, asked(budget=budget)) == ["better", "worse"]


PRICES = some.one_of(some.none(), some.floats(0.01, 10_000))
CANDIDATES = some.builds(
    candidate,
    some.sampled_from("bcdefgh"),
    hourly=PRICES,
    speed=some.one_of(some.none(), some.floats(0.1, 1e6)),
    policy=some.sampled_from([0.0, 0.4, 0.8, 1.0]),
    maturity=some.sampled_from(["mature", "maintenance", "beta", "archived", "unknown"]),
)


@settings(deadline=None, max_examples=200)
@given(
    others=some.lists(CANDIDATES, min_size=1, max_size=6, unique_by=lambda each: each.name),
    price=some.floats(0.01, 10_000),
    discount=some.floats(0.1, 0.99),
    budget=some.sampled_from(BUDGETS),
)
def test_a_lower_price_never_ranks_lower(others: list[Weighed], price: float, discount: float, budget: str) -> None:
    workload = asked(budget=budget)
    before = ranked([*others, candidate("a", hourly=price)], workload).index("a")
    after = ranked([*others, candidate("a", hourly=price * discount)], workload).index("a")
    assert after <= before


@settings(deadline=None, max_examples=100)
@given(
    weighed=some.lists(CANDIDATES, min_size=1, max_size=6, unique_by=lambda each: each.name),
    budget=some.sampled_from(BUDGETS),
)
def test_scores_stay_in_bounds_and_do_not_depend_on_the_order(weighed: list[Weighed], budget: str) -> None:
    workload = asked(budget=budget)
    for each in scored(weighed, budget=budget):
        assert 0 <= each.total <= 100
        assert all(0 <= part <= 1 for part in each.parts.values())
        assert not math.isnan(each.total)
    assert ranked(weighed, workload) == ranked(weighed[::-1], workload)


def test_without_a_price_it_stands_behind_all_that_have_one() -> None:
    """With an eye on cost, however good it is otherwise."""
    unknown = candidate("unknown", hourly=None, speed=1e6, policy=1.0)
    dear = candidate("dear", hourly=10_000.0, speed=1.0, policy=0.0, maturity="archived")
    assert ranked([unknown, candidate("cheap"), dear], asked(budget="cost")) == ["cheap", "dear", "unknown"]
    assert ranked([unknown, dear], asked(budget="performance")) == ["unknown", "dear"]


@pytest.mark.parametrize(
    ("said", "known", "basis"),
    [
        ({"task": "training"}, {"run": 5.0, "tokens": 1.0}, "usd_per_run"),
        ({"task": "training"}, {"tokens": 1.0}, "usd_per_million_tokens"),
        ({"task": "training"}, {}, "usd_per_hour"),
        ({"task": "fine-tuning"}, {"run": 5.0, "tokens": 1.0}, "usd_per_run"),
        ({"task": "fine-tuning"}, {"tokens": 1.0}, "usd_per_hour"),
        ({"task": "inference", "serving": "batch"}, {"tokens": 1.0}, "usd_per_million_tokens"),
        ({"task": "inference", "serving": "batch"}, {}, "usd_per_hour"),
        ({"task": "inference"}, {"tokens": 1.0}, "usd_per_hour"),
        ({"task": "development"}, {"tokens": 1.0}, "usd_per_hour"),
    ],
)
def test_cost_is_that_of_the_stated_work(said: dict[str, Any], known: dict[str, float], basis: str) -> None:
    assert basis_of(asked(**said), [candidate(hourly=None), candidate(**known)]) == basis  # type: ignore[arg-type]


def test_twice_the_price_loses_as_much_everywhere() -> None:
    one, two, four = scored([candidate(hourly=3.0), candidate(hourly=6.0), candidate(hourly=12.0)])
    assert one.parts["cost"] == 1
    assert one.parts["cost"] - two.parts["cost"] == pytest.approx(two.parts["cost"] - four.parts["cost"])
    assert (two.times_the_cheapest, four.times_the_cheapest) == (2, 4)


def test_an_hour_of_unknown_speed_counts_for_less_where_it_has_to_serve() -> None:
    serving, development = ({"task": "inference"}, {"task": "development"})
    unknown = [candidate(speed=None), candidate()]
    assert scored(unknown, **serving)[0].parts["cost"] < scored(unknown, **development)[0].parts["cost"] == 1


def test_archived_software_stands_behind_what_is_kept_up() -> None:
    ended = candidate("ended", hourly=0.1, speed=1e6, policy=1.0, maturity="archived")
    assert ranked([ended, candidate("kept", hourly=9.0)], asked(budget="cost")) == ["kept", "ended"]


def test_nothing_precedes_what_is_better_in_every_way() -> None:
    """However much the policy prefers it."""
    named = candidate("named", hourly=32.0, speed=50.0, policy=1.0, nodes=2)
    better = candidate("better", hourly=22.0, speed=60.0, policy=0.0)
    assert ranked([named, better], asked()) == ["better", "named"]
    (of_named, of_better) = scored([named, better])
    assert of_named.total <= of_better.total


def test_a_replica_over_several_nodes_counts_for_less() -> None:
    one, two = scored([candidate("one"), candidate("two", nodes=2)])
    assert two.total == pytest.approx(0.7 * one.total)


def test_a_training_run_over_several_nodes_does_not() -> None:
    one, two = scored([candidate("one"), candidate("two", nodes=2)], task="training")
    assert two.total == one.total
