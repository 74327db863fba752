"""The wheel is built and installed once for all workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.installed import Distributions, Installed, build, copy_checkout, install, leave_rubbish
from helpers.shared import Once


@pytest.fixture(scope="session")
def distributions(once: Once) -> Distributions:
    """Return sdist and wheel, built from a checkout with unrelated files in it."""

    def make(folder: Path) -> None:
        copy_checkout(folder / "source")
        leave_rubbish(folder / "source")
        build(folder / "source", folder / "dist")

    folder = once("distributions", make)
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return Distributions(folder / "source", sdist, wheel)


@pytest.fixture(scope="session")
def installed(once: Once, distributions: Distributions) -> Installed:
    """Return an environment with the wheel; tests do not write to it."""
    folder = once("installed", lambda new: new.symlink_to(install(distributions.wheel).folder))
    return Installed(folder.resolve())
