"""Messages, and how a command ends with an error. All errors and warnings go to stderr in one format.

error: MESSAGE
FILE:LINE:COLUMN: error CODE FIELD: MESSAGE

With ``--json``, the same errors are in the document on stdout.

All commands have the same exit codes, see ``exit_codes``. A command chooses between 1 and 2 only for its own errors;
``exit_code`` chooses for findings.
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
"""Exit code for errors in the files or the account, and for checks that find something."""

NOT_RUN = 2
"""Exit code for wrong usage, as in Click, and for commands that could not run."""

_ASKED = 3
"""Maximum number of names in a suggestion; more are listed."""


def exit_codes(failure: str = "", more: str = "") -> str:
    """Return the last line of a command's help: its exit codes. ``failure`` says what 1 means for the command."""
    one = f"1 {failure}; " if failure else ""
    return f"Exit codes: 0 success; {one}2 wrong usage, or the command could not run{more}."


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 2 if an error is in the command line or a file cannot be read, otherwise 1."""
    from eks_hardware.findings import errors_in

    faults = errors_in(findings)
    return NOT_RUN if any(fault.position is None or fault.code == "FILE_UNREADABLE" for fault in faults) else FAILED


def say(message: str) -> None:
    """Print a message on stdout."""
    click.echo(wrapped(message, width()))


def tell(message: str) -> None:
    """Print a message on stderr."""
    click.echo(wrapped(message, width(err=True)), err=True)


def tell_findings(findings: Iterable[Finding]) -> None:
    """Print findings on stderr, as ``validate`` prints them."""
    from eks_hardware.validation.terminal import as_text

    shown = list(findings)
    failures.record_findings(shown)
    click.echo(as_text(shown, width(err=True)), err=True)


def fail(message: str, code: int = NOT_RUN) -> NoReturn:
    """End the command with ``error: MESSAGE`` on stderr."""
    failures.record_message(message)
    tell(f"error: {message}")
    raise Exit(code)


def fail_with(findings: Sequence[Finding]) -> NoReturn:
    """End the command with findings on stderr, and the exit code for them."""
    tell_findings(findings)
    raise Exit(exit_code(findings))


def refuse_unknown(option: str, value: str | None, known: Sequence[str], otherwise: str | None = None) -> None:
    """End the command with exit code 2 if the value of an option or argument is unknown.

    The message lists names that start with the value as a word, such as ``EFA_SPOT`` for ``EFA``, or suggests similar
    names. If there are none, it lists the known names, or ends with ``otherwise``.
    """
    if value is None or value in known:
        return
    from eks_hardware.printable import quoted

    noun = option.lstrip("-").lower()
    from eks_hardware.loader.other_names import other_name
    from eks_hardware.suggestions import question

    meant = other_name(noun, value)
    hint = question([meant]) if meant and meant in known else _hint(value, known, otherwise)
    fail(f"{option}: unknown {noun} {quoted(value)}; {hint}")


def _hint(value: str, known: Sequence[str], otherwise: str | None) -> str:
    from eks_hardware.suggestions import LISTED, did_you_mean, question, some

    longer = [name for name in known if name.startswith((f"{value}_", f"{value}-"))]
    if longer:
        few = len(longer) <= _ASKED
        return question(longer) if few else f"names that start with {value}: {some(longer, LISTED)}"
    return did_you_mean(value, known, otherwise or f"known: {', '.join(known) or 'none'}")
