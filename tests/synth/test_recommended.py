"""From a workload to Terraform: a strategy that was written for it, and one with the workload and a lock file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eks_hardware.catalogue import load
from eks_hardware.stacks.app import main, strategies
from helpers import cli
from helpers.locking import group_line, write_strategy
from helpers.synthesized import Synthesized, synthesize


def run_without_error(*arguments: str) -> None:
    code, said = cli.outcome(*arguments)
    assert code == 0, said


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Synthesized]:
    folder = tmp_path_factory.mktemp("recommended")
    (folder / "strategies").mkdir()
    run_without_error(
        "init",
        "written",
        "--model",
        "405B",
        "--task",
        "training",
        "--output",
        str(folder / "strategies"),
        "--no-project",
    )
    described = write_strategy(folder / "strategies", group_line(), name="described")
    run_without_error("lock", str(described))
    resolved = [each for each, _ in strategies({"EKS_HARDWARE_STRATEGIES": str(folder / "strategies")})]
    return {each.strategy: each for each in synthesize(folder / "out", resolved)}


def node_group(stack: Synthesized, name: str) -> dict[str, Any]:
    (found,) = (
        body
        for kind, _, body in stack.resources()
        if kind == "aws_eks_node_group" and body["node_group_name"].endswith(name)
    )
    return found


def test_a_written_strategy_becomes_nodes_with_efa(stacks: dict[str, Synthesized]) -> None:
    (name,) = node_group(stacks["written"], "training")["instance_types"]
    assert load().get(name).efa_interfaces
    kinds = [kind for kind, _, _ in stacks["written"].resources()]
    assert "aws_placement_group" in kinds


def test_a_described_group_becomes_the_nodes_that_are_locked(stacks: dict[str, Synthesized]) -> None:
    group = node_group(stacks["described"], "llm")
    (name,) = group["instance_types"]
    assert load().get(name).accelerator
    assert group["labels"]["workload-type"] == "inference"


def test_what_is_not_locked_is_not_synthesized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_strategy(tmp_path, group_line())
    assert main({"EKS_HARDWARE_STRATEGIES": str(tmp_path)}) == 1
    said = capsys.readouterr().err
    assert "error LOCK_MISSING node_groups[llm].workload" in said
    assert "nothing was synthesized" in said
