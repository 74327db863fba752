"""A comparison as text, Markdown and JSON; nothing in a strategy gets out of its place in a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from eks_hardware.diff import Changes, PoolChange, compare
from eks_hardware.diff.capacity import Amount
from eks_hardware.diff.hardware import Difference, PartChange
from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown, code
from eks_hardware.diff.review_order import counted, dollars, summary
from eks_hardware.diff.terminal import as_text
from eks_hardware.models import Strategy
from helpers.strategies import SYSTEM, document, gpu_pool, group, pools, strategy

BEFORE = document(
    group("g5.xlarge", name="inference", scaling={"min": 1, "max": 4}),
    group("p4d.24xlarge", name="training", efa=True, scaling={"max": 2}),
    **pools(gpu_pool("burst", instance_families=["g5"])),
)


def after() -> Strategy:
    """Something of everything: replaced, updated, gone, new."""
    return strategy(
        node_groups=[
            SYSTEM,
            group("g5.xlarge", name="inference", capacity="spot", scaling={"min": 1, "max": 8}),
            group("trn1.32xlarge", name="neuron", scaling={"max": 2}),
        ],
        network={"nat_gateways": "one-per-zone"},
        tags={"team": "ml"},
        **pools(gpu_pool("burst", instance_families=["g6"], disk={"size_gib": 400})),
    )


@pytest.fixture(scope="module")
def changes() -> Changes:
    return compare(Strategy.model_validate(BEFORE), after())


def printed(changes: Changes) -> str:
    return f"{as_text(changes)}\n"


def without_figures(text: str) -> str:
    """Prices change with their sources; what they are held against is in the tests of cost."""
    return re.sub(r" *[+-]?\$[\d,.]+", " $", text)


def test_markdown(changes: Changes, golden: Callable[[str, str], None]) -> None:
    golden("diff/everything.md", without_figures(as_markdown(changes)))


def test_text(changes: Changes, golden: Callable[[str, str], None]) -> None:
    golden("diff/everything.txt", without_figures(printed(changes)))


def test_text_is_readable_at_80_columns(changes: Changes) -> None:
    assert max(map(len, as_text(changes).splitlines())) <= 80
    assert max(map(len, as_text(changes, 60).splitlines())) <= 60


def test_json(changes: Changes) -> None:
    content = json.loads(json.dumps(as_json(changes)))
    assert content["counts"]["replace"] == len([each for each in content["resources"] if each["action"] == "replace"])
    [inference] = [
        each for each in content["resources"] if each["address"].startswith("aws_eks_node_group.platform_nodes-inf")
    ]
    assert inference["field"] == "node_groups[inference]"
    assert inference["action"] == "replace"
    assert inference["causes"][0]["argument"] == "capacity_type"
    assert content["cost"]["usd_per_month"]["max"]["after"] > 0
    assert content["node_pools"][0]["nodes"] == "all"


def test_no_change_is_one_line() -> None:
    same = compare(strategy(), strategy())
    assert printed(same) == "demo: no change\n"
    assert as_markdown(same) == "### `demo`: no change\n"


# What a strategy says stays text.

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


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("in_table", [False, True])
def test_a_code_span_holds_any_text(text: str, in_table: bool) -> None:
    span = code(text, in_table=in_table)
    fence = re.match("`+", span)
    assert fence
    assert span.endswith(fence[0])
    inside = span[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in re.findall("`+", inside)
    assert "\n" not in span
    # What stands before a bar in a table is an odd number of backslashes: GitHub takes them in pairs.
    if in_table:
        assert all(len(run) % 2 for run in re.findall(r"(\\*)\|", inside))


def outside_code(markdown: str) -> Iterator[str]:
    for line in markdown.splitlines():
        yield re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "CODE", line)


@pytest.mark.parametrize("text", HOSTILE)
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


# GitHub takes 65,536 characters.

MANY = document(*(group("g5.xlarge", name=f"group-{index}", labels={"team": "a" * 60}) for index in range(300)))


@pytest.mark.parametrize("turned", [False, True], ids=["come", "go"])
def test_a_comment_is_one_that_github_takes(turned: bool) -> None:
    pair = [strategy(), Strategy.model_validate(MANY)]
    changes = compare(*(reversed(pair) if turned else pair))
    text = as_markdown(changes)
    assert 40_000 < len(text) < 65_000
    assert text.endswith("</details>\n")
    assert re.search(r"^\.\.\. and \d+ more rows$", text, re.MULTILINE)
    # What goes is said first, and nothing is cut within a row.
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


# Words.


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [(1, "subnet", "1 subnet"), (2, "route", "2 routes"), (3, "IAM policy", "3 IAM policies"), (2, "key", "2 keys")],
)
def test_counted(number: int, noun: str, expected: str) -> None:
    assert counted(number, noun) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "$0.00"), (0.0416, "$0.0416"), (12.5, "$12.50"), (273980.4, "$273,980"), (-5, "-$5.00")],
)
def test_dollars(value: float, expected: str) -> None:
    assert dollars(value) == expected
    assert dollars(value, signed=True) == (f"+{expected}" if value > 0 else expected)


def test_summary(changes: Changes) -> None:
    assert re.fullmatch(r"1 resource replaced, \d+ destroyed, \d+ updated, \d+ created", summary(changes))
    pool = gpu_pool("a", instance_families=["g5"])
    only_pools = compare(strategy(**pools(pool)), strategy(**pools({**pool, "weight": 2})))
    assert summary(only_pools) == "no resource of Terraform changes"
