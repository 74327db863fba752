"""Virtual environments that are created once and kept for later runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from helpers.paths import ROOT

_PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def environment(*requirements: str, constraints: Path = Path(os.devnull)) -> Path:
    """Return the folder of an environment with these packages, which the first worker creates in half a minute.

    Tests do not change it, but may install a build of this project into it. The folder's name contains a space.
    """
    wanted = "\n".join([sys.version, *requirements, constraints.read_text(encoding="utf-8")])
    place = ROOT / ".build" / "an install"
    place.mkdir(parents=True, exist_ok=True)
    folder = place / hashlib.sha256(wanted.encode()).hexdigest()[:12]
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").is_file():
            run_or_fail(sys.executable, "-m", "venv", "--clear", folder)
            pip_install(folder, "-c", constraints, *requirements)
            (folder / "installed").touch()
    return folder


def pip_install(folder: Path, *arguments: str | Path) -> None:
    """Install packages into an environment, or fail with pip's output."""
    run_or_fail(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", *arguments)


def run_or_fail(*command: str | Path) -> None:
    """Run a command, or fail with its output."""
    done = subprocess.run(
        [str(each) for each in command], env={**os.environ, **_PIP}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
