"""``eks-hardware validate``: check strategy files without Terraform, Node or AWS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Strategy files; by default those that would become stacks.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
) -> None:
    """Report everything that is wrong in strategy files; exit code 1 if anything is."""
    from eks_hardware.config.errors import Severity, StrategyError
    from eks_hardware.config.loader import load_strategies
    from eks_hardware.config.loader.discovery import DEFAULT_FOLDER, discover, read_environment
    from eks_hardware.config.rules import check_loaded

    named, overlays = read_environment(os.environ)
    findings = []
    count = 0
    try:
        chosen = discover(files or named, DEFAULT_FOLDER)
        count = len(chosen)
        loaded = load_strategies(chosen, overlays)
    except StrategyError as error:
        findings = list(error.findings)
    else:
        findings = [finding for each in loaded for finding in check_loaded(each)]
    for finding in findings:
        typer.echo(str(finding))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    typer.echo(f"{_count(count, 'file')}: {_count(errors, 'error')}, {_count(warnings, 'warning')}")
    if errors or (strict and warnings):
        raise typer.Exit(1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
