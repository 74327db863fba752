"""Which strategy files there are: every one in a folder, or those that are named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eks_hardware.config.errors import Finding, StrategyError
from eks_hardware.config.loader import yaml_source as ys

DEFAULT_FOLDER = Path(__file__).parent.parent / "strategies"
SUFFIXES = (".yaml", ".yml")

STRATEGIES_VARIABLE = "EKS_HARDWARE_STRATEGIES"
OVERLAY_VARIABLE = "EKS_HARDWARE_OVERLAY"


class Selection(NamedTuple):
    """What the environment asks for: files or folders (None: the default folder), and overlays in order."""

    paths: list[str] | None
    overlays: list[str]


def read_environment(environ: Mapping[str, str]) -> Selection:
    """The only place where the configuration looks at environment variables.

    Args:
        environ: ``EKS_HARDWARE_STRATEGIES`` (files and folders, separated as in ``PATH``) and
            ``EKS_HARDWARE_OVERLAY`` (names, separated by commas).
    """
    paths = [part for part in environ.get(STRATEGIES_VARIABLE, "").split(os.pathsep) if part.strip()]
    overlays = [part.strip() for part in environ.get(OVERLAY_VARIABLE, "").split(",") if part.strip()]
    return Selection(paths or None, overlays)


def discover(paths: Sequence[Path | str] | None, default_folder: Path | str = DEFAULT_FOLDER) -> list[Path]:
    """The strategy files, sorted by name, each once.

    Args:
        paths: files and folders; None for the default folder. Empty entries are ignored.
        default_folder: folder of the strategies when nothing is named.

    Raises:
        StrategyError: STRATEGY_PATH for every entry that does not exist, and every folder without a strategy.
    """
    files, findings = find(paths, default_folder)
    if findings:
        raise StrategyError(findings)
    return files


def find(
    paths: Sequence[Path | str] | None, default_folder: Path | str = DEFAULT_FOLDER
) -> tuple[list[Path], list[Finding]]:
    """Like :func:`discover`, but returns what is there and the findings about what is not."""
    named = [entry for entry in paths or () if str(entry).strip()]
    found: dict[str, Path] = {}
    findings: list[Finding] = []
    for entry in named or [default_folder]:
        try:
            files = _files(Path(entry))
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            findings.append(Finding("STRATEGY_PATH", "", _problem(entry, error)))
            continue
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return sorted(found.values(), key=lambda file: (file.name, str(file))), findings


def named_strategy(name: str, paths: Sequence[Path | str] | None) -> Path:
    """The file of this path, or else the one called so among the strategies that would become stacks.

    Args:
        name: path of a file, or its name without the suffix.
        paths: files and folders that the environment names; None for the default folder.
    """
    path = Path(name)
    if path.exists() or path.name != name:
        return path
    return next((file for file in find(paths)[0] if file.stem == name), path)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        path.lstat()  # raises where nothing is; a broken link is there, and reading it says so
        return [path]
    files = [file for file in path.iterdir() if _is_strategy(file)]
    if not files:
        raise OSError(0, "there is no .yaml file in this folder")
    return files


def _is_strategy(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".") and not file.is_dir()


def _problem(entry: Path | str, error: OSError | ValueError) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    name = ys.display_name(entry)
    return f"{ys.quoted(name)}: {ys.shown(reason).lower()}; name strategy files, or folders of them"
