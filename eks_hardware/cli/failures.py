"""Errors of a command with ``--json``: also in its document on stdout, as ``error`` and ``findings``.

Errors are recorded where they are printed on stderr, so commands need no code for it. A command that fails before
printing its document prints one with only these keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

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


def as_typed(names: Sequence[str]) -> str:
    """Return the option name that the user typed; the first name if none is in the arguments."""
    run = _run()
    typed = (argument.partition("=")[0] for argument in reversed(run.arguments if run else ()))
    return next((word for word in typed if word in names), names[0])


def record_message(message: str) -> None:
    """Record the message of an error."""
    if run := _run():
        run.message = message


def record_findings(findings: Iterable[Finding]) -> None:
    """Record findings that are printed on stderr."""
    if run := _run():
        run.findings.extend(findings)


def record_document() -> dict[str, object]:
    """Record that the command prints its document now, and return the errors that it must contain."""
    run = _run()
    if run is None:
        return {}
    run.has_printed = True
    return _errors(run)


def document() -> dict[str, object]:
    """Return the recorded errors if the command should have printed JSON but has not."""
    run = _run()
    return {} if run is None or run.has_printed or not _is_json(run.arguments) else _errors(run)


def summary(findings: Iterable[Finding]) -> str:
    """Return findings as one text, a line for each, as on stderr."""
    from eks_hardware.findings import Severity
    from eks_hardware.validation.terminal import about_command_line, as_line

    return "\n".join(
        as_line(finding) if finding.position or finding.severity is not Severity.ERROR else about_command_line(finding)
        for finding in findings
    )


def _errors(run: _Run) -> dict[str, object]:
    if not (run.message or run.findings):
        return {}
    from eks_hardware.validation.json import finding_as_json

    return {
        "error": run.message or summary(run.findings),
        "findings": [finding_as_json(finding) for finding in run.findings],
    }


def _run() -> _Run | None:
    context = click.get_current_context(silent=True)
    found = context.meta.get(_KEY) if context else None
    return found if isinstance(found, _Run) else None


def _is_json(arguments: Sequence[str]) -> bool:
    """Return whether the arguments request JSON. Click does not parse an invalid command line to the end."""
    pairs = pairwise(arguments)
    return "--json" in arguments or "--format=json" in arguments or ("--format", "json") in pairs
