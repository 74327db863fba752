"""``eks-hardware diff`` of two folders, without Node."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from eks_hardware.diff import folders
from helpers import cli
from helpers.cases import in_one_test
from helpers.diff import headings
from helpers.strategies import write_overlay

run = partial(cli.run, "diff", "before/strategies", "strategies")

STRATEGY = """\
version: 1
name: {name}
region: us-west-2
cluster: {{creator_is_admin: true, endpoint: {{public_cidrs: [93.184.216.0/24]}}}}
node_groups:
  - {{name: system, instance_types: [m6i.xlarge], scaling: {{min: 2, max: {most}}}}}
"""


def write_with_most(name: str, most: int = 4, *, below: str = ".", file: str = "") -> None:
    path = Path(below, "strategies", f"{file or name}.yaml")
    path.write_text(STRATEGY.format(name=name, most=most), encoding="utf-8")


@pytest.fixture(autouse=True)
def _two_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for below in ("before", "."):
        Path(below, "strategies").mkdir(parents=True)
        Path(below, "overlays").mkdir()
        write_with_most("demo", below=below)
        write_with_most("same", below=below)


@pytest.mark.parametrize(
    ("format_", "said"), [("text", "No strategy changes.\n"), ("markdown", "No strategy changes.\n")]
)
def test_no_change(format_: str, said: str) -> None:
    assert run("--format", format_, "--all-overlays") == (0, said, "")


def test_changed_new_and_removed_strategies_with_their_cost() -> None:
    write_with_most("demo", 9)
    write_with_most("new", file="new one")
    write_with_most("gone", below="before")
    code, out, err = run("--format", "markdown")
    assert (code, err) == (0, "")
    changed, new, gone = headings(out)
    assert changed.startswith("### `demo`: resources are not compared; $1,")
    assert new.startswith("### `new` is new: $398.82 per month at min, $")
    assert new.endswith(" at max")
    assert gone.startswith(
        "### `gone` is removed: its resources stay until `cdktf destroy`, and cost $398.82 per month at min, $"
    )
    assert "####" not in out.partition(new)[2]


def test_the_maximum_of_a_new_strategy_with_unpriced_hardware_is_not_that_of_its_disks() -> None:
    priced, unpriced = STRATEGY.format(name="priced", most=4), STRATEGY.format(name="unpriced", most=4)
    Path("strategies/priced.yaml").write_text(priced, encoding="utf-8")
    h200 = "  - {name: h200, instance_types: [p5e.48xlarge], scaling: {min: 0, max: 8}}\n"
    Path("strategies/unpriced.yaml").write_text(unpriced + h200, encoding="utf-8")
    said = headings(run("--format", "markdown").out)
    assert said[0].endswith(" at max")
    assert "at most" not in said[0]
    assert said[1].endswith(" / at most unknown at max")
    found = json.loads(run("--format", "json").out)["strategies"]
    (known, bounds), (_, open_) = ((each["usd_per_month"], each["usd_per_month_at_most"]) for each in found)
    assert bounds == known
    assert open_["max"] is None


def test_a_renamed_file_is_no_change() -> None:
    Path("strategies/demo.yaml").rename("strategies/research.yaml")
    assert run().out == "No strategy changes.\n"


def test_changes_of_an_overlay() -> None:
    """With equal changes, the overlays of a strategy are one item."""
    for below in ("before", "."):
        write_overlay("dev", "tags: {stage: dev}\n", below)
        write_overlay("production", "strategies: [same]\nnode_groups: [{name: system, scaling: {min: 3}}]\n", below)
    write_overlay("production", "strategies: [same]\nnode_groups: [{name: system, scaling: {min: 4}}]\n")
    write_with_most("demo", 9)
    assert run("--format", "json").out == run("--format", "json", "--overlay", "dev").out
    found = json.loads(run("--format", "json", "--all-overlays").out)["strategies"]
    assert [(each["strategy"], each["overlays"], each["change"]) for each in found] == [
        ("demo", [None, "dev"], "changed"),
        ("same", ["production"], "changed"),
    ]
    said = headings(run("--format", "markdown", "--all-overlays").out)
    assert [line.partition(": ")[0] for line in said] == [
        "### `demo`, alone and with `dev`",
        "### `same` with `production`",
    ]


def test_a_new_overlay() -> None:
    write_overlay("production", "strategies: [demo]\nnode_groups: [{name: system, scaling: {min: 3}}]\n")
    assert run("--all-overlays").out.startswith("demo with production is new: $5")


def test_a_strategy_with_errors_does_not_hide_the_others() -> None:
    write_with_most("demo", 9)
    Path("strategies/same.yaml").write_text("version: 1\nname: same\n", encoding="utf-8")
    code, out, err = run("--format", "markdown")
    assert code == 1
    assert headings(out)[1] == "### `same` has errors; `eks-hardware validate` shows them"
    assert "error FIELD_MISSING" in err


def test_a_strategy_that_had_errors_is_new() -> None:
    Path("before/strategies/demo.yaml").write_text("version: 1\nname: demo\n", encoding="utf-8")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith("demo is new: $")


@pytest.mark.parametrize("side", ["before", "."])
def test_a_folder_without_strategies(side: str) -> None:
    for file in Path(side, "strategies").iterdir():
        file.unlink()
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.count(" is new" if side == "before" else " is removed") == 2


def test_a_long_comment_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST", 2_250)
    for index in range(20):
        write_with_most(f"s{index}", below="before")
        write_with_most(f"s{index}", 9)
    out = run("--format", "markdown").out
    assert len(out) <= 2_250
    assert "The details do not fit in a comment." in out
    assert "more changes" in out


@in_one_test(
    ("arguments", "said"),
    [
        (("strategies/demo.yaml", "strategies"), "is a folder; the other side must be a folder, too"),
        (("strategies/demo.yaml", "strategies/same.yaml", "--all-overlays"), "--all-overlays requires two folders"),
        (("before/strategies", "strategies", "--all-overlays", "--overlay", "dev"), "cannot be combined"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    code, out, err = cli.run("diff", *arguments)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


def test_fail_on_needs_a_comparison_of_resources() -> None:
    assert run("--fail-on", "replace").code == 0
    write_with_most("demo", 9)
    assert run("--fail-on", "replace").code == 2


def test_a_budget_does_not_stop_it() -> None:
    with Path("strategies/demo.yaml").open("a", encoding="utf-8") as file:
        file.write("budget: {usd_per_month_at_max: 10}\ntags: {team: a}\n")
    code, out, _ = run()
    assert (code, out.startswith("demo: ")) == (0, True)
