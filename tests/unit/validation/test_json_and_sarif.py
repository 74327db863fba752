"""Findings as JSON and SARIF."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.rules.explanations import explanations
from eks_hardware.validation import Validation, validate
from eks_hardware.validation.json import as_json
from eks_hardware.validation.sarif import as_sarif
from eks_hardware.validation.sarif import link as sarif_link
from helpers.paths import ROOT
from helpers.strategies import TODAY

TEXT = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true, endpoint: {public_cidrs: [0.0.0.0/0]}}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
  - {name: gpu, instance_types: [p5.49xlarge], scaling: {max: 4}}
  - {name: efa, instance_types: [p4d.24xlarge], efa: true, capacity: spot, scaling: {max: 4}}
kubernetes: {delivery: manifests}
ignore:
  - {code: ENDPOINT_OPEN, path: cluster.endpoint, reason: a sandbox without data}
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Validation:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in here").mkdir()
    (tmp_path / "in here" / "demo.yaml").write_text(TEXT, encoding="utf-8")
    return validate(["in here/demo.yaml", "missing.yaml"], today=TODAY)


def test_json_carries_everything(found: Validation) -> None:
    report = json.loads(json.dumps(as_json(found)))
    assert {key: report[key] for key in ("version", "files", "errors", "warnings", "ignored")} == {
        "version": 1,
        "files": ["in here/demo.yaml"],
        "errors": 2,
        "warnings": 1,
        "ignored": 1,
    }
    by_code = {each["code"]: each for each in report["findings"]}
    assert {code: (each["file"], each["line"], each["column"]) for code, each in by_code.items()} == {
        "STRATEGY_PATH": (None, None, None),
        "ENDPOINT_OPEN": ("in here/demo.yaml", 4, 61),
        "INSTANCE_TYPE_UNKNOWN": ("in here/demo.yaml", 7, 34),
        "EFA_SPOT": ("in here/demo.yaml", 8, 70),
    }
    assert by_code["ENDPOINT_OPEN"]["ignored"] == "a sandbox without data"
    assert by_code["EFA_SPOT"]["ignored"] is None
    assert by_code["INSTANCE_TYPE_UNKNOWN"]["severity"] == "error"
    assert by_code["INSTANCE_TYPE_UNKNOWN"]["path"] == "node_groups[gpu].instance_types[0]"
    assert "p5.49xlarge" in by_code["INSTANCE_TYPE_UNKNOWN"]["message"]


def results(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (run,) = report["runs"]
    return {each["ruleId"]: each for each in run["results"]}


def test_sarif_carries_the_same(found: Validation) -> None:
    report = as_sarif(found, version="1.2.3")
    (run,) = report["runs"]
    assert report["version"] == "2.1.0"
    assert run["tool"]["driver"]["semanticVersion"] == "1.2.3"
    by_code = results(report)
    assert list(by_code) == [each.code for each in found.findings]
    wrong = by_code["INSTANCE_TYPE_UNKNOWN"]
    assert wrong["level"] == "error"
    assert wrong["message"]["text"].startswith("node_groups[gpu].instance_types[0]: ")
    assert wrong["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "in%20here/demo.yaml"},
                "region": {"startLine": 7, "startColumn": 34},
            }
        }
    ]
    assert by_code["EFA_SPOT"]["level"] == "warning"
    assert "suppressions" not in by_code["EFA_SPOT"]
    assert by_code["ENDPOINT_OPEN"]["suppressions"] == [{"kind": "inSource", "justification": "a sandbox without data"}]
    assert "locations" not in by_code["STRATEGY_PATH"]


def test_sarif_explains_the_rules_it_names(found: Validation) -> None:
    (run,) = as_sarif(found, version="1.2.3")["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for rule in rules:
        explained = explanations()[rule["id"]]
        assert rule["shortDescription"]["text"] == explained.summary
        assert rule["defaultConfiguration"]["level"] == explained.severity.value
        assert explained.fixed in rule["help"]["text"]
        assert rule["help"]["text"].endswith(f"Source: {explained.source}")


def test_links_of_sarif_open_pages_for_readers(found: Validation) -> None:
    def links(site: str) -> dict[str, str | None]:
        rules = as_sarif(found, version="1.2.3", site=site)["runs"][0]["tool"]["driver"]["rules"]
        return {each["id"]: each.get("helpUri") for each in rules}

    assert links("https://docs.example.com/")["EFA_SPOT"] == (
        "https://docs.example.com/reference/rules/hardware.html#efa_spot"
    )
    page = (ROOT / "docs" / "reference" / "rules" / "hardware.md").read_text(encoding="utf-8")
    assert "\n## EFA_SPOT\n" in page
    pages = {str(sarif_link(each, "x")).partition(".html#")[0] for each in explanations().values()}
    assert [name for name in pages if not (ROOT / "docs" / f"{name.removeprefix('x/')}.md").is_file()] == []
    code = re.compile(r"\.(go|json|py|ts|yaml)$")
    assert [each for each in explanations().values() if code.search(sarif_link(each, "") or "")] == []


def test_a_fingerprint_outlives_lines_above_it(found: Validation, tmp_path: Path) -> None:
    before = {code: each["partialFingerprints"] for code, each in results(as_sarif(found, version="1")).items()}
    file = tmp_path / "in here" / "demo.yaml"
    file.write_text("# a comment\n\n" + TEXT, encoding="utf-8")
    moved = as_sarif(validate(["in here/demo.yaml", "missing.yaml"], today=TODAY), version="1")
    assert before == {code: each["partialFingerprints"] for code, each in results(moved).items()}
    assert len({json.dumps(each) for each in before.values()}) == len(before)
    (digest,) = before["EFA_SPOT"].values()
    assert digest == hashlib.sha256(b"EFA_SPOT\nin here/demo.yaml\nnode_groups[efa].capacity").hexdigest()


def test_a_file_elsewhere_has_its_whole_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "demo.yaml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "away")
    report = results(as_sarif(validate([tmp_path / "demo.yaml"], today=TODAY), version="1"))
    uri = report["EFA_SPOT"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (tmp_path / "demo.yaml").as_uri()
