"""``eks-hardware validate``: check strategy files without Terraform, Node or AWS."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eks_hardware.models import Strategy
    from eks_hardware.validation import Validation


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Strategy files, or folders of them; by default those that would become stacks."),
    ] = None,
    overlay: Annotated[
        list[str] | None,
        typer.Option("--overlay", help="Name of an overlay to lay over each file; may be repeated.", metavar="NAME"),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quotas: Annotated[
        bool, typer.Option("--quotas", help="Print the service quotas that each strategy needs, too.")
    ] = False,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", help="Write a SARIF report too, for code scanning; - is stdout.", metavar="FILE"),
    ] = None,
) -> None:
    """Report everything that is wrong in strategy files.

    Exit code 0: nothing, or only warnings; 1: errors, with --strict warnings too; 2: wrong usage.
    """
    from eks_hardware.loader.discovery import read_environment
    from eks_hardware.validation import validate

    if sarif and sarif.suffix.lower() in (".yaml", ".yml"):
        raise typer.BadParameter(f"--sarif writes a report, and {sarif} has the name of a strategy")
    if as_json and str(sarif) == "-":
        raise typer.BadParameter("--json and --sarif - cannot both go to stdout")
    named, overlays = read_environment(os.environ)
    found = validate(files or named, overlay or overlays)
    if sarif:
        _write_sarif(found, sarif)
    if as_json:
        from eks_hardware.validation.json import as_json as report

        content = report(found)
        if quotas:
            from eks_hardware.cli.quotas import quota_rows

            content["quotas"] = [quota_rows(strategy) for strategy in _sound(found)]
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    elif str(sarif) != "-":
        _print(found)
        if quotas:
            from eks_hardware.cli.quotas import quota_table

            for strategy in _sound(found):
                typer.echo(f"\n{quota_table(strategy)}")
    if found.errors or (strict and found.warnings):
        raise typer.Exit(1)


def _sound(found: Validation) -> list[Strategy]:
    """The strategies without errors: what the others need cannot be told."""
    from eks_hardware.findings import Severity

    return [
        loaded.strategy
        for loaded, findings in found.strategies
        if all(each.severity is not Severity.ERROR for each in findings)
    ]


def _print(found: Validation) -> None:
    from eks_hardware.validation.terminal import as_text, counted

    if found.shown:
        typer.echo(as_text(found.shown))
    ignored = f", {len(found.ignored)} ignored" if found.ignored else ""
    typer.echo(
        f"{counted(len(found.files), 'file')}: {counted(len(found.errors), 'error')}, "
        f"{counted(len(found.warnings), 'warning')}{ignored}"
    )


def _write_sarif(found: Validation, file: Path) -> None:
    from eks_hardware import __version__
    from eks_hardware.validation.sarif import as_sarif

    text = json.dumps(as_sarif(found, version=__version__), indent=2) + "\n"
    if str(file) == "-":
        typer.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"error: --sarif {file}: {(error.strerror or str(error)).lower()}", err=True)
        raise typer.Exit(2) from None
