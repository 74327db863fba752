"""The command line ``eks-hardware``. Each command is a module in ``commands``, imported only when it runs."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import NoReturn

import click
from click.exceptions import Exit

from eks_hardware import __version__
from eks_hardware.cli import failures
from eks_hardware.cli.errors import exit_codes, fail_with
from eks_hardware.cli.streams import discard, survive_closed_pipes

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
    "prices",
    "schema",
    "doctor",
    "orphans",
    "demo",
    "completion",
)
"""Commands in the order of the help. Each is a ``click.Command`` in a module of the same name."""

_INTERRUPTED = 130
_OF_THE_MACHINE = frozenset(
    (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP)
)
"""Errors that no command needs to expect. Another error with a file name can be a mistake in the program."""


_WHOLE = "\u2011"
"""A non-breaking hyphen, which replaces ``-`` until the text is wrapped."""


class _Formatter(click.HelpFormatter):
    """Help whose lines break only at spaces. Click would also break them within ``--fail-on``."""

    def write(self, string: str) -> None:
        super().write(string.replace(_WHOLE, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _WHOLE))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, text.replace("-", _WHOLE)) for name, text in rows], col_max, col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


class _Commands(click.Group):
    """A group that imports only the command that runs. Importing all of them takes longer than most commands run."""

    context_class = _Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{__name__}.commands.{name}"), name)
        command.context_class = _Context
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise _no_such_command(args[0], ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole first sentence of each command. Click truncates it at the end of the line."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=1000)) for name, each in commands if each])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            _stop_for(error)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        failures.start(ctx, tuple(args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return self._invoke(ctx)
        except Exit as end:
            if end.exit_code and (document := failures.document()):
                from eks_hardware.cli.output import print_json

                print_json(document)
            raise

    def _invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            _stop_for(error)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except Exception as error:
            # Imported here, because most commands do not need it.
            from eks_hardware.findings import StrategyError

            if isinstance(error, StrategyError):
                fail_with(error.findings)
            raise


def _no_such_command(name: str, ctx: click.Context) -> click.UsageError:
    from eks_hardware.printable import quoted
    from eks_hardware.suggestions import did_you_mean

    hint = did_you_mean(name, COMMANDS, f"known: {', '.join(COMMANDS)}")
    return click.UsageError(f"unknown command {quoted(name)}; {hint}", ctx)


def _stop_for(error: click.ClickException) -> NoReturn:
    """Print a Click error in the format of all other errors. Click would print three lines with the usage."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        raise error
    from eks_hardware.cli.errors import fail
    from eks_hardware.cli.usage import usage_message

    fail(usage_message(error), error.exit_code)


@click.group(
    "eks-hardware",
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exit_codes("errors in files or the account, or a check found something"),
)
@click.version_option(__version__, message="%(version)s", help="Print the version and exit.")
def app() -> None:
    """Define, check and deploy Amazon EKS clusters for AI workloads.

    \b
    Examples:
      eks-hardware recommend --task inference --model 8B --region us-west-2
      eks-hardware init my-cluster
      eks-hardware validate my-cluster.yaml
    """


def main() -> None:
    """Run the command line."""
    survive_closed_pipes()
    try:
        app.main(prog_name="eks-hardware")
    except OSError as error:
        # A full disk, for example, also if the output is redirected, unless the command reports it itself.
        if error.filename is not None and error.errno not in _OF_THE_MACHINE:
            raise
        from eks_hardware.cli.errors import tell
        from eks_hardware.printable import reason

        if error.filename is None and error.errno == errno.ENOENT:  # from os.getcwd()
            tell("error: the working folder no longer exists")
        else:
            tell(f"error: {error.filename or 'cannot write the output'}: {reason(error)}")
        if error.filename is None:
            discard(sys.stdout.fileno())  # otherwise Python fails again when it flushes
        raise SystemExit(2) from None
