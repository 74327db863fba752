"""How a command ends that cannot answer."""

from __future__ import annotations

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


def reason(error: OSError) -> str:
    """What the system says of an error, such as ``no space left on device``."""
    return (error.strerror or str(error)).lower()
