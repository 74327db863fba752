"""The GitHub Action and its use by ``eks-hardware init``: its steps run with bash, in a repository with a pull request.

A fake ``gh`` records its calls and keeps the comments.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.diff import headings
from helpers.github_action import Runner
from helpers.installed import GIT, Installed
from helpers.paths import ROOT

ACTION = ROOT / "action.yml"
VALIDATE, COMPARE, COMMENT, SYNTHESIZE = (
    "Validate every strategy",
    "Compare with the base",
    "Comment on the pull request",
    "Synthesize every stack",
)


class Repository:
    """A project in a repository, with a base commit that can be changed by a pull request."""

    def __init__(self, installed: Installed, new_project: Path, folder: Path, below: str = ".") -> None:
        self.installed, self.root = installed, folder / "our clusters"
        self.project = self.root / below
        self.outside = folder / "a runner"
        shutil.copytree(new_project, self.project, symlinks=True)
        shutil.rmtree(self.project / "overlays")  # the tests have their own
        self.first = (self.project / "strategies" / "demo.yaml").read_text(encoding="utf-8")
        for name in ("demo", "same", "gone"):
            self.write(name)

    def write(self, name: str, most: int = 4, file: str = "") -> None:
        text = self.first.replace("name: demo", f"name: {name}").replace("max: 4}   #", f"max: {most}}}   #")
        (self.project / "strategies" / f"{file or name}.yaml").write_text(text, encoding="utf-8")

    def overlay(self, name: str, text: str) -> None:
        (self.project / "overlays").mkdir(exist_ok=True)
        (self.project / "overlays" / f"{name}.yaml").write_text(text, encoding="utf-8")

    def git(self, *arguments: str | Path) -> None:
        done = self.installed.run("git", *arguments, cwd=self.root, **GIT)
        assert done.returncode == 0, done.stderr

    def base(self) -> None:
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit()
        self.git("init", "--quiet", "--bare", self.outside / "origin.git")
        self.git("remote", "add", "origin", self.outside / "origin.git")
        self.git("push", "--quiet", "origin", "main")
        self.git("switch", "--quiet", "--create", "change")

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def job(self, of: dict[str, str] | None = None, /, **inputs: str) -> dict[str, Any]:
        """Run the Action; return the finished steps."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        run = self.installed.run
        runner = Runner(self.outside, self.root, lambda *a, **v: run(*a, **GIT, **v), given, of or {})
        return runner.job(ACTION, self.installed.environment()["PATH"])

    @property
    def report(self) -> str:
        return (self.outside / "eks-hardware.md").read_text(encoding="utf-8")

    @property
    def comments(self) -> dict[str, str]:
        file = self.outside / "comments.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    @property
    def sarif(self) -> Any:
        return json.loads((self.outside / "eks-hardware.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]

    def calls(self) -> list[str]:
        """Return the methods of the calls of ``gh``."""
        file = self.outside / "calls.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        calls = [json.loads(line) for line in lines]
        return [each[each.index("--method") + 1] if "--method" in each else "GET" for each in calls]


@pytest.fixture
def repository(installed: Installed, new_project: Path, tmp_path: Path) -> Callable[..., Repository]:
    return lambda below=".": Repository(installed, new_project, tmp_path, below)


def exit_codes(done: dict[str, Any]) -> dict[str, int]:
    return {name: each.returncode for name, each in done.items()}


def test_no_change_is_no_comment(repository: Callable[..., Repository]) -> None:
    found = repository()
    found.base()
    found.commit()
    done = found.job(synthesize="false")
    assert exit_codes(done) == {VALIDATE: 0, COMPARE: 0, COMMENT: 0}
    assert (found.report, found.comments, found.calls()) == ("No strategy changes.\n", {}, ["GET"])
    assert found.sarif == []


@pytest.mark.parametrize("below", [".", "infra/our eks"], ids=["a repository", "a folder of one"])
def test_one_comment_follows_the_pull_request(repository: Callable[..., Repository], below: str) -> None:
    """Changed, new and removed strategies and overlays; names with spaces; a second run; and a change taken back."""
    found = repository(below)
    found.overlay("dev", "tags: {stage: dev}\n")
    found.base()
    found.write("demo", 9)
    found.write("another", file="new one")
    found.overlay("production", "strategies: [same]\ntags: {stage: production}\n")
    (found.project / "strategies" / "gone.yaml").unlink()
    found.commit()
    # Each overlay is synthesized by itself, which takes seconds: once is enough.
    inputs = {} if below == "." else {"working_directory": below, "synthesize": "false"}
    done = found.job(**inputs)
    synthesized = {} if inputs else {SYNTHESIZE: 0}
    assert exit_codes(done) == {VALIDATE: 0, COMPARE: 0, COMMENT: 0, **synthesized}, done
    changed, new, overlay, gone = headings(found.report)
    assert changed.startswith("### `demo`, alone and with `dev`: 1 resource updated; $")
    assert new.startswith("### `another`, alone and with `dev`, is new: $")
    assert overlay.startswith("### `same` with `production` is new: $")
    assert gone.startswith("### `gone`, alone and with `dev`, is removed: its resources stay until `cdktf destroy`")
    assert "scaling.max 4 -> 9" in found.report
    (comment,) = found.comments.values()
    where = "strategies" if below == "." else "infra/our-eks/strategies"
    assert comment == f"<!-- eks-hardware {where} -->\n{found.report}"
    assert (found.outside / "summary.md").read_text(encoding="utf-8") == found.report
    for name in ("cdktf.out", "cdktf.out.dev", "cdktf.out.production") if synthesized else ():
        stacks = found.project / name / "stacks"
        assert {each.parent.name for each in stacks.glob("*/cdk.tf.json")} == {"another", "demo", "same"}

    found.git("checkout", "--quiet", "main", "--", ".")
    (found.project / "strategies" / "new one.yaml").unlink()
    (found.project / "overlays" / "production.yaml").unlink()
    found.commit()
    found.job(**{**inputs, "synthesize": "false"})
    assert found.calls() == ["GET", "POST", "GET", "PATCH"]
    assert found.comments == {"1": f"<!-- eks-hardware {where} -->\nNo strategy changes.\n"}


def test_an_invalid_strategy(repository: Callable[..., Repository]) -> None:
    found = repository()
    found.base()
    file = found.project / "strategies" / "demo.yaml"
    file.write_text(found.first.replace("scaling:", "scalling:", 1), encoding="utf-8")
    found.write("same", 9)
    found.commit()
    done = found.job()
    assert exit_codes(done) == {VALIDATE: 1, COMPARE: 0, COMMENT: 0}
    assert "strategies/demo.yaml:21:5: error FIELD_UNKNOWN" in done[VALIDATE].stdout
    assert {"FIELD_UNKNOWN", "FIELD_MISSING"} <= {each["ruleId"] for each in found.sarif}
    place = found.sarif[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "strategies/demo.yaml"
    (comment,) = found.comments.values()
    assert "### `demo` has errors" in comment
    assert "### `same`: 1 resource updated" in comment


def test_findings_name_files_from_the_root(repository: Callable[..., Repository]) -> None:
    found = repository("clusters")
    found.base()
    found.overlay("wide", "cluster: {endpoint: {public_cidrs: [0.0.0.0/0]}}\n")
    done = found.job(working_directory="clusters", comment="false", synthesize="false", strict="true")
    assert exit_codes(done) == {VALIDATE: 1, COMPARE: 0}
    (result,) = found.sarif
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "clusters/overlays/wide.yaml"


def test_chosen_overlays(repository: Callable[..., Repository]) -> None:
    """Only they are read: another one has an error."""
    found = repository()
    found.overlay("dev", "tags: [\n")
    found.overlay("production", "tags: {stage: production}\n")
    found.base()
    done = found.job(overlays="production")
    assert exit_codes(done) == {VALIDATE: 0, COMPARE: 0, COMMENT: 0, SYNTHESIZE: 0}
    assert found.report == "No strategy changes.\n"
    stack = json.loads((found.project / "cdktf.out/stacks/demo/cdk.tf.json").read_text(encoding="utf-8"))
    assert stack["provider"]["aws"][0]["default_tags"][0]["tags"]["stage"] == "production"
    assert not list(found.project.glob("cdktf.out.*"))
    assert exit_codes(found.job(overlays="none", synthesize="false")) == {VALIDATE: 0, COMPARE: 0, COMMENT: 0}


def test_other_events_and_forks(repository: Callable[..., Repository]) -> None:
    found = repository()
    found.base()
    assert list(found.job({"github.event_name": "push"}, synthesize="false")) == [VALIDATE]
    fork = {"github.event.pull_request.head.repo.full_name": "somebody/clusters"}
    assert list(found.job(fork, synthesize="false")) == [VALIDATE, COMPARE]


def test_a_checkout_without_history(repository: Callable[..., Repository]) -> None:
    found = repository()
    found.base()
    found.git("remote", "remove", "origin")
    done = found.job(synthesize="false")
    assert done[COMPARE].returncode == 1
    assert "set fetch-depth: 0 in actions/checkout" in done[COMPARE].stdout


def test_what_is_installed(installed: Installed, tmp_path: Path) -> None:
    (step,) = (each for each in _steps() if each.get("id") == "install")
    (tmp_path / "bin").mkdir()
    recorder = tmp_path / "bin" / "python3"
    recorder.write_text('#!/bin/sh\necho "$*"\n', encoding="utf-8")
    recorder.chmod(0o755)
    (tmp_path / "project").mkdir()

    def last(action: Path, install: str = "") -> str:
        path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
        variables = {"INSTALL": install, "GITHUB_ACTION_PATH": str(action), "PATH": path}
        done = installed.run("bash", "-e", "-c", step["run"], cwd=tmp_path / "project", **variables)
        return done.stdout.split("--quiet")[-1].strip()

    assert last(ROOT) == str(ROOT)
    assert last(tmp_path).endswith("add it, or set the input install")
    assert last(tmp_path, "eks-hardware==1 boto3") == "eks-hardware==1 boto3"
    (tmp_path / "project" / "requirements.txt").touch()
    assert last(ROOT) == "-r requirements.txt"


def _steps() -> list[dict[str, Any]]:
    return list(yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"])


def test_a_project_uses_the_same_action(new_project: Path) -> None:
    workflow = yaml.safe_load((new_project / ".github/workflows/strategies.yml").read_text(encoding="utf-8"))
    (used,) = (each["uses"] for each in workflow["jobs"]["strategies"]["steps"] if each["uses"].startswith("./"))
    assert (new_project / used / "action.yml").read_text(encoding="utf-8") == ACTION.read_text(encoding="utf-8")
