"""The tutorial, step by step: each command prints the output that the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eks_hardware.cli import app
from helpers.paths import ROOT
from helpers.shown import missing_lines

PAGE = (ROOT / "docs" / "tutorial" / "first-cluster.md").read_text(encoding="utf-8")
WRONG = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
RIGHT = WRONG.replace("g6.xlage", "g6.xlarge")


def shown_on_page(command: str, nth: int = 0) -> str:
    """Return the output below a command on the page."""
    found = re.findall(rf"(?m)^\$ {re.escape(command)}\n((?:(?!\$ |```).*\n)*)", PAGE)
    return str(found[nth])


def run_command(command: str) -> Result:
    return CliRunner().invoke(app, command.removeprefix("eks-hardware ").split())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "first.yaml").write_text(RIGHT, encoding="utf-8")


def test_the_mistake_is_found(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(WRONG, encoding="utf-8")
    done = run_command("eks-hardware validate first.yaml")
    assert (done.exit_code, done.stdout) == (1, shown_on_page("eks-hardware validate first.yaml"))


def test_the_correction_is_accepted() -> None:
    done = run_command("eks-hardware validate first.yaml")
    assert (done.exit_code, done.stdout) == (0, shown_on_page("eks-hardware validate first.yaml", 1))


@pytest.mark.parametrize(
    "command", ["eks-hardware explain first.yaml --group gpu --derived", "eks-hardware cost first.yaml"]
)
def test_output(command: str) -> None:
    done = run_command(command)
    assert done.exit_code == 0
    assert len(shown_on_page(command).splitlines()) > 5
    assert missing_lines(shown_on_page(command), done.stdout) == []


def test_the_change(tmp_path: Path) -> None:
    (command,) = re.findall(r"(?m)^\$ (sed .*)$", PAGE)
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    diff = "eks-hardware diff first.yaml second.yaml"
    done = run_command(diff)
    assert done.exit_code == 0
    assert missing_lines(shown_on_page(diff), done.output) == []
    assert "SPOT_ONE_TYPE" in run_command("eks-hardware validate second.yaml").output, (
        "the warning that the text speaks of"
    )


def test_the_stack(tmp_path: Path) -> None:
    """`cdktf synth` runs this app."""
    environment = {**os.environ, "EKS_HARDWARE_STRATEGIES": str(tmp_path / "first.yaml"), "CDKTF_OUTDIR": "out"}
    subprocess.run(
        [sys.executable, ROOT / "main.py"], cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT)}, check=True
    )
    stack = json.loads((tmp_path / "out" / "stacks" / "first" / "cdk.tf.json").read_text(encoding="utf-8"))
    resources = stack["resource"]
    (aws,) = re.findall(r"(\d+) AWS resources and one Helm\s+release: the device plugin", PAGE)
    assert sum(len(each) for kind, each in resources.items() if kind.startswith("aws_")) == int(aws)
    assert [each["name"] for each in resources["helm_release"].values()] == ["nvidia-device-plugin"]
    assert f"{aws} resources created" in PAGE
    addresses = {f"aws_eks_node_group.{name}" for name in resources["aws_eks_node_group"]}
    assert addresses == set(re.findall(r"(?m)^aws_eks_node_group\.\S+$", PAGE))
