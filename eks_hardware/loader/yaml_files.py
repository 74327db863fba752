"""Reading of a YAML file's text: regular UTF-8 files with a maximum size."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from eks_hardware.findings import Finding, Position, StrategyError
from eks_hardware.printable import shown

MAX_BYTES = 1 << 20
SUFFIXES = (".yaml", ".yml")
TOO_LARGE = f"must be at most {MAX_BYTES // 1024} KiB; check that it is the intended file: a strategy has a few KiB"


def display_name(file: Path | str) -> str:
    """Return the name of a file in findings: relative to the working directory if the file is inside it."""
    text = os.fspath(file)
    if Path(text).is_absolute():
        with contextlib.suppress(ValueError, OSError):  # elsewhere, or the working directory was deleted
            text = str(Path(text).relative_to(Path.cwd()))
    return shown(text, 4096)


def read_text(path: Path | str, file: str) -> str:
    """Return the text of a regular UTF-8 file with the name ``file`` in findings.

    Raises:
        StrategyError: FILE_UNREADABLE, FILE_TOO_LARGE, FILE_ENCODING.
    """
    try:
        _refuse_link(path)
        data = _read_bytes(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read: {shown(reason).lower()}"
        raise _failure("FILE_UNREADABLE", message, Position(file)) from None
    if len(data) > MAX_BYTES:
        raise _failure("FILE_TOO_LARGE", TOO_LARGE, Position(file))
    return _decode(data, file)


def _refuse_link(path: Path | str) -> None:
    """Reject a link to anything but a YAML file.

    Findings quote lines of the file. In a repository with other contributors, a link to /proc/self/environ or to the
    machine's credentials would print them in the log of a check.
    """
    if Path(path).is_symlink() and not os.path.realpath(path).lower().endswith(SUFFIXES):
        raise OSError(0, "a link to a file without the suffix .yaml or .yml")


def _read_bytes(path: Path | str) -> bytes:
    with open(path, "rb", opener=_open_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        return stream.read(MAX_BYTES + 1)


def _open_at_once(path: str, flags: int) -> int:
    # Opening a FIFO must not wait for a writer.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _decode(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        raise _failure("FILE_ENCODING", "must be UTF-8, got UTF-16 or UTF-32; save it as UTF-8", Position(file, 1, 1))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        message = f"must be UTF-8, got byte 0x{data[error.start]:02x}; save it as UTF-8"
        raise _failure("FILE_ENCODING", message, position_after(before, file)) from None


def position_after(before: str, file: str) -> Position:
    """Return the position after the first part of a text."""
    lines = re.split(r"\r\n|\r|\n", before.removeprefix("\ufeff"))
    return Position(file, len(lines), len(lines[-1]) + 1)


def _failure(code: str, message: str, position: Position) -> StrategyError:
    return StrategyError([Finding(code, "", message, position=position)])
