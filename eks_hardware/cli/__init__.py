"""The command line: ``eks-hardware``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from eks_hardware import __version__

# In the order of the help; each is a function of its name in a module of its name.
_COMMANDS = (
    "recommend",
    "init",
    "validate",
    "lock",
    "explain",
    "cost",
    "diff",
    "report",
    "render",
    "workload",
    "check-model",
    "rules",
    "doctor",
    "demo",
)
_GROUPS = ("instances",)


def application(names: Iterable[str] = (*_COMMANDS, *_GROUPS)) -> typer.Typer:
    """The command line with some of its commands; by default with all."""
    app = typer.Typer(
        name="eks-hardware",
        help="Amazon EKS clusters for AI workloads on the right hardware.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    for name in names:
        function = name.replace("-", "_")
        module = import_module(f"eks_hardware.cli.{function}")
        if name in _GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, function))
    return app


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    # The one command that is named: putting all of them together takes longer than most take to answer.
    named = [word for word in sys.argv[1:2] if word in (*_COMMANDS, *_GROUPS)]
    try:
        application(named or (*_COMMANDS, *_GROUPS))()
    except BrokenPipeError:
        raise
    except OSError as error:
        # A full disk behind a redirected output, as far as a command does not know better.
        if error.filename is not None:
            raise
        typer.echo(f"error: the output cannot be written: {(error.strerror or str(error)).lower()}", err=True)
        sys.stdout = None  # or Python fails again when it flushes
        raise SystemExit(1) from None


def __getattr__(name: str) -> Any:
    """``app``: the whole command line, made when it is asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()["app"] = application()
    return found
