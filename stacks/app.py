"""The CDKTF app: every strategy becomes a stack, or two."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from eks_hardware.advisor.loading import from_environment
from eks_hardware.config.errors import Finding, StrategyError
from eks_hardware.config.report.text import as_text, counted
from eks_hardware.config.resolve import ResolvedStrategy, resolve
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.files.write import WriteError, remove, write
from eks_hardware.kubernetes.references import known


def strategies(
    environ: Mapping[str, str] | None = None,
) -> list[tuple[ResolvedStrategy, tuple[Finding, ...]]]:
    """Load, check and resolve the strategies that the environment names; each with its warnings.

    Raises:
        StrategyError: with every finding of every file.
    """
    found = from_environment(os.environ if environ is None else environ)
    if found.errors:
        raise StrategyError(found.shown)
    return [
        (resolve(each.strategy), tuple(warning for warning in warnings if not warning.ignored))
        for each, warnings in found.strategies
    ]


def main(environ: Mapping[str, str] | None = None) -> int:
    """Synthesize every strategy into the folder that the CDKTF command line names; returns an exit code."""
    environ = os.environ if environ is None else environ
    try:
        resolved = strategies(environ)
    except StrategyError as error:
        print(as_text(error.findings), file=sys.stderr)
        print(f"{counted(len(error.errors), 'error')}; nothing was synthesized", file=sys.stderr)
        return 1
    # Node starts with this import: a wrong file is reported without it.
    from eks_hardware._cdk import Annotations, App
    from eks_hardware.local.terraform import link_mirror
    from eks_hardware.stacks.strategy_stacks import strategy_stacks

    app = App()
    for each, warnings in resolved:
        stack = strategy_stacks(app, each)[0]
        for warning in warnings:
            # The command line shows what the app writes to stderr as an error; a warning has its own way.
            Annotations.of(stack).add_warning(str(warning))
    app.synth()
    outdir = Path(app.outdir)
    try:
        for each, _ in resolved:
            _deliver_manifests(each, outdir / "stacks" / each.name / "kubernetes")
    except WriteError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    link_mirror(outdir)
    return 0


def _deliver_manifests(resolved: ResolvedStrategy, folder: Path) -> None:
    """Write what the strategy puts on its cluster, or remove it where Terraform installs it now."""
    if resolved.kubernetes.delivery == "manifests":
        # The folder is the app's own, so that nothing in it is anyone else's.
        write(bundle(resolved), folder, name=resolved.name, region=resolved.region, known=known(resolved), force=True)
    else:
        remove(folder)
