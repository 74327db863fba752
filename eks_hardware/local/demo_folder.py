"""The CDKTF project that a demo runs in: the user's, this checkout, or one that the demo creates for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from eks_hardware.loader.discovery import DEFAULT_FOLDER, PROJECT_FILE, STRATEGIES_VARIABLE, read_environment
from eks_hardware.local import processes
from eks_hardware.local.user_cache import cache_folder
from eks_hardware.new_project import project_above, template
from eks_hardware.printable import reason

CHECKOUT = Path(__file__).resolve().parents[2]
_FILES = (PROJECT_FILE, "package.json")


class DemoError(Exception):
    """The demo cannot continue. The text is for the user."""


def find_root() -> Path:
    """Return the project around the working folder, otherwise this checkout, otherwise the demo's own project.

    Raises:
        DemoError: the demo's own project cannot be written.
    """
    if above := project_above(Path.cwd()):
        return above
    if (CHECKOUT / PROJECT_FILE).is_file():
        return CHECKOUT
    own = own_folder(os.environ)
    _create(own)
    return own


def own_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the demo's own project, in the user's cache."""
    return cache_folder(environ) / "demo"


def is_own(root: Path) -> bool:
    """Return whether a project is the demo's own."""
    return root == own_folder(os.environ)


def _create(root: Path) -> None:
    """Write the demo's own project, with the templates of ``eks-hardware init``."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (root / name).write_text(template(name), encoding="utf-8")
    except OSError as error:
        raise DemoError(f"{root}: {reason(error)}; set XDG_CACHE_HOME") from None


def install_cdktf(root: Path) -> None:
    """Install the cdktf that package.json pins, unless it is there or the user's is on the PATH.

    Raises:
        DemoError: npm is missing or failed.
    """
    if (root / "node_modules" / ".bin" / "cdktf").exists() or shutil.which("cdktf"):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise DemoError("npm is not on the PATH: install Node.js 20 or newer, https://nodejs.org")
    process = processes.start(
        [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=root,
        env=os.environ,
        stdout=subprocess.PIPE,
    )
    try:
        said = process.communicate()[0].decode(errors="replace").strip()
    finally:
        processes.stop(process)
    if process.returncode:
        raise DemoError(f"npm install failed in {root}:\n{said}")


def environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which the app runs in this Python environment, activated or not.

    In the demo's own project the strategies are the selected files, otherwise the shipped ones.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    if not is_own(root):
        return {"PATH": path}
    chosen = read_environment(environ).paths or [str(DEFAULT_FOLDER)]
    return {"PATH": path, STRATEGIES_VARIABLE: os.pathsep.join(str(Path(each).absolute()) for each in chosen)}
