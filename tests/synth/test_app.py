"""``main.py``: what it prints, what it returns, and what it refuses before Node starts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.paths import SHIPPED
from helpers.running import Run, run_app
from helpers.template import Template

SYSTEM = "{name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 3}}"
GOOD = f"version: 1\nname: demo\nregion: us-west-2\ncluster: {{creator_is_admin: true}}\nnode_groups: [{SYSTEM}]\n"

# Name of the file to its text, and what is said about it.
BAD: dict[str, tuple[dict[str, str], list[str]]] = {
    "two strategies of one name": ({"a.yaml": GOOD, "b.yaml": GOOD}, ["b.yaml:2:", "a.yaml"]),
    "no yaml": ({"a.yaml": "version: [1\n"}, ["a.yaml:"]),
    "an unknown field": ({"a.yaml": GOOD + "colour: red\n"}, ["a.yaml:6:1: error", "colour"]),
    "a type that does not exist": (
        {"a.yaml": GOOD.replace("m7i.xlarge", "m7i.xlargee")},
        ["a.yaml:5:", "error INSTANCE_TYPE_UNKNOWN node_groups[system].instance_types[0]:", "did you mean m7i.xlarge"],
    ),
    "findings of all files": (
        {"a.yaml": GOOD.replace("us-west-2", "us-west-9"), "b.yaml": GOOD.replace("demo", "b") + "x: 1\n"},
        ["b.yaml:6:1: error"],
    ),
    "an empty file": ({"a.yaml": ""}, ["a.yaml"]),
    "an empty folder": ({}, ["STRATEGY_PATH"]),
}


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder of strategies that cannot be synthesized, and what is said about them."""
    files, said = BAD[request.param]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path, said


def test_fails_with_every_finding_on_stderr(bad: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    from eks_hardware.stacks.app import main

    folder, said = bad
    assert main({"EKS_HARDWARE_STRATEGIES": str(folder)}) == 1
    out, err = capsys.readouterr()
    assert out == ""
    for part in said:
        assert part in err
    assert err.splitlines()[-1].endswith("nothing was synthesized")
    assert "Traceback" not in err


def test_fails_before_node_starts(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD + "colour: red\n", encoding="utf-8")
    code = (
        "import sys; from eks_hardware.stacks.app import main; code = main();"
        "print(sorted({'cdktf', 'constructs', 'jsii'} & set(sys.modules))); sys.exit(code)"
    )
    run = run_app(tmp_path / "out", "-c", code, strategies=(tmp_path,))
    assert (run.code, run.out) == (1, "[]\n")
    assert "a.yaml:6:1: error" in run.err
    assert "Traceback" not in run.err
    assert not run.outdir.exists()


def test_prints_nothing(lazy_run: Run) -> None:
    """The ``cdktf`` command shows everything that the app writes to stderr as an error."""
    assert (lazy_run.code, lazy_run.out, lazy_run.err) == (0, "", "")


def test_synthesizes_every_strategy(lazy_run: Run, templates: Mapping[str, Template]) -> None:
    found = {name: Template(json.loads(text)).document for name, text in lazy_run.stacks().items()}
    assert found == {name: template.document for name, template in templates.items()}


def test_a_warning_becomes_an_annotation(lazy_run: Run) -> None:
    """The ``cdktf`` command prints it beside the name of the stack."""
    manifest = json.loads((lazy_run.outdir / "manifest.json").read_text(encoding="utf-8"))
    said = {
        name: [(each["level"], each["message"]) for each in stack["annotations"]]
        for name, stack in manifest["stacks"].items()
        if stack["annotations"]
    }
    assert set(said) == {"cluster-options"}
    ((level, message),) = said["cluster-options"]
    assert level == "@cdktf/warn"
    assert re.match(r".*tests/synth/strategies/cluster-options\.yaml:7:\d+: warning ENDPOINT_OPEN ", message)


def test_without_anything_named_the_shipped_strategies_are_taken() -> None:
    from eks_hardware.stacks.app import strategies

    found = {resolved.name for resolved, _ in strategies({})}
    assert found == {file.stem for file in SHIPPED.glob("*.yaml")}


def test_shipped_strategies_are_free_of_warnings() -> None:
    from eks_hardware.stacks.app import strategies

    assert [str(warning) for _, warnings in strategies({}) for warning in warnings] == []
