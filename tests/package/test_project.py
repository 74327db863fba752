"""A team with only strategy files: ``eks-hardware init``, then the real ``cdktf``, from the installed wheel."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from helpers.installed import ACCESS, Installed
from helpers.paths import ROOT, SHIPPED

CDKTF = ROOT / "node_modules" / ".bin" / "cdktf"


@pytest.fixture
def project(new_project: Path, tmp_path: Path) -> Path:
    """Return a new project, in a path with a space."""
    return shutil.copytree(new_project, tmp_path / "our clusters", symlinks=True)


def test_a_second_strategy_is_a_second_stack(installed: Installed, project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    done = installed.run("eks-hardware", "init", "other", "--hardware", "cpu", "--yes", *ACCESS, cwd=project)
    assert done.returncode == 0
    assert {file for file in project.rglob("*") if file.is_file()} - set(before) == {project / "strategies/other.yaml"}
    assert {file: file.read_bytes() for file in before} == before
    assert installed.run("eks-hardware", "validate", cwd=project).stdout.endswith("2 files: 0 errors, 0 warnings\n")
    # The command that cdktf runs. It takes `.venv` next to `cdktf.json` first: the README activates no environment.
    (project / ".venv").symlink_to(installed.folder)
    app = json.loads((project / "cdktf.json").read_text(encoding="utf-8"))["app"]
    path = installed.environment()["PATH"].partition(os.pathsep)[2]
    done = installed.run("sh", "-c", app, cwd=project, PATH=path, CDKTF_OUTDIR="cdktf.out")
    assert (done.returncode, done.stderr) == (0, "")
    stacks = {
        file.parent.name: json.loads(file.read_bytes()) for file in project.glob("cdktf.out/stacks/*/cdk.tf.json")
    }
    assert {name: "aws_eks_cluster" in each["resource"] for name, each in stacks.items()} == {
        "demo": True,
        "other": True,
    }


def test_what_is_wrong_stops_cdktf_with_the_line(installed: Installed, project: Path) -> None:
    file = project / "strategies" / "demo.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("scaling:", "scalling:", 1), encoding="utf-8")
    done = installed.run(CDKTF, "synth", cwd=project)
    assert done.returncode != 0
    assert "error FIELD_UNKNOWN" in done.stdout + done.stderr
    assert not (project / "cdktf.out" / "stacks").exists()


def test_its_requirements_install(installed: Installed, project: Path) -> None:
    """The first command that init prints, without the download of the dependencies."""
    line = (project / "requirements.txt").read_text(encoding="utf-8").strip()
    assert (project / line).is_file()
    pip = ("python", "-m", "pip", "install", "--no-deps", "--no-index", "--target", "there", "-r", "requirements.txt")
    done = installed.run(*pip, cwd=project)
    assert done.returncode == 0, done.stderr
    assert (project / "there" / "eks_hardware").is_dir()


def test_the_demo_outside_a_project(installed: Installed, tmp_path: Path) -> None:
    """Deploy a file without a project or an activated environment. Emulator and cdktf are those of this checkout."""
    cache, here = tmp_path / "cache", tmp_path / "here"
    here.mkdir()
    text = (SHIPPED / "development.yaml").read_text(encoding="utf-8")
    (here / "mine.yaml").write_text(text.replace("name: development", "name: mine"), encoding="utf-8")
    modules = cache / "eks-hardware" / "demo" / "node_modules"
    modules.parent.mkdir(parents=True)
    modules.symlink_to(ROOT / "node_modules")
    done = installed.run(
        installed.folder / "bin" / "eks-hardware",
        *("demo", "mine.yaml"),
        cwd=here,
        XDG_CACHE_HOME=str(cache),
        PATH=installed.environment()["PATH"].partition(os.pathsep)[2],
        PYTHONPATH=sysconfig.get_path("purelib"),
        GOGC=os.environ["GOGC"],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no resources remain" in done.stdout
    assert list(here.iterdir()) == [here / "mine.yaml"]
