"""The release workflow: what it pins and permits, and its scripts, run on a copy of this checkout."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from helpers.environments import environment
from helpers.installed import Distributions, Installed
from helpers.paths import ROOT
from helpers.release import BUILD, SCRIPTS, TAG, VERSION, WORKFLOW, run_script

# Replacement for GitHub's command line: answers as for a signed tag, unless a variable says otherwise.
GH = """#!/bin/sh
printf '%s\\n' "$@" >> "gh-$1.txt"
case "$2" in
  */git/ref/tags/*) echo "${KIND:-tag} 0123abc" ;;
  */git/tags/0123abc) echo "${SIGNATURE:-valid}" ;;
esac
"""


@pytest.fixture(scope="module")
def checkout(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout that the distributions are built from, committed on main."""
    folder = tmp_path_factory.mktemp("release") / "checkout"
    shutil.copytree(distributions.source, folder, symlinks=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "gh").write_text(GH, encoding="utf-8")
    (folder / "bin" / "gh").chmod(0o755)
    return folder


# --- what the workflow says


def test_only_a_version_tag_releases() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # `on` is true in YAML 1.1


def test_every_action_is_pinned_to_a_commit_with_its_version() -> None:
    lines = re.findall(r"uses: (?!\./)(.*)", (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert len(lines) == 10
    assert [each for each in lines if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each)] == []


def test_only_jobs_without_our_code_can_sign_publish_and_write() -> None:
    jobs = WORKFLOW["jobs"]
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "test": {"contents": "read"},
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
        "release": {"contents": "write"},
    }
    assert jobs["publish"]["environment"] == "pypi"
    trusted = [step.get("uses", "") for name in ("attest", "publish", "release") for step in jobs[name]["steps"]]
    assert not [each for each in trusted if each.startswith("actions/checkout@")]
    assert [(name, job["needs"]) for name, job in jobs.items() if "needs" in job] == [
        ("build", "test"), ("attest", "build"), ("publish", "attest"), ("release", "publish")
    ]  # fmt: skip


def test_all_tests_pass_before_anything_is_built() -> None:
    called = WORKFLOW["jobs"]["test"]["uses"]
    checks = yaml.safe_load((ROOT / called).read_text(encoding="utf-8"))
    assert "workflow_call" in checks[True]
    commands = [step["run"] for job in checks["jobs"].values() for step in job["steps"] if "run" in step]
    assert commands == ["make lint", "make charts", "make test"]
    assert "\n$ make test " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_no_value_of_github_is_code() -> None:
    assert [name for name, script in SCRIPTS.items() if "${{" in script] == []


# --- its scripts

SIGNED = "Check that the tag is signed, and its commit on main"


def test_a_signed_tag_on_main_is_accepted(checkout: Path) -> None:
    done = run_script(checkout, SIGNED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"KIND": "commit"}, f"{TAG} must be a signed tag, got a plain one"),
        ({"SIGNATURE": "unsigned"}, f"the signature of {TAG} must be valid, got unsigned"),
    ],
)
def test_other_tags_are_refused(checkout: Path, variables: dict[str, str], said: str) -> None:
    done = run_script(checkout, SIGNED, **variables)
    assert done.returncode == 1
    assert said in done.stderr


CHECKED = "Check the version and the changelog"


@pytest.mark.parametrize("tag", ["v9.9.9", f"v{VERSION}rc1", VERSION])
def test_a_tag_of_another_version_is_refused(checkout: Path, tag: str) -> None:
    done = run_script(checkout, CHECKED, GITHUB_REF_NAME=tag)
    assert done.returncode == 1
    assert f"the tag must be {TAG}" in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            f"## {VERSION} - 2030-01-02",
            f"## {VERSION} - unreleased",
            'must have the day of the release, got "unreleased"',
        ),
        (f"## {VERSION} - 2030-01-02", "## 0.0.9 - 2030-01-02", f"CHANGELOG.md must have a section {VERSION}"),
    ],
)
def test_a_changelog_without_the_release_is_refused(checkout: Path, before: str, after: str, said: str) -> None:
    changelog = checkout / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace(before, after), encoding="utf-8")
    try:
        done = run_script(checkout, CHECKED)
    finally:
        changelog.write_text(text, encoding="utf-8")
    assert done.returncode == 1
    assert said in done.stderr


@pytest.fixture(scope="module")
def runner(checkout: Path, installed: Installed) -> None:
    """Install the packages that the scripts need, apart from the wheel, into the runner's environments."""
    (listed,) = re.findall(r"cyclonedx-bom==\S+", SCRIPTS["Install the wheel, and list what it needs"])
    for name, kept in {"installed": installed.folder, "sbom": environment(listed)}.items():
        folder = checkout.parent / name
        shutil.copytree(kept / "bin", folder / "bin", symlinks=True)
        # Links are enough for files that pip never rewrites.
        not_there = shutil.ignore_patterns("eks_hardware*", "pip", "pip-*", "setuptools*", "pkg_resources")
        shutil.copytree(kept / "lib", folder / "lib", symlinks=True, copy_function=os.link, ignore=not_there)


@pytest.mark.usefixtures("runner")
def test_what_is_released(checkout: Path) -> None:
    """All other scripts in their order, without the fast tests, which `make test` runs too.

    The script that builds has run for the fixture ``distributions``.
    """
    assert list(SCRIPTS)[3] == BUILD
    for name in (each for each in SCRIPTS if each not in (SIGNED, "Run the fast tests", BUILD)):
        done = run_script(checkout, name, GITHUB_ENV=str(checkout / "env.txt"))
        assert done.returncode == 0, (name, done.stdout, done.stderr)
    sdist, wheel = f"eks_hardware-{VERSION}.tar.gz", f"eks_hardware-{VERSION}-py3-none-any.whl"
    sbom = f"eks-hardware-{VERSION}.cdx.json"
    assert {file.name for file in (checkout / "dist").iterdir()} == {sdist, wheel}
    release = checkout / "release"
    assert {file.name for file in release.iterdir()} == {sdist, wheel, sbom, "SHA256SUMS", "notes.md"}
    lines = (release / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    assert sums == {name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in (sbom, sdist, wheel)}
    notes = (release / "notes.md").read_text(encoding="utf-8")
    assert notes.startswith("###")
    assert "### State impact" in notes
    assert "\n## " not in notes
    found = json.loads((release / sbom).read_text(encoding="utf-8"))
    assert found["bomFormat"] == "CycloneDX"
    parts = {each["name"]: each["version"] for each in found["components"]}
    assert parts["eks-hardware"] == VERSION
    assert {"cdktf", "cdktf-cdktf-provider-aws", "click", "pydantic"} <= set(parts)
    assert not {"pip", "setuptools", "pytest", "cyclonedx-bom"} & set(parts)
    assert str(checkout.parent) not in json.dumps(found)
    assert (checkout / "env.txt").read_text(encoding="utf-8") == f"SBOM=release/{sbom}\n"
    said = (checkout / "gh-release.txt").read_text(encoding="utf-8").splitlines()
    assert said[:3] == ["release", "create", TAG]
    assert {f"release/{name}" for name in (sdist, wheel, sbom, "SHA256SUMS")} <= set(said)
    moved = (checkout / "gh-api.txt").read_text(encoding="utf-8").splitlines()
    assert "repos/OWNER/eks-hardware/git/refs/tags/v0" in moved
