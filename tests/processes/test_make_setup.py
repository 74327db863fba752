"""``make setup``: shows progress, prefers uv, and does the same with pip. pip and uv are replaced by scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.paths import ROOT

PIP = """#!/bin/sh
echo "python $*" >> calls.txt
[ "$*" = "-m pip --version" ] && exit
cat pip.txt
exit "$(cat pip.code)"
"""
UV = """#!/bin/sh
echo "uv $*" >> calls.txt
exit "$(cat uv.code)"
"""
PACKAGES = "".join(f"Collecting package-{number}>=1.2 (from x)\n  Downloading x.whl\n" for number in range(1, 24))
OUTPUT = (
    f"Obtaining file:///x\n  Installing build dependencies: started\n{PACKAGES}Installing collected packages: a, b\n"
)
INSTALL = "pip install {}-c constraints.txt -e .[dev]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, an environment, and replacements for its Python and for uv."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for path, text in ((".venv/bin/python", PIP), ("bin/uv", UV)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / path).chmod(0o755)
    for name, text in (("pip.txt", OUTPUT), ("pip.code", "0"), ("uv.code", "0")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def make(folder: Path, *arguments: str, uv: bool = False) -> subprocess.CompletedProcess[str]:
    """Run make for the Python packages."""
    path = "/usr/bin:/bin"
    return subprocess.run(
        ["make", ".venv/.installed", *arguments],
        cwd=folder,
        env={"PATH": os.pathsep.join([str(folder / "bin"), path]) if uv else path},
        capture_output=True,
        text=True,
        check=False,
    )


def calls(folder: Path) -> list[str]:
    said = (folder / "calls.txt").read_text(encoding="utf-8").splitlines()
    return [each for each in said if each != "python -m pip --version"]


def test_pip_shows_progress(folder: Path) -> None:
    done = make(folder)
    assert (done.returncode, done.stderr) == (0, "")
    first, *progress = done.stdout.splitlines()
    assert first.startswith("1/3 Python packages")
    assert progress == ["  10: package-10", "  20: package-20", "  installing 23 packages"]
    assert (folder / ".venv" / ".installed").exists()


def test_errors_of_pip_are_shown(folder: Path) -> None:
    (folder / "pip.txt").write_text("Collecting a\nERROR: No matching distribution found for a\n", encoding="utf-8")
    (folder / "pip.code").write_text("1", encoding="utf-8")
    done = make(folder)
    assert done.returncode == 2
    assert "  ERROR: No matching distribution found for a\n" in done.stderr
    assert not (folder / ".venv" / ".installed").exists()


def test_uv_is_used_where_it_is_present(folder: Path) -> None:
    done = make(folder, uv=True)
    assert done.returncode == 0
    assert calls(folder) == [f"uv {INSTALL.format('--python .venv/bin/python ')}"]


def test_uv_can_be_turned_off(folder: Path) -> None:
    assert make(folder, "UV=", uv=True).returncode == 0
    options = INSTALL.format("--disable-pip-version-check --progress-bar off ")
    assert calls(folder) == [f"python -m {options}"]


def test_pip_follows_where_uv_fails(folder: Path) -> None:
    (folder / "uv.code").write_text("2", encoding="utf-8")
    done = make(folder, uv=True)
    assert done.returncode == 0
    assert len(calls(folder)) == 2


def test_only_other_packages_are_installed_again(folder: Path) -> None:
    make(folder)
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    assert make(folder).returncode == 0
    assert len(calls(folder)) == 1
    with (folder / "constraints.txt").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert make(folder).returncode == 0
    assert len(calls(folder)) == 2
