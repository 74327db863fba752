"""The CDKTF app: every strategy becomes a stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from eks_hardware.config.errors import Finding, Severity, StrategyError
from eks_hardware.config.loader import from_environment
from eks_hardware.config.resolve import ResolvedStrategy, resolve
from eks_hardware.config.rules import checked


def strategies(
    environ: Mapping[str, str] | None = None,
) -> list[tuple[ResolvedStrategy, tuple[Finding, ...]]]:
    """Load, check and resolve the strategies that the environment names; each with its warnings.

    Raises:
        StrategyError: with every finding of every file.
    """
    loaded = from_environment(os.environ if environ is None else environ)
    return [(resolve(each.strategy), warnings) for each, warnings in checked(loaded)]


def main(environ: Mapping[str, str] | None = None) -> int:
    """Synthesize every strategy into the folder that the CDKTF command line names; returns an exit code."""
    environ = os.environ if environ is None else environ
    try:
        resolved = strategies(environ)
    except StrategyError as error:
        print(_report(error.findings), file=sys.stderr)
        return 1
    # Node starts with this import: a wrong file is reported without it.
    from eks_hardware._cdk import Annotations, App
    from eks_hardware.local.terraform import link_mirror
    from eks_hardware.stacks.hardware_stack import HardwareStack

    app = App()
    for each, warnings in resolved:
        stack = HardwareStack(app, resolved=each)
        for warning in warnings:
            # The command line shows what the app writes to stderr as an error; a warning has its own way.
            Annotations.of(stack).add_warning(str(warning))
    app.synth()
    link_mirror(Path(app.outdir))
    return 0


def _report(findings: tuple[Finding, ...]) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    lines = [str(finding) for finding in findings]
    lines.append(f"{errors} error{'s' if errors != 1 else ''}; nothing was synthesized")
    return "\n".join(lines)
