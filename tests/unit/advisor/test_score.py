"""Scoring: a candidate never loses by being cheaper, faster or better known."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.advisor.ranking.score import basis_of
from helpers.cases import in_one_test
from helpers.scores import BUDGETS, contender, ranked, scored, workload_of


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
    both = [contender("worse", **worse), contender("better", **better)]
    assert ranked(both, workload_of(budget=budget)) == ["better", "worse"]


def test_an_unknown_price_counts_like_the_usual_one_of_its_memory() -> None:
    """It cannot be first: it may be above the limit."""
    unknown = contender("unknown", hourly=None, speed=1e6, policy=1.0, size=4.0)
    rest = [contender("cheap"), contender("usual", hourly=4.0, size=4.0), contender("dear", hourly=160.0, size=16.0)]
    parts = dict(zip(("cheap", "usual", "dear", "unknown"), scored([*rest, unknown]), strict=True))
    assert parts["unknown"].parts["cost"] == parts["usual"].parts["cost"]
    for budget in BUDGETS:
        assert ranked([unknown, *rest], workload_of(budget=budget))[0] != "unknown"


@in_one_test(("budget", "limit", "worth"), [("cost", 1.1, 1.01), ("balanced", 3.0, 2.9), ("performance", 10.0, 9.9)])
def test_what_is_above_the_limit_is_never_first(budget: str, limit: float, worth: float) -> None:
    cheap = contender("cheap", speed=1.0, policy=0.0, maturity="beta")
    above = contender("above", hourly=limit * 1.01, speed=1e6, policy=1.0)
    within = contender("within", hourly=worth, speed=1e6, policy=1.0)
    assert ranked([above, cheap], workload_of(budget=budget)) == ["cheap", "above"]
    assert ranked([within, cheap], workload_of(budget=budget)) == ["within", "cheap"]


def test_a_run_that_may_not_fit_counts_less_unless_the_price_decides() -> None:
    """It gives way to a run at up to 2.2 times the price and 3 times the speed, and to one at the same price."""
    tight = contender("tight", tight=True)
    faster, same = contender("faster", hourly=2.2, speed=300.0), contender("same")
    for budget, first in (("cost", "tight"), ("balanced", "faster"), ("performance", "faster")):
        workload = workload_of(task="fine-tuning", method="lora", budget=budget)
        assert ranked([tight, faster], workload)[0] == first
    assert ranked([tight, same], workload_of(task="fine-tuning"))[0] == "same"


def test_hardware_above_the_limit_does_not_level_the_speed_of_the_rest() -> None:
    """However fast it is: an hour of eight B200s says nothing about one L4 and one L40S."""
    rest = [contender("slow"), contender("fast", hourly=2.0, speed=300.0)]
    slow, fast, above = scored([*rest, contender("above", hourly=100.0, speed=1e6)])
    assert [slow.parts["speed"], fast.parts["speed"]] == [each.parts["speed"] for each in scored(rest)]
    assert (slow.compared_up_to, slow.times_slower, fast.times_slower) == (3, 3, 1)
    assert above.parts["speed"] == 1
    assert above.total < slow.total
    assert scored(rest)[0].compared_up_to is None


def test_the_selection_guide_weighs_less_than_twice_the_price() -> None:
    for row in facts.ranking()["weights"].values():
        assert row["policy"] <= row["cost"] / facts.ranking()["halvings"]["cost"]
    for budget in BUDGETS:
        named, other = contender("named", hourly=2.1, policy=1.0), contender("other", policy=0.0)
        assert ranked([named, other], workload_of(budget=budget)) == ["other", "named"]


@in_one_test(
    ("said", "known", "basis"),
    [
        ({"task": "training"}, {"run": 5.0}, "usd_per_run"),
        ({"task": "training"}, {}, "usd_per_hour"),
        ({"task": "fine-tuning"}, {"run": 5.0}, "usd_per_run"),
        ({"task": "fine-tuning"}, {}, "usd_per_hour"),
        ({"task": "inference", "serving": "batch"}, {"run": 5.0}, "usd_per_run"),
        ({"task": "inference", "serving": "batch"}, {}, "usd_per_hour"),
        ({"task": "inference"}, {"run": 5.0}, "usd_per_hour"),
        ({"task": "development"}, {"run": 5.0}, "usd_per_hour"),
    ],
)
def test_cost_is_that_of_the_stated_work(said: dict[str, Any], known: dict[str, float], basis: str) -> None:
    assert basis_of(workload_of(**said), [contender(hourly=None), contender(**known)]) == basis  # type: ignore[arg-type]


def test_twice_the_price_loses_as_much_everywhere() -> None:
    one, two, four = scored([contender(hourly=3.0), contender(hourly=6.0), contender(hourly=12.0)])
    assert one.parts["cost"] == 1
    assert one.parts["cost"] - two.parts["cost"] == pytest.approx(two.parts["cost"] - four.parts["cost"])
    assert (two.times_the_cheapest, four.times_the_cheapest) == (2, 4)


def test_an_hour_of_unknown_speed_counts_for_less_where_it_has_to_serve() -> None:
    serving, development = ({"task": "inference"}, {"task": "development"})
    unknown = [contender(speed=None), contender()]
    assert scored(unknown, **serving)[0].parts["cost"] < scored(unknown, **development)[0].parts["cost"] == 1


def test_nothing_precedes_what_is_better_in_every_way() -> None:
    """However strongly the policy prefers it."""
    named = contender("named", hourly=32.0, speed=50.0, policy=1.0, nodes=2)
    better = contender("better", hourly=22.0, speed=60.0, policy=0.0)
    assert ranked([named, better], workload_of()) == ["better", "named"]
    (of_named, of_better) = scored([named, better])
    assert of_named.total <= of_better.total


@in_one_test(
    ("hourly", "speed", "first"),
    [(4.6, 13.0, "better"), (4.6, 8.0, "small"), (5.5, 30.0, "small")],
    ids=["much better value", "a little better value", "more than a little more expensive"],
)
def test_with_budget_cost_much_better_value_precedes_a_little_lower_price(
    hourly: float, speed: float, first: str
) -> None:
    """Four T4s do not precede four L4s of twice the speed. The first place stays the cheapest."""
    rows = [
        contender("cheapest", hourly=3.4, speed=18.0),
        contender("small", hourly=3.9, speed=6.0),
        contender("better", hourly=hourly, speed=speed),
    ]
    names = ranked(rows, workload_of(budget="cost"))
    assert names[:2] == ["cheapest", first]


def test_a_replica_over_several_nodes_counts_for_less() -> None:
    one, two = scored([contender("one"), contender("two", nodes=2)])
    assert two.total == pytest.approx(0.7 * one.total)


def test_a_training_run_over_several_nodes_does_not() -> None:
    one, two = scored([contender("one"), contender("two", nodes=2)], task="training")
    assert two.total == one.total
