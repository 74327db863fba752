"""``eks-hardware diff``: what changes from one strategy to another, without Terraform, Node or AWS."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eks_hardware.diff import Changes

FAILED = 3
"""Exit code where ``--fail-on`` found what it looks for."""


class _Format(str, Enum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class _FailOn(str, Enum):
    REPLACE = "replace"
    DESTROY = "destroy"


def diff(
    old: Annotated[str, typer.Argument(help="The strategy as it is: a file, or a name.")],
    new: Annotated[str, typer.Argument(help="The strategy as it is to be: a file, or a name.")],
    overlay: Annotated[
        list[str] | None,
        typer.Option("--overlay", help="Name of an overlay to lay over both; may be repeated.", metavar="NAME"),
    ] = None,
    format_: Annotated[_Format, typer.Option("--format", help="How to print it.")] = _Format.TEXT,
    fail_on: Annotated[
        _FailOn | None,
        typer.Option(
            "--fail-on",
            help="End with exit code 3 if a resource or a node pool is replaced; with destroy also if one only goes.",
        ),
    ] = None,
) -> None:
    """Show what changes: hardware, capacity, cost, and which resources are replaced rather than updated.

    Exit code 0, with and without changes; 1 with errors in a strategy, which are shown as validate shows them; 2 for
    wrong usage; 3 where --fail-on says so.
    """
    from eks_hardware.cli.strategies import checked
    from eks_hardware.diff import compare

    before = checked(old, overlay).strategy
    after = checked(new, overlay).strategy
    found = compare(before, after)
    _print(found, format_)
    if fail_on and _fails(found, fail_on):
        raise typer.Exit(FAILED)


def _print(found: Changes, format_: _Format) -> None:
    if format_ is _Format.JSON:
        from eks_hardware.diff.json import as_json

        typer.echo(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    elif format_ is _Format.MARKDOWN:
        from eks_hardware.diff.markdown import as_markdown

        typer.echo(as_markdown(found), nl=False)
    else:
        import shutil

        from eks_hardware.diff.terminal import as_text

        typer.echo(as_text(found, shutil.get_terminal_size().columns))


def _fails(found: Changes, fail_on: _FailOn) -> bool:
    """Whether something that runs goes; what is left behind unmanaged counts as replaced."""
    from eks_hardware.diff import Action

    replaced = bool(found.of(Action.REPLACE, Action.FORGET)) or any(each.action == "replaced" for each in found.pools)
    if fail_on is _FailOn.REPLACE:
        return replaced
    return replaced or bool(found.of(Action.DESTROY)) or any(each.action == "deleted" for each in found.pools)
