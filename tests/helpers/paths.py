"""Paths in the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
GOLDEN = TESTS / "golden"
SHIPPED = ROOT / "config" / "strategies"
SPECIAL = TESTS / "synth" / "strategies"
"""Strategies for features that no shipped strategy uses."""


def repository_files() -> list[str]:
    """Return the files that Git would commit, relative to the repository, sorted; links are included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(name for name in listed if name and ((ROOT / name).is_symlink() or (ROOT / name).is_file()))


def files_below(folder: Path | str = ".") -> list[str]:
    """Return the files in a folder and its subfolders, relative to it, sorted."""
    return sorted(file.relative_to(folder).as_posix() for file in Path(folder).rglob("*") if file.is_file())
