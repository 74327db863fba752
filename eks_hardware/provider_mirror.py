"""Link the Terraform provider mirror that ``make setup`` recorded to the folder where ``cdktf deploy`` finds it.

This module imports neither the framework nor the demo, so ``link_mirror`` adds almost no time to an app.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

BUILD = Path(".build") / "terraform"
"""Folder of files generated for Terraform, below the project folder."""
RECORD = BUILD / "plugins"
"""Link to the recorded mirror, below the project folder."""


def link_mirror(outdir: Path, root: Path | None = None) -> None:
    """Make a project's recorded mirror available to Terraform, without variables or configuration.

    Terraform looks for a mirror in ``terraform.d/plugins`` in its working folder. With cdktf, this is the stack's
    folder in ``outdir`` (``cdktf.out``). Does nothing if no mirror is recorded; file system errors are ignored.
    """
    with contextlib.suppress(OSError):
        record = (root or Path.cwd()) / RECORD
        usable = record.is_symlink() and record.is_dir()
        for stack in sorted((outdir / "stacks").iterdir()):
            place = stack / "terraform.d" / "plugins"
            if usable:
                link(place, record.resolve())
            elif place.is_symlink():
                place.unlink()  # from an earlier setup


def link(place: Path, target: Path) -> None:
    """Point a symbolic link at a folder; anything else in its place is kept."""
    if place.is_symlink():
        if place.readlink() == target:
            return
        place.unlink()
    elif place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # another run was faster
        place.symlink_to(target, target_is_directory=True)
