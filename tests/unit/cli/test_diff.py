"""``eks-hardware diff``: what it prints, its exit codes, and that it needs neither Node nor time."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from eks_hardware.cli.diff import FAILED, diff
from helpers.paths import ROOT
from helpers.strategies import SHIPPED, SYSTEM, document, gpu_pool, group, pools

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(diff)


def run(*arguments: str, **environ: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "NO_COLOR": "1", **environ})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def files(tmp_path: Path) -> Any:
    """Write the old and the new strategy; returns their names."""

    def written(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str]:
        for name, content in (("old.yaml", old), ("new.yaml", new)):
            (tmp_path / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")

    return written


SPOT = document(group("g5.xlarge", capacity="spot")), document(group(["g5.xlarge", "g6.xlarge"]))
SCALED = document(group("g5.xlarge")), document(group("g5.xlarge", scaling={"max": 9}))
GONE = document(group("g5.xlarge")), document()
POOL_GONE = document(**pools(gpu_pool("a", instance_families=["g5"]))), document(karpenter={})
MOVED = document(), document(region="us-east-1")
_POOL = pools(gpu_pool("a", instance_families=["g5"]))
UNINSTALLED = document(**_POOL, kubernetes={"delivery": "helm"}), document(**_POOL)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_strategy_and_itself(name: str) -> None:
    code, out, _ = run(name, name, "--fail-on", "destroy")
    assert (code, out) == (0, f"{name}: no change\n")


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_formats(files: Any, format_: str) -> None:
    code, out, err = run(*files(*SPOT), "--format", format_)
    assert code == 0
    assert "node_groups[gpu]" in out
    assert "SPOT_ONE_TYPE" not in out
    if format_ == "json":
        assert json.loads(out)["counts"]["replace"] == 1
    if format_ == "text":
        assert max(map(len, out.splitlines())) <= 80
    # Findings go elsewhere, so that a comment holds nothing else.
    assert "warning" in err


@pytest.mark.parametrize(
    ("pair", "replace", "destroy"),
    [(SPOT, 3, 3), (SCALED, 0, 0), (GONE, 0, 3), (POOL_GONE, 0, 3), (MOVED, 3, 3), (UNINSTALLED, 3, 3)],
    ids=["replaced", "updated", "gone", "pool gone", "moved", "release of pools gone"],
)
def test_fail_on(files: Any, pair: tuple[dict[str, Any], dict[str, Any]], replace: int, destroy: int) -> None:
    names = files(*pair)
    assert run(*names)[0] == 0
    assert run(*names, "--fail-on", "replace")[0] == replace
    assert run(*names, "--fail-on", "destroy")[0] == destroy
    assert {replace, destroy} <= {0, FAILED}


def test_errors_are_those_of_validate(files: Any) -> None:
    old, new = files(document(), document(group("g5.xlargee")))
    code, out, err = run(old, new)
    assert (code, out) == (1, "")
    assert "error INSTANCE_TYPE_UNKNOWN" in err


def test_a_file_that_is_not_there() -> None:
    code, _, err = run("gone.yaml", "mixed-hardware")
    assert (code, "STRATEGY_PATH" in err) == (1, True)


def test_overlays_lie_over_both(files: Any, tmp_path: Path) -> None:
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


def test_a_budget_does_not_stop_it(files: Any) -> None:
    dear = document(group("p5.48xlarge"), budget={"usd_per_month_at_max": 10})
    code, out, err = run(*files(document(node_groups=[SYSTEM]), dear))
    assert (code, "node_groups[gpu] added" in out, "BUDGET_EXCEEDED" in err) == (0, True, True)


def test_neither_node_nor_time() -> None:
    code = (
        "import sys, typer; from eks_hardware.cli.diff import diff; app = typer.Typer(); app.command()(diff);"
        "app(sys.argv[1:], standalone_mode=False);"
        "print(sorted({'cdktf', 'constructs', 'jsii', 'boto3', 'moto'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "mixed-hardware", "gpu-training"]
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": ""}, capture_output=True, text=True, timeout=60, check=False
    )
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "[]"
    # Time of the processor: 0.4 s however busy the machine is, more where no module is compiled yet.
    assert taken < 1, f"diff took {taken:.2f} s"
