"""The wheel, built from an sdist of this checkout, and an environment with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path
from typing import Any

from helpers.environments import environment, pip_install
from helpers.paths import ROOT

CODE = ("config", "constructs", "eks_hardware", "stacks")
RUBBISH = (
    "config/catalogue/draft.json.orig",
    "config/strategies/.mine.yaml.swp",
    "constructs/network/notes.md",
    "constructs/network/old.bak",
    "eks_hardware/__pycache__/gone.cpython-311.pyc",
    "eks_hardware/chart.tgz",
    "stacks/terraform.demo.tfstate",
)
"""Files in a checkout that are never published."""

ACCESS = ("--api-access", "93.184.216.34/32")
"""So that a process does not ask for the address of this machine."""
INIT = ("eks-hardware", "init", "demo", "--hardware", "gpu", "--task", "inference", "--yes", *ACCESS)
"""Creates a project in the working folder."""
GIT: dict[str, Any] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
"""Variables with which Git commits on any machine, without its settings."""

# Variables that a separate user's process would keep.
_KEPT = ("HOME", "LANG", "LC_ALL", "TMPDIR", "JSII_RUNTIME_PACKAGE_CACHE_ROOT")


@dataclass(frozen=True)
class Distributions:
    """The published files.

    Attributes:
        source: the copy of the checkout that they are built from.
        sdist: built from the copy.
        wheel: built from the sdist.
    """

    source: Path
    sdist: Path
    wheel: Path

    def code_files(self) -> set[str]:
        """Return every file of the package that Git would commit; its links are replaced by the top-level folders."""
        files = {
            file.relative_to(self.source).as_posix()
            for folder in CODE
            for file in (self.source / folder).rglob("*")
            if file.is_file()
        } - set(RUBBISH)
        return {file if file.startswith("eks_hardware/") else f"eks_hardware/{file}" for file in files}


@dataclass(frozen=True)
class Installed:
    """Environment with the wheel and its dependencies, and nothing of this checkout."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    @property
    def package(self) -> Path:
        """The folder of ``eks_hardware``."""
        (found,) = self.folder.glob("lib/python*/site-packages/eks_hardware")
        return found

    def environment(self, **variables: str) -> dict[str, str]:
        """Variables with the environment's commands first on the path, and nothing of this process."""
        path = [each for each in os.environ["PATH"].split(os.pathsep) if not Path(each).is_relative_to(ROOT)]
        return {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "PATH": os.pathsep.join([str(self.folder / "bin"), *path]),
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            "CHECKPOINT_DISABLE": "1",
            "COLUMNS": "80",
            **variables,
        }

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command such as ``python`` or ``eks-hardware`` as in an activated environment."""
        return subprocess.run(
            ["/usr/bin/env", *map(str, command)],
            cwd=cwd,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def copy_checkout(target: Path) -> None:
    """Copy the files of this checkout that Git would commit."""
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    ignored = [line.rstrip("/") for line in lines if line and not line.startswith("#")]
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", *ignored), symlinks=True)


def leave_rubbish(source: Path) -> None:
    """Add files to a copy of the checkout that people and programs leave behind."""
    for each in RUBBISH:
        (source / each).parent.mkdir(parents=True, exist_ok=True)
        (source / each).write_text("rubbish", encoding="utf-8")


def install(wheel: Path) -> Installed:
    """Install a wheel into an environment with its dependencies, in the versions of the checkout."""
    folder = environment(*_requirements(wheel), constraints=ROOT / "constraints.txt")
    pip_install(folder, "--no-deps", "--force-reinstall", wheel)
    return Installed(folder)


def _requirements(wheel: Path) -> list[str]:
    """Return the requirements of a wheel without its extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    return sorted(each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each)
