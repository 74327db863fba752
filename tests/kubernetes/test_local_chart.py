"""The chart with our objects, linted and rendered by Helm's own engine."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import helm_python
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.kubernetes import Object, bundle
from eks_hardware.kubernetes.local_chart import CHART, CHART_VERSION, chart_values
from eks_hardware.kubernetes.yaml_text import yaml_text
from eks_hardware.resolve import resolve
from helpers.kubernetes import helm
from helpers.strategies import SHIPPED, shipped

KUBERNETES = "1.35.0"

TEXTS = {
    "a template": '{{ .Values.objects }} {{- fail "no" -}} {{/* no */}}',
    "an unfinished template": "{{ if",
    "terraform": "${aws_vpc.main.id} $${x} %{ if true }",
    "quotes": 'it\'s "quoted" \\ `and` more',
    "lines": "#!/bin/bash\nset -e\n  indented\n",
    "lines without an end": "a\nb",
    "many ends": "a\nb\n\n\n",
    "a separator": "a\n---\nkind: Secret\n--- \n",
    "carriage return": "a\r\nb\r",
    "tabs": "\ta\n\tb\n",
    "spaces": "  a \n b  ",
    "only spaces": "   ",
    "nothing": "",
    "non-ascii": "Zürich 東京 😀 \u00a0\u2028\u2029\ufeff",
    "a comment": "# not one",
    "a key": "a: b",
    "a list": "- a",
    "an anchor": "&a *a !!str",
    "long": "word " * 500,
    "yes": "yes",
    "off": "OFF",
    "y": "y",
    "null": "null",
    "tilde": "~",
    "a float": "1e3",
    "an octal": "0o17",
    "a hex": "0x1F",
    "old octal": "017",
    "underscores": "1_000",
    "a time": "12:30:00",
    "a date": "2026-11-20",
    "infinity": ".inf",
    "equals": "=",
    "merge": "<<",
}
VALUES: dict[str, Any] = {
    "whole numbers": [0, -1, 1000000, 2**31, 2**53 - 1],
    "fractions": [0.5, 1e-7, 1.25e10],
    "booleans": [True, False],
    "null": None,
    "empty": [{}, [], ""],
    "deep": [[[{"a": [{"b": [1, ["c"]]}]}]]],
    "keys": {"on": 1, "1": 2, "a b": 3, "é": 4, "nvidia.com/gpu": 5, "": 6, "{{ .x }}": 7, "null": 8, "~": 9},
}


def example_object(name: str, spec: Any) -> Object:
    """Return an object; Helm sorts its keys, so it ends with ``spec``."""
    return {"apiVersion": "example.com/v1", "kind": "Example", "metadata": {"name": name}, "spec": spec}


def rendered(objects: list[Object]) -> list[dict[str, Any]]:
    """Return the objects that Helm renders from Terraform's text."""
    given = helm_python.values_from_yaml(yaml_text(chart_values(objects)))
    return helm.template(CHART, given, release="objects", namespace="default", kubernetes_version=KUBERNETES)


def test_its_version_is_the_one_that_releases_state() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["name"], chart["version"], chart["type"]) == ("eks-hardware-objects", CHART_VERSION, "application")


def test_a_change_of_the_chart_raises_its_version() -> None:
    """Terraform compares the version, not the content: it upgrades releases when it rises. Then write the new pair."""
    files = sorted(file for file in CHART.rglob("*") if file.is_file())
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    assert (CHART_VERSION, digest) == ("1.0.0", "f754544ac33ea630")


@pytest.mark.parametrize(
    "objects", [[], [example_object("a", TEXTS), example_object("b", VALUES)]], ids=["none", "some"]
)
def test_lint(objects: list[Object]) -> None:
    assert helm.lint(CHART, chart_values(objects)) == []


@pytest.mark.parametrize("lacking", ["apiVersion", "kind", "metadata"])
def test_what_is_no_object_is_refused(lacking: str) -> None:
    broken = {key: value for key, value in example_object("a", {}).items() if key != lacking}
    with pytest.raises(helm_python.HelmError, match=lacking):
        rendered([broken])


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_arrives_as_it_is(name: str) -> None:
    objects = [
        example_object("a", {"list": [TEXTS[name]], "text": TEXTS[name]}),
        example_object("b", TEXTS[name]),
        example_object("c", {}),
    ]
    assert rendered(objects) == objects


@pytest.mark.parametrize("name", VALUES)
def test_a_value_arrives_as_it_is(name: str) -> None:
    objects = [example_object("a", VALUES[name])]
    assert rendered(objects) == objects


def test_an_object_that_yaml_cannot_hold_is_refused() -> None:
    """Helm's ``toYaml`` hides its errors: without ``required``, the object would be missing."""
    with pytest.raises(helm_python.HelmError, match="cannot be written"):
        rendered([example_object("a", {"k" * 2000: "value"})])


@pytest.mark.parametrize("name", SHIPPED)
def test_objects_of_a_shipped_strategy_arrive_as_they_are(name: str) -> None:
    for release in bundle(resolve(shipped(name))).object_releases:
        objects = json.loads(json.dumps(release.objects, default=dict))
        assert rendered(list(release.objects)) == objects
        assert helm.lint(CHART, chart_values(objects)) == []


# YAML allows these control characters; Helm's reader replaces surrogates, and strategies refuse both.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), max_size=40)
KEY = st.text(st.characters(categories=["L", "N", "P", "S"], include_characters=" "), max_size=40)
SCALAR = TEXT | st.booleans() | st.none() | st.integers(-(2**53) + 1, 2**53 - 1)
DATA = st.dictionaries(
    KEY,
    st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3)),
    max_size=4,
)


# Helm takes as long to start as to render, so several are rendered at once.
@settings(max_examples=75, deadline=None)
@given(st.lists(DATA, min_size=4, max_size=4))
def test_anything_arrives_as_it_is(data: list[dict[str, Any]]) -> None:
    objects = [
        each
        for index, some in enumerate(data)
        for each in (
            example_object(f"a{index}", some),
            example_object(f"b{index}", {}),
            example_object(f"c{index}", list(some.values())),
        )
    ]
    assert rendered(objects) == objects
