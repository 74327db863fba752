"""Properties of ``tests/unit/advisor/test_score.py`` with random input."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as some

from eks_hardware.advisor.ranking.score import Weighed
from helpers.scores import BUDGETS, contender, ranked, scored, workload_of

PRICES = some.one_of(some.none(), some.floats(0.01, 10_000))


CANDIDATES = some.builds(
    contender,
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
    workload = workload_of(budget=budget)
    before = ranked([*others, contender("a", hourly=price)], workload).index("a")
    after = ranked([*others, contender("a", hourly=price * discount)], workload).index("a")
    assert after <= before


@settings(deadline=None, max_examples=100)
@given(
    weighed=some.lists(CANDIDATES, min_size=1, max_size=6, unique_by=lambda each: each.name),
    budget=some.sampled_from(BUDGETS),
)
def test_scores_stay_in_bounds_and_do_not_depend_on_the_order(weighed: list[Weighed], budget: str) -> None:
    workload = workload_of(budget=budget)
    for each in scored(weighed, budget=budget):
        assert 0 <= each.total <= 100
        assert all(0 <= part <= 1 for part in each.parts.values())
        assert not math.isnan(each.total)
    assert ranked(weighed, workload) == ranked(weighed[::-1], workload)
