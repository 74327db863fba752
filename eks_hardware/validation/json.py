"""Findings as JSON with stable keys."""

from __future__ import annotations

from typing import Any

from eks_hardware.findings import Finding
from eks_hardware.validation import Validation

_JSON_VERSION = 1


def as_json(validation: Validation) -> dict[str, Any]:
    """Return the result with stable keys; ``findings`` includes ignored warnings, in the order of the text output."""
    return {
        "version": _JSON_VERSION,
        "files": list(validation.files),
        "adoptions": list(validation.adoptions),
        "errors": len(validation.errors),
        "warnings": len(validation.warnings),
        "ignored": len(validation.ignored),
        "findings": [
            {**finding_as_json(finding), "ignored": finding.ignored or None} for finding in validation.findings
        ],
    }


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding with stable keys; file, line and column are null without a position."""
    position = finding.position
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "path": finding.path,
        "message": finding.message,
        "file": position.file if position else None,
        "line": position.line if position and position.line else None,
        "column": position.column if position and position.line else None,
    }
