"""Load and check the one strategy that a command line names."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click
from click.exceptions import Exit

from eks_hardware.cli.errors import NOT_RUN, exit_code, fail, tell, tell_findings

if TYPE_CHECKING:
    from eks_hardware.findings import Finding
    from eks_hardware.models import Strategy
    from eks_hardware.validation import Validation

_OVER_BUDGET = "BUDGET_EXCEEDED"
"""The only error that does not stop a command from showing a strategy."""


class Checked(NamedTuple):
    """A strategy without errors other than a budget that it exceeds, and its findings."""

    strategy: Strategy
    findings: tuple[Finding, ...]

    @property
    def over_budget(self) -> bool:
        """Whether the strategy exceeds its budget."""
        return any(finding.code == _OVER_BUDGET for finding in self.findings)


def validated(name: str, overlays: Sequence[str] = ()) -> Validation:
    """Validate a file or a named strategy, by default with the overlays of ``EKS_HARDWARE_OVERLAY``."""
    from eks_hardware.loader.discovery import named_strategy, read_environment
    from eks_hardware.validation import validate

    named, default_overlays = read_environment(os.environ)
    return validate([named_strategy(name, named)], list(overlays) or default_overlays)


def checked(name: str, overlays: Sequence[str] = ()) -> Checked:
    """Read and check a strategy file or a named strategy.

    Errors are printed on stderr as ``validate`` prints them, and end the command. Warnings are only counted, on stderr
    after the command's output: ``validate`` shows them.
    """
    validation = validated(name, overlays)
    if len(validation.files) > 1:
        fail(f"{name} contains {len(validation.files)} strategies; name one of them")
    if validation.errors:
        tell_findings(validation.errors)
    if is_refused(validation):
        _count(validation, name, overlays)
        raise Exit(exit_code(validation.errors))
    _count_afterwards(validation, name, overlays)
    ((loaded, findings),) = validation.strategies
    return Checked(loaded.strategy, findings)


def is_refused(validation: Validation) -> bool:
    """Return whether a strategy has an error other than an exceeded budget."""
    return any(error.code != _OVER_BUDGET for error in validation.errors)


def _count_afterwards(validation: Validation, name: str, overlays: Sequence[str]) -> None:
    """Print the number of warnings at the end of the command, unless it could not run."""
    context = click.get_current_context()
    if __name__ not in context.meta:
        context.meta[__name__] = []
        context.with_resource(_counted_at_the_end(context.meta[__name__]))
    context.meta[__name__].append((validation, name, overlays))


@contextmanager
def _counted_at_the_end(strategies: Sequence[tuple[Validation, str, Sequence[str]]]) -> Iterator[None]:
    code: object = 0
    try:
        yield
    except BaseException as error:
        code = getattr(error, "exit_code", NOT_RUN)
        raise
    finally:
        for strategy in strategies if code != NOT_RUN else ():
            _count(*strategy)


def _count(validation: Validation, name: str, overlays: Sequence[str]) -> None:
    """Print the number of warnings, and the command that shows them."""
    if not validation.warnings:
        return
    from eks_hardware.printable import counted

    words = [name, *(word for overlay in overlays for word in ("--overlay", overlay))]
    tell(f"{counted(len(validation.warnings), 'warning')}; see `eks-hardware validate {shlex.join(words)}`")
