"""Findings: faults in a strategy file, with their positions and fixes.

A finding is printed on one line, so that editors and CI logs can link to it::

    mixed.yaml:14:22: error EFA_UNSUPPORTED node_groups[gpu].instance_types[0]: g6.4xlarge has no EFA; use ...

Checks collect all findings and then raise them together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeVar

__all__ = ["Finding", "Position", "Severity", "StrategyError"]


class Severity(str, Enum):
    """Severity of a finding: an ``error`` stops the deployment, a ``warning`` is printed.

    Examples:
        >>> Severity("warning") is Severity.WARNING
        True
    """

    ERROR = "error"
    WARNING = "warning"


class Position(NamedTuple):
    """A position in a file. Lines and columns count from 1; both are 0 for the file as a whole.

    Examples:
        >>> str(Position("demo.yaml", 7, 22))
        'demo.yaml:7:22'
    """

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Finding:
    """One fault.

    Attributes:
        code: stable, upper-case identifier; tests and ``ignore`` lists refer to it.
        path: the field, such as ``node_groups[gpu].scaling.max``; empty for the file as a whole.
        message: what is wrong, what was given, what is allowed, and the fix; no full stop.
        severity: error or warning.
        position: the position in the file; None until a loader has found it.
        ignored: the strategy's reason for ignoring the finding; empty if the finding is shown.

    Examples:
        >>> str(Finding(code="EFA_UNSUPPORTED", path="node_groups[gpu]", message="g6.4xlarge has no EFA"))
        'error EFA_UNSUPPORTED node_groups[gpu]: g6.4xlarge has no EFA'
    """

    code: str
    path: str
    message: str
    severity: Severity = Severity.ERROR
    position: Position | None = field(default=None, compare=False)
    ignored: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        path = f" {self.path}" if self.path else ""
        return f"{place}{self.severity.value} {self.code}{path}: {self.message}"


_Finding = TypeVar("_Finding", bound=Finding)


def errors_in(findings: Iterable[_Finding]) -> tuple[_Finding, ...]:
    """Return the findings with severity error."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)


def warnings_in(findings: Iterable[_Finding]) -> tuple[_Finding, ...]:
    """Return the warnings that no strategy ignores."""
    return tuple(finding for finding in findings if finding.severity is Severity.WARNING and not finding.ignored)


def ignored_in(findings: Iterable[_Finding]) -> tuple[_Finding, ...]:
    """Return the warnings that a strategy ignores."""
    return tuple(finding for finding in findings if finding.ignored)


class StrategyError(ValueError):
    """Raised with all errors at once; ``findings`` also contains the warnings.

    Examples:
        >>> finding = Finding(code="REGION_UNKNOWN", path="region", message="us-west-9 is not a known region")
        >>> len(StrategyError([finding]).errors)
        1
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings: tuple[Finding, ...] = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with severity error."""
        return errors_in(self.findings)
