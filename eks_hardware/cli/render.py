"""``eks-hardware render``: the Kubernetes half of a strategy as files, without Terraform, Node or AWS."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from eks_hardware.kubernetes import Reference


def render(
    strategy: Annotated[str, typer.Argument(help="A strategy file, or the name of one that would become a stack.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.", show_default=False)],
    outputs: Annotated[
        typer.FileText | None,
        typer.Option(
            help="Outputs of the stack, to fill in what only AWS knows: `terraform output -json`; - is stdin."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write among files that are not eks-hardware's.")] = False,
) -> None:
    """Write manifests and chart values for Argo CD, Flux, or helm and kubectl.

    Reports what is wrong in the strategy first, as validate does, and then writes nothing; exit code 1.
    """
    from eks_hardware.loader.discovery import named_strategy, read_environment
    from eks_hardware.resolve import resolve
    from eks_hardware.validation import validate
    from eks_hardware.validation.terminal import as_text

    named, overlays = read_environment(os.environ)
    found = validate([named_strategy(strategy, named)], overlays)
    if len(found.files) > 1:
        _fail(f"{strategy} has {len(found.files)} strategies; name one")
    if found.shown:
        typer.echo(as_text(found.shown))
    if found.errors:
        raise typer.Exit(1)
    ((loaded, _),) = found.strategies

    from eks_hardware.kubernetes import bundle
    from eks_hardware.kubernetes.files.write import WriteError, write
    from eks_hardware.kubernetes.references import known

    resolved = resolve(loaded.strategy)
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
        _fail(str(problem))
    _report(out, len(written))


def _read_outputs(text: str, name: str) -> dict[Reference, str]:
    """Outputs as ``terraform output -json`` prints them, or as ``cdktf deploy --outputs-file`` writes them."""
    from eks_hardware.kubernetes import Reference

    try:
        read = json.loads(text)
    except ValueError as error:
        _fail(f"--outputs: no JSON: {error}")
    found: Any = read.get(name, read) if isinstance(read, dict) else None
    if not isinstance(found, dict):
        _fail("--outputs: no outputs; make the file with `terraform output -json`, in the stack's folder")
    values = {key: each.get("value") if isinstance(each, dict) else each for key, each in found.items()}
    texts = {key: each for key, each in values.items() if isinstance(each, str)}
    return {reference: texts[reference.value] for reference in Reference if reference.value in texts}


def _report(out: Path, files: int) -> None:
    from rich.console import Console

    from eks_hardware.kubernetes.files.summary import read_summary, summary_table

    summary = read_summary(out)
    console = Console(highlight=False)
    if summary.releases:
        console.print(summary_table(summary))
        console.print()
    console.print(f"{files} files in {out}", markup=False, soft_wrap=True)
    if summary.fill_in:
        names = ", ".join(f"${{{name}}}" for name in summary.fill_in)
        console.print(f"to fill in: {names}; {out / 'README.md'} says how", markup=False, soft_wrap=True)


def _fail(message: str) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(1)
