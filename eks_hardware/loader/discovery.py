"""Selection of strategy files: all files in a folder, or given ones.

By default, they are the files in ``strategies`` in the working folder, which is the folder of ``cdktf.json`` when
``cdktf`` runs the app. In a checkout of this project they are the files in ``config/strategies``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from eks_hardware import data
from eks_hardware.findings import Finding, StrategyError
from eks_hardware.loader.yaml_files import SUFFIXES, display_name
from eks_hardware.printable import quoted, shown
from eks_hardware.suggestions import LISTED, close, question, some

DEFAULT_FOLDER = data.FOLDER.resolve() / "strategies"
"""The shipped strategies: the default in a checkout, and examples for other projects."""
PROJECT_FOLDER = "strategies"
"""Folder of a project's strategies, next to its ``cdktf.json``."""
PROJECT_FILE = "cdktf.json"

STRATEGIES_VARIABLE = "EKS_HARDWARE_STRATEGIES"
OVERLAY_VARIABLE = "EKS_HARDWARE_OVERLAY"

_VERSION = re.compile(rb"^\s*\{?\s*[\"']?version[\"']?\s*:", re.MULTILINE)

_NAMED = "name strategy files, or folders that contain them"
_DEFAULT = f"`eks-hardware init NAME` writes a first strategy; {STRATEGIES_VARIABLE} selects other files and folders"


class FromVariable(str):
    """A path in ``EKS_HARDWARE_STRATEGIES``. Errors about it name the variable."""

    __slots__ = ()


class Selection(NamedTuple):
    """The environment's selection: files or folders (None for the default folder), and overlays in order."""

    paths: list[str] | None
    overlays: list[str]


def read_environment(environ: Mapping[str, str]) -> Selection:
    """Read ``EKS_HARDWARE_STRATEGIES`` (separated as in ``PATH``) and ``EKS_HARDWARE_OVERLAY`` (by commas)."""
    paths: list[str] = [
        FromVariable(part) for part in environ.get(STRATEGIES_VARIABLE, "").split(os.pathsep) if part.strip()
    ]
    overlays = [part.strip() for part in environ.get(OVERLAY_VARIABLE, "").split(",") if part.strip()]
    return Selection(paths or None, overlays)


def default_folder() -> Path:
    """Return the default strategy folder: ``strategies`` in the working folder, or this checkout's own."""
    checkout = DEFAULT_FOLDER.parent.parent
    if not (checkout / PROJECT_FILE).is_file():  # installed
        return Path(PROJECT_FOLDER)
    elsewhere = Path(PROJECT_FILE).is_file() and not checkout.samefile(Path())
    return Path(PROJECT_FOLDER) if elsewhere else DEFAULT_FOLDER


def discover(paths: Sequence[Path | str] | None) -> list[Path]:
    """Return the strategy files, sorted by name, without duplicates.

    Args:
        paths: files and folders; None for :func:`default_folder`. Empty entries are ignored.

    Raises:
        StrategyError: STRATEGY_PATH for every path that does not exist, and every folder without a strategy.
    """
    files, findings = find(paths)
    if findings:
        raise StrategyError(findings)
    return files


def find(paths: Sequence[Path | str] | None) -> tuple[list[Path], list[Finding]]:
    """Like :func:`discover`, but return the existing files and the findings about missing ones."""
    named = [entry for entry in paths or () if str(entry).strip()]
    remedy = _NAMED if named else _DEFAULT
    found: dict[str, Path] = {}
    findings: list[Finding] = []
    for entry in named or [default_folder()]:
        try:
            files = _files(Path(entry))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            given_in = f"{STRATEGIES_VARIABLE}: " if isinstance(entry, FromVariable) else ""
            findings.append(Finding("STRATEGY_PATH", "", given_in + _missing(entry, error, remedy)))
            continue
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values(), key=lambda file: (file.name, str(file))), findings


def _missing(entry: Path | str, error: OSError | ValueError, remedy: str) -> str:
    """Return the message about a path without strategies. A misspelled name or file gets those that exist."""
    path, text = Path(entry), quoted(display_name(str(entry)))
    gone = remedy == _NAMED and "\0" not in str(entry) and not os.path.lexists(entry)
    # The variable accepts paths only, so no names are suggested for it. A known name gets here only from a command that
    # accepts no names.
    known = [] if isinstance(entry, FromVariable) else _known_names()
    if gone and path.suffix.lower() in SUFFIXES:
        if there := _strategies_in(path.parent):
            return f"{text} does not exist{_similar(path.name, there)} (strategy files there: {some(there, LISTED)})"
        if known:
            return f"{text} does not exist{_similar(path.stem, known)} (strategies: {some(known, LISTED)})"
    if gone and known and path.name == str(entry) and not path.suffix and path.name not in known:
        hint = f"{_similar(path.name, known)} (strategies: {some(known, LISTED)})"
        return f"{text} is not a file or the name of a strategy{hint}"
    reason = getattr(error, "strerror", None) or str(error)
    return f"{text}: {shown(reason).lower()}; {remedy}"


def _known_names() -> list[str]:
    return sorted(known_strategies(read_environment(os.environ).paths))


def _similar(name: str, names: Sequence[str]) -> str:
    meant = close(name, names)
    return f"; {question(meant)}" if meant else ""


def _strategies_in(folder: Path) -> list[str]:
    """Return the names of the strategy files in a folder; none if it does not exist."""
    with suppress(OSError):
        return sorted(file.name for file in folder.iterdir() if _is_strategy(file) and _has_version(file))
    return []


def _has_version(file: Path) -> bool:
    """Return whether a YAML file has a strategy's field ``version``. A folder can contain other files."""
    with suppress(OSError):
        return bool(_VERSION.search(file.read_bytes()))
    return False


def named_strategy(name: str, paths: Sequence[Path | str] | None) -> Path:
    """Return the file at this path, or otherwise the strategy with this name in ``paths`` or the shipped ones."""
    path = Path(name)
    if path.exists() or path.name != name:
        return path
    return known_strategies(paths).get(name, path)


def known_strategies(paths: Sequence[Path | str] | None) -> dict[str, Path]:
    """Return the files that commands find by name: those in ``paths`` (default: this project's), then shipped files.

    Missing folders are ignored. If several files have the same name, the first is used.
    """
    known: dict[str, Path] = {}
    for entry in (*(paths or [default_folder()]), DEFAULT_FOLDER):
        with suppress(OSError, ValueError):
            for file in sorted(_files(Path(entry))):
                known.setdefault(file.stem, file)
    return known


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        path.lstat()  # raises if the path does not exist; a broken link exists, and is reported when it is read
        return [path]
    files = [file for file in path.iterdir() if _is_strategy(file)]
    if not files:
        raise OSError(0, "the folder has no .yaml file")
    return files


def _is_strategy(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".") and not file.is_dir()
