"""The one strategy that a command line names, checked and resolved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click
from click.exceptions import Exit

from eks_hardware.cli.errors import FAILED, fail

if TYPE_CHECKING:
    from eks_hardware.findings import Finding
    from eks_hardware.models import Strategy
    from eks_hardware.validation import Validation

_OVER_BUDGET = "BUDGET_EXCEEDED"
"""What is too dear can be looked at all the same."""


class Checked(NamedTuple):
    """A strategy without errors, but that it may be over its budget, and what was found in it."""

    strategy: Strategy
    findings: tuple[Finding, ...]

    @property
    def over_budget(self) -> bool:
        return any(each.code == _OVER_BUDGET for each in self.findings)


def validated(name: str, overlays: Sequence[str] = ()) -> Validation:
    """What is found in a file, or in the strategy of that name; by default with ``EKS_HARDWARE_OVERLAY``."""
    from eks_hardware.loader.discovery import named_strategy, read_environment
    from eks_hardware.validation import validate

    named, default_overlays = read_environment(os.environ)
    return validate([named_strategy(name, named)], list(overlays) or default_overlays)


def checked(name: str, overlays: Sequence[str] = ()) -> Checked:
    """Read and check a strategy file, or the strategy of that name.

    What is wrong is printed as ``validate`` prints it, on stderr, so that a report on stdout stays whole; with errors
    the command ends with exit code 1.
    """
    from eks_hardware.validation.terminal import as_text

    found = validated(name, overlays)
    if len(found.files) > 1:
        fail(f"{name} has {len(found.files)} strategies; name one")
    if found.shown:
        click.echo(as_text(found.shown), err=True)
    if any(each.code != _OVER_BUDGET for each in found.errors):
        raise Exit(FAILED)
    ((loaded, findings),) = found.strategies
    return Checked(loaded.strategy, findings)
