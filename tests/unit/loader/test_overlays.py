"""Merging overlays, finding them, and the positions of their findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from eks_hardware.findings import StrategyError
from eks_hardware.loader import load_document, read_strategies
from eks_hardware.loader import overlays as ov
from eks_hardware.loader.yaml_document import parse
from helpers.cases import in_one_test
from helpers.strategies import write_overlay


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Group(Model):
    name: str
    size: int
    efa: bool = False


class Root(Model):
    name: str
    nat: int | None = 3
    tags: dict[str, str] = Field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    zones: tuple[str, ...] = ()


BASE = """\
name: base
nat: 1
tags: {a: x, b: y}
groups:
  - {name: cpu, size: 1}
  - {name: gpu, size: 2}
zones: [z1, z2]
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("strategies").mkdir()
    Path("overlays").mkdir()
    Path("strategies/base.yaml").write_text(BASE)
    return tmp_path


def load(*names: str) -> Root:
    return load_document(Path("strategies/base.yaml"), Root, overlays=names).value


def refusals_with(*names: str) -> list[tuple[str, str, str]]:
    with pytest.raises(StrategyError) as caught:
        load(*names)
    return [(f.code, f.path, str(f.position)) for f in caught.value.findings]


@in_one_test(
    ("base", "over", "expected"),
    [
        ("a: 1", "a: 2", {"a": 2}),
        ("a: {b: 1, c: 2}", "a: {c: 3, d: 4}", {"a": {"b": 1, "c": 3, "d": 4}}),
        ("a: [1, 2]", "a: [3]", {"a": [3]}),
        ("a: [{name: x, n: 1}]", "a: []", {"a": []}),
        ("a: [{name: x, n: 1}, {name: y}]", "a: [{name: x, m: 2}]",
         {"a": [{"name": "x", "n": 1, "m": 2}, {"name": "y"}]}),
        ("a: [{name: x}]", "a: [{name: z, n: ~}]", {"a": [{"name": "x"}, {"name": "z"}]}),
        ("a: [{name: x}]", "a: [{n: 1}]", {"a": [{"n": 1}]}),
        ("a: {b: 1, c: 2}", "a: {b: null}", {"a": {"c": 2}}),
        ("a: {b: 1}", "a: ~", {}),
        ("a: {b: 1}", "a: {x: {y: null, z: 1}}", {"a": {"b": 1, "x": {"z": 1}}}),
        ("a: {b: 1}", "a: 3", {"a": 3}),
        ("a: 3", "a: {b: [{c: ~}]}", {"a": {"b": [{}]}}),
        ("a: &x {b: 1}\nc: *x", "c: {b: 2}", {"a": {"b": 1}, "c": {"b": 2}}),
    ],
)  # fmt: skip
def test_merge(base: str, over: str, expected: object) -> None:
    one, two = parse(base, "one").root, parse(over, "two").root
    assert one is not None
    assert two is not None
    before = one.plain(), two.plain()
    assert ov.merge(one, two).plain() == expected
    assert (one.plain(), two.plain()) == before


def test_overlays_are_laid_over_in_order() -> None:
    write_overlay("a", "nat: 5\ngroups: [{name: gpu, efa: true}, {name: extra, size: 7}]\n")
    write_overlay("b", "nat: null\ntags: {b: ~, c: z}\nzones: [z9]\n")
    assert load("a", "b") == Root(
        name="base",
        nat=3,
        tags={"a": "x", "c": "z"},
        groups=(Group(name="cpu", size=1), Group(name="gpu", size=2, efa=True), Group(name="extra", size=7)),
        zones=("z9",),
    )
    write_overlay("c", "nat: 8\n")
    assert load("c", "a").nat == 5
    assert load("a", "c").nat == 8


@in_one_test("text", ["", "# nothing\n", "{}\n"])
def test_an_overlay_may_be_empty(text: str) -> None:
    assert load(write_overlay("e", text)).name == "base"


@in_one_test(
    ("text", "expected"),
    [
        ("nat: x", [("FIELD_TYPE", "nat", "overlays/o.yaml:1:6")]),
        ("tags: {zz: 1}", [("FIELD_TYPE", "tags.zz", "overlays/o.yaml:1:12")]),
        ("grups: []", [("FIELD_UNKNOWN", "grups", "overlays/o.yaml:1:1")]),
        ("groups: [{name: gpu, szie: 3}]", [("FIELD_UNKNOWN", "groups[gpu].szie", "overlays/o.yaml:1:22")]),
        ("groups:\n- name: new", [("FIELD_MISSING", "groups[new].size", "overlays/o.yaml:2:3")]),
        ("groups: [{name: gpu, size: ~}]", [("FIELD_MISSING", "groups[gpu].size", "overlays/o.yaml:1:22")]),
        ("name: ~", [("FIELD_MISSING", "name", "overlays/o.yaml:1:1")]),
        ("- a", [("FILE_NOT_A_MAPPING", "", "overlays/o.yaml:1:1")]),
        ("a: [", [("YAML_SYNTAX", "", "overlays/o.yaml:1:5")]),
        ("groups: [{name: n, size: 1}, {name: n, size: 2}]",
         [("NAME_DUPLICATE", "groups[n]", "overlays/o.yaml:1:37")]),
    ],
)  # fmt: skip
def test_findings_point_into_the_overlay(text: str, expected: list[tuple[str, str, str]]) -> None:
    write_overlay("o", text)
    assert refusals_with("o") == expected


def test_findings_of_base_and_overlay_come_together() -> None:
    Path("strategies/base.yaml").write_text(BASE + "bad: 1\n")
    write_overlay("o", "nat: x\n")
    assert refusals_with("o") == [
        ("FIELD_UNKNOWN", "bad", "strategies/base.yaml:8:1"),
        ("FIELD_TYPE", "nat", "overlays/o.yaml:1:6"),
    ]


@in_one_test("name", ["../x", "A", "", "a/b", "a.yaml", "-a", "a" * 64, "a\nb", "a\0"])
def test_names_that_are_none(name: str) -> None:
    assert refusals_with(name) == [("OVERLAY_NAME", "", "None")]


def test_unknown_names() -> None:
    write_overlay("private", "")
    with pytest.raises(StrategyError) as caught:
        load("privte", "zzz", "X")
    first, second, third = caught.value.findings
    assert (first.code, second.code, third.code) == ("OVERLAY_UNKNOWN", "OVERLAY_UNKNOWN", "OVERLAY_NAME")
    assert "did you mean private?" in first.message
    assert "private" in second.message


def test_folders_are_searched_in_order() -> None:
    Path("strategies/overlays").mkdir()
    Path("strategies/overlays/o.yml").write_text("nat: 7\n")
    assert load("o").nat == 7
    write_overlay("o", "nat: 6\n")
    assert load("o").nat == 6


def test_a_broken_link_is_not_passed_over() -> None:
    Path("overlays/o.yaml").symlink_to("gone")
    assert refusals_with("o") == [("FILE_UNREADABLE", "", "overlays/o.yaml")]


def test_the_working_directory_may_be_the_strategy_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_overlay("o", "nat: 6\n")
    monkeypatch.chdir(place / "strategies")
    assert load_document(Path("base.yaml"), Root, overlays=["o"]).value.nat == 6


def test_one_bad_overlay_under_many_strategies_is_reported_once() -> None:
    Path("strategies/other.yaml").write_text(BASE.replace("base", "other"))
    write_overlay("o", "x: [\n")
    reading = read_strategies(["strategies/base.yaml", "strategies/other.yaml"], ["o"])
    assert [finding.code for finding in reading.findings] == ["YAML_SYNTAX"]


@in_one_test(("strategies", "expected"), [("[base]", 5), ("[other, base]", 5), ("[other]", 1), ("[]", 1)])
def test_an_overlay_can_be_for_some_strategies_only(strategies: str, expected: int) -> None:
    assert load(write_overlay("scoped", f"strategies: {strategies}\nnat: 5\n")).nat == expected


@in_one_test("strategies", ["base", "{base: 1}", "[1]", "[[base]]"])
def test_strategies_of_an_overlay_are_a_list_of_names(strategies: str) -> None:
    place = "overlays/scoped.yaml:1:13"
    assert refusals_with(write_overlay("scoped", f"strategies: {strategies}\nnat: 5\n")) == [
        ("OVERLAY_STRATEGIES", "strategies", place)
    ]
