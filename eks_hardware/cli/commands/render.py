"""``eks-hardware render``: the Kubernetes half of a strategy as files, without Terraform, Node or AWS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from eks_hardware.cli import parameters
from eks_hardware.cli.checked_strategy import checked
from eks_hardware.cli.errors import FAILED, fail
from eks_hardware.cli.output import console

if TYPE_CHECKING:
    from eks_hardware.kubernetes import Reference


@click.command()
@parameters.strategy()
@click.option("--out", type=parameters.FILE, required=True, metavar="FOLDER", help="Folder to write to.")
@click.option(
    "--outputs",
    type=click.File(),
    help="Outputs of the stack, to fill in what only AWS knows: `terraform output -json`; - is stdin.",
)
@parameters.force("Write among files that are not eks-hardware's.")
def render(strategy: str, out: Path, outputs: IO[str] | None, force: bool) -> None:
    """Write manifests and chart values for Argo CD, Flux, or helm and kubectl.

    Reports what is wrong in the strategy first, as validate does, and then writes nothing; exit code 1.
    """
    found = checked(strategy)
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
            out,
            name=resolved.name,
            region=resolved.region,
            known={**given, **known(resolved)},
            force=force,
        )
    except WriteError as problem:
        fail(str(problem))
    _report(out, len(written))


def _read_outputs(text: str, name: str) -> dict[Reference, str]:
    """Outputs as ``terraform output -json`` prints them, or as ``cdktf deploy --outputs-file`` writes them."""
    from eks_hardware.kubernetes import Reference

    try:
        read = json.loads(text)
    except ValueError as error:
        fail(f"--outputs: no JSON: {error}")
    found: Any = read.get(name, read) if isinstance(read, dict) else None
    if not isinstance(found, dict):
        fail("--outputs: no outputs; make the file with `terraform output -json`, in the stack's folder")
    values = {key: each.get("value") if isinstance(each, dict) else each for key, each in found.items()}
    texts = {key: each for key, each in values.items() if isinstance(each, str)}
    return {reference: texts[reference.value] for reference in Reference if reference.value in texts}


def _report(out: Path, files: int) -> None:
    from eks_hardware.kubernetes.files.summary import read_summary, summary_table

    summary = read_summary(out)
    text = console()
    if summary.releases:
        text.print(summary_table(summary))
        text.print()
    text.print(f"{files} files in {out}", markup=False, soft_wrap=True)
    if summary.fill_in:
        names = ", ".join(f"${{{name}}}" for name in summary.fill_in)
        text.print(f"to fill in: {names}; {out / 'README.md'} says how", markup=False, soft_wrap=True)
