"""The command line: ``eks-hardware``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from eks_hardware import __version__
from eks_hardware.cli import instances
from eks_hardware.cli.check_model import check_model
from eks_hardware.cli.cost import cost
from eks_hardware.cli.demo import demo
from eks_hardware.cli.diff import diff
from eks_hardware.cli.doctor import doctor
from eks_hardware.cli.explain import explain
from eks_hardware.cli.init import init
from eks_hardware.cli.lock import lock
from eks_hardware.cli.recommend import recommend
from eks_hardware.cli.render import render
from eks_hardware.cli.report import report
from eks_hardware.cli.rules import rules
from eks_hardware.cli.validate import validate
from eks_hardware.cli.workload import workload

app = typer.Typer(
    name="eks-hardware",
    help="Amazon EKS clusters for AI workloads on the right hardware.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (
    recommend,
    init,
    validate,
    lock,
    explain,
    cost,
    diff,
    report,
    render,
    workload,
    check_model,
    rules,
    doctor,
    demo,
):
    app.command()(_command)
app.add_typer(instances.app, name="instances")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    try:
        app()
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk behind a redirected output, as far as a command does not know better.
        if error.filename is not None:
            raise
        typer.echo(f"error: the output cannot be written: {(error.strerror or str(error)).lower()}", err=True)
        sys.stdout = None  # or Python fails again when it flushes
        raise SystemExit(1) from None
