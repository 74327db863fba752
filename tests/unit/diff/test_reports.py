"""A comparison as text, Markdown and JSON; no strategy text can break the format of a comment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from eks_hardware.diff import Changes, PoolChange, compare
from eks_hardware.diff.capacity import Amount
from eks_hardware.diff.hardware import Difference, PartChange
from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown, code
from eks_hardware.diff.resources import Document
from eks_hardware.diff.summary import dollars
from eks_hardware.diff.synthesis import NodeMissingError
from eks_hardware.diff.terminal import as_text
from eks_hardware.models import Strategy
from eks_hardware.printable import counted
from eks_hardware.resolve import ResolvedStrategy
from helpers.cases import in_one_test
from helpers.diff import EVERYTHING
from helpers.diff import compared_without_node as compared
from helpers.strategies import document, gpu_pool, group, pools, strategy


@pytest.fixture(scope="module")
def changes() -> Changes:
    return compared(*EVERYTHING)


def printed(changes: Changes) -> str:
    return f"{as_text(changes)}\n"


def test_text_is_readable_at_80_columns(changes: Changes) -> None:
    assert max(map(len, as_text(changes).splitlines())) <= 80
    assert max(map(len, as_text(changes, 60).splitlines())) <= 60


def test_no_change_is_one_line() -> None:
    same = compared(strategy(), strategy())
    assert printed(same) == "demo: no change\n"
    assert as_markdown(same) == "### `demo`: no change\n"


# Strategy text stays text.

HOSTILE = (
    "a|b",
    "`rm -rf`",
    "```",
    "<img src=x onerror=alert(1)>",
    "</details>",
    "@security-team",
    "#1",
    "[a](https://example.com)",
    "https://example.com",
    "a\nb",
    "\\|",
)


@in_one_test("text", HOSTILE)
@in_one_test("in_table", [False, True])
def test_a_code_span_holds_any_text(text: str, in_table: bool) -> None:
    span = code(text, in_table=in_table)
    fence = re.match("`+", span)
    assert fence
    assert span.endswith(fence[0])
    inside = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in re.findall("`+", inside)
    assert "\n" not in span
    # An odd number of backslashes precedes a pipe in a table, because GitHub reads them in pairs.
    if in_table:
        assert all(len(run) % 2 for run in re.findall(r"(\\*)\|", inside))


def outside_code(markdown: str) -> Iterator[str]:
    for line in markdown.splitlines():
        yield re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "CODE", line)


@in_one_test("text", HOSTILE)
def test_no_value_stands_outside_of_code(changes: Changes, text: str) -> None:
    part = PartChange(f"node_groups[{text}]", "changed", (Difference("labels", text, f"{text} {text}"),), text)
    amount = Amount(f"node_groups[{text}]", text, None)
    pool = PoolChange(text, "changed", (text,), "all")
    hostile = replace(
        changes, hardware=(part,), capacity=replace(changes.capacity, nodes=(amount,)), pools=(pool,), notes=()
    )
    rest = "\n".join(outside_code(as_markdown(hostile)))
    for each in ("<details><summary>", "</summary>", "</details>", "#### ", "### "):
        rest = rest.replace(each, "")
    assert not re.search(r"[<>@\[\]`&]|https?:|#\d", rest)


# GitHub accepts 65,536 characters.

MANY = document(*(group("g5.xlarge", name=f"group-{index}", labels={"team": "a" * 60}) for index in range(300)))


@pytest.mark.parametrize("turned", [False, True], ids=["come", "go"])
def test_a_comment_is_one_that_github_takes(turned: bool) -> None:
    pair = [strategy(), Strategy.model_validate(MANY)]
    changes = compared(*(reversed(pair) if turned else pair))
    text = as_markdown(changes)
    assert 30_000 < len(text) < 65_000
    assert text.endswith("</details>\n")
    assert re.search(r"^\.\.\. and \d+ more rows$", text, re.MULTILINE)
    # Removals come first, and no row is cut.
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith((" |", "---|", ":|")) for line in rows)
    if turned:
        assert re.search(r"^- \.\.\. and \d+ more$", text, re.MULTILINE)


def test_one_value_does_not_take_the_whole_comment(changes: Changes) -> None:
    part = PartChange("node_groups[gpu]", "changed", (Difference("labels", "a" * 50_000, "b" * 50_000),))
    notes = tuple(f"note {index}" for index in range(5))
    text = as_markdown(replace(changes, hardware=(part,) * 10, notes=notes))
    assert len(text) < 65_000
    assert "a ...`" in text


def test_every_row_of_a_table_has_its_columns(changes: Changes) -> None:
    width = 0
    for line in as_markdown(changes).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert cells in (0, width) or width == 0
        width = cells


# Wording.


@in_one_test(
    ("number", "noun", "expected"),
    [(1, "subnet", "1 subnet"), (2, "route", "2 routes"), (3, "IAM policy", "3 IAM policies"), (2, "key", "2 keys")],
)
def test_counted(number: int, noun: str, expected: str) -> None:
    assert counted(number, noun) == expected


@in_one_test(
    ("value", "expected"),
    [
        (0, "$0"),
        (0.0416, "$0.042"),
        (0.7582, "$0.758"),
        (0.9996, "$1.00"),
        (0.0002, "$<0.001"),
        (12.5, "$12.50"),
        (273980.4, "$273,980"),
        (-5, "-$5.00"),
    ],
)
def test_dollars(value: float, expected: str) -> None:
    assert dollars(value) == expected
    assert dollars(value, signed=True) == (f"+{expected}" if value > 0 else expected)


# Without Node.


@pytest.fixture(scope="module")
def without_node() -> Changes:
    def missing(_: ResolvedStrategy) -> Sequence[Document]:
        raise NodeMissingError("node is not on the PATH")

    return compare(*EVERYTHING, synthesize=missing)


def test_without_node_the_rest_is_compared(without_node: Changes) -> None:
    assert without_node.not_compared == ("resources and replacements are not compared: node is not on the PATH")
    assert without_node.notes == (without_node.not_compared,)
    assert without_node.hardware
    assert without_node.capacity.amounts
    assert without_node.cost.any
    assert [each.nodes for each in without_node.pools] == ["all"]


def test_without_node_every_report_says_so(without_node: Changes) -> None:
    text, markdown, content = as_text(without_node), as_markdown(without_node), as_json(without_node)
    assert text.startswith("demo: resources are not compared\n! resources and replacements are not compared")
    assert "> resources and replacements are not compared: node is not on the PATH" in markdown
    assert (content["counts"], content["resources"]) == (None, None)
    assert content["node_pools"]


# --- unknown prices


_BLOCK = {"capacity": "capacity-block", "reservation": {"id": "cr-0123456789abcdef0", "zone": "cac1-az4"}}


def test_the_maximum_of_an_unpriced_block_is_bounded_by_the_on_demand_price() -> None:
    """In ca-central-1, p5 has an On-Demand price, and none as a Capacity Block."""
    where = {"region": "ca-central-1"}
    found = compared(strategy(**where), strategy(group("p5.48xlarge", **_BLOCK), **where))
    bounds = found.cost.after.in_words("max", dollars, hours=730)
    assert re.fullmatch(r"at least \$[\d.,]+ / at most \$[\d,]+", bounds)
    assert bounds in as_markdown(found).splitlines()[0]
    text = " ".join(as_text(found).split())
    assert "at least" in text
    assert "at most" in text


def test_the_maximum_without_an_on_demand_price_is_at_least_the_spot_price() -> None:
    """p5e has no On-Demand price."""
    found = compared(strategy(), strategy(group("p5e.48xlarge", capacity="spot")))
    bounds = found.cost.after.in_words("max", dollars, hours=730)
    assert bounds.startswith("at least $")
    assert bounds in as_markdown(found).splitlines()[0]
    assert "at least" in as_text(found)


@pytest.mark.parametrize("back", [False, True], ids=["added", "removed"])
def test_the_maximum_of_nodes_without_a_price_has_no_upper_bound(back: bool) -> None:
    """Never the price of their disks."""
    pair = [strategy(), strategy(group("p5e.48xlarge"))]
    found = compared(*(reversed(pair) if back else pair))
    first, *rows = as_markdown(found).splitlines()
    change = r"\(saves at least \$[\d.,]+\)" if back else r"\(at least \+\$[\d.,]+\)"
    assert re.search(rf"{'' if back else ' / at most unknown'} per month at max {change}$", first)
    (row,) = (each for each in rows if each.startswith("| per month, maximum"))
    cells = [each.strip() for each in row.strip("|").split("|")][1:]
    assert [each.endswith(" / at most unknown") for each in cells] == [back, not back, False]
    assert "at most unknown" in " ".join(as_text(found).split())


@in_one_test("back", [False, True], ids=["after", "before"])
@in_one_test("pooled", [False, True], ids=["groups", "pools"])
def test_a_change_to_or_from_unpriced_nodes_is_never_a_saving(back: bool, pooled: bool) -> None:
    """The amount of the known prices has the name of what it leaves out."""
    names = ["p5.48xlarge", "p5e.48xlarge"]
    pair = [strategy(**pools(gpu_pool(instance_types=[name]))) if pooled else strategy(group(name)) for name in names]
    found = compared(*(reversed(pair) if back else pair))
    words = rf"[{'+' if back else '-'}]\$[\d,]+, excluding p5e\.48xlarge \(price unknown\)"
    assert re.search(rf"\({words}\)$", as_markdown(found).splitlines()[0])
    assert re.search(rf"\| {words} \|$", as_markdown(found), re.MULTILINE)
    assert "saves" not in as_text(found) + as_markdown(found)
    cost = cast("dict[str, Any]", as_json(found)["cost"])
    assert cost["change_usd_per_month"]["max"]["at_least" if back else "at_most"] is None


def test_fewer_of_the_same_unpriced_nodes_save_at_least_their_disks() -> None:
    few, many = (strategy(group("p5e.48xlarge", scaling={"max": number})) for number in (4, 8))
    assert re.search(r"\(saves at least \$[\d.,]+\)$", as_markdown(compared(many, few)).splitlines()[0])


def test_a_change_names_few_of_many_unpriced_items() -> None:
    where = {"region": "ap-southeast-3"}
    unpriced = [group(f"g7e.{size}xlarge", f"g7e-{size}", scaling={"max": 1}) for size in (2, 4, 8, 12)]
    known = group("g5.48xlarge", scaling={"max": 8})
    first = as_markdown(compared(strategy(known, **where), strategy(*unpriced, **where))).splitlines()[0]
    assert first.endswith(", excluding g7e.2xlarge, g7e.4xlarge and 2 more (price unknown))")


def test_nodes_without_a_price_that_stay_leave_the_change_known() -> None:
    """Only the new group counts. More of the nodes without a price cost at least their disks."""
    unpriced, more = (group("p5e.48xlarge", name="h200", scaling={"max": number}) for number in (1, 2))
    added = compared(strategy(unpriced), strategy(unpriced, group("g6.xlarge", name="l4")))
    least, most = added.cost.bounds("max")
    assert least == pytest.approx(most)
    assert math.isfinite(most)
    low, high = compared(strategy(unpriced), strategy(more)).cost.bounds("max")
    assert 0 < low < high == math.inf


def test_the_change_of_unpriced_blocks_has_bounds() -> None:
    """Four more nodes cost at least their disks, and at most the On-Demand price."""
    where = {"region": "ca-central-1"}
    few, many = (strategy(group("p5.48xlarge", **_BLOCK, scaling={"max": number}), **where) for number in (4, 8))
    for pair, least, most in (((few, many), "+", "+"), ((many, few), "-", "-")):
        found = compared(*pair)
        low, high = found.cost.bounds("max")
        assert (dollars(low, signed=True)[0], dollars(high, signed=True)[0]) == (least, most)
        assert max(abs(low), abs(high)) > 4 * 63.296 > 1 > min(abs(low), abs(high))
        lowest, highest = (dollars(each * 730, signed=True) for each in (low, high))
        said = f"at least {lowest} / at most {highest}" if low > 0 else f"between {lowest} and {highest}"
        assert f"({said})" in as_markdown(found).splitlines()[0]


def test_spot_of_an_unknown_price_instead_of_on_demand_may_save_nothing() -> None:
    nodes, where = partial(group, "p6-b300.48xlarge"), {"region": "ap-northeast-2"}
    found = compared(strategy(nodes(), **where), strategy(nodes(capacity="spot"), **where))
    assert re.search(r"\(between -\$[\d,]+ and \$0\)$", as_markdown(found).splitlines()[0])
    assert all(len(line) <= 80 for line in as_text(found).splitlines())


def test_a_bound_that_changes_alone_is_in_the_headline() -> None:
    where = {"region": "ca-central-1"}
    of_block = partial(group, "p5.48xlarge", **_BLOCK, scaling={"max": 4})
    same_disks = {"disk": {"size_gib": 100}}
    before = strategy(of_block(**same_disks), **where)
    after = strategy(
        group(
            "p4d.24xlarge",
            capacity="capacity-block",
            reservation=_BLOCK["reservation"],
            scaling={"max": 4},
            **same_disks,
        ),
        **where,
    )
    headline = as_markdown(compared(before, after)).splitlines()[0]
    assert "at most" in headline
