"""Reports of a comparison of synthesized stacks: as text, Markdown and JSON, and from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.cli.commands.diff import REPLACED
from eks_hardware.diff import Changes, compare
from eks_hardware.diff.json import as_json
from eks_hardware.diff.markdown import as_markdown
from eks_hardware.diff.summary import summary
from eks_hardware.diff.terminal import as_text
from helpers import cli
from helpers.diff import EVERYTHING, compared, synthesized_once, write_pair
from helpers.strategies import SHIPPED, document, gpu_pool, group, pools, strategy

run = partial(cli.run, "diff")


@pytest.fixture(scope="module")
def changes() -> Changes:
    return compared(*EVERYTHING)


def printed(changes: Changes) -> str:
    return f"{as_text(changes)}\n"


def without_figures(text: str) -> str:
    """Remove prices, which change with their sources; the cost tests check them."""
    return re.sub(r" *[+-]?\$[\d,.]+", " $", text)


def test_markdown(changes: Changes, golden: Callable[[str, str], None]) -> None:
    golden("diff/everything.md", without_figures(as_markdown(changes)))


def test_text(changes: Changes, golden: Callable[[str, str], None]) -> None:
    golden("diff/everything.txt", without_figures(printed(changes)))


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
    same = compared(strategy(), strategy())
    assert printed(same) == "demo: no change\n"
    assert as_markdown(same) == "### `demo`: no change\n"


def test_summary(changes: Changes) -> None:
    assert re.fullmatch(r"1 resource replaced, \d+ destroyed, \d+ updated, \d+ created", summary(changes))
    pool = gpu_pool("a", instance_families=["g5"])
    only_pools = compared(strategy(**pools(pool)), strategy(**pools({**pool, "weight": 2})))
    assert summary(only_pools) == "no Terraform resource changes"


# The command.


Write = Callable[..., tuple[str, str]]


@pytest.fixture
def files(tmp_path: Path) -> Write:
    return partial(write_pair, tmp_path)


@pytest.fixture
def synthesizes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command synthesize each strategy once in all tests."""
    monkeypatch.setattr("eks_hardware.diff.compare", partial(compare, synthesize=synthesized_once))


SPOT = document(group("g5.xlarge", capacity="spot")), document(group(["g5.xlarge", "g6.xlarge"]))
SCALED = document(group("g5.xlarge")), document(group("g5.xlarge", scaling={"max": 9}))
GONE = document(group("g5.xlarge")), document()
POOL_GONE = document(**pools(gpu_pool("a", instance_families=["g5"]))), document(karpenter={})
MOVED = document(), document(region="us-east-1")
_POOL = pools(gpu_pool("a", instance_families=["g5"]))
UNINSTALLED = document(**_POOL, kubernetes={"delivery": "helm"}), document(**_POOL)


@pytest.mark.usefixtures("synthesizes_once")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_strategy_and_itself(name: str) -> None:
    code, out, _ = run(name, name, "--fail-on", "destroy")
    assert (code, out) == (0, f"{name}: no change\n")


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_formats(files: Write, format_: str) -> None:
    code, out, err = run(*files(*SPOT), "--format", format_)
    assert code == 0
    assert "node_groups[gpu]" in out
    assert "SPOT_ONE_TYPE" not in out
    if format_ == "json":
        assert json.loads(out)["counts"]["replace"] == 1
    if format_ == "text":
        assert max(map(len, out.splitlines())) <= 80
    # Findings go to stderr, so that a comment contains only the report.
    assert "warning" in err


@pytest.mark.usefixtures("synthesizes_once")
@pytest.mark.parametrize(
    ("pair", "replace", "destroy"),
    [(SPOT, 3, 3), (SCALED, 0, 0), (GONE, 0, 3), (POOL_GONE, 0, 3), (MOVED, 3, 3), (UNINSTALLED, 3, 3)],
    ids=["replaced", "updated", "gone", "pool gone", "moved", "release of pools gone"],
)
def test_fail_on(files: Write, pair: tuple[dict[str, Any], dict[str, Any]], replace: int, destroy: int) -> None:
    names = files(*pair)
    assert run(*names)[0] == 0
    assert run(*names, "--fail-on", "replace")[0] == replace
    assert run(*names, "--fail-on", "destroy")[0] == destroy
    assert {replace, destroy} <= {0, REPLACED}


def test_what_cannot_be_synthesized_is_one_line(files: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the stack has no backend\n    at Object.<anonymous> (node:internal)")

    monkeypatch.setattr("eks_hardware.stacks.in_memory.strategy_stacks", broken)
    code, out, err = run(*files(*SCALED))
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == "error: demo cannot be synthesized: the stack has no backend"
