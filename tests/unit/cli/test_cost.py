"""``eks-hardware cost``: every line and total, within 80 columns; JSON with sources; budgets; exit codes."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.cli.output import cost as output
from eks_hardware.cost import PURCHASES, cost_of
from eks_hardware.printable import usd
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT, TESTS
from helpers.paths import SHIPPED as SHIPPED_FOLDER
from helpers.strategies import SHIPPED, SYSTEM, document, group, pools, resolved_of, resolved_shipped, write_document

run = partial(cli.run, "cost")

UNPRICED_BLOCK = group(
    "p5.48xlarge",
    name="block",
    capacity="capacity-block",
    reservation={"id": "cr-0123456789abcdef0", "zone": "cac1-az4"},
    update={"strategy": "minimal"},
    scaling={"max": 16},
)
"""In ca-central-1, which has On-Demand prices of p5, and none of Capacity Blocks."""
OVER = str(TESTS / "corpus" / "bad" / "budget-exceeded.yaml")


def cost_json(*arguments: str) -> dict[str, Any]:
    code, stdout, _ = run(*arguments, "--format", "json")
    assert code == 0
    read: dict[str, Any] = json.loads(stdout)
    return read


@in_one_test("name", SHIPPED)
def test_shows_every_line_and_the_totals(name: str) -> None:
    code, stdout, _ = run(name, "--all")
    assert code == 0
    assert max(map(len, stdout.splitlines())) <= 80
    found = cost_of(resolved_shipped(name))
    for line in found.lines:
        assert line.name.partition(", ")[0] in stdout
    assert f"{found.usd_per_month('max'):,.0f}" in stdout
    assert usd(found.usd_per_hour("desired")) in stdout
    assert ("at least" in stdout) == bool(found.unknown("max"))
    assert all(text.split(":")[0] in stdout for text in found.not_counted)


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, bool], str]:
    """Return what the command prints about a file without errors, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def printed(file: Path, everything: bool) -> str:
        resolved = resolved_of(file)
        output.show(resolved, cost_of(resolved), everything=everything)
        return capsys.readouterr().out

    return printed


@in_one_test("file", sorted([*SHIPPED_FOLDER.glob("*.yaml"), *(TESTS / "corpus" / "good").glob("b*.yaml")]))
def test_the_default_is_one_screen_with_the_same_totals(file: Path, shown: Callable[[Path, bool], str]) -> None:
    short, full = (shown(file, everything) for everything in (False, True))
    assert len(short.splitlines()) <= 40
    assert max(map(len, short.splitlines())) <= 80
    one, other = ([line.split() for line in text.splitlines() if line.startswith("Total")] for text in (short, full))
    assert one == other


def test_the_parts_of_the_short_table_add_up(tmp_path: Path) -> None:
    """Many groups share a row."""
    groups = [group("m7i.xlarge", name=f"group-{number}", scaling={"min": 1, "max": 2}) for number in range(30)]
    _, stdout, _ = run(write_document(tmp_path / "demo.yaml", node_groups=groups), COLUMNS="120")
    rows = [line.split() for line in stdout.splitlines()]
    assert len(rows) <= 40
    total = next(row for row in rows if row[:3] == ["Total", "per", "hour"])
    parts = rows[3 : rows.index(total) - 1]
    assert any(row[1:3] == ["more", "items"] for row in parts)
    assert sum(float(row[-1]) for row in parts) == pytest.approx(float(total[-1]), abs=0.1)


def test_prices_are_named_after_the_type_that_they_belong_to(tmp_path: Path) -> None:
    """At max, a group counts its most expensive type."""
    file = write_document(tmp_path / "demo.yaml", node_groups=[SYSTEM, group(["g6.xlarge", "g6.2xlarge"], "llm")])
    line = next(each for each in cost_json(str(file))["lines"] if each["path"] == "node_groups[llm]")
    assert (line["instance_type"], line["instance_type_at_max"]) == ("g6.xlarge", "g6.2xlarge")
    price = line["figure_at_max"]["usd_per_hour"]
    assert price > line["figure"]["usd_per_hour"]
    short, full = run(file)[1], run(file, "--all")[1]
    assert "group llm: g6.xlarge, at max g6.2xlarge" in short
    assert f"per hour while it runs: g6.2xlarge {usd(price)}" in short
    assert "g6.xlarge, On-Demand, at max g6.2xlarge" in full


def test_the_guide_shows_what_is_printed() -> None:
    guide = (ROOT / "docs" / "guides" / "cost.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)[0].splitlines()
    printed = [line.rstrip() for line in run("mixed-hardware")[1].splitlines()]
    assert [line for line in shown if line != "..." and line not in printed] == []


def _in_canada(folder: Path, *groups: dict[str, Any], **fields: Any) -> str:
    return str(write_document(folder / "demo.yaml", region="ca-central-1", node_groups=[SYSTEM, *groups], **fields))


def test_what_is_unknown_is_not_in_the_sum(tmp_path: Path) -> None:
    file = _in_canada(tmp_path, UNPRICED_BLOCK)
    code, stdout, _ = run(file, "--all")
    assert code == 0
    (line,) = (line for line in stdout.splitlines() if "p5.48xlarge, Capacity Block" in line)
    assert line.split()[-1].startswith("<=")
    assert stdout.count("at least") == stdout.count("at most\n") == 2
    assert "group block: p5.48xlarge" in stdout
    short = run(file).out
    assert (
        'Price unknown; "at most" uses On-Demand prices\n- group block: p5.48xlarge; you pay for the block when '
        "you buy it, and only\n  `eks-hardware doctor` reads its size from AWS\n"
    ) in short


@pytest.mark.parametrize("pooled", [False, True], ids=["group", "pool"])
def test_spot_of_an_unknown_price_is_at_most_on_demand(tmp_path: Path, pooled: bool) -> None:
    """In Seoul, p6-b300 has an On-Demand price, and none as Spot."""
    spot: dict[str, Any] = {"instance_types": ["p6-b300.48xlarge"]}
    if pooled:
        parts = pools({"name": "b300", **spot, "capacity": ["spot"], "limits": {"nvidia.com/gpu": 8}})
    else:
        parts = {"node_groups": [SYSTEM, {"name": "b300", **spot, "capacity": "spot", "scaling": {"max": 1}}]}
    file = str(write_document(tmp_path / "demo.yaml", region="ap-northeast-2", **parts))
    for options in ([], ["--all"]):
        (row,) = (
            line.split() for line in run(file, *options).out.splitlines() if "p6-b300.48xlarge" in line and "<=" in line
        )
        assert row[-1].startswith("<=209.")
    assert "p6-b300.48xlarge at most\n  209.17" in run(file).out
    found = cost_json(file)
    total = found["totals"]["max"]
    assert (total["at_least"], total["usd_per_hour"] < 2, total["usd_per_hour_at_most"] > 209) == (True, True, True)
    (line,) = (each for each in found["lines"] if each["name"].startswith("p6-b300"))
    assert (line["usd_per_hour"]["max"], line["usd_per_hour_at_most"]["max"]) == (None, 209.1735)


def test_a_pool_of_reservations_may_use_capacity_blocks(tmp_path: Path) -> None:
    pool = {
        "name": "blocks",
        "workload": "training",
        "instance_types": ["p5.48xlarge"],
        "efa": True,
        "capacity": ["capacity-block"],
        "reservations": [{"id": "cr-0fedcba9876543210", "zone": "cac1-az4"}],
        "limits": {"nvidia.com/gpu": 32},
    }
    said = " ".join(run(_in_canada(tmp_path, karpenter={"node_pools": [pool]})).out.split())
    assert (
        "- pool blocks: p5.48xlarge as a Capacity Block, which you pay for when you buy it; the totals use the "
        "On-Demand price"
    ) in said


def test_what_the_always_on_part_costs_and_nodes_add() -> None:
    said = " ".join(run("mixed-hardware").out.split())
    assert (
        "Cost at the minimum size - 399 per month is the always-on part: groups and pools with a minimum of 0 have no "
        "nodes - "
        "each node adds its price per hour while it runs: p4d.24xlarge 21.96, trn1.32xlarge 21.50, inf2.xlarge 0.758, "
        "3 more With a commitment, no upfront - nodes at max that run all month: On-Demand 166,614; reserved 104,495 "
        "for 1 year, 68,327 for 3 years; Savings Plans unknown Not shown"
    ) in said


def test_ways_to_buy() -> None:
    _, stdout, _ = run("mixed-hardware", "--all")
    rows = [line.split() for line in stdout.splitlines()]
    assert ["m6i.xlarge", "0.192", "unknown", "unknown", "0.127", "0.087"] in rows
    assert ["p4d.24xlarge", "21.96", "8.41", "13.57", "13.92", "9.37"] in rows


def test_json_has_every_figure_with_its_source() -> None:
    found = cost_json("mixed-hardware")
    assert (found["strategy"], found["region"], found["hours_per_month"]) == ("mixed-hardware", "us-west-2", 730)
    for level, total in found["totals"].items():
        parts = sum(line["usd_per_hour"][level] for line in found["lines"])
        assert total["usd_per_hour"] == pytest.approx(parts, abs=0.0001 * len(found["lines"]))  # each is rounded
        assert total["usd_per_month"] == pytest.approx(total["usd_per_hour"] * 730, abs=0.05)
        assert (total["at_least"], total["unknown"]) == (False, [])
    for line in found["lines"]:
        assert set(line["units"]) == set(line["usd_per_hour"]) == {"min", "desired", "max"}
        assert line["figure"]["as_of"]
        assert line["figure"]["source"]
    types = [row["instance_type"] for row in found["purchases"]]
    assert len(types) == len(set(types))
    for row in found["purchases"]:
        assert set(row) == {"instance_type", *PURCHASES}
        for purchase in PURCHASES:
            assert (row[purchase]["usd_per_hour"] is None) == ("why" in row[purchase])


def test_the_age_of_the_oldest_price() -> None:
    found = cost_json("mixed-hardware")
    oldest = found["oldest_price"]
    dates = [line[key]["as_of"] for line in found["lines"] for key in ("figure", "figure_at_max") if line[key]]
    assert oldest["as_of"] == min(date for date in dates if date != "undated")
    assert oldest["days"] == (datetime.date.today() - datetime.date.fromisoformat(oldest["as_of"])).days
    for arguments in ((), ("--all",)):
        said = f"Oldest price: {oldest['as_of']}, {oldest['days']} days ago (group system)"
        assert run("mixed-hardware", *arguments).out.splitlines()[-1] == said


def test_json_of_what_is_unknown_is_null(tmp_path: Path) -> None:
    found = cost_json(_in_canada(tmp_path, UNPRICED_BLOCK))
    (line,) = (line for line in found["lines"] if line["path"] == "node_groups[block]")
    assert (line["figure"], line["usd_per_hour"]) == (None, {"min": 0.0, "desired": 0.0, "max": None})
    assert found["totals"]["min"]["at_least"] is False
    assert found["totals"]["max"]["at_least"] is True
    assert "node_groups[block]" in found["totals"]["max"]["unknown"]


def test_overlay() -> None:
    assert [line["kind"] for line in cost_json("mixed-hardware")["lines"]].count("nat") == 1
    private = [line["kind"] for line in cost_json("mixed-hardware", "--overlay", "private")["lines"]]
    assert "nat" not in private
    assert "endpoints" in private


@pytest.mark.parametrize("arguments", [(OVER,), (OVER, "--format", "json")])
def test_over_budget_is_shown_all_the_same(arguments: tuple[str, ...]) -> None:
    code, stdout, stderr = run(*arguments)
    assert code == 1
    assert "BUDGET_EXCEEDED" in stderr
    assert "80" in stdout
    assert "p5.48xlarge" in stdout


def test_any_other_error_ends_it(tmp_path: Path) -> None:
    file = write_document(
        tmp_path / "demo.yaml", budget={"usd_per_month_at_max": 1}, node_groups=[group("p9.48xlarge")]
    )
    code, stdout, stderr = run(file)
    assert (code, stdout) == (1, "")
    assert "INSTANCE_TYPE_UNKNOWN" in stderr


def test_warnings_do_not_spoil_json(tmp_path: Path) -> None:
    file = write_document(
        tmp_path / "demo.yaml", cluster={"creator_is_admin": True, "endpoint": {"public_cidrs": ["0.0.0.0/0"]}}
    )
    code, stdout, stderr = run(file, "--format", "json")
    assert code == 0
    assert stderr == f"1 warning; see `eks-hardware validate {file}`\n"
    assert json.loads(stdout)["strategy"] == "demo"


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("no-such-strategy", "is not a file or the name of a strategy"),
        (str(TESTS / "synth" / "strategies"), "name one"),
    ],
)
def test_names_one_strategy(argument: str, said: str) -> None:
    code, stdout, stderr = run(argument)
    assert (code, stdout) == (2, "")
    assert said in stderr


def test_wrong_usage() -> None:
    assert run()[0] == 2
    assert run("mixed-hardware", "--no-such-option")[0] == 2


def test_long_names_and_large_numbers_fit(tmp_path: Path) -> None:
    name = "a-name-that-is-as-long-as-a-name-of-a-node-group-may-be-at-most"
    large = group(
        "p6-b300.48xlarge", name=name, scaling={"max": 5000}, disk={"type": "io2", "size_gib": 16384, "iops": 80000}
    )
    code, stdout, _ = run(
        write_document(tmp_path / "demo.yaml", node_groups=[*document()["node_groups"], large]), "--all"
    )
    assert code == 0
    assert max(map(len, stdout.splitlines())) <= 80
    assert "712,080" in stdout  # 5,000 x 142.416


def test_an_unknown_price_is_estimated_beside_the_totals(tmp_path: Path) -> None:
    """Trainium2 has no source for its price in Hyderabad."""
    file = write_document(
        tmp_path / "demo.yaml",
        region="ap-south-2",
        node_groups=[SYSTEM, group("trn2.48xlarge", name="training")],
    )
    wide = " ".join(run(file, COLUMNS="200")[1].split())
    found = cost_json(str(file))
    assert found["totals"]["max"]["usd_per_hour_at_most"] is None
    by_name = {each["instance_type"]: each for each in found["estimated_prices"]}
    trainium = by_name["trn2.48xlarge"]
    assert trainium["usd_per_hour"] > 30
    assert f"trn2.48xlarge, On-Demand about {usd(trainium['usd_per_hour'])} ({trainium['how']})" in wide
    assert cost_json("mixed-hardware")["estimated_prices"] == []
