"""Facts: each section has a source and a day, and models, rules and facts know the same names."""

from __future__ import annotations

import datetime
import json
import typing

import pytest

from eks_hardware import data, facts
from eks_hardware.models import ClusterSpec
from eks_hardware.models.cluster import AddonName

FOLDER = data.FOLDER / "facts"
ROOT = FOLDER.parent.parent


def test_every_section_has_a_source_and_a_day() -> None:
    sections = json.loads((FOLDER / "eks.json").read_text(encoding="utf-8"))
    del sections["_about"]
    sections["addons"] = json.loads((FOLDER / "addons.json").read_text(encoding="utf-8"))
    for name, section in sections.items():
        assert section["source"].startswith("https://"), name
        assert datetime.date.fromisoformat(section["as_of"]), name


@pytest.mark.parametrize("name", ["ami_releases", "bottlerocket_settings", "node_config", "nodes"])
def test_facts_about_nodes_have_a_source_and_a_day(name: str) -> None:
    for key, section in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")).items():
        if key != "_about":
            assert section["source"].startswith("https://"), key
            assert datetime.date.fromisoformat(section["as_of"]), key


def test_versions() -> None:
    versions = facts.eks("versions")
    supported = versions["supported"]
    assert list(supported) == sorted(supported)
    assert versions["default"] == ClusterSpec().kubernetes_version
    assert versions["default"] in supported
    for dates in supported.values():
        standard = datetime.date.fromisoformat(dates["standard_until"])
        assert dates["extended_until"] is None or standard < datetime.date.fromisoformat(dates["extended_until"])


def test_addons_are_those_of_the_model() -> None:
    assert set(typing.get_args(AddonName)) == set(facts.addons())
    for name, fact in facts.addons().items():
        assert fact["why"], name
        assert ("service_account" in fact) == ("namespace" in fact) == ("policies" in fact), name
        assert "source" in fact or not {"policies", "configuration"} & set(fact), name
        assert fact["default"] or not fact["before_nodes"], name


@pytest.mark.parametrize(
    ("region", "expected"),
    [("us-west-2", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-east-1", "aws-us-gov"), ("ca-central-1", "aws")],
)
def test_partition(region: str, expected: str) -> None:
    assert expected == facts.partition(region)
