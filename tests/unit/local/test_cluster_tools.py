"""The pinned versions of a local cluster's programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware import facts
from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster_tools import TOOLS, Tool


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_pinned(name: str) -> None:
    tool = TOOLS[name]
    assert tool.version.count(".") == 2
    assert tool.oldest_go >= "1.24"
    go_sum = (tool.source / "go.sum").read_text(encoding="utf-8")
    assert f"{tool.module} v{tool.version} h1:" in go_sum


def test_versions_are_those_of_the_facts() -> None:
    assert TOOLS["kubernetes"].minor == facts.eks()["versions"]["default"]
    assert TOOLS["karpenter"].version == facts.chart("karpenter")["version"]
    assert TOOLS["karpenter"].version == TOOLS["karpenter-files"].version


def test_every_folder_belongs_to_a_tool() -> None:
    folders = {file.parent for file in Path(cluster_tools.__file__).parent.glob("*/go.mod")}
    assert {tool.source for tool in TOOLS.values()} == folders


def test_a_change_of_any_file_is_another_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_tools, "_HERE", tmp_path)
    (tmp_path / "etcd").mkdir()
    digests = set()
    for name, text in (("go.mod", "a"), ("go.sum", "b"), ("main.go", "c"), ("go.sum", "d")):
        (tmp_path / "etcd" / name).write_text(text, encoding="utf-8")
        digests.add(Tool("etcd", "example.com/etcd").digest)
    assert len(digests) == 4
