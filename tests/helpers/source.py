"""The Python files of the repository. Each is read and parsed once per process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from helpers.paths import ROOT


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    """Return the Python files in folders of the repository, sorted; symbolic links are not followed."""
    return tuple(
        sorted(
            file
            for folder in folders
            for file in (ROOT / folder).rglob("*.py")
            if "__pycache__" not in file.parts and not any(parent.is_symlink() for parent in file.parents)
        )
    )


@cache
def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(text_of(file))
