"""The page of every strategy there is: well-formed, the engines' numbers, and always the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eks_hardware.cost import LEVELS
from eks_hardware.html_report import Report, report_of, report_page
from eks_hardware.html_report.tables import UNKNOWN, quantity, usd, usd_per_month
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.rules import check
from eks_hardware.validation import validate
from helpers.paths import ROOT, SHIPPED, SPECIAL, TESTS
from helpers.strategies import TODAY, document, group, shipped

FILES = sorted(file for folder in (SHIPPED, SPECIAL, TESTS / "corpus" / "good") for file in folder.glob("*.yaml"))
SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


@cache
def report(file: Path) -> Report:
    found = validate([file], today=TODAY)
    ((loaded, findings),) = found.strategies
    return report_of(loaded.strategy, findings, version="1.2.3", today=TODAY)


@cache
def page(file: Path) -> str:
    return report_page(report(file))


def page_of(strategy: Strategy) -> str:
    return report_page(report_of(strategy, version="1.2.3", today=TODAY))


every_strategy = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")


class _Reader(HTMLParser):
    """Tags that do not close in order, and the text of every cell."""

    VOID = frozenset({"meta", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links.extend(value or "" for name, value in attrs if name in ("href", "src", "action", "style"))
        self.faults.extend(f"<{tag} {name}>" for name, _ in attrs if name.startswith("on"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@every_strategy
def test_tags_close_in_order(file: Path) -> None:
    reader = _Reader(page(file))
    assert (reader.faults, reader.open) == ([], [])


@every_strategy
def test_drawings_are_well_formed(file: Path) -> None:
    drawings = SVG.findall(page(file))
    assert len(drawings) > 3
    for each in drawings:
        ElementTree.fromstring(each)


@every_strategy
def test_every_drawing_names_every_group_and_pool(file: Path) -> None:
    drawings = [each for each in SVG.findall(page(file)) if 'role="img"' in each]
    assert len(drawings) == 3
    names = {each.name for each in report(file).nodes}
    for each in drawings:
        root = ElementTree.fromstring(each)
        assert names <= {"".join(text.itertext()) for text in root.iter() if text.tag.endswith("text")}


def _cells(text: str, caption: str) -> Iterator[list[str]]:
    """Text of the cells of a table, row by row."""
    table = next(
        each for each in re.findall(r"<table\b.*?</table>", text, re.DOTALL) if f"<caption>{caption}</caption>" in each
    )
    for row in re.findall(r"<tr\b.*?</tr>", table, re.DOTALL):
        yield [" ".join(_Reader(cell).words) for cell in re.findall(r"<t[dh]\b.*?</t[dh]>", row, re.DOTALL)]


@every_strategy
def test_costs_are_the_engine_s(file: Path) -> None:
    cost = report(file).cost
    rows = list(_cells(page(file), "Cost by the hour"))
    assert len(rows) == 1 + len(cost.lines) + 2
    for line, (item, each, *levels) in zip(cost.lines, rows[1:], strict=False):
        assert item.startswith(f"{line.name} {line.path}")
        assert each.startswith(usd(line.figure.usd_per_hour) if line.figure else UNKNOWN)
        for level, cell in zip(LEVELS, levels, strict=True):
            assert cell.startswith(usd(line.usd_per_hour(level)) if line.units[level] else "–")
    for level, hour, month in zip(LEVELS, rows[-2][2:], rows[-1][2:], strict=True):
        assert hour.startswith(usd(cost.usd_per_hour(level)))
        assert month.startswith(usd_per_month(cost.usd_per_month(level)))
        assert ("without a price" in hour) is bool(cost.unknown(level))


@every_strategy
def test_quotas_are_the_engine_s(file: Path) -> None:
    needs = report(file).quotas
    rows = list(_cells(page(file), "Service quotas with every group and pool at its most"))[1:]
    assert len(rows) == len(needs)
    for need, (name, needed, surge, default, to_do) in zip(needs, rows, strict=True):
        assert name.startswith(need.name)
        assert (need.code or "no code") in name
        assert needed == quantity(need.needed)
        assert surge == (f"+{quantity(need.surge)}" if need.surge else "–")
        assert default == (UNKNOWN if need.default is None else quantity(need.default))
        short = need.default is not None and need.needed + need.surge > need.default
        assert to_do == ("raise" if short else "look it up" if need.default is None else "enough")


@every_strategy
def test_every_derived_setting_is_there(file: Path) -> None:
    resolved: ResolvedStrategy = report(file).resolved
    text = page(file)
    for path, part in (
        *((f"node_groups[{each.name}]", each) for each in resolved.node_groups),
        *((f"karpenter.node_pools[{each.name}]", each) for each in resolved.node_pools),
    ):
        fields = {row[0].replace(" ", "") for row in list(_cells(text, path))[1:]}
        for name in ("ami_family", "zone_ids", "labels", "architecture", "block_devices"):
            assert name in fields, path
        assert {name.partition(".")[0] for name in fields} <= {name for name, _, _ in part.explained()}


@every_strategy
def test_nothing_is_loaded(file: Path) -> None:
    text = page(file)
    assert all(link.startswith("https://") for link in _Reader(text).links)
    assert not re.search(r"<(script|link|img|iframe|object|embed|base|form|image|use)\b|@import|url\(", text)
    assert "default-src &#x27;none&#x27;" in text


def test_findings_are_shown_and_accepted_ones_with_their_reason() -> None:
    found = report(TESTS / "corpus" / "good" / "warnings-ignored.yaml")
    words = " ".join(_Reader(report_page(found)).words)
    assert any(each.ignored for each in found.findings)
    for finding in found.findings:
        assert finding.message in words
        assert finding.ignored in words


def test_figures_of_mixed_hardware() -> None:
    words = "|".join(_Reader(page(SHIPPED / "mixed-hardware.yaml")).words)
    for part in (
        "Nodes at max|23|in node groups and what Karpenter makes",
        "NVIDIA GPUs at max|64|32 in groups, 32 in pools",
        "Trainium at max|64|32 in groups, 32 in pools",
        "Inferentia at max|22|10 in groups, 12 in pools",
    ):
        assert part in words


def test_the_budget_stands_beside_the_cost() -> None:
    strategy = Strategy.model_validate(document(budget={"usd_per_month_at_max": 12_345}))
    assert "a month, budget $12,345" in page_of(strategy)


def test_a_price_that_no_source_has_is_unknown() -> None:
    found = report_of(
        Strategy.model_validate(
            document(
                group(
                    "p5.48xlarge",
                    capacity="capacity-block",
                    reservation={"id": "cr-0123456789abcdef0", "zone": "usw2-az1"},
                )
            )
        ),
        version="1",
        today=TODAY,
    )
    assert found.cost.unknown("max")
    rows = [row for row in _cells(report_page(found), "Cost by the hour") if row[0].startswith("p5.48xlarge")]
    assert [(row[1], row[4].split()[0]) for row in rows] == [(UNKNOWN, UNKNOWN)]


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
    reader = _Reader(text)
    assert (reader.faults, reader.open) == ([], [])
    assert "<script" not in text
    assert "<img" not in text
    assert "".join(reader.words).count(MARKUP) >= 4


def test_the_same_strategy_gives_the_same_page() -> None:
    again = report_of(
        shipped("mixed-hardware"), report(SHIPPED / "mixed-hardware.yaml").findings, version="1.2.3", today=TODAY
    )
    assert report_page(again) == page(SHIPPED / "mixed-hardware.yaml")


def test_neither_the_order_of_sets_nor_the_time_zone_shows() -> None:
    code = (
        "import hashlib; from eks_hardware.validation import load_strategy as load;"
        "from eks_hardware.html_report import report_of, report_page;"
        "page = report_page(report_of(load('config/strategies/mixed-hardware.yaml').strategy, version='1'));"
        "print(hashlib.sha256(page.encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Pacific/Auckland"))
    }
    assert len(seen) == 1
