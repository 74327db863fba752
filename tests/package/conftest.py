"""The wheel is built and installed once for all workers: half a minute."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.installed import Distributions, Installed, build, copy_checkout, install, leave_rubbish


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """A folder with a space in its name that all workers see; the last one removes what is large."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "an install"
    folder.mkdir(exist_ok=True)
    with (folder / "users.lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield folder
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (folder / "done").unlink(missing_ok=True)
            shutil.rmtree(folder / "venv", ignore_errors=True)


@pytest.fixture(scope="session")
def distributions(shared: Path) -> Distributions:
    """Sdist and wheel, built from a checkout with rubbish in it."""
    source, target = shared / "source", shared / "dist"
    with (shared / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "built").exists():
            copy_checkout(source)
            leave_rubbish(source)
            build(source, target)
            (shared / "built").touch()
    (sdist,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return Distributions(source, sdist, wheel)


@pytest.fixture(scope="session")
def installed(shared: Path, distributions: Distributions) -> Installed:
    """An environment with the wheel; no test writes to it."""
    folder = shared / "venv"
    with (shared / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "done").exists():
            install(distributions.wheel, folder)
            (shared / "done").touch()
    return Installed(folder)
