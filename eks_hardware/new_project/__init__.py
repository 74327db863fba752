"""The files that ``eks-hardware init`` writes around strategies, so that they form a project.

The templates are in ``files/``. A project is a folder with a ``cdktf.json`` that runs ``python -m eks_hardware``; its
strategies are in ``strategies/`` (:mod:`eks_hardware.loader.discovery`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eks_hardware import installed_from
from eks_hardware.advisor.strategies.strategy_text import WriteError
from eks_hardware.advisor.strategies.write import write_new
from eks_hardware.loader.discovery import PROJECT_FILE, PROJECT_FOLDER
from eks_hardware.printable import reason

__all__ = [
    "BUILD_WHEEL",
    "FILES",
    "ProjectFile",
    "has_schema",
    "local_source_notice",
    "project_above",
    "runs_strategies",
    "strategy_path",
    "template",
    "with_schema",
    "write_project",
]

ACTION_FILE = ".github/eks-hardware/action.yml"
SCHEMA_FILE = "strategy.schema.json"
_TEMPLATES = Path(__file__).with_name("files")
_PUBLISHED_HOOK = "    hooks:\n      - id: eks-hardware-validate\n"
_LOCAL_COMMENT = (
    "# This path exists on one machine only: CI and other machines cannot install it. Replace it with a wheel in the\n"
    "# repository, a version from an index, or a Git URL. README.md shows how.\n"
)
_CI_COMMENT = (
    "# This workflow fails as long as requirements.txt contains a path on one machine, which CI cannot install.\n"
    "# Replace it with a wheel in the repository, a version from an index, or a Git URL. README.md shows how.\n"
)
BUILD_WHEEL = (
    ".venv/bin/pip wheel --no-deps --wheel-dir wheels -r requirements.txt",
    f"echo ./wheels/{installed_from.WHEEL} > requirements.txt",
)
"""Commands after which the project's requirements can be installed everywhere."""
_OUR_APP = re.compile(r"-m\s+eks_hardware\b")


@dataclass(frozen=True)
class ProjectFile:
    """A file of a project, from a template in ``files/`` or a data file.

    ``needed`` is what an existing file must contain. In both, ``@source@`` is where eks-hardware was installed from.
    """

    path: str
    template: str
    purpose: str
    needed: str = ""

    def status(self, *, written: bool) -> str:
        """Return the text that commands print after the file's path."""
        return self.purpose if written else f"kept{self.needed and f'; {self.needed}'}"


FILES = (
    ProjectFile(PROJECT_FILE, "cdktf.json", "the app: python -m eks_hardware"),
    ProjectFile("requirements.txt", "requirements.txt", "@source@", "must contain @source@"),
    ProjectFile("package.json", "package.json", "cdktf-cli 0.21.0", "must contain cdktf-cli 0.21.0"),
    ProjectFile(SCHEMA_FILE, "../../config/strategy.schema.json", "completion and checks in editors"),
    ProjectFile("overlays/development.yaml", "development.yaml", "settings for a cheaper cluster"),
    ProjectFile("overlays/production.yaml", "production.yaml", "settings for a protected cluster"),
    ProjectFile(".pre-commit-config.yaml", "pre-commit.yaml", "checks every commit"),
    ProjectFile(".github/workflows/strategies.yml", "strategies.yml", "checks every pull request"),
    ProjectFile(ACTION_FILE, "action.yml", "the steps of that check"),
    ProjectFile(".gitignore", "gitignore", "environments, output, state", "must contain cdktf.out and *.tfstate"),
    ProjectFile("README.md", "README.md", "the commands"),
)
"""In the order of the output."""


def project_above(folder: Path) -> Path | None:
    """Return the nearest folder with a ``cdktf.json``: this one, or one above it."""
    folder = folder.absolute()
    return next((parent for parent in (folder, *folder.parents) if (parent / PROJECT_FILE).is_file()), None)


def runs_strategies(folder: Path) -> bool:
    """Return whether the app of a folder is ``python -m eks_hardware``."""
    try:
        content = json.loads((folder / PROJECT_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and bool(_OUR_APP.search(str(content.get("app", ""))))


def strategy_path(folder: Path, name: str) -> Path:
    """Return the file of a strategy in a project."""
    return folder / PROJECT_FOLDER / f"{name}.yaml"


def template(name: str) -> str:
    """Return the text of a file in ``files/``."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def has_schema(strategy: Path) -> bool:
    """Return whether a file in ``strategies/`` can name the schema of its project."""
    return strategy.parent.name == PROJECT_FOLDER and (strategy.parent.parent / SCHEMA_FILE).is_file()


def with_schema(text: str) -> str:
    """Return the text of a strategy in ``strategies/`` with the line that names its schema for editors."""
    line = f"# yaml-language-server: $schema=../{SCHEMA_FILE}\n"
    return text if text.startswith(line) else line + text


def write_project(folder: Path, name: str, private_in: str | None = None) -> Iterator[tuple[ProjectFile, bool]]:
    """Write missing files of a project, and yield each file with whether it was written.

    Args:
        name: the first strategy.
        private_in: the strategy's region, if its Kubernetes API is reachable only from the VPC.

    Raises:
        WriteError: a file cannot be written; earlier files are kept.
    """
    source = installed_from.source()
    for file in FILES:
        purpose, needed = (text.replace("@source@", source.summary) for text in (file.purpose, file.needed))
        filled = replace(file, purpose=purpose, needed=needed)
        target = folder / file.path
        if os.path.lexists(target):
            yield filled, False
            continue
        _create_folder(target.parent)
        write_new(target, _filled(file.template, source, name, private_in))
        yield filled, True
    if source.wheel:
        yield (
            ProjectFile("wheels/", "", "the wheel that you installed: commit it"),
            _copy(source.wheel, folder),
        )


def local_source_notice(source: installed_from.Source) -> str:
    """Return the fix for requirements that CI cannot install, to print above ``BUILD_WHEEL``; empty if CI can."""
    if not source.local:
        return ""
    return (
        "requirements.txt contains a path on this machine, which CI and other machines cannot install. Before you "
        "push, replace it with a version from an index or a Git URL, or build a wheel and commit wheels/:"
    )


def _filled(name: str, source: installed_from.Source, strategy: str, private_in: str | None) -> str:
    """Return the text of a template with its placeholders filled in."""
    text = template(name)
    if name == "README.md":
        text = text.replace("@local_source@\n", template("local-source.md") if source.local else "")
        text = text.replace("@private@\n", template("private.md") if private_in else "")
    values = {
        "# @local_source@\n": _CI_COMMENT if source.local else "",
        "@hook@\n": _hook(source),
        "@requirement@": _requirement(source),
        "@with_local@": source.with_extra("local"),
        "@wheel@": installed_from.WHEEL,
        "@region@": private_in or "",
        "@name@": strategy,
    }
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _requirement(source: installed_from.Source) -> str:
    """Return the line of requirements.txt, below a comment if it works on this machine only."""
    if not source.local:
        return source.requirement
    return f"{_LOCAL_COMMENT}{source.requirement}"


def _hook(source: installed_from.Source) -> str:
    """Return the pre-commit hook: the repository's at the installed commit, or one for the project's environment."""
    if source.commit:
        repository, commit = source.commit
        return f"  - repo: {repository}\n    rev: {commit}   # as in requirements.txt\n" + _PUBLISHED_HOOK
    return template("hook.yaml")


def _copy(wheel: Path, folder: Path) -> bool:
    """Copy a wheel to where a project's requirements.txt expects it; return whether it was missing there."""
    target = folder / "wheels" / wheel.name
    if target.exists():
        return False
    _create_folder(target.parent)
    try:
        shutil.copyfile(wheel, target)
    except OSError as error:
        raise WriteError(f"{target}: {reason(error)}") from None
    return True


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{folder}: {reason(error)}") from None
