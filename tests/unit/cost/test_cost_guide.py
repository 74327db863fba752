"""``docs/explanation/policy-and-prices.md``: its tables match today's catalogue."""

from __future__ import annotations

import pytest

from helpers import cost_guide, price_coverage
from helpers.cases import in_one_test


def test_guide_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        cost_guide.GUIDE.write_text(cost_guide.guide(), encoding="utf-8")
    assert cost_guide.GUIDE.read_text(encoding="utf-8") == cost_guide.guide()


def test_every_table_is_there() -> None:
    assert sorted(cost_guide.tables()) == sorted(cost_guide.TABLES)


def test_documents_compute_their_own_savings_rightly() -> None:
    """So that a difference is in prices, not in arithmetic."""
    for table in cost_guide.older_figures()["comparisons"]:
        for row in table["rows"]:
            then = cost_guide.saving(row["gpu"]["usd_per_hour"], row["other"]["usd_per_hour"])
            assert then == row["saving_percent"], row["workload"]


@in_one_test(
    ("workload", "now"),
    [
        ("7B Model Training", 56),  # 3.06, 1.34375
        ("13B Model Training", 2),  # 21.957642, 21.50
        ("70B Model Training", 51),  # 87.830568, 43.00
        ("BERT Inference", -44),  # 0.526, 0.7582
        ("GPT-3.5 Inference", -62),  # 1.212, 1.96786
        ("Large Model Batch", -14),  # 5.672, 6.49063
    ],
)
def test_savings_of_today(workload: str, now: int) -> None:
    (line,) = (line for line in cost_guide.guide().splitlines() if line.startswith(f"| {workload} |"))
    assert f"**{now}%**" in line


def test_a_faulty_comparison_is_reported() -> None:
    training = {
        row["workload"]: list(cost_guide.notes(row)) for row in cost_guide.older_figures()["comparisons"][0]["rows"]
    }
    withdrawn, gpu, trainium = training["7B Model Training"]
    assert "p3.2xlarge" in withdrawn
    assert "needs 104 GiB" in gpu  # 7e9 x 16 bytes
    assert "has 16 GiB" in gpu
    assert "has 32 GiB" in trainium
    assert training["13B Model Training"] == []
    (short,) = training["70B Model Training"]
    assert short.startswith("`2 x trn1.32xlarge` is too small: it has 1,024 GiB")  # 2 x 512 GiB
    assert "needs 1,043 GiB" in short  # 70e9 x 16 bytes


def test_the_guide_names_every_price_without_a_source(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        price_coverage.GUIDE.write_text(price_coverage.guide(), encoding="utf-8")
    assert price_coverage.GUIDE.read_text(encoding="utf-8") == price_coverage.guide()


def test_most_prices_of_accelerated_types_are_known() -> None:
    """When the guide's table was new, 62% were unknown."""
    known = [cell.known for cell in price_coverage.cells()]
    assert len(known) > 2000
    assert known.count(False) / len(known) < 0.12
