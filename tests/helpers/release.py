"""Scripts of the release workflow, run on a copy of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

import eks_hardware
from helpers.installed import GIT
from helpers.paths import ROOT

VERSION = eks_hardware.__version__
TAG = f"v{VERSION}"
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
SCRIPTS = {
    step["name"]: step["run"] for job in WORKFLOW["jobs"].values() for step in job.get("steps", ()) if "run" in step
}
BUILD = "Build the sdist, and the wheel from it"


def date_the_changelog(checkout: Path) -> None:
    """Give the section of this version a date, as a release does."""
    changelog = checkout / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace(f"## {VERSION} - unreleased", f"## {VERSION} - 2030-01-02"), encoding="utf-8")


def commit(checkout: Path) -> None:
    """Make the folder a repository with a commit on main, and with the environment of this checkout."""
    (checkout / ".venv").symlink_to(ROOT / ".venv")
    for command in ("init -q -b main", "add README.md", "commit -qm first", "update-ref refs/remotes/origin/main HEAD"):
        subprocess.run(["git", *command.split()], cwd=checkout, check=True, env={**os.environ, **GIT})


# Those of pip and of the network, which differ between machines.
_PASSED = ("HOME", "LANG", "PIP_", "HTTP", "http", "NO_PROXY", "no_proxy", "SSL_CERT_")


def run_script(checkout: Path, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the workflow as a runner does."""
    assert "${{" not in SCRIPTS[name]
    path = os.pathsep.join([str(checkout / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", SCRIPTS[name]],
        cwd=checkout,
        env={
            **{name: value for name, value in os.environ.items() if name.startswith(_PASSED)},
            **GIT,
            "PATH": path,
            "GITHUB_REF_NAME": TAG,
            "GITHUB_REPOSITORY": "OWNER/eks-hardware",
            "RUNNER_TEMP": str(checkout.parent),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            # To compile the AWS provider takes longer than everything else, and no step imports it.
            "PIP_NO_COMPILE": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
