"""Strategies with each of their overlays: the findings, and what they are attributed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware import validation
from eks_hardware.validation import validate_variants
from helpers.strategies import write_overlay

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
    write_with_endpoint("demo", CLOSED)


def write_with_endpoint(name: str, cidr: str, added: str = "") -> None:
    Path(f"strategies/{name}.yaml").write_text(STRATEGY.format(name=name, cidr=cidr) + added, encoding="utf-8")


def codes_and_variants() -> list[tuple[str, str]]:
    """Return the code of every finding, and the end of its message in parentheses."""
    findings = validate_variants(["strategies"]).validation.shown
    return [
        (each.code, each.message.rpartition("(")[2].rstrip(")") if "(" in each.message else "") for each in findings
    ]


def checked() -> list[tuple[str, tuple[str, ...]]]:
    return [(each.file.stem, each.overlays) for each in validate_variants(["strategies"]).each]


def test_each_overlay_meets_the_strategies_that_it_is_for() -> None:
    write_with_endpoint("other", CLOSED)
    write_overlay("dev", "tags: {stage: dev}\n")
    write_overlay("production", "strategies: [other]\ntags: {stage: production}\n")
    assert checked() == [
        ("demo", ()),
        ("other", ()),
        ("demo", ("dev",)),
        ("other", ("dev",)),
        ("other", ("production",)),
    ]
    assert codes_and_variants() == []


def test_a_shipped_overlay_is_not_one_of_the_project() -> None:
    assert checked() == [("demo", ())]


def test_an_overlay_for_none_of_the_strategies() -> None:
    write_overlay("production", "strategies: [dmeo]\n")
    assert validate_variants(["strategies"]).unused_overlays == ("production",)
    assert checked() == [("demo", ())]


def test_a_finding_in_the_strategy_names_the_overlay() -> None:
    write_with_endpoint("demo", OPEN, IGNORE)
    write_overlay("strict", "ignore: null\n")
    write_overlay("audit", "ignore: null\n")
    assert codes_and_variants() == [("ENDPOINT_OPEN", "with overlay audit, strict")]


def test_a_finding_in_an_overlay_names_the_strategies_once() -> None:
    write_with_endpoint("other", CLOSED)
    write_overlay("typo", "node_groups: [{name: system, instance_types: [m6i.xlrge]}]\n")
    assert codes_and_variants() == [("INSTANCE_TYPE_UNKNOWN", "for demo, other")]


def test_a_finding_of_the_strategy_alone_is_not_repeated() -> None:
    write_with_endpoint("demo", OPEN)
    write_overlay("dev", "tags: {stage: dev}\n")
    assert codes_and_variants() == [("ENDPOINT_OPEN", "")]


def test_an_accepted_warning_that_an_overlay_removes_is_no_finding() -> None:
    write_with_endpoint("demo", OPEN, IGNORE)
    write_overlay("production", f"cluster: {{endpoint: {{public_cidrs: [{CLOSED}]}}}}\n")
    assert codes_and_variants() == []


def test_an_accepted_warning_that_only_an_overlay_causes_is_no_finding() -> None:
    write_with_endpoint("demo", CLOSED, IGNORE)
    assert [code for code, _ in codes_and_variants()] == ["IGNORE_UNUSED"]
    write_overlay("sandbox", f"cluster: {{endpoint: {{public_cidrs: [{OPEN}]}}}}\n")
    assert codes_and_variants() == []


@pytest.mark.parametrize("text", ["strategies: demo\n", "tags: [\n"])
def test_a_faulty_overlay_is_found(text: str) -> None:
    write_overlay("faulty", text)
    assert not validate_variants(["strategies"]).alone.errors
    assert len(validate_variants(["strategies"]).validation.errors) == 1


def test_a_missing_folder_is_one_finding() -> None:
    variants = validate_variants(["nowhere"])
    assert ([each.code for each in variants.validation.errors], variants.each) == (["STRATEGY_PATH"], ())


def test_every_name_that_the_package_imports_on_first_use_exists() -> None:
    missing = [name for name in dir(validation) if not hasattr(validation, name)]
    assert missing == []
