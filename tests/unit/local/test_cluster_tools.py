"""The pinned versions of a local cluster's programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eks_hardware import facts
from eks_hardware.local import cluster_tools
from eks_hardware.local.cluster_tools import TOOLS, Tool
from helpers.cases import in_one_test
from helpers.paths import ROOT


@in_one_test("name", TOOLS)
def test_every_tool_is_pinned(name: str) -> None:
    tool = TOOLS[name]
    assert tool.version.count(".") == 2
    assert tool.oldest_go >= "1.22"
    go_sum = (tool.source / tool.modfile).with_suffix(".sum").read_text(encoding="utf-8")
    assert f"{tool.module} v{tool.version} h1:" in go_sum


def test_versions_are_those_of_the_facts() -> None:
    assert TOOLS["kubernetes"].minor == facts.eks()["versions"]["default"]
    assert TOOLS["karpenter"].version == facts.chart("karpenter")["version"]
    assert TOOLS["karpenter"].version == TOOLS["karpenter-files"].version
    assert TOOLS["kueue"].version == TOOLS["kueue-files"].version == facts.chart("kueue")["version"]


def test_kubernetes_has_a_version_for_each_that_eks_supports() -> None:
    others = {name.partition("-")[2]: tool.minor for name, tool in TOOLS.items() if name.startswith("kubernetes-")}
    assert {version == minor for version, minor in others.items()} == {True}
    assert {TOOLS["kubernetes"].minor, *others} == set(facts.eks()["versions"]["supported"])


def test_make_test_names_the_tests_that_need_them() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.search(r"^cluster_tests := tests/cluster, and in tests/deploy:((?:.*\\\n)*.*)", text, re.MULTILINE)
    assert named is not None
    modules = (ROOT / "tests" / "deploy").glob("test_*.py")
    need = {file.name for file in modules if "helpers.cluster_programs" in file.read_text(encoding="utf-8")}
    assert set(re.findall(r"test_\w+\.py", named[1])) == need


def kubernetes_programs(folder: Path, version: str) -> None:
    """Create the programs of a version, which print it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOOLS["kubernetes"].programs:
        (folder / name).write_text(f"#!/bin/sh\necho Kubernetes v{version}\n", encoding="utf-8")
        (folder / name).chmod(0o755)


@in_one_test("variable", [cluster_tools.FOLDER_VARIABLE, cluster_tools.KUBEBUILDER_VARIABLE, "PATH"])
def test_a_strategy_gets_its_version_where_that_is_there(tmp_path: Path, variable: str) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache"), variable: f"{tmp_path}/bin"}
    kubernetes_programs(tmp_path / "bin", "1.34.9")
    assert cluster_tools.kubernetes_tool("1.34", environ) is TOOLS["kubernetes-1.34"]
    for other in ("1.33", "1.35", "1.99"):
        assert cluster_tools.kubernetes_tool(other, environ) is TOOLS["kubernetes"]


def test_a_version_that_was_built_is_taken(tmp_path: Path) -> None:
    environ, tool = {"XDG_CACHE_HOME": str(tmp_path), "PATH": ""}, TOOLS["kubernetes-1.34"]
    assert cluster_tools.kubernetes_tool("1.34", environ) is TOOLS["kubernetes"]
    kubernetes_programs(cluster_tools.built(tool, "go1.26.8", environ), tool.version)
    assert cluster_tools.kubernetes_tool("1.34", environ) is tool
    found = cluster_tools.find(tool, None, environ)
    assert set(found.paths) == set(tool.programs)


@in_one_test(
    ("file", "changes"),
    [
        ("go.mod", (True, False)),
        ("go.sum", (True, False)),
        ("main.go", (True, True)),
        ("versions/1.34.mod", (False, True)),
        ("versions/1.34.sum", (False, True)),
    ],
)
def test_versions_are_built_again_for_their_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, changes: tuple[bool, bool]
) -> None:
    monkeypatch.setattr(cluster_tools, "_HERE", tmp_path)
    folder = tmp_path / "kubernetes"
    (folder / "versions").mkdir(parents=True)
    for name in ("go.mod", "go.sum", "main.go", "versions/1.34.mod", "versions/1.34.sum"):
        (folder / name).write_text("a", encoding="utf-8")

    def digests() -> list[str]:
        other = Tool("kubernetes-1.34", "k8s.io/kubernetes", folder="kubernetes", modfile="versions/1.34.mod")
        return [Tool("kubernetes", "k8s.io/kubernetes").digest, other.digest]

    before = digests()
    (folder / file).write_text("b", encoding="utf-8")
    assert tuple(one != other for one, other in zip(before, digests(), strict=True)) == changes


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
