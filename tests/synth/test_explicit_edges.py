"""Each ``depends_on`` has a documented reason; there are no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.critical_path import EXPLICIT_EDGES, explicit_edges, resource_type
from eks_hardware.testing import Template

Edge = tuple[str, str]

TABLE = json.loads(EXPLICIT_EDGES.read_text(encoding="utf-8"))
NEEDED: dict[Edge, Mapping[str, Any]] = {(row["user"], row["needed"]): row for row in TABLE["edges"]}
IMPLIED = {(row["user"], needed) for row in TABLE["implied"] for needed in row["needed"]}


@pytest.fixture(scope="module")
def found(templates: Mapping[str, Template]) -> dict[bool, dict[Edge, str]]:
    """Return an example of each kind of explicit edge: under True the implied ones, under False the others."""
    examples: dict[bool, dict[Edge, str]] = {True: {}, False: {}}
    for name, template in templates.items():
        for user, needed, implied in explicit_edges(template.document):
            edge = resource_type(user), resource_type(needed)
            examples[implied].setdefault(edge, f"{name}: {user} waits for {needed}")
    return examples


def test_each_explicit_edge_has_its_reason(found: Mapping[bool, Mapping[Edge, str]]) -> None:
    without = {edge: example for edge, example in found[False].items() if edge not in NEEDED}
    assert not without, f"add the reason to {EXPLICIT_EDGES.name}, or remove it"


def test_an_edge_that_follows_from_others_is_left_out_but_for_lists(found: Mapping[bool, Mapping[Edge, str]]) -> None:
    without = {edge: example for edge, example in found[True].items() if edge not in IMPLIED}
    assert not without, "a reference or another edge implies it: remove it"


def test_each_reason_is_used(found: Mapping[bool, Mapping[Edge, str]]) -> None:
    assert sorted(set(NEEDED) - set(found[False])) == []
    assert sorted(IMPLIED - set(found[True])) == []


@pytest.mark.parametrize("row", TABLE["edges"], ids=lambda row: f"{row['user']}-{row['needed']}")
def test_each_reason_has_a_source(row: Mapping[str, str]) -> None:
    assert set(row) == {"user", "needed", "holds", "why", "source"}
    assert row["holds"] in {"create", "both"}
    assert row["source"].startswith("https://")
    assert len(row["why"]) > 20 or row["why"].startswith("as above")
