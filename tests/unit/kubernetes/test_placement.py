"""The scheduler's rules that other tests rely on."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.cases import in_one_test
from helpers.kubernetes.placement import DAEMONSET_TOLERATIONS, matches, requirement_met, tolerates

TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
EVICTS = {"key": "gpu", "effect": "NoExecute"}
PREFERS = {"key": "gpu", "effect": "PreferNoSchedule"}


@in_one_test(
    ("taints", "tolerations", "expected"),
    [
        ([], [], True),
        ([TAINT], [], False),
        ([PREFERS], [], True),
        ([TAINT], [{"operator": "Exists"}], True),
        ([TAINT], [{}], False),
        ([TAINT], [{"key": "gpu", "operator": "Exists"}], True),
        ([TAINT], [{"key": "cpu", "operator": "Exists"}], False),
        ([TAINT], [{"key": "gpu", "value": "true"}], True),
        ([TAINT], [{"key": "gpu", "operator": "Equal", "value": "present"}], False),
        ([EVICTS], [{"key": "gpu"}], True),
        ([EVICTS], [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}], False),
        ([TAINT, EVICTS], [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}], False),
        ([{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}], DAEMONSET_TOLERATIONS, True),
    ],
)
def test_tolerates(taints: list[dict[str, str]], tolerations: list[dict[str, Any]], expected: bool) -> None:
    assert expected == tolerates(taints, tolerations)


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


A_IS_1 = {"key": "a", "operator": "In", "values": ["1"]}
NO_B = {"key": "b", "operator": "DoesNotExist"}


@in_one_test(
    ("labels", "selector", "affinity", "expected"),
    [
        ({}, None, None, True),
        ({"a": "1"}, {"a": "1"}, {}, True),
        ({"a": "1"}, {"a": "2"}, None, False),
        ({}, {"a": "1"}, None, False),
        ({"a": "1"}, {}, {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, True),
        ({"a": "1"}, None, required([A_IS_1]), True),
        ({"a": "1", "b": ""}, None, required([A_IS_1, NO_B]), False),
        ({"a": "1", "b": ""}, None, required([NO_B], [A_IS_1]), True),
        ({"a": "1"}, {"b": "1"}, required([A_IS_1]), False),
        ({"a": "1"}, None, required([]), False),
        ({"a": "1"}, None, required(), False),
    ],
)
def test_matches(
    labels: dict[str, str], selector: dict[str, str] | None, affinity: dict[str, Any] | None, expected: bool
) -> None:
    assert expected == matches(labels, selector, affinity)


@in_one_test(
    ("operator", "values", "value", "expected"),
    [
        ("Exists", [], "x", True),
        ("Exists", [], None, False),
        ("DoesNotExist", [], "x", False),
        ("In", ["x", "y"], "y", True),
        ("NotIn", ["x"], None, True),
        ("NotIn", ["x"], "x", False),
        ("Gt", ["4"], "5", True),
        ("Gt", ["5"], "5", False),
        ("Lt", ["5"], "4", True),
        ("Gt", ["1"], None, False),
        ("Lt", ["5"], "none", False),
    ],
)
def test_requirement(operator: str, values: list[str], value: str | None, expected: bool) -> None:
    labels = {} if value is None else {"a": value}
    assert expected == requirement_met(labels, {"key": "a", "operator": operator, "values": values})


def test_an_unknown_operator_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="Near"):
        requirement_met({}, {"key": "a", "operator": "Near"})
