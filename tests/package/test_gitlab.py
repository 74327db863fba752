"""The GitLab CI template: its script runs with bash, in a repository with a merge request, with a fake curl."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.installed import GIT, Installed
from helpers.paths import ROOT

TEMPLATE = ROOT / "examples" / "gitlab" / "strategies.yml"
# Keeps the notes of a merge request; its newest is another bot's.
CURL = """\
#!/usr/bin/env python3
import json, os, pathlib, sys
file = pathlib.Path(os.environ["CURL_FOLDER"], "notes.json")
notes = json.loads(file.read_text()) if file.exists() else [{"id": 5, "body": "another bot"}]
arguments = sys.argv[1:]
assert "PRIVATE-TOKEN: a token" in arguments
if "--request" not in arguments:
    page, = (int(each.partition("&page=")[2].partition("&")[0]) for each in arguments if "&page=" in each)
    print(json.dumps(notes[(page - 1) * 100 : page * 100]))
else:
    (body,) = (pathlib.Path(each[5:]).read_text() for each in arguments if each.startswith("body@"))
    if arguments[arguments.index("--request") + 1] == "POST":
        notes.append({"id": 6, "body": body})
    else:
        number = int(arguments[-1].rpartition("/")[2])
        notes = [{"id": each["id"], "body": body if each["id"] == number else each["body"]} for each in notes]
    file.write_text(json.dumps(notes))
"""


@pytest.fixture
def folder(installed: Installed, new_project: Path, tmp_path: Path) -> Path:
    """Return a repository with a project in a folder with a space, and a base commit."""
    project = shutil.copytree(new_project, tmp_path / "repository" / "our clusters", symlinks=True)
    for each in (project / "overlays").iterdir():
        each.unlink()  # the tests have their own
    (project / "overlays" / "dev.yaml").write_text("tags: {stage: dev}\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "curl").write_text(CURL, encoding="utf-8")
    (tmp_path / "bin" / "curl").chmod(0o755)
    _git(installed, tmp_path, "init", "--quiet")
    _git(installed, tmp_path, "add", "--all")
    _git(installed, tmp_path, "commit", "--quiet", "--message", "base")
    return tmp_path


def _git(installed: Installed, folder: Path, *arguments: str) -> str:
    done = installed.run("git", *arguments, cwd=folder / "repository", **GIT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def pipeline(installed: Installed, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script as GitLab does: all lines in one shell, without the installation of packages."""
    document: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    first, *_ = document["eks-hardware"]["before_script"]
    return installed.run(
        *("bash", "-eo", "pipefail", "-c", "\n".join([first, *document["eks-hardware"]["script"]])),
        cwd=folder / "repository",
        **{
            **GIT,
            **{name: value for name, value in document["variables"].items() if "INSTALL" not in name},
            "EKS_HARDWARE_PROJECT": "our clusters",
            "EKS_HARDWARE_FOLDER": "strategies",
            "CI_PROJECT_DIR": str(folder / "repository"),
            "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
            "CI_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": "7",
            "CURL_FOLDER": str(folder),
            "PATH": os.pathsep.join([str(folder / "bin"), installed.environment()["PATH"]]),
            **variables,
        },
    )


def posted_notes(folder: Path) -> list[str]:
    file = folder / "notes.json"
    return [each["body"] for each in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []


def test_a_merge_request(installed: Installed, folder: Path) -> None:
    """Its comment is written once and then updated, and other comments stay."""
    base = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": _git(installed, folder, "rev-parse", "HEAD"),
        "EKS_HARDWARE_TOKEN": "a token",
    }
    strategy = folder / "repository" / "our clusters" / "strategies" / "demo.yaml"
    before = strategy.read_text(encoding="utf-8")
    strategy.write_text(before.replace("max: 4}   #", "max: 9}   #"), encoding="utf-8")
    done = pipeline(installed, folder, **base)
    assert done.returncode == 0, done.stderr
    other, comment = posted_notes(folder)
    assert other == "another bot"
    assert comment.startswith(
        "<!-- eks-hardware our-clusters/strategies -->\n### `demo`, alone and with `dev`: 1 resource"
    )
    assert comment in done.stdout
    assert (folder / "repository" / "cdktf.out" / "stacks" / "demo" / "cdk.tf.json").is_file()

    strategy.write_text(before.replace("scaling:", "scalling:", 1), encoding="utf-8")
    done = pipeline(installed, folder, **base)
    assert done.returncode == 1
    assert posted_notes(folder) == [
        "another bot",
        "<!-- eks-hardware our-clusters/strategies -->\n"
        "### `demo`, alone and with `dev`, has errors; `eks-hardware validate` shows them\n",
    ]
    results = json.loads((folder / "repository" / "eks-hardware.sarif").read_text(encoding="utf-8"))["runs"][0][
        "results"
    ]
    assert "FIELD_UNKNOWN" in {each["ruleId"] for each in results}


def test_the_comment_is_found_behind_a_hundred_others(installed: Installed, folder: Path) -> None:
    marker = "<!-- eks-hardware our-clusters/strategies -->"
    others = [{"id": number, "body": "a discussion"} for number in range(230)]
    notes = [*others, {"id": 999, "body": f"{marker}\nbefore"}]
    (folder / "notes.json").write_text(json.dumps(notes), encoding="utf-8")
    base = _git(installed, folder, "rev-parse", "HEAD")
    done = pipeline(installed, folder, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, EKS_HARDWARE_TOKEN="a token")
    assert done.returncode == 0, done.stderr
    assert posted_notes(folder)[230:] == [f"{marker}\nNo strategy changes.\n"]


def test_settings(installed: Installed, folder: Path) -> None:
    """``EKS_HARDWARE_STRICT`` and ``EKS_HARDWARE_OVERLAYS`` are those of the GitHub Action."""
    project = folder / "repository" / "our clusters"
    (project / "overlays" / "dev.yaml").write_text(
        "cluster: {endpoint: {public_cidrs: [0.0.0.0/0]}}\n", encoding="utf-8"
    )
    assert pipeline(installed, folder).returncode == 0
    assert pipeline(installed, folder, EKS_HARDWARE_STRICT="true").returncode == 1
    assert pipeline(installed, folder, EKS_HARDWARE_STRICT="true", EKS_HARDWARE_OVERLAYS="none").returncode == 0
    assert pipeline(installed, folder, EKS_HARDWARE_STRICT="true", EKS_HARDWARE_OVERLAYS="dev").returncode == 1


def test_the_app_of_the_project_synthesizes_with_every_overlay(installed: Installed, folder: Path) -> None:
    """Code in the app of ``cdktf.json`` runs, as it does with ``cdktf synth``."""
    project = folder / "repository" / "our clusters"
    (project / "cdktf.json").write_text(json.dumps({"app": "touch app-ran; python3 -m eks_hardware"}), encoding="utf-8")
    done = pipeline(installed, folder)
    assert done.returncode == 0, done.stderr
    assert (project / "app-ran").is_file()
    for name, expected in (("cdktf.out", False), ("cdktf.out.dev", True)):
        stack = folder / "repository" / name / "stacks" / "demo" / "cdk.tf.json"
        assert ('"stage": "dev"' in stack.read_text(encoding="utf-8")) == expected
    patterns = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))["eks-hardware"]["artifacts"]["paths"]
    assert "cdktf.out*" in patterns


def test_without_a_change_or_a_merge_request(installed: Installed, folder: Path) -> None:
    base = _git(installed, folder, "rev-parse", "HEAD")
    done = pipeline(installed, folder, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, EKS_HARDWARE_TOKEN="a token")
    assert (done.returncode, posted_notes(folder)) == (0, []), done.stderr
    assert "No strategy changes." in done.stdout
    done = pipeline(installed, folder)
    assert (done.returncode, posted_notes(folder)) == (0, [])
    assert "No strategy changes." not in done.stdout
