"""``eks-hardware render``: the Kubernetes objects of a strategy as files, without Terraform, Node or AWS."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED, exit_codes, fail
from eks_hardware.cli.output import console, print_json
from eks_hardware.cli.output.narrow import fitted

if TYPE_CHECKING:
    from eks_hardware.kubernetes import Reference


@click.command(epilog=exit_codes("errors in the strategy"))
@parameters.strategy()
@parameters.overlays("the file")
@parameters.output("FOLDER", "Folder to write to.", required=True)
@click.option(
    "--outputs",
    type=click.File(),
    metavar="FILE",
    help="Outputs of the stack (`terraform output -json`), to fill in values known only after deployment; - is stdin.",
)
@parameters.force("Write to a folder that contains other files.")
@parameters.output_format()
def render(
    strategy: str, overlays: tuple[str, ...], output: Path, outputs: IO[str] | None, force: bool, format_: str
) -> None:
    """Write manifests and chart values for Argo CD, Flux, or helm and kubectl.

    For a strategy with errors, nothing is written.

    \b
    Examples:
      eks-hardware render my-cluster.yaml --output manifests
      eks-hardware render my-cluster.yaml -o manifests --outputs - < outputs.json
    """
    found = checked(strategy, overlays)
    if found.over_budget:
        raise Exit(FAILED)

    from eks_hardware.kubernetes import bundle
    from eks_hardware.kubernetes.files.write import WriteError, write
    from eks_hardware.kubernetes.references import known
    from eks_hardware.resolve import resolve

    resolved = resolve(found.strategy)
    given = _read_outputs(outputs.read(), resolved.name) if outputs else {}
    try:
        written = write(
            bundle(resolved),
            output,
            name=resolved.name,
            region=resolved.region,
            known={**given, **known(resolved)},
            force=force,
        )
    except WriteError as problem:
        fail(str(problem))
    if format_ == "json":
        print_json(_content(output, written))
    else:
        _report(output, len(written))


def _read_outputs(text: str, name: str) -> dict[Reference, str]:
    """Return outputs from ``terraform output -json`` or ``cdktf deploy --outputs-file``."""
    from eks_hardware.kubernetes import Reference

    try:
        read = json.loads(text)
    except ValueError as error:
        fail(f"--outputs must be JSON: {error}")
    found: object = read.get(name, read) if isinstance(read, dict) else None
    if not isinstance(found, dict):
        fail("--outputs: contains no outputs; run `terraform output -json` in the stack's folder")
    values = {key: each.get("value") if isinstance(each, dict) else each for key, each in found.items()}
    texts = {key: each for key, each in values.items() if isinstance(each, str)}
    return {reference: texts[reference.value] for reference in Reference if reference.value in texts}


def _content(folder: Path, written: Sequence[Path]) -> dict[str, object]:
    from eks_hardware.kubernetes.files.summary import read_summary

    summary = read_summary(folder)
    return {
        "folder": str(folder),
        "files": [file.relative_to(folder).as_posix() for file in written],
        "releases": [{"name": release.name, "namespace": release.namespace} for release in summary.releases],
        "fill_in": list(summary.fill_in),
    }


def _report(out: Path, files: int) -> None:
    from eks_hardware.kubernetes.files.summary import read_summary, summary_table

    summary = read_summary(out)
    text = console()
    if summary.releases:
        text.print(fitted(summary_table(summary), text))
        text.print()
    text.print(f"{files} files in {out}", markup=False, soft_wrap=True)
    if summary.fill_in:
        names = ", ".join(f"${{{name}}}" for name in summary.fill_in)
        text.print(f"placeholders to fill in: {names}; see {out / 'README.md'}", markup=False, soft_wrap=True)
