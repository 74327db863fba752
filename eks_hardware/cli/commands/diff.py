"""``eks-hardware diff``: what changes from one strategy to another, without Terraform or AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.errors import fail
from eks_hardware.cli.output import print_json

if TYPE_CHECKING:
    from eks_hardware.diff import Changes

REPLACED = 3
"""Exit code if ``--fail-on`` finds a match."""


@click.command()
@parameters.strategy("old", text="Strategy before the change: a file or a name.")
@parameters.strategy("new", text="Strategy after the change: a file or a name.")
@parameters.overlays("both")
@parameters.output_format("markdown")
@click.option(
    "--fail-on",
    type=click.Choice(["replace", "destroy"]),
    help="replace: exit with code 3 if a resource or node pool is replaced; destroy: also if one is destroyed.",
)
def diff(old: str, new: str, overlays: tuple[str, ...], format_: str, fail_on: str | None) -> None:
    """Compare two strategies: hardware, capacity, cost, and which resources are replaced or updated.

    To compare resources, the command synthesizes both strategies, which requires Node. Without Node it compares
    everything else.

    Exit codes: 0 with or without changes; 1 errors in a strategy, a failed synthesis, or --fail-on without Node;
    2 wrong usage; 3 a match of --fail-on.

    \b
    Examples:
      eks-hardware diff old.yaml new.yaml
      eks-hardware diff old.yaml new.yaml --overlay production --fail-on replace
    """
    from eks_hardware._node import start_node

    start_node()
    from eks_hardware.cli.checked_strategy import checked
    from eks_hardware.diff import SynthesisError, compare

    before = checked(old, overlays).strategy
    after = checked(new, overlays).strategy
    try:
        found = compare(before, after)
    except SynthesisError as error:
        fail(str(error))
    _print(found, format_)
    if fail_on and found.not_compared:
        fail(f"--fail-on requires a comparison of resources: {found.not_compared}")
    if fail_on and _fails(found, fail_on):
        raise Exit(REPLACED)


def _print(found: Changes, format_: str) -> None:
    if format_ == "json":
        from eks_hardware.diff.json import as_json

        print_json(as_json(found))
    elif format_ == "markdown":
        from eks_hardware.diff.markdown import as_markdown

        click.echo(as_markdown(found), nl=False)
    else:
        import shutil

        from eks_hardware.diff.terminal import as_text

        click.echo(as_text(found, shutil.get_terminal_size().columns))


def _fails(found: Changes, fail_on: str) -> bool:
    """Return whether something that runs is replaced or destroyed. A resource left unmanaged counts as replaced."""
    from eks_hardware.diff import Action

    replaced = bool(found.of(Action.REPLACE, Action.FORGET)) or any(each.action == "replaced" for each in found.pools)
    if fail_on == "replace":
        return replaced
    return replaced or bool(found.of(Action.DESTROY)) or any(each.action == "deleted" for each in found.pools)
