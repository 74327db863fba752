"""The text of a YAML file: regular files of UTF-8 only, and not too long."""

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
TOO_LARGE = f"larger than {MAX_BYTES // 1024} KiB; a strategy or overlay is a few KiB"


def display_name(file: Path | str) -> str:
    """How a file is named in findings: relative to the working directory where it is inside that."""
    text = os.fspath(file)
    if Path(text).is_absolute():
        with contextlib.suppress(ValueError, OSError):  # elsewhere, or the working directory was deleted
            text = str(Path(text).relative_to(Path.cwd()))
    return shown(text, 4096)


def read_text(path: Path | str, file: str) -> str:
    """The text of a regular UTF-8 file, which findings call ``file``.

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
    """Refuse a link to anything but a YAML file.

    Findings quote the line they are about. In a repository that others write to, a link to /proc/self/environ or to
    the credentials of the machine would print them into the log of a check.
    """
    if Path(path).is_symlink() and not os.path.realpath(path).lower().endswith(SUFFIXES):
        raise OSError(0, "a link to a file that is not called .yaml or .yml")


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
        raise _failure("FILE_ENCODING", "encoded as UTF-16 or UTF-32; save it as UTF-8", Position(file, 1, 1))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        message = f"not UTF-8: byte 0x{data[error.start]:02x}; save it as UTF-8"
        raise _failure("FILE_ENCODING", message, position_after(before, file)) from None


def position_after(before: str, file: str) -> Position:
    """The position of what follows the first part of a text."""
    lines = re.split(r"\r\n|\r|\n", before.removeprefix("\ufeff"))
    return Position(file, len(lines), len(lines[-1]) + 1)


def _failure(code: str, message: str, position: Position) -> StrategyError:
    return StrategyError([Finding(code, "", message, position=position)])
