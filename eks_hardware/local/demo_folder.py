"""The CDKTF project that a demo runs in: the user's, this checkout, or one that the demo creates for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from eks_hardware.findings import StrategyError
from eks_hardware.loader.discovery import (
    DEFAULT_FOLDER,
    PROJECT_FILE,
    PROJECT_FOLDER,
    STRATEGIES_VARIABLE,
    find,
    read_environment,
)
from eks_hardware.loader.yaml_document import parse
from eks_hardware.loader.yaml_files import read_text
from eks_hardware.loader.yaml_nodes import Scalar
from eks_hardware.local import processes
from eks_hardware.local.user_cache import cache_folder
from eks_hardware.new_project import project_above, runs_strategies, template
from eks_hardware.printable import quoted, reason
from eks_hardware.suggestions import LISTED, did_you_mean, some

CHECKOUT = Path(__file__).resolve().parents[2]
_FILES = (PROJECT_FILE, "package.json")
DEFAULT_STACK = "mixed-hardware"


class DemoError(Exception):
    """Raised when the demo cannot continue. The text is for the user."""


def find_root() -> Path:
    """Return the project that contains the working folder, otherwise this checkout, otherwise the demo's own project.

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


def known_stack(root: Path, stack: str | None, environ: Mapping[str, str]) -> str:
    """Return the stack to deploy: by default mixed-hardware, or the project's only strategy.

    If the project's stacks are its strategies, an unknown stack is refused before anything starts.

    Raises:
        DemoError: no strategy has this name, or no name was given and the project has several strategies without
            mixed-hardware.
    """
    if root != CHECKOUT and not is_own(root) and not runs_strategies(root):
        return stack or DEFAULT_STACK  # only synthesis shows another app's stacks
    names = sorted(name for name, _ in _strategies(root, environ))
    chosen = stack or (names[0] if len(names) == 1 else DEFAULT_STACK)
    if not names or chosen in names:
        return chosen
    known = f"stacks: {some(names, LISTED)}"
    raise DemoError(
        f"unknown stack {quoted(stack)}; {did_you_mean(stack, names, known)}" if stack else f"STACK is missing; {known}"
    )


def strategy_file(root: Path, stack: str, environ: Mapping[str, str]) -> Path | None:
    """Return the file of a stack's strategy; None for a stack that is not made from one."""
    return dict(_strategies(root, environ)).get(stack)


def _strategies(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    paths = read_environment({**environ, **environment(root, environ)}).paths or [
        str(DEFAULT_FOLDER) if root == CHECKOUT else PROJECT_FOLDER
    ]
    for file in find([root / path for path in paths])[0]:
        try:
            document = parse(read_text(file, str(file)), str(file)).root
        except StrategyError:
            continue  # the synthesis reports it
        name = document.get("name") if document else None
        if isinstance(name, Scalar):
            yield str(name.value), file


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
    """Install the cdktf that package.json pins, unless it is installed or a cdktf is on the PATH.

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
        output = process.communicate()[0].decode(errors="replace").strip()
    finally:
        processes.stop(process)
    if process.returncode:
        raise DemoError(f"npm install failed in {root}:\n{output}")


def environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the app run in this Python environment, activated or not.

    The demo's own project uses the strategy files that the user selected, otherwise the shipped ones.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    if not is_own(root):
        return {"PATH": path}
    chosen = read_environment(environ).paths or [str(DEFAULT_FOLDER)]
    return {"PATH": path, STRATEGIES_VARIABLE: os.pathsep.join(str(Path(each).absolute()) for each in chosen)}
