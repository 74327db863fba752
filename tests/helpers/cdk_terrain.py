"""Environment with both CDK Terrain and CDK for Terraform, like ``pip install 'eks-hardware[cdktn]'``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from helpers.environments import environment
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
    """Return Python of the environment. The project's own code is not installed: the tests use the checkout."""
    return environment(*requirements(), constraints=CONSTRAINTS) / "bin" / "python"


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
