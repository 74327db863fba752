"""Findings as SARIF, for code scanning.

SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; the subset that GitHub reads:
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from eks_hardware.findings import Finding, Severity
from eks_hardware.rules.explanations import Explanation, explanations
from eks_hardware.rules.reference_page import file_name
from eks_hardware.validation import Validation

_SOURCE_CODE = (".go", ".json", ".py", ".ts", ".yaml")
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(validation: Validation, *, version: str, site: str = "") -> dict[str, Any]:
    """Return one SARIF run; ignored warnings are suppressed results, with their reason as the justification.

    Args:
        validation: the findings.
        version: the version of this package.
        site: address of the published documentation, for links to the rule pages.
    """
    codes = sorted({finding.code for finding in validation.findings})
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "eks-hardware",
                        "semanticVersion": version,
                        "rules": [_sarif_rule(code, site) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, codes.index(finding.code)) for finding in validation.findings],
            }
        ],
    }


def _sarif_rule(code: str, site: str) -> dict[str, Any]:
    each = explanations()[code]
    better = f"\n\nInstead of\n\n{each.breaks}\nwrite\n\n{each.fixed}" if each.fixed else ""
    entry: dict[str, Any] = {
        "id": code,
        "shortDescription": {"text": each.summary},
        "fullDescription": {"text": each.why},
        "help": {
            "text": f"{each.why}{better}\n\nSource: {each.source}",
            "markdown": f"{_markdown(each)}\n\nSource: {each.source}",
        },
        "defaultConfiguration": {"level": each.severity.value},
    }
    if address := link(each, site):
        entry["helpUri"] = address
    return entry


def link(each: Explanation, site: str) -> str | None:
    """Return the rule's page on the published site, otherwise its source if that is a page and not source code."""
    if site:
        page = Path(file_name(each.area)).with_suffix(".html")
        return f"{site.rstrip('/')}/reference/rules/{page}#{each.code.lower()}"
    return each.address if each.address and Path(urlsplit(each.address).path).suffix not in _SOURCE_CODE else None


def _markdown(each: Explanation) -> str:
    if not each.fixed:
        return each.why
    return f"{each.why}\n\nInstead of\n\n```yaml\n{each.breaks}```\n\nwrite\n\n```yaml\n{each.fixed}```\n"


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    file = finding.position.file if finding.position else ""
    text = f"{finding.path}: {finding.message}" if finding.path else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": "error" if finding.severity is Severity.ERROR else "warning",
        "message": {"text": text},
        # Identifies the same finding after lines are added above it.
        "partialFingerprints": {
            "findingHash/v1": hashlib.sha256(f"{finding.code}\n{file}\n{finding.path}".encode()).hexdigest()
        },
    }
    if finding.position:
        # SARIF requires a line: a finding about the whole file has the first one.
        region = {"startLine": max(1, finding.position.line), "startColumn": max(1, finding.position.column)}
        place = {"artifactLocation": {"uri": _uri(file)}, "region": region}
        result["locations"] = [{"physicalLocation": place}]
    if finding.ignored:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.ignored}]
    return result


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
