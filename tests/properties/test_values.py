"""Values inside user data and configurations: right ones pass, others are found, and no rule trips over any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from eks_hardware import facts
from eks_hardware.findings import Severity
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import check
from eks_hardware.rules.value_kinds import wrong_values
from helpers import random_values
from helpers.random_strategies import for_each, property_count, valued
from helpers.strategies import SYSTEM, TODAY, document, group, pool, pools

TREES: dict[str, Mapping[str, Any]] = {
    "kubelet": facts.node_config()["kubelet_configuration"]["fields"],
    "node config": facts.node_config()["node_config"]["fields"],
    "bottlerocket": facts.bottlerocket_settings()["settings"]["fields"],
    "bottlerocket's kubelet": facts.bottlerocket_settings()["kubelet"]["fields"],
    "bottlerocket's URLs": facts.bottlerocket_settings()["urls"]["fields"],
    "containerd": facts.containerd()["settings"]["top"],
    "containers": facts.containerd()["base_runtime_spec"]["fields"],
    **{name: row["fields"] for name, row in facts.addon_configurations()["configurations"].items()},
    **facts.value_kinds()["by_chart"]["kinds"],
}


def recorded_kinds(fields: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and kind of every setting whose kind is recorded."""
    for name, kind in fields.items():
        if isinstance(kind, Mapping):
            yield from recorded_kinds(kind, (*above, name))
        elif isinstance(kind, str) and kind != "*":
            yield (*above, name), kind


def nested_at(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a value nested below the keys of a path."""
    return {path[0]: nested_at(path[1:], value) if path[1:] else value}


@settings(max_examples=5, deadline=None)
@given(st.data())
def test_a_right_value_passes_and_another_does_not(data: st.DataObject) -> None:
    for fields in TREES.values():
        for path, kind in recorded_kinds(fields):
            assert not list(wrong_values(nested_at(path, data.draw(random_values.right(kind))), fields)), (path, kind)
            wrong: Any = 1 if kind.startswith(("map", "list")) else [[1]] if "list" not in kind else 1
            assert list(wrong_values(nested_at(path, wrong), fields)), (path, kind, wrong)


BASE = document(group("g6.xlarge"), **pools(pool()))


def test_any_values_are_refused_or_resolve() -> None:
    """No third outcome: an error, or a strategy that resolves."""
    outcomes = {"refused": 0, "resolved": 0}

    def attempt(given_document: dict[str, Any]) -> None:
        try:
            strategy = Strategy.model_validate(given_document)
        except ValidationError:  # such as a control character in a text
            outcomes["refused"] += 1
            return
        if any(each.severity is Severity.ERROR for each in check(strategy, today=TODAY)):
            outcomes["refused"] += 1
        else:
            resolve(strategy)
            outcomes["resolved"] += 1

    for_each(valued(BASE), attempt, count=property_count(80))
    assert min(outcomes.values()) > 10


def test_every_wrong_value_in_user_data_is_found() -> None:
    """Each of a sample of settings, with a list in place of its value."""
    for family, fields, above in (
        ("al2023", TREES["kubelet"], ("kubelet", "config")),
        ("bottlerocket", TREES["bottlerocket"], ()),
    ):
        paths = [path for path, kind in recorded_kinds(fields) if "list" not in kind and "<name>" not in path][::12]
        for path in paths:
            given_document = {
                **document(),
                "node_groups": [SYSTEM, group(ami={"family": family}, user_data=nested_at((*above, *path), [[1]]))],
            }
            found = check(Strategy.model_validate(given_document), today=TODAY)
            assert "USER_DATA_VALUE" in {each.code for each in found}, path
