"""Strategies with each of their overlays: the findings, and what they are attributed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware.validation import validate_variants

STRATEGY = """\
version: 1
name: {name}
region: us-west-2
cluster: {{creator_is_admin: true, endpoint: {{public_cidrs: [{cidr}]}}}}
node_groups:
  - {{name: system, instance_types: [m6i.xlarge], scaling: {{min: 2, max: 4}}}}
"""
OPEN, CLOSED = "0.0.0.0/0", "93.184.216.0/24"
IGNORE = "ignore: [{code: ENDPOINT_OPEN, path: cluster.endpoint, reason: a sandbox}]\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("strategies").mkdir()
    Path("overlays").mkdir()
    strategy("demo", CLOSED)


def strategy(name: str, cidr: str, added: str = "") -> None:
    Path(f"strategies/{name}.yaml").write_text(STRATEGY.format(name=name, cidr=cidr) + added, encoding="utf-8")


def overlay(name: str, text: str) -> None:
    Path(f"overlays/{name}.yaml").write_text(text, encoding="utf-8")


def found() -> list[tuple[str, str]]:
    """Return the code of every finding, and the end of its message in parentheses."""
    findings = validate_variants(["strategies"]).validation.shown
    return [
        (each.code, each.message.rpartition("(")[2].rstrip(")") if "(" in each.message else "") for each in findings
    ]


def checked() -> list[tuple[str, tuple[str, ...]]]:
    return [(each.file.stem, each.overlays) for each in validate_variants(["strategies"]).each]


def test_each_overlay_meets_the_strategies_that_it_is_for() -> None:
    strategy("other", CLOSED)
    overlay("dev", "tags: {stage: dev}\n")
    overlay("production", "strategies: [other]\ntags: {stage: production}\n")
    assert checked() == [
        ("demo", ()),
        ("other", ()),
        ("demo", ("dev",)),
        ("other", ("dev",)),
        ("other", ("production",)),
    ]
    assert found() == []


def test_a_shipped_overlay_is_not_one_of_the_project() -> None:
    assert checked() == [("demo", ())]


def test_an_overlay_for_none_of_the_strategies() -> None:
    overlay("production", "strategies: [dmeo]\n")
    assert validate_variants(["strategies"]).unused_overlays == ("production",)
    assert checked() == [("demo", ())]


def test_a_finding_in_the_strategy_names_the_overlay() -> None:
    strategy("demo", OPEN, IGNORE)
    overlay("strict", "ignore: null\n")
    overlay("audit", "ignore: null\n")
    assert found() == [("ENDPOINT_OPEN", "with overlay audit, strict")]


def test_a_finding_in_an_overlay_names_the_strategies_once() -> None:
    strategy("other", CLOSED)
    overlay("typo", "node_groups: [{name: system, instance_types: [m6i.xlrge]}]\n")
    assert found() == [("INSTANCE_TYPE_UNKNOWN", "for demo, other")]


def test_a_finding_of_the_strategy_alone_is_not_repeated() -> None:
    strategy("demo", OPEN)
    overlay("dev", "tags: {stage: dev}\n")
    assert found() == [("ENDPOINT_OPEN", "")]


def test_an_accepted_warning_that_an_overlay_removes_is_no_finding() -> None:
    strategy("demo", OPEN, IGNORE)
    overlay("production", f"cluster: {{endpoint: {{public_cidrs: [{CLOSED}]}}}}\n")
    assert found() == []


def test_an_accepted_warning_that_only_an_overlay_causes_is_no_finding() -> None:
    strategy("demo", CLOSED, IGNORE)
    assert [code for code, _ in found()] == ["IGNORE_UNUSED"]
    overlay("sandbox", f"cluster: {{endpoint: {{public_cidrs: [{OPEN}]}}}}\n")
    assert found() == []


@pytest.mark.parametrize("text", ["strategies: demo\n", "tags: [\n"])
def test_a_faulty_overlay_is_found(text: str) -> None:
    overlay("faulty", text)
    assert not validate_variants(["strategies"]).alone.errors
    assert len(validate_variants(["strategies"]).validation.errors) == 1


def test_a_missing_folder_is_one_finding() -> None:
    variants = validate_variants(["nowhere"])
    assert ([each.code for each in variants.validation.errors], variants.each) == (["STRATEGY_PATH"], ())
