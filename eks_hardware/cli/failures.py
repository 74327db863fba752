"""A failed command with ``--json``: its errors as a document on stdout, in addition to the text on stderr.

Errors are recorded where they are printed, so commands do nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eks_hardware.findings import Finding

_KEY = __name__


@dataclass
class _Run:
    """A run of the command line."""

    arguments: Sequence[str] = ()
    has_printed: bool = False
    message: str = ""
    findings: list[Finding] = field(default_factory=list)


def start(context: click.Context, arguments: Sequence[str]) -> None:
    """Start a run with the arguments of the command line."""
    context.meta[_KEY] = _Run(arguments)


def record_message(message: str) -> None:
    """Record the message of an error."""
    if run := _run():
        run.message = message


def record_findings(findings: Iterable[Finding]) -> None:
    """Record findings that are printed on stderr."""
    if run := _run():
        run.findings.extend(findings)


def record_document() -> None:
    """Record that the command has printed its document."""
    if run := _run():
        run.has_printed = True


def document() -> dict[str, Any] | None:
    """Return the recorded errors if the command was to print JSON and has not."""
    run = _run()
    if run is None or run.has_printed or not (run.message or run.findings) or not _is_json(run.arguments):
        return None
    from eks_hardware.printable import counted
    from eks_hardware.validation.json import finding_as_json

    errors = sum(each.severity.value == "error" for each in run.findings)
    return {
        "error": run.message or counted(errors, "error"),
        "findings": [finding_as_json(each) for each in run.findings],
    }


def _run() -> _Run | None:
    context = click.get_current_context(silent=True)
    found = context.meta.get(_KEY) if context else None
    return found if isinstance(found, _Run) else None


def _is_json(arguments: Sequence[str]) -> bool:
    """Return whether the arguments request JSON. A wrong command line is not parsed to the end."""
    pairs = pairwise(arguments)
    return "--json" in arguments or "--format=json" in arguments or ("--format", "json") in pairs
