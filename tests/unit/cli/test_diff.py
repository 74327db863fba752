"""``eks-hardware diff`` without Node: its output and exit codes.

tests/synth/test_diff_reports.py tests it with Node.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from helpers import cli
from helpers.cases import in_one_test
from helpers.diff import write_pair
from helpers.strategies import SYSTEM, document, group

run = partial(cli.run, "diff")


Write = Callable[..., tuple[str, str]]


@pytest.fixture
def files(tmp_path: Path) -> Write:
    return partial(write_pair, tmp_path)


SPOT = document(group("g5.xlarge", capacity="spot")), document(group(["g5.xlarge", "g6.xlarge"]))
SCALED = document(group("g5.xlarge")), document(group("g5.xlarge", scaling={"max": 9}))


@in_one_test("format_", ["text", "markdown", "json"])
def test_formats(files: Write, format_: str) -> None:
    code, out, err = run(*files(*SPOT), "--format", format_)
    assert code == 0
    assert "node_groups[gpu]" in out
    assert "SPOT_ONE_TYPE" not in out
    if format_ == "json":
        assert json.loads(out)["counts"] is None
    if format_ == "text":
        assert max(map(len, out.splitlines())) <= 80
    # Findings go to stderr, so that a comment contains only the report.
    assert "warning" in err


def test_errors_are_those_of_validate(files: Write) -> None:
    old, new = files(document(), document(group("g5.xlargee")))
    code, out, err = run(old, new)
    assert (code, out) == (1, "")
    assert "error INSTANCE_TYPE_UNKNOWN" in err


def test_a_file_that_is_not_there() -> None:
    code, _, err = run("gone.yaml", "mixed-hardware")
    assert (code, "does not exist" in err) == (2, True)


def test_overlays_lie_over_both(files: Write, tmp_path: Path) -> None:
    names = files(*SCALED)
    (tmp_path / "overlays").mkdir()
    (tmp_path / "overlays" / "tokyo.yaml").write_text("region: ap-northeast-1\n")
    found = json.loads(run(*names, "--overlay", "tokyo", "--format", "json")[1])
    assert found["before"]["region"] == found["after"]["region"] == "ap-northeast-1"
    found = json.loads(run(*names, "--format", "json", EKS_HARDWARE_OVERLAY="tokyo")[1])
    assert found["after"]["region"] == "ap-northeast-1"


@pytest.mark.parametrize("arguments", [("--format", "html"), ("--fail-on", "update")])
def test_wrong_usage(arguments: tuple[str, str]) -> None:
    assert run("mixed-hardware", "mixed-hardware", *arguments)[0] == 2


def test_a_budget_does_not_stop_it(files: Write) -> None:
    dear = document(group("p5.48xlarge"), budget={"usd_per_month_at_max": 10})
    code, out, err = run(*files(document(node_groups=[SYSTEM]), dear))
    assert (code, "node_groups[gpu] added" in out, "BUDGET_EXCEEDED" in err) == (0, True, True)


def test_without_node_it_says_so_and_compares_the_rest(files: Write) -> None:
    code, out, _ = run(*files(*SCALED))
    assert code == 0
    assert "! resources and replacements are not compared" in out
    assert "node_groups[gpu] min/desired/max" in out


def test_without_node_nothing_passes_for_unchanged(files: Write) -> None:
    """A pipeline that checks for replacements must not continue without the check."""
    code, out, err = run(*files(*SCALED), "--fail-on", "replace")
    assert (code, "Capacity" in out) == (2, True)
    assert "error: --fail-on requires a comparison of resources: resources and replacements are not compared" in err
