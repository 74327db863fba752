"""Text of a file or a user, made fit for a message: on one line, printable, not too long."""

from __future__ import annotations


def shown(value: object, limit: int = 80) -> str:
    """The text of a value on one line, printable, cut to ``limit`` characters."""
    text = str(value)
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    if cut.isprintable():
        return cut
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in cut)


def quoted(value: object) -> str:
    """Like :func:`shown`, in double quotes."""
    return f'"{shown(value)}"'
