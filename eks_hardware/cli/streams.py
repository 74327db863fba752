"""stdout and stderr: the width of a terminal, and closed pipes."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

UNKNOWN_WIDTH = 80
"""Width of tables in a pipe or a file."""
_NARROWEST, _WIDEST = 8, 10_000
"""Limits of COLUMNS: Rich fails if a column has no room, or more than fits an integer of C."""
_INDENT = "    "


def width(*, err: bool = False) -> int | None:
    """Return the width of the terminal behind stdout or stderr; None for a pipe or a file."""
    stream = sys.stderr if err else sys.stdout
    if stream is None or not is_terminal(stream):
        return None
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return _within_limits(int(stated))
    try:
        return os.get_terminal_size(stream.fileno()).columns or UNKNOWN_WIDTH
    except OSError:
        return UNKNOWN_WIDTH


def terminal_width() -> int:
    """Return the width of the terminal, or that of COLUMNS, or 80."""
    return _within_limits(shutil.get_terminal_size().columns)


def _within_limits(stated: int) -> int:
    return min(max(stated, _NARROWEST), _WIDEST)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal. Tests replace this function."""
    return stream.isatty()


def wrapped(text: str, columns: int | None) -> str:
    """Return a message wrapped at ``columns`` without breaking names or options; unchanged for None."""
    return text if columns is None else "\n".join(_lines(text, columns))


def wrapped_command(command: str, columns: int | None) -> str:
    """Return a shell command wrapped at ``columns`` with backslashes, ready to paste; unchanged for None."""
    if columns is None or len(command) <= columns or "'" in command:
        return command
    lines = textwrap.wrap(
        command, columns - 2, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )
    return " \\\n".join(lines)


def _lines(text: str, columns: int) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= columns:
            yield line
        else:
            yield from textwrap.wrap(
                line, columns, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
            )


class _Output(io.FileIO):
    """A file descriptor that discards output after its reader is gone, as in ``eks-hardware rules | head``.

    The command continues and ends with its own exit code: ``validate | head`` still reports errors.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            discard(self.fileno())
            return memoryview(data).nbytes


def discard(descriptor: int) -> None:
    """Discard what is written to a file descriptor from now on, including what Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def survive_closed_pipes() -> None:
    """Replace stdout and stderr with streams that ignore a closed pipe, and closed streams with /dev/null."""
    # In this order, so that each closed stream gets its own file descriptor.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        if name == "stdin" or not isinstance(stream, io.TextIOWrapper):
            continue  # closed, or replaced by a test
        stream.flush()
        setattr(
            sys,
            name,
            io.TextIOWrapper(
                io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)),
                encoding=stream.encoding,
                errors=stream.errors,
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            ),
        )
