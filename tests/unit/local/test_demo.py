"""The demo refuses a stack that needs a newer AWS provider than the machine has."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
from rich.console import Console

from eks_hardware.local.demo import _Demo, run_demo, stop_kept
from eks_hardware.local.demo_folder import DemoError
from eks_hardware.local.terraform import Mirror, Providers, Source

MIRROR = Providers(Source.MIRROR, Mirror(Path("/mirror"), (5, 100, 0), packed=False))


@pytest.fixture
def demo(tmp_path: Path) -> _Demo:
    return _Demo(Console(), tmp_path, tmp_path / "run", "block", named=str(tmp_path / "block.yaml"))


def write_stack(folder: Path, version: str) -> None:
    stack = folder / "run" / "cdktf.out" / "stacks" / "block"
    stack.mkdir(parents=True)
    document = {"terraform": {"required_providers": {"aws": {"version": version}}}}
    (stack / "cdk.tf.json").write_text(json.dumps(document), encoding="utf-8")


def test_a_newer_provider_is_required(demo: _Demo, tmp_path: Path) -> None:
    write_stack(tmp_path, ">= 6.26.0, < 7.0.0")
    groups = """
node_groups:
  - {name: system, instance_types: [m7i.xlarge], scaling: {min: 2, max: 4}}
  - {name: h100, instance_types: [p5.48xlarge], update: {strategy: minimal}, scaling: {max: 4}}
"""
    strategy = "version: 1\nname: block\nregion: us-west-2\ncluster: {creator_is_admin: true}" + groups
    (tmp_path / "block.yaml").write_text(strategy, encoding="utf-8")
    wanted = (
        r"block needs the AWS provider >= 6\.26\.0, < 7\.0\.0 \(node_groups\[h100\]\.update\.strategy requires it\), "
        r"but the demo uses .* \(5\.100\.0\); remove that setting, or set TF_PLUGIN_MIRROR to a mirror with "
        r"a newer version"
    )
    with pytest.raises(DemoError, match=wanted):
        demo._check_provider(demo._document(), MIRROR)


def test_another_app_pins_a_newer_provider(demo: _Demo, tmp_path: Path) -> None:
    write_stack(tmp_path, "6.25.0")
    with pytest.raises(DemoError, match=r"the AWS provider 6\.25\.0, but .*; allow older versions with an override"):
        demo._check_provider(demo._document(), MIRROR)


@pytest.mark.parametrize("version", [">= 5.100.0, < 7.0.0", "5.100.0", "~> 6.0", ""])
def test_other_requirements_are_left_to_terraform(demo: _Demo, tmp_path: Path, version: str) -> None:
    write_stack(tmp_path, version)
    demo._check_provider(demo._document(), MIRROR)


def test_a_registry_has_every_version(demo: _Demo, tmp_path: Path) -> None:
    write_stack(tmp_path, ">= 6.26.0, < 7.0.0")
    demo._check_provider(demo._document(), Providers(Source.REGISTRY))


def test_an_unknown_stack(demo: _Demo, tmp_path: Path) -> None:
    (tmp_path / "run" / "cdktf.out" / "stacks" / "other").mkdir(parents=True)
    (tmp_path / "run" / "cdktf.out" / "stacks" / "other" / "cdk.tf.json").touch()
    with pytest.raises(DemoError, match="unknown stack block; known: other"):
        demo._check_provider(demo._document(), MIRROR)


# --- what a demo leaves behind


def test_stopping_removes_what_ended_and_keeps_what_runs(tmp_path: Path) -> None:
    runs = tmp_path / ".build" / "demo"
    # Interrupted writes, values of another type, a killed demo, and one from before the lock existed.
    for name, file, content in (
        ("half", "demo.json", '{"stack": "a"'),
        ("empty", "demo.json", ""),
        ("types", "demo.json", '{"stack": 1, "pid": "x", "port": [], "token": null, "work_dir": {}}'),
        ("killed", "lock", ""),
        ("old", "demo.log", ""),
    ):
        (runs / name).mkdir(parents=True)
        (runs / name / file).write_text(content, encoding="utf-8")
    (runs / "running").mkdir()
    with (runs / "running" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stop_kept(Console(), tmp_path)
        assert [each.name for each in runs.iterdir()] == ["running"]
    stop_kept(Console(), tmp_path)
    assert list(runs.iterdir()) == []


def test_an_unwritable_build_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".build").write_text("a file", encoding="utf-8")
    assert run_demo(Console(), root=tmp_path, stack="a", named="a", keep=False) == 1
    assert capsys.readouterr().out == f"error: {tmp_path}/.build/demo: not a directory\n"
