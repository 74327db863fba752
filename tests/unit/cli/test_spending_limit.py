"""The spending limit of ``init``: the strategy that it writes is within it, and no other is written."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path

import pytest

from eks_hardware.advisor.strategies.strategy_text import Settings, strategy_text
from eks_hardware.cost import cost_of
from eks_hardware.loader import parse_strategy
from eks_hardware.models import SpendingLimit
from eks_hardware.resolve import resolve
from eks_hardware.validation import load_strategy
from helpers import cli
from helpers.cases import in_one_test

outcome = partial(cli.outcome, "init", "--no-project", "--yes", "demo", "--force")

HARDWARE = (
    "--hardware gpu --task training",
    "--hardware gpu --task inference",
    "--hardware trainium --task training --region us-east-2",
    "--hardware inferentia --task inference",
    "--hardware cpu --task development --region eu-central-1",
    "--hardware mixed",
    "--model 8B --task inference --concurrency 16",
    "--model 70B --task training --region us-east-1",
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def monthly_cost(file: str = "demo.yaml") -> float:
    """Return the monthly cost of a written strategy at its maximum size."""
    return cost_of(resolve(load_strategy(file).strategy)).usd_per_month("max")


@in_one_test("hardware", HARDWARE)
def test_a_limit_at_the_cost_is_written_and_a_lower_one_is_refused(hardware: str) -> None:
    options = (*hardware.split(), "--pick", "1")
    assert outcome(*options)[0] == 0
    cost = math.ceil(monthly_cost())
    Path("demo.yaml").unlink()
    code, said = outcome(*options, "--max-usd-per-month", str(cost - 1))
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert re.search(
        rf"^error: --max-usd-per-month must be at least {cost:,}, the monthly cost at maximum size "
        rf"with [a-z0-9 .-]+, got {cost - 1}; raise the limit, "
        r"choose cheaper hardware, or use none and lower scaling.max",
        said,
        re.MULTILINE | re.IGNORECASE,
    )
    code, said = outcome(*options, "--max-usd-per-month", f"{cost:,}")
    assert (code, "demo.yaml written: 0 errors, 0 warnings" in said) == (0, True), said
    assert load_strategy("demo.yaml").strategy.budget == SpendingLimit(usd_per_month_at_max=cost)
    assert math.ceil(monthly_cost()) == cost


def test_without_a_number_the_first_hardware_within_the_limit_is_used() -> None:
    gpus = ("--hardware", "gpu", "--task", "development")
    costs = []
    for number in (1, 2, 3):
        assert outcome(*gpus, "--pick", str(number))[0] == 0
        costs.append(math.ceil(monthly_cost()))
    cheapest = min(costs)
    assert cheapest != costs[0]
    code, said = outcome(*gpus, "--max-usd-per-month", str(cheapest))
    assert code == 0
    number = costs.index(cheapest) + 1
    assert (
        f"Number {number} is the first within the spending limit: with g6.xlarge, the cluster costs {costs[0]:,} USD "
        f"a month at maximum size, over the spending limit of {cheapest:,} USD." in " ".join(said.split())
    )
    assert math.ceil(monthly_cost()) == cheapest
    code, said = outcome(*gpus, "--max-usd-per-month", str(cheapest - 1))
    assert code == 2
    assert f"must be at least {cheapest:,}" in said
    assert ", the cheapest of these types, got" in said


@in_one_test("said", ("many", "-5", "1e6", "", "5.000,00", "5.000", "1000,50", "5,5", "1,00,000", ",500", "0,500"))
def test_what_is_no_amount(said: str) -> None:
    code, message = outcome(f"--max-usd-per-month={said}")
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert message.splitlines()[-1] == (
        f'error: --max-usd-per-month must be a number of US dollars such as 5000, or none, got "{said}"'
    )


def test_no_limit() -> None:
    assert outcome("--max-usd-per-month", "none")[0] == 0
    assert load_strategy("demo.yaml").strategy.budget is None


def test_hardware_of_unknown_price_is_not_within_a_limit() -> None:
    options = (*HARDWARE[2].split()[:4], "--region", "ap-south-2")
    code, said = outcome(*options, "--max-usd-per-month", "50000")
    assert (code, Path("demo.yaml").exists()) == (2, False)
    assert (
        "must be none, because the cost with trn2.48xlarge has no known upper bound, got 50000: the cost is at least "
        in said
    )
    assert " USD / at most unknown a month at maximum size (no price for " in said
    assert "trn2.48xlarge); set a budget in the file" in said
    assert outcome(*options, "--max-usd-per-month", "none")[0] == 0


def test_settings_do_not_change_the_cost() -> None:
    """The limit is asked before the other settings, and compared with the cost for a private API."""
    role = "arn:aws:iam::111122223333:role/platform"
    settings = (
        Settings(public_cidrs=()),
        Settings(public_cidrs=("93.184.216.34/32",), admins=(role,), state_bucket="our-state", max_usd_per_month=1e6),
    )
    texts = [strategy_text("demo", "us-west-2", (), each) for each in settings]
    assert len({cost_of(resolve(parse_strategy(each).strategy)).usd_per_month("max") for each in texts}) == 1
