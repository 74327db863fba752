"""Environment with both CDK Terrain and CDK for Terraform, like ``pip install 'eks-hardware[cdktn]'``."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from helpers.paths import ROOT, SHIPPED, SPECIAL
from helpers.running import Run

if sys.version_info >= (3, 11):
    import tomllib
else:  # is installed with pytest there
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

CONSTRAINTS = ROOT / "constraints-cdktn.txt"
SWITCH = "EKS_HARDWARE_FRAMEWORK"


def requirements() -> list[str]:
    """Return the requirements of the project and its extra ``cdktn``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["cdktn"]]


def installed_python() -> Path:
    """Return Python of the environment; one test worker creates it per set of requirements, in about 20 seconds.

    The project's own code is not installed: the tests use the checkout.
    """
    wanted = "\n".join([sys.version, *requirements(), CONSTRAINTS.read_text(encoding="utf-8")])
    folder = ROOT / ".build" / "cdktn"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        venv = folder / hashlib.sha256(wanted.encode()).hexdigest()[:12]
        python = venv / "bin" / "python"
        done = venv / "installed"
        if not done.is_file():
            _run(sys.executable, "-m", "venv", "--clear", str(venv))
            install = ["install", "-qq", "--disable-pip-version-check", "--no-compile", "-c", str(CONSTRAINTS)]
            _run(str(python), "-m", "pip", *install, *requirements())
            done.touch()
    return python


def run_python(python: Path, framework: str, outdir: Path, *arguments: str, **variables: str) -> Run:
    """Run Python with the checkout on its path and the given framework; an empty name sets none."""
    variables = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": os.pathsep.join(map(str, (SHIPPED, SPECIAL))),
        "PYTHONPATH": str(ROOT),
        SWITCH: framework,
        **variables,
    }
    command = [str(python), *arguments]
    done = subprocess.run(
        command, cwd=outdir.parent, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr, outdir)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
