"""Bundles with a program's additions: order, names, and refused ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from eks_hardware.kubernetes import Bundle, ChartRelease, ObjectRelease, bundle
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.strategies import document

POOLS = "karpenter-resources"


def chart_after(name: str, *after: str, **fields: Any) -> ChartRelease:
    given: dict[str, Any] = {"namespace": name, "chart": name, "repository": "https://charts.example.com"}
    return ChartRelease(name=name, after=after, **{**given, "version": "1.0.0", "values": {}, **fields})


@pytest.fixture(scope="module")
def ours() -> Bundle:
    pool = {"name": "cpu", "instance_types": ["m7i.xlarge"], "limits": {"cpu": "8"}}
    return bundle(resolve(Strategy.model_validate(document(karpenter={"node_pools": [pool]}))))


# The addition, as name and after; the resulting order, before and after the node pools.
ORDERS: dict[str, tuple[Sequence[tuple[str, ...]], list[str], list[str]]] = {
    "nothing": ([], [], []),
    "before the node pools": ([("keda",)], ["keda"], []),
    "as given": ([("b",), ("a",)], ["b", "a"], []),
    "one of ours after another of ours": ([("b", "a"), ("a",)], ["a", "b"], []),
    "after one of the strategy's": ([("keda", "karpenter")], ["keda"], []),
    "behind the node pools": ([("model", POOLS)], [], ["model"]),
    "behind one that is behind the node pools": ([("c", "b"), ("b", POOLS), ("a",)], ["a"], ["b", "c"]),
}


@in_one_test("case", ORDERS)
def test_order(ours: Bundle, case: str) -> None:
    added, before, behind = ORDERS[case]
    found = ours.plus(*(chart_after(name, *after) for name, *after in added))
    assert list(found.names) == ["karpenter-crd", "karpenter", *before, POOLS, *behind]
    assert set(found.release(POOLS).after) == {"karpenter-crd", "karpenter", *before}
    done: set[str] = set()
    for each in found.releases:
        assert done.issuperset(each.after), each.name
        done.add(each.name)


def test_added_in_two_steps_is_the_same(ours: Bundle) -> None:
    a, b = chart_after("a"), chart_after("b", "a")
    assert ours.plus(a).plus(b) == ours.plus(a, b)


def test_what_is_there_stays_as_it_is(ours: Bundle) -> None:
    found = ours.plus(chart_after("keda"))
    assert [found.release(name) for name in ("karpenter-crd", "karpenter")] == list(ours.releases[:2])
    assert "keda" not in ours.names


def test_objects_too(ours: Bundle) -> None:
    item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
    found = ours.plus(ObjectRelease(name="research", namespace="kube-system", objects=(item,)))
    assert item in found.objects
    assert found.names[-1] == POOLS


REFUSED: dict[str, tuple[list[ChartRelease], str]] = {
    "a name of the strategy's": ([chart_after("karpenter")], "RELEASE_NAME 'karpenter' is in use"),
    "twice the same name": ([chart_after("a"), chart_after("a")], "RELEASE_NAME 'a' is in use"),
    "a name that Helm refuses": ([chart_after("Keda")], "RELEASE_NAME 'Keda': a name must have"),
    "a name that is too long": ([chart_after("a" * 54)], "RELEASE_NAME .* at most 53 characters"),
    "after nothing there is": ([chart_after("a", "karpentr")], "RELEASE_AFTER a: .*'karpentr'; did you mean karpenter"),
    "after itself": ([chart_after("a", "a")], "RELEASE_CYCLE .*: a"),
    "after each other": ([chart_after("a", "b"), chart_after("b", "a")], "RELEASE_CYCLE .*: a, b"),
}


@in_one_test("case", REFUSED)
def test_what_cannot_be_added_is_reported(ours: Bundle, case: str) -> None:
    added, said = REFUSED[case]
    with pytest.raises(ValueError, match=f"^{said}"):
        ours.plus(*added)


def test_the_longest_name_is_taken(ours: Bundle) -> None:
    assert f"{'a' * 53}" in ours.plus(chart_after("a" * 53)).names


def test_a_release_is_changed(ours: Bundle) -> None:
    found = ours.changed("karpenter", timeout_seconds=1200)
    assert found.release("karpenter").timeout_seconds == 1200
    assert found.names == ours.names
    assert "other" in ours.changed("karpenter", name="other").names
    with pytest.raises(ValueError, match=r"^RELEASE_NAME 'nonsense': .*use one of karpenter,"):
        ours.changed("nonsense", timeout_seconds=1)
    with pytest.raises(ValueError, match=r"^RELEASE_FIELD karpenter\.nonsense: "):
        ours.changed("karpenter", nonsense=1)
    with pytest.raises(ValueError, match=r"^RELEASE_CYCLE .*: karpenter-crd, karpenter$"):
        ours.changed("karpenter-crd", after=("karpenter",))
