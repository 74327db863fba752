"""What is slow to make is made once in a run of the tests, by whichever worker needs it first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Once = Callable[[str, Callable[[Path], None]], Path]
"""``once("name", make)``: the folder of that name, which ``make`` has filled, and which nobody writes to."""


def once_in(root: Path) -> Once:
    """Make folders below a root that all workers see."""

    def once(name: str, make: Callable[[Path], None]) -> Path:
        folder, done = root / name, root / f"{name}.done"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return once


def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this run that all workers see; without workers it is that of the only process."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    root.mkdir(exist_ok=True)
    return root
