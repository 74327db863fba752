"""The content of a page, which is always the same. ``tests/properties`` tests the page of every strategy."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from eks_hardware.html_report import report_of, report_page
from eks_hardware.html_report.page import _environment, dollars
from eks_hardware.models import Strategy
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, TESTS
from helpers.report_page import Reader, page, read_page, report, rows_of
from helpers.strategies import TODAY, document, group, shipped


def page_of(strategy: Strategy) -> str:
    return report_page(report_of(strategy, version="1.2.3", today=TODAY))


def test_findings_are_shown_and_accepted_ones_with_their_reason() -> None:
    found = report(TESTS / "corpus" / "good" / "warnings-ignored.yaml")
    words = " ".join(Reader(report_page(found)).words)
    assert any(each.ignored for each in found.findings)
    for finding in found.findings:
        assert finding.message in words
        assert finding.ignored in words


def test_figures_of_mixed_hardware() -> None:
    words = "|".join(filter(None, map(str.strip, read_page(SHIPPED / "mixed-hardware.yaml").words)))
    for part in (
        "Nodes at max|23|in node groups, plus Karpenter nodes",
        "NVIDIA GPUs at max|64|32 in groups, 32 in pools",
        "Trainium at max|64|32 in groups, 32 in pools",
        "Inferentia at max|22|10 in groups, 12 in pools",
    ):
        assert part in words


def test_the_budget_stands_beside_the_cost() -> None:
    strategy = Strategy.model_validate(document(budget={"usd_per_month_at_max": 12_345}))
    assert "per month, budget $12,345" in page_of(strategy)


def test_a_price_that_no_source_has_is_unknown() -> None:
    found = report_of(
        Strategy.model_validate(
            document(
                group(
                    "p5.48xlarge",
                    capacity="capacity-block",
                    reservation={"id": "cr-0123456789abcdef0", "zone": "cac1-az4"},
                ),
                region="ca-central-1",
            )
        ),
        version="1",
        today=TODAY,
    )
    assert found.cost.unknown("max")
    rows = [row for row in rows_of(Reader(report_page(found)), "Cost per hour") if row[0].startswith("p5.48xlarge")]
    assert [(row[1], row[4].split()[0]) for row in rows] == [("at most $63.30", "at")]
    top = report_page(found).partition("</header>")[0]
    assert '<div class="warning">' in top
    assert "the price of 1 item is unknown. The upper bound uses the On-Demand price." in top
    most = found.cost.usd_per_hour_at_most("max")
    assert most
    assert f"at least ${found.cost.usd_per_month('max'):,.0f} / at most ${most * 730:,.0f}" in top
    assert "warning" not in page(SHIPPED / "mixed-hardware.yaml").partition("<body>")[2].partition("</header>")[0]


def test_spot_of_an_unknown_price_is_at_most_on_demand() -> None:
    nodes = group("p6-b300.48xlarge", capacity="spot", scaling={"min": 1, "max": 1})
    spot = Strategy.model_validate(document(nodes, region="ap-northeast-2"))
    shown = report_page(report_of(spot, version="1", today=TODAY))
    (row,) = (row for row in rows_of(Reader(shown), "Cost per hour") if row[0].startswith("p6-b300"))
    assert [cell.partition(" 1")[0] for cell in row[1:]] == ["at most $209.17"] * 4
    assert "The upper bound uses the On-Demand price." in shown.partition("</header>")[0]


def test_no_price_bounds_the_total_of_nodes_without_a_price() -> None:
    given = document(group("p5e.48xlarge", scaling={"max": 2}))
    text = report_page(report_of(Strategy.model_validate(given), version="1", today=TODAY))
    top = text.partition("</header>")[0]
    assert "/ at most unknown per hour with every group and pool at its maximum" in " ".join(top.split())
    assert "No known price bounds it." in top
    totals = [row for row in rows_of(Reader(text), "Cost per hour") if row[0].startswith("Total per")]
    assert [re.sub(r"[\d.,]+", "N", row[4]) for row in totals] == ["at least $N / at most unknown"] * 2


def test_a_price_of_some_types_is_a_lower_bound() -> None:
    given = document(group(["p5en.48xlarge", "p5e.48xlarge"], scaling={"max": 2}))
    found = report_of(Strategy.model_validate(given), version="1", today=TODAY)
    rows = [row for row in rows_of(Reader(report_page(found)), "Cost per hour") if row[0].startswith("p5en.48xlarge")]
    assert [row[4].split()[:3] for row in rows] == [["at", "least", "$126.59"]]


def test_small_items_are_folded_and_add_up() -> None:
    found = report(SHIPPED / "mixed-hardware.yaml")
    (row,) = (
        row for row in rows_of(read_page(SHIPPED / "mixed-hardware.yaml"), "Cost per hour") if "small items" in row[0]
    )
    assert row[4] == dollars(sum(line.usd_per_hour("max") or 0 for line in found.small_lines))
    assert {"gp3 50 GiB, 125 MiB/s", "KMS key for Kubernetes secrets"} <= {line.name for line in found.small_lines}
    assert "EKS control plane" in {line.name.partition(",")[0] for line in found.large_lines}


MARKUP = """</style></title><script>alert(1)</script>"'&<img src=x onerror=alert(1)>"""


def test_markup_in_a_strategy_is_text() -> None:
    strategy = Strategy.model_validate(
        document(
            group(user_data={"containerd": {"config": MARKUP}}),
            description=MARKUP,
            cluster={"creator_is_admin": True, "endpoint": {"public_cidrs": ["0.0.0.0/0"]}},
            ignore=[{"code": "ENDPOINT_OPEN", "path": "cluster", "reason": MARKUP}],
        )
    )
    text = report_page(report_of(strategy, check(strategy, today=TODAY), version=MARKUP, today=TODAY))
    reader = Reader(text)
    assert (reader.faults, reader.open) == ([], [])
    assert "<script" not in text
    assert "<img" not in text
    assert "".join(reader.words).count(MARKUP) >= 4


@in_one_test("character", ["\x00", "\u202e", "\ud800", "\u200b"])
def test_what_is_unseen_is_spelled_out(character: str) -> None:
    """HTML does not allow some of it, and the rest would change the text direction on screen."""
    text = report_page(report_of(shipped("development"), version=f"1{character}模型", today=TODAY))
    assert f"1{character.encode('unicode_escape').decode()}模型" in text
    text.encode()


def test_a_field_that_a_template_misspells_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        _environment().from_string("{{ report.findngs }}").render(report=report(SHIPPED / "development.yaml"))


def test_the_same_strategy_gives_the_same_page() -> None:
    again = report_of(
        shipped("mixed-hardware"), report(SHIPPED / "mixed-hardware.yaml").findings, version="1.2.3", today=TODAY
    )
    assert report_page(again) == page(SHIPPED / "mixed-hardware.yaml")
