"""The ``aws`` commands in findings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def aws_command(*words: str, **options: str | int | Sequence[str]) -> str:
    """Return an ``aws`` command line, quoted for a shell. A list of values becomes several words.

    >>> aws_command("iam", "get-role", role_name="platform")
    'aws iam get-role --role-name platform'
    """
    parts = ["aws", *words]
    for name, value in options.items():
        parts.append(f"--{name.replace('_', '-')}")
        values = [str(value)] if isinstance(value, str | int) else list(value)
        parts.extend(shlex.quote(each) for each in values)
    return " ".join(parts)


def wrapped(command: str, width: int, indent: str = "") -> list[str]:
    """Return a command wrapped at ``width`` columns with backslashes. Long words are not broken."""
    lines: list[str] = []
    line = indent
    for word in _words(command):
        more = f"{line} {word}" if line.strip() else f"{line}{word}"
        if len(more) + len(" \\") > width and line.strip():
            lines.append(f"{line} \\")
            line = f"{indent}  {word}"
        else:
            line = more
    return [*lines, line]


def _words(command: str) -> list[str]:
    """Return a command's words, still quoted. An option and its first value count as one word."""
    words = [shlex.quote(word) for word in shlex.split(command)]
    joined: list[str] = []
    for word in words:
        lone = bool(joined) and joined[-1].startswith("--") and " " not in joined[-1]
        if lone and not word.startswith("--"):
            joined[-1] = f"{joined[-1]} {word}"
        else:
            joined.append(word)
    return joined
