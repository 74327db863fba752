"""Data files: each matches its type, and each row has a source and a day. ``test_layout.py`` tests who reads them."""

from __future__ import annotations

import ast
import datetime
import importlib
import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from eks_hardware import data, facts, software
from eks_hardware.catalogue import load
from eks_hardware.models import ClusterSpec
from eks_hardware.models.cluster import AddonName
from helpers.cases import in_one_test
from helpers.facts import ABOUT_THE_FILE, FILES

CHARTS = sorted((data.FOLDER / "facts" / "chart_values").glob("*.json"))


def _types() -> dict[str, Any]:
    """Return the types that ``facts`` imports only for type checkers, by name."""
    tree = ast.parse(Path(facts.__file__).read_text(encoding="utf-8"))
    return {
        alias.name: getattr(importlib.import_module(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eks_hardware.facts.schemas")
        for alias in node.names
    }


TYPES = _types()


def test_every_data_file_has_a_type() -> None:
    files = {
        file.relative_to(data.FOLDER).as_posix()
        for folder in ("catalogue", "facts", "performance", "policy", "prices", "quotas")
        for file in (data.FOLDER / folder).glob("*.json")
    }
    assert {each.name for each in FILES.values()} == files


@in_one_test("name", FILES)
def test_it_fits_its_type(name: str) -> None:
    (expected,) = typing.get_args(typing.get_type_hints(facts, localns=TYPES)[name])
    TypeAdapter(expected).validate_json((data.FOLDER / FILES[name].name).read_bytes(), strict=True, extra="forbid")


@in_one_test("file", CHARTS, ids=lambda file: file.stem)
def test_chart_values_fit_their_type(file: Path) -> None:
    TypeAdapter(TYPES["ChartValues"]).validate_json(file.read_bytes(), strict=True, extra="forbid")


@pytest.mark.parametrize("text", ['{"extra": 1}', "{}"])
def test_the_check_can_fail(text: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        TypeAdapter(TYPES["Eks"]).validate_json(text, strict=True, extra="forbid")


# --- sources


def _is_sourced(part: Any, head: dict[str, Any]) -> bool:
    """Return whether a section, or each of its rows, has source and date; the head of the file applies to all."""
    if head.get("source") and head.get("as_of"):
        return True
    if isinstance(part, list):
        return bool(part) and all(_is_sourced(each, head) for each in part)
    if not isinstance(part, dict):
        return False
    source = part.get("source", part.get("url"))
    if "source" in part and source is None:  # no claim
        return True
    if source and part.get("as_of", head.get("as_of")):
        return True
    known, keys = head.get("sources", {}), part.get("sources", [source] if source else list(part))
    return (bool(known) and set(keys) <= set(known)) or all(_is_sourced(each, head) for each in part.values())


@in_one_test("name", FILES)
def test_every_section_has_a_source_and_a_day(name: str) -> None:
    content: dict[str, Any] = FILES[name]()
    sections = content.keys() - (ABOUT_THE_FILE - {"sources"})
    assert [each for each in sections if not _is_sourced(content[each], content)] == []


# --- citations


def test_a_citation_names_what_it_read() -> None:
    cited = facts.eks.cite(lambda file: file["provider_versions"]["since"]["deletion_protection"]["version"])
    version = facts.eks()["provider_versions"]["since"]["deletion_protection"]
    assert cited.value == version["version"]
    assert cited.source.startswith(
        f"facts/eks.json provider_versions.since.deletion_protection.version, {version['source']}, "
    )


@pytest.mark.parametrize("field", ["min", "source"])
def test_fields_in_variables_are_read_each_time(field: str) -> None:
    groups: Any = facts.choices
    assert groups.cite(lambda file: file["group_size"][field]).value == facts.choices()["group_size"][field]  # type: ignore[literal-required]


def test_defaults_and_globals_are_read_each_time() -> None:
    versions = facts.eks()["versions"]["supported"]
    found = {
        each: facts.eks.cite(lambda file, key=each: file["versions"]["supported"][key])  # type: ignore[misc]
        for each in versions
    }
    assert [each.value for each in found.values()] == list(versions.values())
    assert [each.source.split(",")[0] for each in found.values()] == [
        f"facts/eks.json versions.supported.{each}" for each in versions
    ]


def test_a_citation_of_another_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"facts/choices\.json group_size\.min: .*must return the value that it reads"):
        facts.choices.cite(lambda file: file["group_size"]["min"] + 1)
    with pytest.raises(KeyError, match="renamed"):
        facts.choices.cite(lambda file: file["renamed"])  # type: ignore[typeddict-item]


# --- consistency between files, and with the models


def test_versions() -> None:
    versions = facts.eks()["versions"]
    supported = versions["supported"]
    assert list(supported) == sorted(supported)
    assert versions["default"] == ClusterSpec().kubernetes_version
    assert versions["default"] in supported
    for dates in supported.values():
        standard = datetime.date.fromisoformat(dates["standard_until"])
        extended = dates["extended_until"]
        assert extended is None or standard < datetime.date.fromisoformat(extended)


def test_addons_are_those_of_the_model() -> None:
    assert set(typing.get_args(AddonName)) == set(facts.addons())
    for name, fact in facts.addons().items():
        assert ("service_account" in fact) == ("namespace" in fact) == ("policies" in fact), name
        assert "source" in fact or not {"policies", "configuration"} & set(fact), name
        assert fact["default"] or not fact["before_nodes"], name


def test_the_catalogue_and_software_agree_on_formats_and_kernels() -> None:
    """Both list the data types of an accelerator: the catalogue by name, ``software.json`` by compute capability."""
    for kind in load().select():
        chip = kind.accelerator
        if chip is None or (chip.compute_capability is None and not kind.hardware.is_neuron):
            continue
        said = {"bf16": chip.bf16, "fp8": chip.fp8}
        assert {name: software.computes(kind, name) for name in said} == said, kind.name
        if chip.compute_capability is not None:
            assert software.attends(kind, "flash-attention-2") is chip.flash_attention_2, kind.name


@in_one_test(
    ("region", "expected"),
    [("us-west-2", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-east-1", "aws-us-gov"), ("ca-central-1", "aws")],
)
def test_partition(region: str, expected: str) -> None:
    assert expected == facts.partition(region)
