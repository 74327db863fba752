"""A team with only strategy files: ``eks-hardware init``, then the real ``cdktf``, from the installed wheel."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.installed import Installed
from helpers.paths import ROOT

CDKTF = ROOT / "node_modules" / ".bin" / "cdktf"
INIT = ("eks-hardware", "init", "demo", "--hardware", "gpu", "--task", "inference", "--yes")
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@pytest.fixture
def project(installed: Installed, tmp_path: Path) -> Path:
    """Return a new project, in a path with a space."""
    folder = tmp_path / "our clusters"
    folder.mkdir()
    done = installed.run(*INIT, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def stack(project: Path, name: str = "demo") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project / f"cdktf.out/stacks/{name}/cdk.tf.json").read_text(encoding="utf-8"))
    return content


def test_a_second_strategy_is_a_second_stack(installed: Installed, project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    done = installed.run("eks-hardware", "init", "other", "--hardware", "cpu", "--yes", cwd=project)
    assert done.returncode == 0
    assert {file for file in project.rglob("*") if file.is_file()} - set(before) == {project / "strategies/other.yaml"}
    assert {file: file.read_bytes() for file in before} == before
    assert installed.run("eks-hardware", "validate", cwd=project).stdout.endswith("2 files: 0 errors, 2 warnings\n")
    done = installed.run(CDKTF, "list", cwd=project)
    assert done.returncode == 0
    assert {"demo", "other"} <= set(done.stdout.split())


def test_what_is_wrong_stops_cdktf_with_the_line(installed: Installed, project: Path) -> None:
    file = project / "strategies" / "demo.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("scaling:", "scalling:", 1), encoding="utf-8")
    done = installed.run(CDKTF, "synth", cwd=project)
    assert done.returncode != 0
    assert "error FIELD_UNKNOWN" in done.stdout + done.stderr
    assert not (project / "cdktf.out" / "stacks").exists()


def test_the_environment_of_the_project_is_taken_first(installed: Installed, project: Path) -> None:
    """Without an activated environment, as in the README: ``.venv`` is next to ``cdktf.json``."""
    (project / ".venv").symlink_to(installed.folder)
    app = json.loads((project / "cdktf.json").read_text(encoding="utf-8"))["app"]
    path = os.pathsep.join(each for each in installed.environment()["PATH"].split(os.pathsep)[1:])
    done = installed.run("sh", "-c", app, cwd=project, PATH=path, CDKTF_OUTDIR="cdktf.out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "aws_eks_cluster" in stack(project)["resource"]


def test_its_requirements_install(installed: Installed, project: Path) -> None:
    """The first command that init prints, without the download of the dependencies."""
    line = (project / "requirements.txt").read_text(encoding="utf-8").strip()
    assert (project / line).is_file()
    pip = ("python", "-m", "pip", "install", "--no-deps", "--no-index", "--target", "there", "-r", "requirements.txt")
    done = installed.run(*pip, cwd=project)
    assert done.returncode == 0, done.stderr
    assert (project / "there" / "eks_hardware").is_dir()


def test_the_demo_finds_its_project_and_its_python(installed: Installed, tmp_path: Path) -> None:
    """Outside a project and without an activated environment, up to the emulator, which is an extra."""
    cache = tmp_path / "cache"
    modules = cache / "eks-hardware" / "demo" / "node_modules"
    modules.parent.mkdir(parents=True)
    modules.symlink_to(ROOT / "node_modules")
    done = installed.run(installed.folder / "bin" / "eks-hardware", "demo", cwd=tmp_path, XDG_CACHE_HOME=str(cache))
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "✓ Tools" in said
    assert "ministack is not installed: pip install 'eks-hardware[local] @ file://" in said
    assert [each.name for each in tmp_path.iterdir()] == ["cache"]


# --- the workflow

# Replacement for GitHub's command line that records its arguments.
GH = '#!/bin/sh\nprintf "%s\\n" "$@" > gh.txt\n'


def steps(project: Path, job: str) -> list[tuple[str, str]]:
    """Return the scripts of a job by name, without the one that installs."""
    workflow = yaml.safe_load((project / ".github/workflows/strategies.yml").read_text(encoding="utf-8"))
    return [
        (each.get("name", each["run"]), each["run"].replace("${{ github.event.number }}", "7"))
        for each in workflow["jobs"][job]["steps"]
        if "run" in each and each.get("name") != "Install"
    ]


def run_step(installed: Installed, project: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner does."""
    assert "${{" not in script
    return installed.run("bash", "-e", "-c", script, cwd=project, **GIT, **variables)


def test_the_checks_of_a_pull_request(installed: Installed, project: Path) -> None:
    (project / "node_modules").symlink_to(ROOT / "node_modules")
    done = {}
    for name, script in steps(project, "check"):
        done[name] = run_step(installed, project, script)
        assert done[name].returncode == 0, (name, done[name].stdout, done[name].stderr)
    sarif = json.loads((project / "findings.sarif").read_text(encoding="utf-8"))
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == "ENDPOINT_OPEN"
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "strategies/demo.yaml"
    synth = done["Synthesize every stack"]
    said = synth.stderr.splitlines()
    assert [line for line in said if not line.startswith("npm ")] == []  # npm comments on a machine's settings
    assert "Generated Terraform code for the stacks: demo" in synth.stdout
    assert "ERROR" not in synth.stdout
    groups = stack(project)["resource"]["aws_eks_node_group"]
    assert sorted(each["node_group_name"] for each in groups.values()) == ["gpu-inference", "system"]
    assert "aws_eks_cluster" in stack(project)["resource"]


def test_an_error_fails_the_check_and_is_in_the_report(installed: Installed, project: Path) -> None:
    file = project / "strategies" / "demo.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("scaling:", "scalling:", 1), encoding="utf-8")
    _, script = steps(project, "check")[0]
    assert run_step(installed, project, script).returncode == 1
    sarif = json.loads((project / "findings.sarif").read_text(encoding="utf-8"))
    assert {"FIELD_UNKNOWN", "FIELD_MISSING"} <= {each["ruleId"] for each in sarif["runs"][0]["results"]}


@pytest.mark.parametrize("root", [".", ".."], ids=["a repository", "a folder of one"])
def test_the_comment_on_a_pull_request(installed: Installed, project: Path, tmp_path: Path, root: str) -> None:
    """Changed, new, removed and unchanged strategies, against the base in a real repository."""
    outside = tmp_path.with_name(f"{tmp_path.name}-runner")
    outside.mkdir()

    def git(*arguments: str | Path) -> None:
        done = installed.run("git", *arguments, cwd=project / root, **GIT)
        assert done.returncode == 0, done.stderr

    first = (project / "strategies" / "demo.yaml").read_text(encoding="utf-8")
    assert "max: 4" in first

    def write(name: str, most: int) -> None:
        text = first.replace("name: demo", f"name: {name}").replace("max: 4", f"max: {most}")
        (project / "strategies" / f"{name}.yaml").write_text(text, encoding="utf-8")

    write("gone", 4)
    write("same", 4)
    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "base")
    git("init", "--quiet", "--bare", outside / "origin.git")
    git("remote", "add", "origin", outside / "origin.git")
    git("push", "--quiet", "origin", "main")
    git("switch", "--quiet", "--create", "change")
    write("demo", 9)
    write("new one", 4)  # with a space, to test the script's quoting
    (project / "strategies" / "gone.yaml").unlink()
    git("add", "--all")
    git("commit", "--quiet", "--message", "change")
    commands = outside / "bin"
    commands.mkdir()
    (commands / "gh").write_text(GH, encoding="utf-8")
    (commands / "gh").chmod(0o755)
    runner = {
        "RUNNER_TEMP": str(outside / "runner"),
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(outside / "summary.md"),
        "PATH": os.pathsep.join([str(commands), installed.environment()["PATH"]]),
    }
    for name, script in steps(project, "changes"):
        done = run_step(installed, project, script, **runner)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
    comment = (project / "changes.md").read_text(encoding="utf-8")
    headings = [line for line in comment.splitlines() if line.startswith("### ")]
    assert headings[0].startswith("### `demo`: 2 resources updated; $")
    assert headings[1:] == [
        "### `strategies/new one.yaml` is new",
        "### `strategies/gone.yaml` is removed: its resources stay until `cdktf destroy`",
    ]
    assert "scaling.max 4 -> 9" in comment
    assert (outside / "summary.md").read_text(encoding="utf-8") == comment
    assert (project / "gh.txt").read_text(encoding="utf-8").split() == [
        *("pr", "comment", "7", "--body-file", "changes.md", "--edit-last", "--create-if-none"),
    ]
