"""Write files atomically: readers see the old or the new content, and a full disk leaves no partial file."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from pathlib import Path

from eks_hardware.interrupts import raise_in_block

_EXECUTABLE = 0o111
_DRAFT = ".draft"


@raise_in_block()
def replace(file: Path, content: bytes, *, executable: bool = False) -> None:
    """Write a file; an existing file or symbolic link is replaced.

    Raises:
        OSError: if the file cannot be written, with its name; an existing file is unchanged.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}{_DRAFT}")
    try:
        draft.unlink(missing_ok=True)  # from a killed run, or a link, whose target would be overwritten
        with draft.open("xb") as stream:
            stream.write(content)
        if executable:
            draft.chmod(draft.stat().st_mode | _EXECUTABLE)
        draft.replace(file)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(file)
        raise


def drafts(file: Path) -> Iterator[Path]:
    """Yield the drafts of a file that killed runs left behind."""
    yield from file.parent.glob(f".{glob.escape(file.name)}.*{_DRAFT}")


def write(file: Path, content: bytes) -> None:
    """Write to a path that the user named: through a symbolic link, and directly to a device or a pipe.

    Raises:
        OSError: if the file cannot be written; an existing regular file is unchanged.
    """
    if file.exists() and not file.is_file():
        file.write_bytes(content)
    else:
        replace(Path(os.path.realpath(file)), content)  # Path.resolve raises RuntimeError for a loop of links
