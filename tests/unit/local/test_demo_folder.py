"""The project that a demo runs in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from eks_hardware.loader.discovery import DEFAULT_FOLDER
from eks_hardware.local import demo_folder
from eks_hardware.local.demo_folder import DemoError, environment, find_root, is_own, known_stack
from helpers import cli
from helpers.paths import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder; the cache is next to it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package be outside a checkout."""
    monkeypatch.setattr(demo_folder, "CHECKOUT", tmp_path / "site-packages")


def test_a_project_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "cdktf.json").write_text("{}", encoding="utf-8")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert find_root() == folder


def test_otherwise_this_checkout() -> None:
    assert find_root() == ROOT


@pytest.mark.usefixtures("installed")
def test_otherwise_a_project_in_the_cache(tmp_path: Path) -> None:
    root = find_root()
    assert root == tmp_path / "cache" / "eks-hardware" / "demo"
    assert is_own(root)
    assert "-m eks_hardware" in json.loads((root / "cdktf.json").read_text(encoding="utf-8"))["app"]
    assert json.loads((root / "package.json").read_text(encoding="utf-8"))["devDependencies"]["cdktf-cli"]
    assert find_root() == root
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("installed")
def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(DemoError, match=r"cache/eks-hardware/demo: .*; set XDG_CACHE_HOME"):
        find_root()


def test_the_app_runs_in_this_environment_activated_or_not(folder: Path) -> None:
    found = environment(folder, {"PATH": "/bin"})
    assert found == {"PATH": f"{Path(sys.executable).parent}{os.pathsep}/bin"}


@pytest.mark.usefixtures("installed")
def test_the_shipped_strategies_or_the_selected_ones(folder: Path) -> None:
    root = find_root()
    assert environment(root, {})["EKS_HARDWARE_STRATEGIES"] == str(DEFAULT_FOLDER)
    selected = environment(root, {"EKS_HARDWARE_STRATEGIES": f"a.yaml{os.pathsep}/srv/b.yaml"})
    assert selected["EKS_HARDWARE_STRATEGIES"] == f"{folder / 'a.yaml'}{os.pathsep}/srv/b.yaml"


STRATEGY = (DEFAULT_FOLDER / "development.yaml").read_text(encoding="utf-8")


def test_an_unknown_stack_is_refused_before_anything_starts(folder: Path) -> None:
    (folder / "cdktf.json").write_text('{"app": "python -m eks_hardware"}', encoding="utf-8")
    (folder / "strategies").mkdir()
    (folder / "strategies" / "file.yaml").write_text(STRATEGY.replace("name: development", "name: chat", 1), "utf-8")
    code, out, err = cli.run("demo", "nosuch")
    assert (code, out, err) == (2, "", 'error: unknown stack "nosuch"; stacks: chat\n')
    assert known_stack(folder, "chat", {}) == "chat"


def test_the_default_is_mixed_hardware_or_the_only_strategy(folder: Path) -> None:
    (folder / "cdktf.json").write_text('{"app": "python -m eks_hardware"}', encoding="utf-8")
    (folder / "strategies").mkdir()
    for name in ("chat", "training"):
        file = folder / "strategies" / f"{name}.yaml"
        file.write_text(STRATEGY.replace("name: development", f"name: {name}", 1), encoding="utf-8")
        if name == "chat":
            assert known_stack(folder, None, {}) == "chat"
    assert cli.run("demo") == (2, "", "error: STACK is missing; stacks: chat, training\n")


def test_the_stacks_of_a_checkout_are_the_shipped_strategies() -> None:
    assert known_stack(ROOT, None, {}) == "mixed-hardware"
    with pytest.raises(DemoError, match="did you mean mixed-hardware"):
        known_stack(ROOT, "mixed-hardwar", {})


def test_stacks_of_another_app_are_left_to_its_synthesis(folder: Path) -> None:
    (folder / "cdktf.json").write_text('{"app": "npx ts-node main.ts"}', encoding="utf-8")
    assert known_stack(folder, "nosuch", {}) == "nosuch"
