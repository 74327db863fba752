"""Chart values compared with recorded keys."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.cases import in_one_test

KEYS = {"replicas": None, "image": {"tag": None}, "nodeSelector": "*", "pools": {"*": {"size": None}}}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "chart_keys", lambda _: {"version": "1.0.0", "keys": KEYS})


@in_one_test(
    ("values", "unknown"),
    [
        ({}, []),
        ({"replicas": 2, "image": {"tag": "v1"}, "nodeSelector": {"any": "x"}}, []),
        ({"replica": 2}, ["replica"]),
        ({"image": {"tags": "v1", "tag": "v1"}}, ["image.tags"]),
        ({"replicas": {"max": 2}}, ["replicas.max"]),
        ({"image": {"tag": {"name": "v1"}}, "extra": {"a": {"b": 1}}}, ["image.tag.name", "extra"]),
        ({"nodeSelector": {"a": {"b": {"c": 1}}}}, []),
        ({"pools": {"mine": {"anything": 1}}}, []),
        ({"global": {"imageRegistry": "x"}}, []),
        ({"image": None, "replicas": None}, []),
    ],
)
def test_unknown(values: dict[str, Any], unknown: list[str]) -> None:
    assert unknown == [str(each) for each in unknown_keys("chart", values)]


@in_one_test(
    ("values", "close"),
    [({"replica": 2}, ("replicas",)), ({"image": {"tga": "v1"}}, ("tag",)), ({"unlike": 1}, ())],
)
def test_did_you_mean(values: dict[str, Any], close: tuple[str, ...]) -> None:
    (found,) = unknown_keys("chart", values)
    assert found.close == close
