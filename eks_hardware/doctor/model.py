"""Data model of checks and their results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from eks_hardware.catalogue import Catalogue
from eks_hardware.doctor.aws import Aws, Caller
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.findings import Finding, Severity, errors_in, ignored_in, warnings_in
from eks_hardware.loader import LoadedStrategy
from eks_hardware.models import NodePoolSpec, Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.rules.ignore import reason

CREDENTIALS = "aws"
"""Field of findings that concern no other field, so that a strategy can ignore them."""


@dataclass(frozen=True)
class Diagnosis(Finding):
    """A finding of a check, with the ``aws ...`` command that fixes it or shows more; empty if there is none."""

    command: str = field(default="", compare=False)
    check: str = field(default="", compare=False)


@dataclass(frozen=True)
class Subject:
    """A strategy, its resolved form, and the caller. ``profile`` is the AWS profile for the commands."""

    loaded: LoadedStrategy
    resolved: ResolvedStrategy
    catalogue: Catalogue
    caller: Caller
    profile: str | None = None

    @property
    def strategy(self) -> Strategy:
        """The strategy."""
        return self.loaded.strategy

    @property
    def pools(self) -> tuple[NodePoolSpec, ...]:
        """The node pools of the strategy."""
        return pools_of(self.strategy)

    def command(self, *words: str, **options: str | int | Sequence[str]) -> str:
        """Return an ``aws`` command for the strategy's region."""
        return aws_command(*words, **options, region=self.resolved.region)

    def error(self, code: str, path: str, message: str, command: str = "") -> Diagnosis:
        """Return a finding that prevents the deployment."""
        return self._diagnosis(Severity.ERROR, code, path, message, command)

    def warning(self, code: str, path: str, message: str, command: str = "") -> Diagnosis:
        """Return a finding that does not prevent the deployment."""
        return self._diagnosis(Severity.WARNING, code, path, message, command)

    def _diagnosis(self, severity: Severity, code: str, path: str, message: str, command: str) -> Diagnosis:
        if command and self.profile:
            command = f"{command} --profile {shlex.quote(self.profile)}"
        ignored = reason(self.strategy, code, path) if severity is Severity.WARNING else ""
        place = self.loaded.source.locate(path)
        return Diagnosis(code, path, message, severity, place, ignored, command=command)


@dataclass(frozen=True)
class Probe:
    """One question to AWS. Probes run in parallel, and a denied one does not affect the others.

    Attributes:
        path: the field in question.
        about: what is unknown if the call is denied: ``whether the key exists``.
        ask: makes the calls and yields findings.
    """

    path: str
    about: str
    ask: Callable[[Aws], Iterator[Diagnosis]]


class Check(Protocol):
    """A module with one check. ``NAME`` is short and stable, ``CALLS`` lists the IAM actions it needs."""

    CALLS: tuple[str, ...]

    @property
    def NAME(self) -> str:  # noqa: N802
        """Short and stable name of the check."""
        ...

    def probes(self, subject: Subject) -> Iterable[Probe]:
        """Return the probes of the check; none if it does not apply to the strategy."""
        ...


@dataclass(frozen=True)
class Outcome:
    """The result of one check: the number of probes, and the findings."""

    name: str
    probes: int
    findings: tuple[Diagnosis, ...]


@dataclass(frozen=True)
class Report:
    """The result of ``doctor``. ``caller`` is None if the role cannot be assumed."""

    outcomes: tuple[Outcome, ...]
    caller: Caller | None
    region: str
    seconds: float

    @property
    def findings(self) -> tuple[Diagnosis, ...]:
        """All findings, in the order of the file, then of the checks."""
        findings = [finding for outcome in self.outcomes for finding in outcome.findings]
        return tuple(
            sorted(
                findings,
                key=lambda finding: (finding.position.line, finding.position.column) if finding.position else (0, 0),
            )
        )

    @property
    def errors(self) -> tuple[Diagnosis, ...]:
        """Findings that prevent the deployment."""
        return errors_in(self.findings)

    @property
    def warnings(self) -> tuple[Diagnosis, ...]:
        """Findings that do not prevent the deployment, except those that the strategy ignores."""
        return warnings_in(self.findings)

    @property
    def ignored(self) -> tuple[Diagnosis, ...]:
        """Warnings that the strategy ignores, with the reasons."""
        return ignored_in(self.findings)
