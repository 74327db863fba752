"""Messages, and how a command ends with an error. All errors and warnings go to stderr in one format.

error: MESSAGE
error CODE --option: MESSAGE
FILE:LINE:COLUMN: error CODE FIELD: MESSAGE

With ``--json``, a command that fails before it printed its document prints one with the same error on stdout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

import click
from click.exceptions import Exit

from eks_hardware.cli import failures
from eks_hardware.cli.streams import width, wrapped

if TYPE_CHECKING:
    from eks_hardware.findings import Finding

FAILED = 1
"""Exit code for problems in the files or the account."""

WRONG_USAGE = 2
"""Exit code for invalid options, as in Click."""


def say(message: str) -> None:
    """Print a message on stdout."""
    click.echo(wrapped(message, width()))


def tell(message: str) -> None:
    """Print a message on stderr."""
    click.echo(wrapped(message, width(err=True)), err=True)


def tell_findings(findings: Iterable[Finding]) -> None:
    """Print findings on stderr, as ``validate`` prints them."""
    from eks_hardware.validation.terminal import as_text

    found = list(findings)
    failures.record_findings(found)
    click.echo(as_text(found, width(err=True)), err=True)


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with ``error: MESSAGE`` on stderr."""
    failures.record_message(message)
    tell(f"error: {message}")
    raise Exit(code)


def fail_with(findings: Iterable[Finding], code: int = FAILED) -> NoReturn:
    """End the command with findings on stderr."""
    tell_findings(findings)
    raise Exit(code)


def refuse_unknown(kind: str, value: str | None, known: Sequence[str]) -> None:
    """End the command with exit code 2 if the value of an option is unknown."""
    if value is None or value in known:
        return
    from eks_hardware.printable import quoted
    from eks_hardware.suggestions import did_you_mean

    hint = did_you_mean(value, known, f"known: {', '.join(known)}")
    fail(f"unknown {kind} {quoted(value)}; {hint}", WRONG_USAGE)
