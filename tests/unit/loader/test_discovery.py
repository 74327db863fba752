"""The files that become strategies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eks_hardware.findings import StrategyError
from eks_hardware.loader import discovery
from eks_hardware.loader.discovery import (
    DEFAULT_FOLDER,
    Selection,
    default_folder,
    discover,
    named_strategy,
    read_environment,
)
from helpers import cli
from helpers.cases import in_one_test
from helpers.paths import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yml", ".hidden.yaml", "notes.txt", "C.YAML"):
        (tmp_path / name).write_text("name: x\n")
    (tmp_path / "sub.yaml").mkdir()
    (tmp_path / "empty").mkdir()
    return tmp_path


def file_names(files: list[Path]) -> list[str]:
    return [file.name for file in files]


def test_the_default_is_every_strategy_in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "default_folder", lambda: folder)
    assert file_names(discover(None)) == ["C.YAML", "a.yml", "b.yaml"]
    assert file_names(discover([])) == ["C.YAML", "a.yml", "b.yaml"]
    assert file_names(discover(["", " "])) == ["C.YAML", "a.yml", "b.yaml"]


def test_a_checkout_has_strategies_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder except other projects, which have their own."""
    for working in (ROOT, ROOT / "docs", tmp_path):
        monkeypatch.chdir(working)
        assert default_folder() == DEFAULT_FOLDER
    (tmp_path / "cdktf.json").touch()
    assert default_folder() == Path("strategies")


def test_an_installed_package_takes_none_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site-packages" / "eks_hardware" / "config" / "strategies"
    monkeypatch.setattr(discovery, "DEFAULT_FOLDER", installed)
    monkeypatch.chdir(tmp_path)
    assert default_folder() == Path("strategies")
    with pytest.raises(StrategyError, match="`eks-hardware init NAME` writes a first strategy"):
        discover(None)


def test_named_files_and_folders_count_once(folder: Path) -> None:
    (folder / "link.yaml").symlink_to(folder / "b.yaml")
    found = discover([str(folder / "b.yaml"), folder / "empty" / ".." / "b.yaml", folder / "link.yaml"])
    assert file_names(found) == ["b.yaml"]
    assert file_names(discover([folder / "notes.txt", folder / "b.yaml"])) == ["b.yaml", "notes.txt"]


def test_a_broken_link_is_kept_so_that_reading_it_says_so(folder: Path) -> None:
    (folder / "empty" / "x.yaml").symlink_to("gone")
    assert file_names(discover([folder / "empty"])) == ["x.yaml"]


@in_one_test("bad", ["gone", "gone.yaml", "empty"])
def test_the_variable_is_named_if_the_path_is_from_it(folder: Path, bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only then: a path on the command line can be in the variable, too."""
    monkeypatch.chdir(folder.parent)  # messages shorten long paths
    folder = Path(folder.name)
    paths = [str(folder / "b.yaml"), str(folder / bad)]
    monkeypatch.setenv("EKS_HARDWARE_STRATEGIES", os.pathsep.join(paths))
    (typed,) = discovery.find(paths)[1]
    (named,) = discovery.find(read_environment({"EKS_HARDWARE_STRATEGIES": os.pathsep.join(paths)}).paths)[1]
    assert "EKS_HARDWARE_STRATEGIES" not in typed.message
    assert named.message.startswith('EKS_HARDWARE_STRATEGIES: "')
    assert f"/{bad[:4]}" in named.message
    command = cli.run("validate", folder / bad)
    assert "EKS_HARDWARE_STRATEGIES" not in command.err
    assert cli.run("validate").err.startswith('error: EKS_HARDWARE_STRATEGIES: "')


def test_the_variable_contains_no_names() -> None:
    """So none is suggested. Nor is the known name that was given: functions do not look names up."""
    for paths in (read_environment({"EKS_HARDWARE_STRATEGIES": "mixed-hardware"}).paths, ["mixed-hardware"]):
        (finding,) = discovery.find(paths)[1]
        assert finding.message.endswith(
            '"mixed-hardware": no such file or directory; name strategy files, or folders that contain them'
        )


@pytest.mark.parametrize("default", ["empty", "gone"])
def test_a_default_folder_without_strategies(folder: Path, default: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "default_folder", lambda: folder / default)
    with pytest.raises(StrategyError) as caught:
        discover(None)
    assert [finding.code for finding in caught.value.findings] == ["STRATEGY_PATH"]


def test_every_bad_entry_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StrategyError) as caught:
        discover([folder / "gone.yaml", folder / "b.yaml", folder / "empty", "a\0b"])
    assert [finding.code for finding in caught.value.findings] == ["STRATEGY_PATH"] * 3

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(StrategyError, match="STRATEGY_PATH"):
        discover([folder])


@in_one_test(
    ("environ", "expected"),
    [
        ({}, Selection(None, [])),
        ({"EKS_HARDWARE_STRATEGIES": "", "EKS_HARDWARE_OVERLAY": ""}, Selection(None, [])),
        (
            {"EKS_HARDWARE_STRATEGIES": f"{os.pathsep}a.yaml{os.pathsep}{os.pathsep}b"},
            Selection(["a.yaml", "b"], []),
        ),
        ({"EKS_HARDWARE_OVERLAY": " a, b,,"}, Selection(None, ["a", "b"])),
    ],
)
def test_environment(environ: dict[str, str], expected: Selection) -> None:
    assert read_environment(environ) == expected


@in_one_test(
    ("name", "expected"),
    [("b", "strategies/b.yaml"), ("other.yaml", "other.yaml"), ("strategies/a.yaml", "strategies/a.yaml"), ("c", "c")],
)
def test_a_strategy_goes_by_its_name_or_its_path(
    name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regardless of other variables; the reader reports missing files."""
    monkeypatch.chdir(tmp_path)
    Path("strategies").mkdir()
    for file in ("strategies/a.yaml", "strategies/b.yaml", "other.yaml"):
        Path(file).write_text("", encoding="utf-8")
    assert named_strategy(name, ["nowhere", "strategies"]) == Path(expected)


def test_a_shipped_strategy_goes_by_its_name_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an example; a strategy of the project with that name takes precedence."""
    monkeypatch.chdir(tmp_path)
    Path("cdktf.json").touch()
    assert named_strategy("mixed-hardware", None) == DEFAULT_FOLDER / "mixed-hardware.yaml"
    Path("strategies").mkdir()
    Path("strategies/mixed-hardware.yaml").touch()
    assert named_strategy("mixed-hardware", None) == Path("strategies/mixed-hardware.yaml")
