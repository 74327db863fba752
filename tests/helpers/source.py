"""The Python files of the repository. Each is read and parsed once per process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def trees_with(file: Path, *words: str) -> Iterator[ast.Module]:
    """Yield the syntax trees of a file's parts that contain one of the words: searching is faster than parsing.

    ruff puts two empty lines around each function and class, so each is in one part. A program in a text has such
    parts, too.
    """
    present = [word for word in words if word in text_of(file)]
    for part in text_of(file).split("\n\n\n") if present else ():
        if any(word in part for word in present):
            yield ast.parse(part)
