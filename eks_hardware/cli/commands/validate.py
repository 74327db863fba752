"""``eks-hardware validate``: check strategy files without Terraform, Node or AWS."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware import atomic_files
from eks_hardware.cli import completers, parameters
from eks_hardware.cli.errors import exit_code, exit_codes, fail, say, tell, tell_findings
from eks_hardware.cli.failures import summary
from eks_hardware.cli.output import print_json
from eks_hardware.cli.streams import UNKNOWN_WIDTH, width
from eks_hardware.printable import reason

if TYPE_CHECKING:
    from eks_hardware.models import Strategy
    from eks_hardware.validation import Validation


@click.command(epilog=exit_codes("errors, or warnings with --strict"))
@click.argument(
    "files",
    nargs=-1,
    shell_complete=completers.strategies,
    help="Strategy files, folders or names; default: all strategies that become stacks.",
)
@parameters.overlays("each file")
@parameters.all_overlays("Check each file alone, and with each overlay in the project that applies to it.")
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@parameters.output_format()
@click.option("--quotas", is_flag=True, help="Also print the service quotas that each strategy needs.")
@click.option(
    "--sarif", type=parameters.FILE, metavar="FILE", help="Also write a SARIF report, for code scanning; - is stdout."
)
def validate(
    files: tuple[str, ...],
    overlays: tuple[str, ...],
    all_overlays: bool,
    strict: bool,
    format_: str,
    quotas: bool,
    sarif: Path | None,
) -> None:
    """Check strategy files and report every error and warning.

    Also checks node pools for an existing cluster: files with `karpenter` that have no `version` and no `node_groups`.

    \b
    Examples:
      eks-hardware validate
      eks-hardware validate my-cluster.yaml --overlay private --quotas
    """
    from eks_hardware.loader.discovery import named_strategy, read_environment
    from eks_hardware.validation import validate

    parameters.refuse_both(overlays, all_overlays)
    if sarif and sarif.suffix.lower() in (".yaml", ".yml"):
        raise click.UsageError(f"--sarif {sarif} must not have a strategy's suffix (.yaml, .yml); use .sarif")
    if format_ == "json" and str(sarif) == "-":
        raise click.UsageError("--format json and --sarif - cannot both write to stdout")
    named, default_overlays = read_environment(os.environ)
    chosen = [named_strategy(file, named) for file in files] or named
    if all_overlays:
        validation, checked = _with_all_overlays(chosen)
    else:
        validation, checked = validate(chosen, list(overlays) or default_overlays, adoptions=True), {}
    failed = validation.shown if strict else validation.errors
    if sarif:
        _write_sarif(validation, sarif)
    if format_ == "json":
        from eks_hardware.validation.json import as_json as report

        content = report(validation)
        if failed:
            content["error"] = summary(failed)
        if all_overlays:
            content["overlays"] = checked
        if quotas:
            from eks_hardware.cli.output.quotas import quotas_as_json

            content["quotas"] = [quotas_as_json(strategy) for strategy in _sound(validation)]
        print_json(content)
    elif str(sarif) != "-":
        _print(validation, checked)
        if quotas:
            from eks_hardware.cli.output.quotas import quota_table

            for strategy in _sound(validation):
                click.echo(f"\n{quota_table(strategy, width() or UNKNOWN_WIDTH)}")
    if failed:
        raise Exit(exit_code(failed))


def _sound(validation: Validation) -> list[Strategy]:
    """Return the strategies without errors; quotas cannot be computed for the others."""
    from eks_hardware.findings import Severity

    return [
        loaded.strategy
        for loaded, findings in validation.strategies
        if all(finding.severity is not Severity.ERROR for finding in findings)
    ]


def _with_all_overlays(files: Sequence[Path | str] | None) -> tuple[Validation, dict[str, list[str]]]:
    """Return the findings, and the overlays of each file."""
    from eks_hardware.validation import validate_variants

    variants = validate_variants(files, adoptions=True)
    checked: dict[str, list[str]] = {name: [] for name in variants.alone.files}
    for variant in variants.each:
        checked[variant.found.files[0]].extend(variant.overlays)
    for name in variants.unused_overlays:
        tell(f"the overlay {name} applies to none of these strategies; check its `strategies` list")
    return variants.validation, checked


def _print(validation: Validation, overlays: Mapping[str, Sequence[str]]) -> None:
    from eks_hardware.printable import counted
    from eks_hardware.validation.terminal import as_text

    wrong_names = [finding for finding in validation.shown if finding.position is None]
    if wrong_names:
        tell_findings(wrong_names)
    if in_files := [finding for finding in validation.shown if finding.position]:
        click.echo(as_text(in_files, width()))
    for file in validation.adoptions:
        say(f"{file} was checked as node pools for an existing cluster")
    for file, names in overlays.items():
        if names:
            say(f"{file} was also checked with {counted(len(names), 'overlay')}: {', '.join(names)}")
    ignored = f", {len(validation.ignored)} ignored" if validation.ignored else ""
    click.echo(
        f"{counted(len(validation.files), 'file')}: {counted(len(validation.errors), 'error')}, "
        f"{counted(len(validation.warnings), 'warning')}{ignored}"
    )


def _write_sarif(validation: Validation, file: Path) -> None:
    from eks_hardware import __version__
    from eks_hardware.validation.sarif import as_sarif

    text = (
        json.dumps(as_sarif(validation, version=__version__, site=os.environ.get("DOCS_SITE_URL", "")), indent=2) + "\n"
    )
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    try:
        atomic_files.write(file, text.encode())
    except OSError as error:
        fail(f"--sarif {file}: {reason(error)}")
