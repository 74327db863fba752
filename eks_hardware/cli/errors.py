"""How a command ends that cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import click
from click.exceptions import Exit

FAILED = 1
"""Exit code where something is wrong in the files or the account."""

WRONG_USAGE = 2
"""Exit code for options that cannot be used; also Click's own."""


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with ``error: MESSAGE`` on stderr."""
    click.echo(f"error: {message}", err=True)
    raise Exit(code)


def refuse_unknown(kind: str, value: str | None, known: Sequence[str]) -> None:
    """End the command with exit code 2 where a value of an option is not known."""
    if value is None or value in known:
        return
    from eks_hardware.suggestions import did_you_mean

    hint = did_you_mean(value, known, f"known: {', '.join(known)}")
    fail(f"unknown {kind} {value!r}; {hint}", WRONG_USAGE)


def reason(error: OSError) -> str:
    """What the system says of an error, such as ``no space left on device``."""
    return (error.strerror or str(error)).lower()
