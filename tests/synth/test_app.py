"""``main.py``: its output, its exit code, and the errors that it reports before Node starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eks_hardware.loader import read_strategies
from eks_hardware.rules import check_loaded
from eks_hardware.testing import Template
from helpers.paths import SHIPPED, SPECIAL
from helpers.running import Run, run_app

SYSTEM = "{name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 3}}"
GOOD = f"version: 1\nname: demo\nregion: us-west-2\ncluster: {{creator_is_admin: true}}\nnode_groups: [{SYSTEM}]\n"

# Name of the file to its text, and the expected message.
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
    "an empty folder": ({}, ["the folder has no .yaml file"]),
}


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a folder of strategies that cannot be synthesized, and the expected messages."""
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
    """The ``cdktf`` command shows all stderr output of the app as errors."""
    assert (lazy_run.code, lazy_run.out, lazy_run.err) == (0, "", "")


def test_a_warning_becomes_an_annotation(lazy_run: Run) -> None:
    """The ``cdktf`` command prints it next to the name of the stack."""
    manifest = json.loads((lazy_run.outdir / "manifest.json").read_text(encoding="utf-8"))
    said = {
        name: [(each["level"], each["message"]) for each in stack["annotations"]]
        for name, stack in manifest["stacks"].items()
        if stack["annotations"]
    }
    loaded = read_strategies([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")]).strategies
    found = {each.strategy.name: len(check_loaded(each)) for each in loaded}
    for name, shown in said.items():
        noun = "warning" if found[name] == 1 else "warnings"
        assert shown == [("@cdktf/warn", f"{found[name]} {noun}; see `eks-hardware validate`")]
    assert set(said) == {name for name, count in found.items() if count}


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output folder of a strategy with delivery ``manifests`` and another without."""
    folder = tmp_path_factory.mktemp("delivered")
    (folder / "in").mkdir()
    for name, delivery in (("files", "manifests"), ("charts", "helm")):
        text = GOOD.replace("demo", name) + f"karpenter: {{}}\nkubernetes: {{delivery: {delivery}}}\n"
        (folder / "in" / f"{name}.yaml").write_text(text, encoding="utf-8")
    run = run_app(folder / "out", "main.py", strategies=(folder / "in",))
    assert (run.code, run.err) == (0, "")
    return folder


def test_manifests_are_written_beside_the_stack(delivered: Path, tmp_path: Path) -> None:
    from helpers import cli

    assert cli.run("render", delivered / "in" / "files.yaml", "--output", tmp_path).code == 0
    expected = {file.relative_to(tmp_path): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    folder = delivered / "out" / "stacks" / "files" / "kubernetes"
    assert {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()} == expected
    assert Path("values/karpenter.yaml") in expected
    assert not (delivered / "out" / "stacks" / "charts" / "kubernetes").exists()


def test_nothing_talks_to_the_cluster_when_manifests_are_written(delivered: Path) -> None:
    template = Template.from_json(delivered / "out" / "stacks" / "files" / "cdk.tf.json")
    template.has_no("helm_release")
    assert template.providers("helm") == []


def test_manifests_go_when_terraform_installs_the_charts(delivered: Path) -> None:
    file = delivered / "in" / "files.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("manifests", "helm"), encoding="utf-8")
    run = run_app(delivered / "out", "main.py", strategies=(delivered / "in",))
    assert (run.code, (run.outdir / "stacks" / "files" / "kubernetes").exists()) == (0, False)


def test_without_anything_named_the_shipped_strategies_are_taken() -> None:
    from eks_hardware.stacks.app import strategies

    found = {resolved.name for resolved, _ in strategies({})}
    assert found == {file.stem for file in SHIPPED.glob("*.yaml")}


def test_shipped_strategies_warn_of_their_open_api() -> None:
    from eks_hardware.stacks.app import strategies

    assert {warning.code for _, warnings in strategies({}) for warning in warnings} == {"ENDPOINT_OPEN"}
