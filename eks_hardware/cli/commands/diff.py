"""``eks-hardware diff``: what changes from one strategy to another, without Terraform or AWS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.errors import FAILED, exit_codes, fail, tell_findings
from eks_hardware.cli.output import print_json
from eks_hardware.cli.streams import terminal_width

if TYPE_CHECKING:
    from eks_hardware.diff import Changes
    from eks_hardware.diff.folders import Item, Key
    from eks_hardware.models import Strategy

REPLACED = 3
"""Exit code if ``--fail-on`` finds a match."""


@click.command(epilog=exit_codes("errors in a strategy", "; 3 a match of --fail-on"))
@parameters.strategy("old", text="Strategy before the change: a file or a name; or a folder of strategies.")
@parameters.strategy("new", text="Strategy after the change: a file or a name; or a folder of strategies.")
@parameters.overlays("both")
@parameters.all_overlays(
    "Compare each strategy alone, and with each overlay in the project that applies to it. For folders."
)
@parameters.output_format("markdown")
@click.option(
    "--fail-on",
    type=click.Choice(["replace", "destroy"]),
    help="replace: exit with code 3 if a resource or node pool is replaced; destroy: also if one is destroyed.",
)
def diff(old: str, new: str, overlays: tuple[str, ...], all_overlays: bool, format_: str, fail_on: str | None) -> None:
    """Compare two strategies: hardware, capacity, cost, and which resources are replaced or updated.

    To compare resources, the command synthesizes both strategies, which requires Node. Without Node it compares
    everything else.

    Given two folders, the command compares the strategies with the same name. It reports new and removed strategies
    with their cost, and leaves out unchanged ones.

    \b
    Examples:
      eks-hardware diff old.yaml new.yaml
      eks-hardware diff old.yaml new.yaml --overlay production --fail-on replace
    """
    from eks_hardware._node import start_node

    parameters.refuse_both(overlays, all_overlays)
    folders = [side for side in (old, new) if Path(side).is_dir()]
    if len(folders) == 1:
        raise click.UsageError(f"{folders[0]} is a folder; the other side must be a folder, too")
    if all_overlays and not folders:
        raise click.UsageError("--all-overlays requires two folders; for files, use --overlay")
    start_node()
    if folders:
        _diff_folders(Path(old), Path(new), overlays, all_overlays, format_, fail_on)
        return
    from eks_hardware.cli.checked_strategy import checked
    from eks_hardware.diff import SynthesisError, compare

    before = checked(old, overlays).strategy
    after = checked(new, overlays).strategy
    try:
        found = compare(before, after)
    except SynthesisError as error:
        fail(str(error))
    _print(found, format_)
    _judge([found], fail_on)


def _judge(compared: Sequence[Changes], fail_on: str | None) -> None:
    """Exit as ``--fail-on`` requires."""
    for each in compared:
        if fail_on and each.not_compared:
            fail(f"--fail-on requires a comparison of resources: {each.not_compared}")
    if fail_on and any(_fails(each, fail_on) for each in compared):
        raise Exit(REPLACED)


def _diff_folders(
    old: Path, new: Path, overlays: tuple[str, ...], all_overlays: bool, format_: str, fail_on: str | None
) -> None:
    from eks_hardware.diff import SynthesisError
    from eks_hardware.diff.folders import compare_folders

    after = _strategies(new, overlays, all_overlays, shown=True)
    try:
        items = compare_folders(_strategies(old, overlays, all_overlays), after)
    except SynthesisError as error:
        fail(str(error))
    _print_folders(items, format_)
    if any(item.change == "failed" for item in items):
        raise Exit(FAILED)
    _judge([item.changes for item in items if item.changes], fail_on)


def _strategies(
    folder: Path, overlays: tuple[str, ...], all_overlays: bool, *, shown: bool = False
) -> dict[Key, Strategy | None]:
    """Return the strategies of a folder, None for those with errors, whose findings are ``shown`` on stderr."""
    from eks_hardware.cli.checked_strategy import is_refused
    from eks_hardware.diff.folders import Key
    from eks_hardware.loader.discovery import read_environment
    from eks_hardware.validation import validate_variants

    named = None if all_overlays else overlays or tuple(read_environment(os.environ).overlays)
    # A folder without strategies is the state before the first one was added, or after the last was removed.
    variants = validate_variants([folder], overlays=named)
    strategies: dict[Key, Strategy | None] = {}
    for variant in variants.each:
        overlay = variant.overlays[0] if all_overlays and variant.overlays else ""
        if is_refused(variant.found):
            strategies[Key(variant.file.stem, overlay)] = None
        else:
            strategy = variant.found.strategies[0][0].strategy
            strategies[Key(strategy.name, overlay)] = strategy
    errors = variants.validation.errors
    if shown and variants.each and errors:
        tell_findings(errors)
    return strategies


def _print_folders(items: Sequence[Item], format_: str) -> None:
    from eks_hardware.diff import folders

    if format_ == "json":
        print_json(folders.folders_as_json(items))
    elif format_ == "markdown":
        click.echo(folders.folders_as_markdown(items), nl=False)
    else:
        click.echo(folders.folders_as_text(items, terminal_width()))


def _print(found: Changes, format_: str) -> None:
    if format_ == "json":
        from eks_hardware.diff.json import as_json

        print_json(as_json(found))
    elif format_ == "markdown":
        from eks_hardware.diff.markdown import as_markdown

        click.echo(as_markdown(found), nl=False)
    else:
        from eks_hardware.diff.terminal import as_text

        click.echo(as_text(found, terminal_width()))


def _fails(found: Changes, fail_on: str) -> bool:
    """Return whether something that runs is replaced or destroyed. A resource left unmanaged counts as replaced."""
    from eks_hardware.diff import Action

    replaced = bool(found.of(Action.REPLACE, Action.FORGET)) or any(pool.action == "replaced" for pool in found.pools)
    if fail_on == "replace":
        return replaced
    return replaced or bool(found.of(Action.DESTROY)) or any(pool.action == "deleted" for pool in found.pools)
