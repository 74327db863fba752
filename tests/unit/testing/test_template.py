"""The assertion helper: matches, mismatches, and failure messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.testing import Absent, AnyOrder, Contains, Json, Matches, Template, differences
from helpers.cases import in_one_test

GROUP = {
    "name": "gpu",
    "scaling": {"min": 0, "max": 4},
    "enabled": True,
    "taint": [{"key": "a", "effect": "x"}, {"key": "b", "effect": "y"}],
    "types": ["p5.48xlarge", "p4d.24xlarge"],
    "policy": '{"Statement": [{"Action": "sqs:*"}]}',
    "gone": None,
}

MATCHING: dict[str, object] = {
    "nothing expected": {},
    "a scalar": {"name": "gpu"},
    "a subset at depth": {"scaling": {"max": 4}},
    "integer and float": {"scaling": {"max": 4.0}},
    "a list of subsets": {"taint": [{"key": "a"}, {"effect": "y"}]},
    "a tuple for a list": {"types": ("p5.48xlarge", "p4d.24xlarge")},
    "absent": {"other": Absent, "scaling": {"desired": Absent}},
    "null is absent": {"gone": Absent},
    "a pattern": {"name": Matches("^g.u$")},
    "any order": {"types": AnyOrder("p4d.24xlarge", "p5.48xlarge")},
    "any order of subsets": {"taint": AnyOrder({"key": "b"}, {"key": "a"})},
    "any order finds the only assignment": {"taint": AnyOrder({}, {"key": "a"})},
    "a list that contains": {"taint": Contains({"key": "b"})},
    "text that contains": {"name": Contains("gp", "pu")},
    "json": {"policy": Json({"Statement": [{"Action": "sqs:*"}]})},
    "a matcher in a matcher": {"policy": Json({"Statement": Contains({"Action": Matches("^sqs")})})},
}

# expected value, and the paths that differ
DIFFERING: dict[str, tuple[object, list[str]]] = {
    "a scalar": ({"name": "cpu"}, ["name"]),
    "a missing key": ({"other": 1}, ["other"]),
    "at depth": ({"scaling": {"min": 1, "max": 5}}, ["scaling.min", "scaling.max"]),
    "true is not 1": ({"enabled": 1}, ["enabled"]),
    "0 is not false": ({"scaling": {"min": False}}, ["scaling.min"]),
    "null is not expected": ({"scaling": None}, ["scaling"]),
    "a map for a scalar": ({"name": {"a": 1}}, ["name"]),
    "a list for text": ({"name": ["g", "p", "u"]}, ["name"]),
    "list order": ({"types": ["p4d.24xlarge", "p5.48xlarge"]}, ["types[0]", "types[1]"]),
    "list too short": ({"types": ["p5.48xlarge"]}, ["types[1]"]),
    "list too long": ({"types": ["p5.48xlarge", "p4d.24xlarge", "p3"]}, ["types[2]"]),
    "an item of a list": ({"taint": [{"key": "a"}, {"key": "a"}]}, ["taint[1].key"]),
    "absent": ({"name": Absent}, ["name"]),
    "a pattern": ({"name": Matches("^p")}, ["name"]),
    "a pattern on a number": ({"scaling": {"max": Matches("4")}}, ["scaling.max"]),
    "any order, one differs": ({"taint": AnyOrder({"key": "a"}, {"key": "c"})}, ["taint[1].key"]),
    "any order, too few": ({"types": AnyOrder("p5.48xlarge")}, ["types"]),
    "any order, each item once": ({"taint": AnyOrder({"key": "a"}, {"key": "a"})}, ["taint[1].key"]),
    "any order without a list": ({"name": AnyOrder("gpu")}, ["name"]),
    "a list that does not contain": ({"types": Contains("p3")}, ["types"]),
    "text that does not contain": ({"name": Contains("x")}, ["name"]),
    "a map contains nothing": ({"scaling": Contains("min")}, ["scaling"]),
    "other json": ({"policy": Json({"Version": "2012"})}, ["policy<json>.Version"]),
    "no json": ({"name": Json({})}, ["name"]),
    "json of a map": ({"scaling": Json({})}, ["scaling"]),
    "an unusual key": ({"a/b": 1}, ["['a/b']"]),
}

DOCUMENT: dict[str, Any] = {
    "//": {"metadata": {"stackName": "demo"}},
    "terraform": {"backend": {"local": {"path": "x"}}},
    "provider": {"aws": [{"region": "us-west-2"}]},
    "output": {"vpc": {"value": "${aws_vpc.net_1.id}"}},
    "data": {"aws_region": {"here": {"//": {"metadata": {"path": "demo/here"}}}}},
    "resource": {
        "aws_vpc": {
            "net_1": {"//": {"metadata": {"path": "demo/net/vpc"}}, "cidr_block": "10.0.0.0/16"},
            "net_2": {"cidr_block": "10.1.0.0/16", "tags": {"Name": "b", "Team": "x"}},
        },
        "aws_subnet": {
            "a-b": {"vpc_id": "${aws_vpc.net_1.id}", "note": "$${aws_vpc.net_2.id} aws_vpc.net_2"},
            "c": {
                "vpc_id": '${lookup({x = "${aws_subnet.a-b.vpc_id}"}, "x")}',
                "depends_on": ["aws_vpc.net_2", "data.aws_region.here"],
                "lifecycle": {"replace_triggered_by": ["aws_subnet.a-b"], "ignore_changes": ["cidr_block"]},
                "policy": '{"Resource":"${aws_vpc.net_1.arn}/*"}',
            },
        },
    },
}


@pytest.fixture
def template() -> Template:
    return Template.from_json(DOCUMENT)


@in_one_test("expected", MATCHING.values(), ids=MATCHING)
def test_matches(expected: object) -> None:
    assert differences(expected, GROUP) == []


@in_one_test(("expected", "paths"), DIFFERING.values(), ids=DIFFERING)
def test_differs(expected: object, paths: list[str]) -> None:
    assert [each.path for each in differences(expected, GROUP)] == paths


def test_a_difference_says_what_was_expected_and_what_is_there() -> None:
    assert [str(each) for each in differences({"a": {"b": [1]}, "c": Absent, "d": 3}, {"a": {"b": [2]}, "c": 1})] == [
        "a.b[0]: expected 1, got 2",
        "c: expected nothing, got 1",
        "d: expected 3, got nothing",
    ]


def test_a_long_value_is_cut() -> None:
    (difference,) = differences("", "x" * 1000)
    assert "... (1002 characters)" in str(difference)


def test_looks_up_by_type_and_subset(template: Template) -> None:
    assert list(template.resources("aws_vpc")) == ["aws_vpc.net_1", "aws_vpc.net_2"]
    assert list(template.resources("aws_vpc", {"tags": {"Name": "b"}})) == ["aws_vpc.net_2"]
    assert list(template.resources()) == ["aws_subnet.a-b", "aws_subnet.c", "aws_vpc.net_1", "aws_vpc.net_2"]
    assert list(template.data("aws_region")) == ["data.aws_region.here"]
    assert template.address("aws_vpc", {"cidr_block": "10.0.0.0/16"}) == "aws_vpc.net_1"
    assert template.resource("aws_vpc", address_contains="net_1") == {"cidr_block": "10.0.0.0/16"}
    assert template.only("data.aws_region") == {}
    template.has("aws_vpc", {"tags": Absent})
    template.has_no("aws_vpc", {"tags": {"Name": "c"}})
    template.count("aws_vpc", 2)
    template.count("aws_vpc", 1, {"tags": {"Team": "x"}})


def test_notes_are_left_out_and_give_the_construct_path(template: Template) -> None:
    assert '"//"' not in json.dumps(template.document)
    assert template.addresses()["aws_vpc.net_1"] == "demo/net/vpc"
    assert template.addresses()["data.aws_region.here"] == "demo/here"


def test_blocks(template: Template) -> None:
    assert template.outputs == {"vpc": "${aws_vpc.net_1.id}"}
    assert template.terraform == {"backend": {"local": {"path": "x"}}}
    assert template.providers("aws") == [{"region": "us-west-2"}]
    assert template.providers("helm") == []


def test_reads_a_file(tmp_path: Path, template: Template) -> None:
    file = tmp_path / "cdk.tf.json"
    file.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    assert Template.from_json(file).document == template.document
    assert Template.from_json(str(file)).document == template.document


def test_prepares_and_validates_a_stack() -> None:
    calls = []

    class Stack:
        def prepare_stack(self) -> None:
            calls.append("prepare")

        def run_all_validations(self) -> None:
            calls.append("validate")

        def to_terraform(self) -> dict[str, Any]:
            calls.append("synthesize")
            return DOCUMENT

    assert Template.of(Stack()).outputs == {"vpc": "${aws_vpc.net_1.id}"}
    assert calls == ["prepare", "validate", "synthesize"]


def test_references_are_those_in_expressions_and_depends_on(template: Template) -> None:
    assert template.references("aws_subnet.a-b") == {"aws_vpc.net_1"}
    assert template.references("aws_subnet.c") == {
        "aws_subnet.a-b",
        "aws_vpc.net_1",
        "aws_vpc.net_2",
        "data.aws_region.here",
    }
    assert template.dependencies("aws_subnet.c") == template.references("aws_subnet.c")
    assert template.dependencies("aws_vpc.net_1") == frozenset()


def test_dependencies_go_all_the_way_and_end_in_a_cycle() -> None:
    chain = {name: {"x": f"${{t.{to}.id}}"} for name, to in (("a", "b"), ("b", "c"), ("c", "b"))}
    template = Template({"resource": {"t": chain}})
    assert template.dependencies("t.a") == {"t.b", "t.c"}
    assert template.dependencies("t.b") == {"t.b", "t.c"}


def test_a_failure_shows_the_closest_candidate(template: Template) -> None:
    with pytest.raises(AssertionError) as caught:
        template.has("aws_vpc", {"cidr_block": "10.1.0.0/16", "tags": {"Name": "c"}})
    assert str(caught.value) == (
        "no aws_vpc matches; of 2 the closest is\n  aws_vpc.net_2\n    tags.Name: expected 'c', got 'b'"
    )


def test_a_failure_names_the_construct(template: Template) -> None:
    with pytest.raises(AssertionError, match=r"aws_vpc\.net_1 \(demo/net/vpc\)\n    cidr_block: expected 'x'"):
        template.resource("aws_vpc", {"cidr_block": "x"}, address_contains="net_1")


def test_a_failure_stops_after_a_dozen_differences(template: Template) -> None:
    with pytest.raises(AssertionError, match=r"and 8 more$"):
        template.has("aws_vpc", {f"key-{number}": 1 for number in range(20)})


def test_several_matches_are_listed(template: Template) -> None:
    with pytest.raises(AssertionError, match=r"^expected one aws_vpc, got 2:\n  aws_vpc.net_1 .*\n  aws_vpc.net_2$"):
        template.only("aws_vpc")
    with pytest.raises(AssertionError, match=r"^expected 1 aws_vpc, got 2:"):
        template.count("aws_vpc", 1)
    with pytest.raises(AssertionError, match=r"^expected 0 aws_vpc, got 2:"):
        template.has_no("aws_vpc")
    with pytest.raises(AssertionError, match=r"^expected 1 aws_eip, got 0: none$"):
        template.count("aws_eip", 1)


def test_a_missing_type_is_reported(template: Template) -> None:
    with pytest.raises(AssertionError, match=r"^there is no aws_eip$"):
        template.has("aws_eip", {})
    with pytest.raises(AssertionError, match=r"^there is no aws_vpc with 'x-9' in its address; there are:\n  aws_vpc"):
        template.resource("aws_vpc", address_contains="x-9")
