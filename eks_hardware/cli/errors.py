"""How a command ends with an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import click
from click.exceptions import Exit

FAILED = 1
"""Exit code for problems in the files or the account."""

WRONG_USAGE = 2
"""Exit code for invalid options, as in Click."""


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with ``error: MESSAGE`` on stderr."""
    click.echo(f"error: {message}", err=True)
    raise Exit(code)


def refuse_unknown(kind: str, value: str | None, known: Sequence[str]) -> None:
    """End the command with exit code 2 if the value of an option is unknown."""
    if value is None or value in known:
        return
    from eks_hardware.suggestions import did_you_mean

    hint = did_you_mean(value, known, f"known: {', '.join(known)}")
    fail(f"unknown {kind} {value!r}; {hint}", WRONG_USAGE)


def reason(error: OSError) -> str:
    """Return the operating system's message for an error, such as ``no space left on device``."""
    return (error.strerror or str(error)).lower()
