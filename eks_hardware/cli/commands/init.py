"""``eks-hardware init``: a first strategy, from questions or from options, in a project that can deploy it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from errno import EACCES, ENOTDIR
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.exceptions import Exit

from eks_hardware.cli import completers, parameters
from eks_hardware.cli.cluster_settings import (
    api_access_option,
    refuse_wrong,
    with_admins,
    with_api_access,
    with_state,
)
from eks_hardware.cli.errors import FAILED, exit_codes, fail, say
from eks_hardware.cli.hardware_questions import DEFAULT_REGION, KINDS, SHOWN, Options, choose_hardware, region_of
from eks_hardware.cli.next_steps import show_files, show_next
from eks_hardware.cli.questions import at_terminal, interrupted
from eks_hardware.cli.sections import SectionedCommand
from eks_hardware.cli.streams import width
from eks_hardware.cli.workload_options import given_fields, workload_options
from eks_hardware.printable import reason

if TYPE_CHECKING:
    from eks_hardware.advisor.strategies.strategy_text import Settings
    from eks_hardware.cli.hardware_questions import Hardware
    from eks_hardware.new_project import ProjectFile


def _valid_name(context: click.Context, _: click.Parameter, name: str) -> str:
    """Return a valid cluster name; refuse any other before the first question."""
    from eks_hardware.advisor.strategies.strategy_text import WriteError, refuse_name

    try:
        if not context.resilient_parsing:
            refuse_name(name, "")
    except WriteError as error:
        raise click.BadParameter(str(error)) from None
    return name


_SECTIONS = {
    "More about the workload": ("users", "training_tokens", "within", "nodes", "precision", "budget"),
    "The project": ("api_access", "admin_roles", "state", "output", "project", "force"),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS, epilog=exit_codes("no hardware fits"))
@click.argument("name", callback=_valid_name, help="Name of the strategy, its stack and its cluster.")
@click.option("--hardware", type=click.Choice(KINDS), help="Kind of hardware, instead of a model.")
@workload_options
@click.option(
    "--region",
    metavar="REGION",
    shell_complete=completers.from_catalogue("regions"),
    help=f"AWS region; default: {DEFAULT_REGION}.",
)
@click.option(
    "--max-usd-per-month",
    metavar="USD",
    help="Spending limit with every group at its maximum size, such as 5000; default: none.",
)
@click.option(
    "--pick",
    type=click.IntRange(1, SHOWN),
    metavar="N",
    help="Row number in the hardware table; default: 1, or the first within the spending limit.",
)
@api_access_option()
@click.option(
    "--admin-role",
    "admin_roles",
    multiple=True,
    metavar="ARN",
    help="IAM role of administrators, in addition to the deploying role; can be repeated.",
)
@click.option("--state", metavar="local|BUCKET", help="Terraform state: a local file, or an S3 bucket; default: local.")
@parameters.output(
    "FOLDER", "Project folder, or the folder for NAME.yaml alone; default: the current folder.", default="."
)
@click.option(
    "--project/--no-project",
    default=None,
    help="Create a CDKTF project for the strategy, or not; default: create one unless a cdktf.json exists.",
)
@click.option("--yes", is_flag=True, help="Do not ask questions; use defaults for omitted options.")
@parameters.force("Overwrite NAME.yaml if it exists.")
def init(
    name: str,
    hardware: str | None,
    region: str | None,
    max_usd_per_month: str | None,
    pick: int | None,
    api_access: str | None,
    admin_roles: Sequence[str],
    state: str | None,
    output: Path,
    project: bool | None,
    yes: bool,
    force: bool,
    **options: object,
) -> None:
    """Write a first strategy, for a kind of hardware or for a model.

    The strategy is strategies/NAME.yaml in a project with cdktf.json, requirements, overlays for development and
    production, a pre-commit hook and a workflow for pull requests. In a folder without a project, init creates one.
    Existing files are kept. In the folder of another CDKTF app, init writes only NAME.yaml.

    At a terminal, init asks for missing options, and writes nothing before the last answer.

    \b
    Examples:
      eks-hardware init demo --hardware gpu --task inference
      eks-hardware init chat --model 8B --task inference --concurrency 16 --yes
    """
    from eks_hardware.advisor.strategies.strategy_text import WriteError
    from eks_hardware.advisor.strategies.write import write_new
    from eks_hardware.new_project import has_schema, runs_strategies, strategy_path, with_schema, write_project

    place = _place(output, project)
    file = output / f"{name}.yaml" if place == "none" else strategy_path(output, name)
    asks = not yes and at_terminal()
    around: list[tuple[ProjectFile, bool]] = []
    try:
        if file.exists() and not force:
            raise WriteError(f"{file}: already exists; choose another name, or use --force")
        _refuse_read_only(file.parent)
        said = Options(hardware, region, max_usd_per_month, pick)
        refuse_wrong(api_access, admin_roles, state, region_of(said))
        chosen = choose_hardware(said, given_fields(options), asks=asks, yes=yes)
        settings, reach = _settings(chosen, api_access, admin_roles, state, asks=asks)
        private_in = None if settings.public_cidrs else chosen.region
        text = chosen.text(name, settings)
        file.parent.mkdir(parents=True, exist_ok=True)
        with_line = place == "new" or has_schema(file)
        # The project first: after an interruption or a full disk, the same command with --project then continues.
        if place == "new" or (project and runs_strategies(output)):
            around.extend(write_project(output, name, private_in))
        write_new(file, with_schema(text) if with_line else text, force=force)
    except WriteError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{file.parent}: {reason(error)}")
    except click.Abort:
        interrupted("nothing was written")
    _report(file, reach, around)
    show_next(name, file, output if place != "none" else None, created=place == "new", private_in=private_in)


def _settings(
    chosen: Hardware, api_access: str | None, admin_roles: Sequence[str], state: str | None, *, asks: bool
) -> tuple[Settings, str]:
    """Return the cluster's settings, and a sentence about a detected address."""
    settings, reach = with_api_access(api_access, chosen.region, asks=asks, confirms=True)
    settings = with_admins(settings, admin_roles, chosen.region, asks=asks)
    settings = with_state(settings, state, chosen.region, asks=asks)
    return replace(settings, max_usd_per_month=chosen.max_usd_per_month), reach


def _place(folder: Path, project: bool | None) -> Literal["new", "ours", "none"]:
    """Return whether the strategy gets a new project, joins one, or is written alone."""
    from eks_hardware.new_project import project_above, runs_strategies

    if project is False:
        return "none"
    above = project_above(folder)
    if above == folder.absolute():
        return "ours" if project or runs_strategies(folder) else "none"
    return "none" if above and not project else "new"


def _refuse_read_only(folder: Path) -> None:
    """Raise an error before the first question if the folder cannot be created or written to."""
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    if not there.is_dir():
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))


def _report(file: Path, reach: str, around: Sequence[tuple[ProjectFile, bool]]) -> None:
    from eks_hardware.printable import counted
    from eks_hardware.validation import validate
    from eks_hardware.validation.terminal import as_text

    validation = validate([file])
    errors, warnings = counted(len(validation.errors), "error"), counted(len(validation.warnings), "warning")
    click.echo(f"\n{file} written: {errors}, {warnings}")
    if reach:
        say(reach)
    if validation.shown:
        click.echo(as_text(validation.shown, width()))
    if around:
        click.echo("\nProject files:")
        show_files(around)
    if validation.errors:
        raise Exit(FAILED)
