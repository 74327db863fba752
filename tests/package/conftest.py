"""The wheel is built and installed once for all workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.installed import INIT, Distributions, Installed, copy_checkout, install, leave_rubbish
from helpers.release import BUILD, commit, date_the_changelog, run_script
from helpers.shared import Once


@pytest.fixture(scope="session")
def distributions(once: Once) -> Distributions:
    """Return sdist and wheel, which the release workflow built from a checkout with unrelated files in it."""

    def make(folder: Path) -> None:
        source = folder / "source"
        copy_checkout(source)
        leave_rubbish(source)
        date_the_changelog(source)
        commit(source)
        done = run_script(source, BUILD)
        assert done.returncode == 0, (done.stdout, done.stderr)

    source = once("distributions", make) / "source"
    (sdist,), (wheel,) = (source / "dist").glob("*.tar.gz"), (source / "dist").glob("*.whl")
    return Distributions(source, sdist, wheel)


@pytest.fixture(scope="session")
def installed(once: Once, distributions: Distributions) -> Installed:
    """Return an environment with the wheel; tests do not write to it."""
    folder = once("installed", lambda new: new.symlink_to(install(distributions.wheel).folder))
    return Installed(folder.resolve())


@pytest.fixture(scope="session")
def new_project(once: Once, installed: Installed) -> Path:
    """Return the folder that ``eks-hardware init`` filled in a path with a space; tests copy it."""

    def make(folder: Path) -> None:
        (folder / "our clusters").mkdir(parents=True)
        done = installed.run(*INIT, cwd=folder / "our clusters")
        assert (done.returncode, done.stderr) == (0, "")

    return once("project", make) / "our clusters"
