"""The page of every strategy there is: well-formed, the engines' numbers, and always the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from eks_hardware.cost import LEVELS
from eks_hardware.explain import sections
from eks_hardware.html_report import Report, report_of, report_page
from eks_hardware.html_report.page import _environment, dollars
from eks_hardware.models import Strategy
from eks_hardware.printable import number
from eks_hardware.rules import check
from eks_hardware.validation import validate
from helpers.paths import ROOT, SHIPPED, SPECIAL, TESTS
from helpers.strategies import TODAY, document, group, shipped

FILES = sorted(file for folder in (SHIPPED, SPECIAL, TESTS / "corpus" / "good") for file in folder.glob("*.yaml"))


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
    """Tags that do not close in order, links, words, and the text of every cell by caption of the table."""

    VOID = frozenset({"meta", "wbr"})
    STYLE = re.compile(r"(--[a-z]+: \d+(; )?)+")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action"):
                self.links.append(value or "")
            elif name.startswith("on") or (name == "style" and not self.STYLE.fullmatch(value or "")):
                self.faults.append(f"<{tag} {name}={value}>")
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] == "style":
            return
        self.words.append(data)
        if self.open[-1] == "caption":
            self.tables[data] = self._rows
        elif "td" in self.open or "th" in self.open:
            self._rows[-1][-1] += data


@cache
def read(file: Path) -> _Reader:
    return _Reader(page(file))


def rows_of(reader: _Reader, caption: str) -> list[list[str]]:
    """Rows below the heads of a table, white space as a browser shows it."""
    return [[" ".join(cell.split()) for cell in row] for row in reader.tables[caption][1:]]


@every_strategy
def test_tags_close_in_order(file: Path) -> None:
    reader = read(file)
    assert (reader.faults, reader.open) == ([], [])


@every_strategy
def test_the_drawing_names_every_group_and_pool(file: Path) -> None:
    drawing = page(file).partition("<figure")[2].partition("</figure>")[0]
    shown = re.findall(r"<h5>.*?<span>(.*?)</span></h5>", drawing)
    names = [each.name for each in report(file).nodes]
    assert shown[: len(names)] == names


@every_strategy
def test_costs_are_the_engine_s(file: Path) -> None:
    cost = report(file).cost
    rows = rows_of(read(file), "Cost by the hour")
    assert len(rows) == len(cost.lines) + 2
    for line, (item, each, *levels) in zip(cost.lines, rows, strict=False):
        assert item.startswith(f"{line.name} {line.path}")
        assert each.startswith(dollars(line.figure.usd_per_hour if line.figure else None))
        for level, cell in zip(LEVELS, levels, strict=True):
            assert cell.startswith(dollars(line.usd_per_hour(level)) if line.units[level] else "–")
    for level, hour, month in zip(LEVELS, rows[-2][2:], rows[-1][2:], strict=True):
        assert hour.startswith(dollars(cost.usd_per_hour(level)))
        assert month.startswith(dollars(cost.usd_per_month(level), 0))
        assert ("without a price" in hour) is bool(cost.unknown(level))


@every_strategy
def test_quotas_are_the_engine_s(file: Path) -> None:
    needs = report(file).quotas
    rows = rows_of(read(file), "Service quotas with every group and pool at its most")
    assert len(rows) == len(needs)
    for need, (name, needed, surge, default, to_do) in zip(needs, rows, strict=True):
        assert name.startswith(need.name)
        assert (need.code or "no code") in name
        assert needed == number(need.needed)
        assert surge == (f"+{number(need.surge)}" if need.surge else "–")
        assert default == number(need.default)
        short = need.default is not None and need.needed + need.surge > need.default
        assert to_do == ("raise" if short else "look it up" if need.default is None else "enough")


@every_strategy
def test_every_derived_setting_is_there_with_its_reason(file: Path) -> None:
    shown = {each.path: each for each in sections(report(file).resolved)}
    resolved = report(file).resolved
    paths = [f"node_groups[{each.name}]" for each in resolved.node_groups]
    paths += [f"karpenter.node_pools[{each.name}]" for each in resolved.node_pools]
    for path in ("strategy", "network", "cluster", *paths):
        set_rows = [row for row in shown[path].rows if row.is_set]
        for row, (name, value, why, origin) in zip(set_rows, rows_of(read(file), path), strict=True):
            assert (name, origin) == (row.field, row.reason.origin.value)
            assert value.startswith(" ".join(row.lines[0].split()))
            assert why == " ".join(f"{row.reason.text} {row.reason.source or ''}".split())


@every_strategy
def test_nothing_is_loaded(file: Path) -> None:
    text = page(file)
    assert all(link.startswith("https://") for link in read(file).links)
    assert not re.search(r"<(script|link|img|iframe|object|embed|base|form|image|use)\b|@import|url\(", text)
    assert "default-src 'none'" in text


def test_findings_are_shown_and_accepted_ones_with_their_reason() -> None:
    found = report(TESTS / "corpus" / "good" / "warnings-ignored.yaml")
    words = " ".join(_Reader(report_page(found)).words)
    assert any(each.ignored for each in found.findings)
    for finding in found.findings:
        assert finding.message in words
        assert finding.ignored in words


def test_figures_of_mixed_hardware() -> None:
    words = "|".join(filter(None, map(str.strip, read(SHIPPED / "mixed-hardware.yaml").words)))
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
    rows = [row for row in rows_of(_Reader(report_page(found)), "Cost by the hour") if row[0].startswith("p5.48xlarge")]
    assert [(row[1], row[4].split()[0]) for row in rows] == [("unknown", "unknown")]


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


@pytest.mark.parametrize("character", ["\x00", "\u202e", "\ud800", "\u200b"])
def test_what_is_unseen_is_spelled_out(character: str) -> None:
    """HTML has no place for some of it, and the rest would turn text around on screen."""
    text = report_page(report_of(shipped("development"), version=f"1{character}模型", today=TODAY))
    assert f"1{character.encode('unicode_escape').decode()}模型" in text
    text.encode()


def test_a_field_that_a_template_misspells_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        _environment().from_string("{{ report.findngs }}").render(report=report(FILES[0]))


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
