"""Files that are written in one step: readers see the old or the new content, and a full disk leaves no part of it."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator
from pathlib import Path

_EXECUTABLE = 0o111
_DRAFT = ".draft"


def replace(file: Path, content: bytes, *, executable: bool = False) -> None:
    """Write a file, or replace it together with a link in its place.

    Raises:
        OSError: it cannot be written, with its name; an existing file is as before.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}{_DRAFT}")
    try:
        draft.unlink(missing_ok=True)  # from a killed run; a link in its place would be written through
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
    """Yield what killed runs left of a file."""
    yield from file.parent.glob(f".{glob.escape(file.name)}.*{_DRAFT}")


def write(file: Path, content: bytes) -> None:
    """Write what the user named: a link stays, and its target is replaced; a device or a pipe is written to.

    Raises:
        OSError: it cannot be written; an existing regular file is as before.
    """
    if file.exists() and not file.is_file():
        file.write_bytes(content)
    else:
        replace(file.resolve(), content)
