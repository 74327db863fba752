"""The budget: errors, warnings, and suggestions in the messages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from eks_hardware.cost import cost_of
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.strategies import SYSTEM, TODAY, document, group, pool, pools

FIELD = "budget.usd_per_month_at_max"
GROUP = "node_groups[gpu]"


def with_budget(usd: float, *groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"budget": {"usd_per_month_at_max": usd}, "node_groups": [SYSTEM, *groups], **fields}


# 4 x p4d.24xlarge in us-west-2 are 64,116 USD per month, and the total is 64,926.97.
GPU = group("p4d.24xlarge")
BLOCK = group(
    "p5.48xlarge",
    capacity="capacity-block",
    reservation={"id": "cr-01234567", "zone": "cac1-az4"},
    update={"strategy": "minimal"},
)
IN_CANADA = {"region": "ca-central-1"}
"""A region with an On-Demand price of ``BLOCK``, and none of a Capacity Block."""
SPOT = group("p5.4xlarge", capacity="spot")
L4 = pool("l4", instance_types=["g6.xlarge"], limits={"nvidia.com/gpu": 10})

CASES = [
    Case("BUDGET_EXCEEDED", FIELD, bad=with_budget(64_926, GPU), good=with_budget(64_928, GPU)),
    Case("BUDGET_EXCEEDED", FIELD, bad=with_budget(6000, **pools(L4)), good=with_budget(7000, **pools(L4))),
    # The known costs already exceed it.
    Case("BUDGET_EXCEEDED", FIELD, bad=with_budget(100, BLOCK, **IN_CANADA), good=with_budget(100_000, GPU)),
    # A Capacity Block costs at most the On-Demand price.
    Case(
        "BUDGET_UNKNOWN",
        FIELD,
        bad=with_budget(50_000, BLOCK, **IN_CANADA),
        good=with_budget(500_000, BLOCK, **IN_CANADA),
    ),
    Case("BUDGET_UNKNOWN", FIELD, bad=with_budget(500_000, group("p5e.48xlarge")), good=with_budget(500_000, GPU)),
    # The first type has a price, but EKS may use the other one.
    Case(
        "BUDGET_UNKNOWN",
        FIELD,
        bad=with_budget(500_000, group(["p5en.48xlarge", "p5e.48xlarge"])),
        good=with_budget(500_000, group("p5en.48xlarge")),
    ),
]


@in_one_test("case", CASES, ids=lambda case: case.code)
def test_case(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("budget")
    assert warnings_of("budget") == {"BUDGET_UNKNOWN"}


def costs(changes: dict[str, Any]) -> float:
    """Return the known cost of a strategy per month at its maximum."""
    return cost_of(resolve(Strategy.model_validate(document(**changes))), today=TODAY).usd_per_month("max")


def test_spot_of_an_unknown_price_counts_at_the_on_demand_price() -> None:
    """As Spot does at max whose price is known: 4 x 8.94 USD per hour."""
    for usd, expected in ((20_000, ["BUDGET_EXCEEDED"]), (30_000, [])):
        found = shown_codes(with_budget(usd, SPOT, region="ap-southeast-2"))
        assert [code for code, path in found if path == FIELD] == expected


@pytest.mark.parametrize("of", [GPU, BLOCK], ids=["known", "unknown"])
def test_a_cost_that_is_the_budget_is_within_it(of: dict[str, Any]) -> None:
    where = IN_CANADA if of is BLOCK else {}
    exactly = costs(with_budget(1, of, **where))
    assert ("BUDGET_EXCEEDED", FIELD) not in shown_codes(with_budget(exactly, of, **where))
    assert (("BUDGET_UNKNOWN", FIELD) in shown_codes(with_budget(exactly, of, **where))) is (of is BLOCK)
    assert ("BUDGET_EXCEEDED", FIELD) in shown_codes(with_budget(exactly - 0.01, of, **where))
    assert ("BUDGET_UNKNOWN", FIELD) not in shown_codes(with_budget(exactly - 0.01, of, **where))


def budget_message(changes: dict[str, Any]) -> str:
    found = check(Strategy.model_validate(document(**changes)), today=TODAY)
    (text,) = (finding.message for finding in found if finding.path == FIELD)
    return text


def test_names_the_most_expensive_and_what_to_lower() -> None:
    text = budget_message(with_budget(50_000, GPU))
    assert "the cluster costs 64,927 USD a month, 14,927 USD over the budget of 50,000 USD" in text
    places = [
        text.index(each) for each in (f"{GROUP} 64,116 USD (4 x p4d", "node_groups[system] 561 USD", f"{GROUP}.disk")
    ]
    assert places == sorted(places)
    assert "lower node_groups[gpu].scaling.max to 3, or raise" in text


@pytest.mark.parametrize(
    ("usd", "lowered"),
    [(48_000, 2), (17_000, 1)],
)
def test_the_lowered_max_is_within_the_budget(usd: int, lowered: int) -> None:
    assert f"{GROUP}.scaling.max to {lowered}" in budget_message(with_budget(usd, GPU))
    assert shown_codes(with_budget(usd, group("p4d.24xlarge", scaling={"max": lowered}))) == []
    assert shown_codes(with_budget(usd, group("p4d.24xlarge", scaling={"max": lowered + 1}))) != []


def test_does_not_lower_below_min() -> None:
    assert "lower several" in budget_message(with_budget(50_000, group("p4d.24xlarge", scaling={"min": 4, "max": 4})))


def test_no_group_alone_is_enough() -> None:
    groups = [group("p4d.24xlarge", name=f"gpu-{index}", scaling={"max": 2}) for index in range(4)]
    assert "no single group or pool can save that much" in budget_message(with_budget(20_000, *groups))


def test_lowers_the_limits_of_a_pool() -> None:
    # 10 x g6.xlarge are 5,875.04 USD per month with 310 USD for volumes.
    text = budget_message(with_budget(6000, **pools(L4)))
    assert "lower karpenter.node_pools[l4].limits[nvidia.com/gpu] to 8" in text
    assert shown_codes(with_budget(6000, **pools({**L4, "limits": {"nvidia.com/gpu": 8}}))) == []


@in_one_test(
    ("hardware", "limits", "usd", "lowered"),
    [
        ({"instance_types": ["m7i.xlarge"]}, {"memory": "512Gi"}, 3000, {"memory": "230Gi"}),
        ({"instance_families": ["g6"]}, {"nvidia.com/gpu": 16, "cpu": 512}, 9000, {"nvidia.com/gpu": 3, "cpu": 105}),
        # Less than one node with eight GPUs.
        ({"instance_types": ["p4d.24xlarge"]}, {"nvidia.com/gpu": 16}, 12_000, None),
    ],
)
def test_lowered_limits_are_within_the_budget(
    hardware: dict[str, Any], limits: dict[str, Any], usd: int, lowered: dict[str, Any] | None
) -> None:
    text = budget_message(with_budget(usd, **pools(pool("pool", **hardware, limits=limits))))
    if lowered is None:
        assert "lower several" in text
        return
    for name, limit in lowered.items():
        field = f"[{name}]" if "/" in name else f".{name}"
        assert f"karpenter.node_pools[pool].limits{field} to {limit}" in text
    found = shown_codes(with_budget(usd, **pools(pool("pool", **hardware, limits=lowered))))
    assert [code for code, _ in found if code == "BUDGET_EXCEEDED"] == []


def test_names_what_has_no_price() -> None:
    text = budget_message(with_budget(50_000, BLOCK, **IN_CANADA))
    assert re.search(r"so the cost at maximum size is at least [\d,.]+ USD a month, at most", text)
    assert "the price of p5.48xlarge (node_groups[gpu]) is unknown" in text
    assert "at least" in budget_message(with_budget(100, BLOCK, **IN_CANADA))
    unbounded = budget_message(with_budget(50_000, group("p5e.48xlarge")))
    assert re.search(r"so the cost at maximum size is at least [\d,.]+ USD a month; ask AWS", unbounded)


def test_an_accepted_warning_is_not_shown() -> None:
    accepted = {"ignore": [{"code": "BUDGET_UNKNOWN", "path": FIELD, "reason": "the block was 300,000 USD"}]}
    assert shown_codes(with_budget(50_000, BLOCK, **IN_CANADA, **accepted)) == []


@in_one_test(
    "fields",
    [
        with_budget(1, group("p9.48xlarge")),
        {**with_budget(1), "region": "us-iso-east-1"},
        with_budget(1, **pools(pool(limits={"nvidia.com/gpu": "12.5"}, instance_families=["g6"]))),
        with_budget(1, **pools(pool(limits={"cpu": -1}))),
        with_budget(1, **pools(pool(instance_families=["zz9"]))),
    ],
    ids=["type", "region", "quantity", "negative", "family"],
)
def test_says_nothing_where_it_cannot_tell(fields: dict[str, Any]) -> None:
    found = shown_codes(fields)
    assert found
    assert [code for code, _ in found if code.startswith("BUDGET")] == []


def test_without_a_limit_the_cost_of_a_pool_is_unknown() -> None:
    endless = with_budget(500_000, **pools(pool(limits={})))
    assert "nodes without a limit" in budget_message(endless)
