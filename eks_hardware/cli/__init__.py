"""The command line ``eks-hardware``. Each command is a module in ``commands``, imported only when it runs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from eks_hardware import __version__

COMMANDS = (
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
    "instances",
    "doctor",
    "demo",
    "completion",
)
"""Commands in the order of the help. Each is a ``click.Command`` in a module of the same name."""

_INTERRUPTED = 130


class _Commands(click.Group):
    """A group that imports only the command that runs. Importing all takes longer than most commands run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{__name__}.commands.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole first sentence of each command. Click cuts it at the end of the line."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=1000)) for name, each in commands if each])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)


@click.group(
    "eks-hardware", cls=_Commands, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="%(version)s", help="Print the version and exit.")
def app() -> None:
    """Define, check and deploy Amazon EKS clusters for AI workloads."""


def main() -> None:
    """Run the command line. Click exits quietly when a pipe closes."""
    try:
        app.main(prog_name="eks-hardware")
    except OSError as error:
        # For example a full disk behind redirected output, unless the command reports it itself.
        if error.filename is not None:
            raise
        from eks_hardware.cli.errors import reason

        click.echo(f"error: cannot write the output: {reason(error)}", err=True)
        sys.stdout = None  # otherwise Python fails again when it flushes
        raise SystemExit(1) from None
