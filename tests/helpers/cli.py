"""The command line, run in this process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from eks_hardware.cli import app


class Run(NamedTuple):
    """Result of a command: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: str | None = None, **environ: str) -> Run:
    """Run ``eks-hardware`` in 80 columns without colors; an exception other than an exit fails the test."""
    environ = {"COLUMNS": "80", "NO_COLOR": "1", **environ}
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin, env=environ)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def outcome(*arguments: str | Path, stdin: str | None = None, **environ: str) -> tuple[int, str]:
    """Return the exit code, and stdout and stderr together, in wide lines."""
    found = run(*arguments, stdin=stdin, **{"COLUMNS": "300", **environ})
    return found.code, found.out + found.err
