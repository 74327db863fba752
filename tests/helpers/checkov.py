"""Checkov on synthesized stacks.

Checkov reads Terraform JSON but not the policies in it: there, a policy is a string, and its policy checks skip strings
silently. Each stack's policies are therefore also written as HCL next to the stack, which checkov evaluates.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.answers import Answer
from helpers.paths import ROOT

PROGRAM = ROOT / ".venv" / "scan" / "bin" / "checkov"
CONSTRAINTS = ROOT / "constraints-scan.txt"

_STACK, _POLICIES = "cdk.tf.json", "policies.tf"
_ARN, _REFERENCE = re.compile(r"\$\{[^}]*\.arn\}"), re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True)
class Check:
    """Check of one resource.

    Attributes:
        id: checkov's id, such as ``CKV_AWS_58``.
        name: its requirement.
        passed: whether the resource passes.
        folder: the stack's folder, relative to the scanned one.
        type: the resource type.
        path: the construct path, such as ``mixed-hardware/platform/cluster/Resource``.
    """

    id: str
    name: str
    passed: bool
    folder: str
    type: str
    path: str

    def __str__(self) -> str:
        return f"{self.id} {self.path} in {self.folder}: {self.name}"


def scan(folder: Path, documents: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    """Return every check of every stack, from one run.

    A stack that has not changed is not checked again (helpers/answers.py): checkov takes each folder for a module of
    its own.

    Args:
        folder: an empty working folder.
        documents: the content of each stack's ``cdk.tf.json``, by the name of its folder.
    """
    assert PROGRAM.is_file(), "checkov is not installed: run `make scan`"
    versions = [Path(__file__).read_bytes(), CONSTRAINTS.read_bytes()]
    answers = {name: Answer("checkov", [*versions, json.dumps(each)]) for name, each in documents.items()}
    kept = {name: answer.kept() for name, answer in answers.items()}
    if new := {name: documents[name] for name, each in kept.items() if each is None}:
        kept |= {name: [] for name in new}
        for check in _run(folder, new):
            kept[check.folder].append(dataclasses.astuple(check))
        for name in new:
            answers[name].keep(kept[name])
    return [dataclasses.replace(Check(*each), folder=name) for name, checks in kept.items() for each in checks]


def _run(folder: Path, documents: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    addresses: dict[Path, dict[str, tuple[str, str]]] = {}
    for name, document in documents.items():
        (folder / name).mkdir()
        file = folder / name / _STACK
        file.write_text(json.dumps(document, indent=2), encoding="utf-8")
        addresses[file.parent] = _prepared(file)
    command = [str(PROGRAM), "--directory", str(folder), "--framework", "terraform", "terraform_json"]
    command += ["--skip-download", "--output", "json", "--compact"]
    # Exclude local settings, tokens of a platform, and the check for a newer release.
    environment = {"PATH": os.defpath, "HOME": str(folder), "CKV_SKIP_PACKAGE_UPDATE_CHECK": "true"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    reports = json.loads(done.stdout)
    # A list only if several frameworks found something; without results, it is a bare summary.
    if isinstance(reports, dict):
        reports = [reports] if "results" in reports else []
    assert not any(report["summary"]["parsing_errors"] for report in reports), done.stderr
    return [
        _check(record, folder, addresses)
        for report in reports
        for outcome in ("passed_checks", "failed_checks")
        for record in report["results"][outcome]
    ]


def _prepared(file: Path) -> dict[str, tuple[str, str]]:
    """Write the stack's policies as HCL next to it; return type and construct path of its resources, by name."""
    document = json.loads(file.read_text(encoding="utf-8"))
    (file.parent / _POLICIES).write_text("".join(_policies(document)), encoding="utf-8")
    found = {"aws": ("provider", "")}
    for kind in ("data", "resource"):
        for type_, named in document.get(kind, {}).items():
            for name, body in named.items():
                found[name] = (type_, body.get("//", {}).get("metadata", {}).get("path", name))
    return found


def _policies(document: Mapping[str, Any]) -> Iterator[str]:
    for type_, named in document["resource"].items():
        for name, body in named.items():
            if "policy" in body:
                # JSON is valid HCL. Checkov fails on a second reference in one string, so all references are removed.
                policy = _REFERENCE.sub(
                    "111122223333", _ARN.sub("arn:aws:service:region:111122223333:name", body["policy"])
                )
                plain = {key: json.dumps(value) for key, value in body.items() if isinstance(value, str | bool | int)}
                arguments = {**plain, "policy": f"jsonencode({policy})"}
                lines = "".join(f"  {key} = {value}\n" for key, value in arguments.items())
                yield f'resource "{type_}" "{name}" {{\n{lines}}}\n'


def _check(record: Mapping[str, Any], folder: Path, addresses: Mapping[Path, Mapping[str, tuple[str, str]]]) -> Check:
    place = Path(record["file_abs_path"]).parent
    type_, path = addresses[place][record["resource"].split(".")[1]]
    passed = record["check_result"]["result"] == "PASSED"
    return Check(record["check_id"], record["check_name"], passed, str(place.relative_to(folder)), type_, path)
