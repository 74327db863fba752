"""The page of every strategy is well-formed and has the numbers of the engines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from eks_hardware.cost import HOURS_PER_MONTH, LEVELS
from eks_hardware.explain import sections
from eks_hardware.html_report.page import dollars
from eks_hardware.printable import number
from helpers.cases import in_one_test
from helpers.paths import ROOT, SHIPPED, SPECIAL, TESTS
from helpers.report_page import page, read_page, report, rows_of

FILES = sorted(file for folder in (SHIPPED, SPECIAL, TESTS / "corpus" / "good") for file in folder.glob("*.yaml"))

every_strategy = in_one_test("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")


@every_strategy
def test_tags_close_in_order(file: Path) -> None:
    reader = read_page(file)
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
    rows = rows_of(read_page(file), "Cost per hour")
    small = report(file).small_lines
    folded = rows_of(read_page(file), "Small items") if small else []
    assert len(rows) + len(folded) == len(cost.lines) + 2 + bool(small)
    lines = [*report(file).large_lines, *small]
    assert sorted(lines, key=cost.lines.index) == list(cost.lines)
    for line, (item, each, *levels) in zip(lines, [*rows[: len(lines) - len(small)], *folded], strict=True):
        assert item.startswith(f"{line.name} {line.path}")
        figure = line.figure or line.ceiling
        price = f"{'' if line.figure else 'at most '}{dollars(figure.usd_per_hour)}" if figure else dollars(None)
        assert each.startswith(price)
        for level, cell in zip(LEVELS, levels, strict=True):
            most, known = line.usd_per_hour_at_most(level), line.usd_per_hour(level)
            shown = dollars(known) if known is not None or most is None else f"at most {dollars(most)}"
            assert cell.startswith(shown if line.units[level] else "–")
    for level, hour, month in zip(LEVELS, rows[-2][2:], rows[-1][2:], strict=True):
        assert hour == cost.in_words(level, dollars)
        assert month == cost.in_words(level, lambda value: dollars(value, 0), hours=HOURS_PER_MONTH)
        assert dollars(cost.usd_per_hour(level)) in hour
        assert hour.startswith("at ") is bool(cost.unknown(level))


@every_strategy
def test_quotas_are_the_engine_s(file: Path) -> None:
    needs = report(file).quotas
    rows = rows_of(read_page(file), "Service quotas with every group and pool at its maximum size")
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
        for row, (name, value, why, origin) in zip(set_rows, rows_of(read_page(file), path), strict=True):
            assert (name, origin) == (row.field, row.reason.origin.value)
            assert value.startswith(" ".join(row.lines[0].split()))
            assert why == " ".join(f"{row.reason.text} {row.reason.source or ''}".split())


@every_strategy
def test_nothing_is_loaded(file: Path) -> None:
    text = page(file)
    assert all(link.startswith("https://") for link in read_page(file).links)
    assert not re.search(r"<(script|link|img|iframe|object|embed|base|form|image|use)\b|@import|url\(", text)
    assert "default-src 'none'" in text


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
