"""Expensive resources of a test run, created once by the worker that needs them first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Once = Callable[[str, Callable[[Path], None]], Path]
"""``once("name", make)``: the folder of that name, filled by ``make`` and read-only for tests."""


def once_in(root: Path) -> Once:
    """Create folders in a root that all workers share."""

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
    """Return this run's folder that all workers share; without workers, the folder of the only process."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    root.mkdir(exist_ok=True)
    return root
