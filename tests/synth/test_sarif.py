"""The SARIF report, validated by Microsoft's own tool with the rules of GitHub's code scanning."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from eks_hardware.validation import validate
from eks_hardware.validation.sarif import as_sarif
from helpers.answers import Answer, contents
from helpers.paths import ROOT, SHIPPED

BAD = sorted((ROOT / "tests" / "corpus" / "bad").glob("*.yaml"))
_TOOL = ROOT / "node_modules" / ".bin" / "sarif-multitool"
# A tool without information about its origin: the project has no public page yet.
_KNOWN = {"SARIF2005"}


def judged(report: dict[str, Any], folder: Path) -> set[str]:
    """Return the ids of the tool's errors for a report, cached until the report or the tool changes."""
    kept = Answer("sarif", [*contents([Path(__file__), ROOT / "package-lock.json"]), json.dumps(report)])
    return set(kept.get(lambda: sorted(_judged(report, folder))))


def _judged(report: dict[str, Any], folder: Path) -> set[str]:
    given, answer = folder / "given.sarif", folder / "answer.sarif"
    given.write_text(json.dumps(report), encoding="utf-8")
    # Its launcher passes the arguments to a shell unquoted.
    arguments = map(shlex.quote, (str(given), "--rule-kind", "Sarif;Gh", "--output", str(answer)))
    done = subprocess.run(
        [_TOOL, "validate", *arguments, "--log", "ForceOverwrite"],
        # Its texts are for one culture; without this setting it needs a library with all of them.
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.is_file(), done.stdout + done.stderr
    found = json.loads(answer.read_text(encoding="utf-8-sig"))
    return {each["ruleId"] for run in found["runs"] for each in run.get("results", ())}


def test_report_is_valid_sarif(tmp_path: Path) -> None:
    # Its time grows with the results; every fifth file has all kinds of location, message and severity.
    report = as_sarif(validate([*BAD[::5], SHIPPED]), version="0.1.0")
    assert len(report["runs"][0]["results"]) > 50
    assert judged(report, tmp_path) <= _KNOWN
    assert judged(as_sarif(validate([]), version="0.1.0"), tmp_path) <= _KNOWN


def test_the_judge_is_strict(tmp_path: Path) -> None:
    report = as_sarif(validate(BAD[:5]), version="0.1.0")
    report["runs"][0]["tool"]["driver"]["rules"][0].pop("fullDescription")
    report["runs"][0]["results"][0].pop("message")
    assert judged(report, tmp_path) - _KNOWN
