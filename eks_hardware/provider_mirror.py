"""The Terraform provider mirror that ``make setup`` recorded, where a plain ``cdktf deploy`` finds it.

Nothing here imports the framework or the demo, so that an app can call ``link_mirror`` for next to nothing.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

BUILD = Path(".build") / "terraform"
"""What is generated for Terraform, below the project folder."""
RECORD = BUILD / "plugins"
"""A link to the recorded mirror, below the project folder."""


def link_mirror(outdir: Path, root: Path | None = None) -> None:
    """Let Terraform find the recorded mirror of a project, without any variable or configuration.

    Terraform looks for a mirror in ``terraform.d/plugins`` of its working folder, which for cdktf is the folder of the
    stack in ``outdir`` (``cdktf.out``). Does nothing when no mirror is recorded, and never raises.
    """
    with contextlib.suppress(OSError):
        record = (root or Path.cwd()) / RECORD
        usable = record.is_symlink() and record.is_dir()
        for stack in sorted((outdir / "stacks").iterdir()):
            place = stack / "terraform.d" / "plugins"
            if usable:
                link(place, record.resolve())
            elif place.is_symlink():
                place.unlink()  # of an earlier setup


def link(place: Path, target: Path) -> None:
    """Point a symbolic link at a folder; something that is no link stays."""
    if place.is_symlink():
        if place.readlink() == target:
            return
        place.unlink()
    elif place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # another run was faster
        place.symlink_to(target, target_is_directory=True)
