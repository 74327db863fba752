"""From pydantic's errors to findings: codes, paths and positions, with a model for this test."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware.adoption import Adoption
from eks_hardware.advisor.ranking.workload_file import WorkloadFile
from eks_hardware.findings import StrategyError
from eks_hardware.loader import (
    discover,
    load_document,
    parse_strategy,
    read_strategies,
    read_strategy,
)
from eks_hardware.loader.discovery import read_environment
from eks_hardware.models import Strategy
from eks_hardware.models.base import Cidr
from helpers.cases import in_one_test


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(str, Enum):
    TRAINING = "training"
    INFERENCE = "inference"


class Scaling(Model):
    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=1, le=1000)]

    @model_validator(mode="after")
    def _bounds(self) -> Scaling:
        if self.min > self.max:
            raise PydanticCustomError("scaling_bounds", "min is above max", {"field": "min"})
        return self


class Group(Model):
    name: Annotated[str, Field(pattern="^[a-z-]+$", max_length=10)]
    types: Annotated[tuple[str, ...], Field(min_length=1)] = ("m6i.large",)
    kind: Kind = Kind.INFERENCE
    efa: bool = False
    scaling: Scaling | None = None
    taints: tuple[str, ...] = ()


class Local(Model):
    type: Literal["local"]
    path: str = "x"


class S3(Model):
    type: Literal["s3"]
    bucket: str
    s3: int = 1  # has the same name as its tag


class Root(Model):
    version: Literal[1]
    name: str = "x"
    region: Annotated[str, Field(examples=["us-west-2"])] = "us-west-2"
    kubernetes: Literal["1.30", "1.31"] | None = None
    ratio: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1
    nat: int | Literal["single", "none"] = 1
    zones: tuple[str, ...] | Annotated[int, Field(ge=2, le=6)] = 3
    days: Literal[1, 7, 30] = 7
    groups: tuple[Group, ...] = ()
    by_key: dict[Annotated[str, Field(pattern="^[a-z./]+$")], Scaling] = Field(default_factory=dict)
    backend: Annotated[Local | S3, Field(discriminator="type")] | None = None
    stores: tuple[Annotated[Local | S3, Field(discriminator="type")], ...] = ()
    free: dict[str, Any] = Field(default_factory=dict)
    checked: str = ""
    cidr: Cidr = "10.0.0.0/16"

    @field_validator("checked")
    @classmethod
    def _checked(cls, value: str) -> str:
        if value == "bad":
            raise ValueError("Must not be bad.")
        return value

    @model_validator(mode="after")
    def _whole(self) -> Root:
        if self.checked == "nested":
            raise PydanticCustomError("nested_thing", "nested is wrong", {"field": "groups[gpu].scaling.max"})
        if self.checked == "indexed":
            raise PydanticCustomError("indexed_thing", "indexed is wrong", {"field": "groups[0].name"})
        return self


def refusals_of(text: str) -> list[tuple[str, str, int, int]]:
    with pytest.raises(StrategyError) as caught:
        load_document("version: 1\n" + text, Root, file="f")
    return [(f.code, f.path, f.position.line, f.position.column) for f in caught.value.findings if f.position]


@in_one_test(
    ("text", "expected"),
    [
        ("nmae: x", [("FIELD_UNKNOWN", "nmae", 2, 1)]),
        ("groups: [{name: a, scaling: {}}]", [("FIELD_MISSING", "groups[a].scaling.max", 2, 29)]),
        ("groups:\n  - scaling: {}", [("FIELD_MISSING", "groups[0].name", 3, 5),
                                     ("FIELD_MISSING", "groups[0].scaling.max", 3, 14)]),
        ("groups:\n  - efa: true", [("FIELD_MISSING", "groups[0].name", 3, 5)]),
        ("groups: [{name: a, efa: yes}]", [("FIELD_TYPE", "groups[a].efa", 2, 25)]),
        ("groups: [{name: a, efa: 1}]", [("FIELD_TYPE", "groups[a].efa", 2, 25)]),
        ("groups: [{name: a, scaling: {max: '4'}}]", [("FIELD_TYPE", "groups[a].scaling.max", 2, 35)]),
        ("groups: [{name: a, scaling: {max: true}}]", [("FIELD_TYPE", "groups[a].scaling.max", 2, 35)]),
        ("groups: [{name: a, scaling: {max: 0}}]", [("FIELD_RANGE", "groups[a].scaling.max", 2, 35)]),
        ("groups: [{name: a, scaling: {max: 1e400}}]", [("FIELD_TYPE", "groups[a].scaling.max", 2, 35)]),
        ("groups: [{name: a, scaling: 3}]", [("FIELD_TYPE", "groups[a].scaling", 2, 29)]),
        ("groups: [{name: a, types: []}]", [("FIELD_LENGTH", "groups[a].types", 2, 27)]),
        ("groups: [{name: a, types: x}]", [("FIELD_TYPE", "groups[a].types", 2, 27)]),
        ("groups: [{name: a, types: [1]}]", [("FIELD_TYPE", "groups[a].types[0]", 2, 28)]),
        ("groups: [{name: a, kind: trainng}]", [("FIELD_VALUE", "groups[a].kind", 2, 26)]),
        ("groups: [{name: A}]", [("FIELD_PATTERN", "groups[A].name", 2, 17)]),
        ("groups: [{name: aaaaaaaaaaaa}]", [("FIELD_LENGTH", "groups[aaaaaaaaaaaa].name", 2, 17)]),
        ("groups: [{name: 'a b[', efa: x}]",
         [("FIELD_PATTERN", "groups[0].name", 2, 17), ("FIELD_TYPE", "groups[0].efa", 2, 30)]),
        ("groups: {a: 1}", [("FIELD_TYPE", "groups", 2, 9)]),
        ("groups: [3]", [("FIELD_TYPE", "groups[0]", 2, 10)]),
        ("groups:", [("FIELD_TYPE", "groups", 2, 8)]),
        ("groups: [{name: a}, {name: b}, {name: a}]", [("NAME_DUPLICATE", "groups[a]", 2, 39)]),
        ("groups: [{name: a, scaling: {min: 5, max: 2}}]",
         [("SCALING_BOUNDS", "groups[a].scaling.min", 2, 35)]),
        ("ratio: 0", [("FIELD_RANGE", "ratio", 2, 8)]),
        ("ratio: .nan", [("FIELD_RANGE", "ratio", 2, 8)]),
        ("kubernetes: 1.30", [("FIELD_VALUE", "kubernetes", 2, 13)]),
        ("region: 5", [("FIELD_TYPE", "region", 2, 9)]),
        ("days: '7'", [("FIELD_VALUE", "days", 2, 7)]),
        # unions: one finding per position, without a label in the path
        ("nat: singel", [("FIELD_VALUE", "nat", 2, 6)]),
        ("nat: [1]", [("FIELD_VALUE", "nat", 2, 6)]),
        ("zones: 9", [("FIELD_RANGE", "zones", 2, 8)]),
        ("zones: [a, 1]", [("FIELD_TYPE", "zones[1]", 2, 12)]),
        ("zones: {a: 1}", [("FIELD_TYPE", "zones", 2, 8)]),
        # discriminated unions: without a tag in the path
        ("backend: {type: s3}", [("FIELD_MISSING", "backend.bucket", 2, 10)]),
        ("backend: {type: s3, bucket: 1, buckte: x}",
         [("FIELD_TYPE", "backend.bucket", 2, 29), ("FIELD_UNKNOWN", "backend.buckte", 2, 32)]),
        ("backend: {type: s3, bucket: x, s3: y}", [("FIELD_TYPE", "backend.s3", 2, 36)]),
        ("backend: {type: s4}", [("FIELD_VALUE", "backend.type", 2, 17)]),
        ("backend: {type: [s3]}", [("FIELD_VALUE", "backend.type", 2, 17)]),
        ("backend: {bucket: x}", [("FIELD_MISSING", "backend.type", 2, 10)]),
        ("backend: s3", [("FIELD_TYPE", "backend", 2, 10)]),
        ("stores: [{type: local}, {type: s3, bucket: 3}]", [("FIELD_TYPE", "stores[1].bucket", 2, 44)]),
        # keys of maps
        ("by_key: {A: {max: 1}}", [("FIELD_PATTERN", "by_key.A", 2, 10)]),
        ("by_key: {a/b.c: {max: x}}", [("FIELD_TYPE", "by_key[a/b.c].max", 2, 23)]),
        # validators
        ("checked: bad", [("FIELD_VALUE", "checked", 2, 10)]),
        ("checked: nested\ngroups: [{name: gpu, scaling: {max: 3}}]",
         [("NESTED_THING", "groups[gpu].scaling.max", 3, 37)]),
        ("checked: nested\ngroups: [{name: gpu}]", [("NESTED_THING", "groups[gpu].scaling.max", 3, 10)]),
        ("checked: nested", [("NESTED_THING", "groups[gpu].scaling.max", 1, 1)]),
        ("checked: indexed\ngroups: [{name: gpu}]", [("INDEXED_THING", "groups[gpu].name", 3, 17)]),
        # a value with a finding of its own gets no second one; the rest is still checked
        ("region: !Foo x\nnmae: x", [("YAML_TAG", "", 2, 9), ("FIELD_UNKNOWN", "nmae", 3, 1)]),
        ("groups: !Foo [{name: 3}]", [("YAML_TAG", "", 2, 9)]),
        ("days: 7\ndays: 3", [("YAML_DUPLICATE_KEY", "", 3, 1)]),
        ("1: x\nnat: x", [("YAML_KEY_TYPE", "", 2, 1), ("FIELD_VALUE", "nat", 3, 6)]),
        # an alias is reported at its value
        ("groups: [{name: a, scaling: &s {max: x}}]\nby_key: {k: *s}",
         [("FIELD_TYPE", "groups[a].scaling.max", 2, 38), ("FIELD_TYPE", "by_key.k.max", 2, 38)]),
    ],
)  # fmt: skip
def test_findings(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert refusals_of(text) == expected


@in_one_test(
    ("text", "hint"),
    [
        ("kubernetes: 1.30", '"1.30"'),
        ("region: 5", 'in quotes: "5"'),
        ("groups: [{name: a, efa: Yes}]", "write true"),
        ("groups: [{name: a, efa: off}]", "write false"),
        ("groups: [{name: a, efa: 'true'}]", "write true"),
        ("groups: [{name: a, scaling: {max: '4'}}]", "write 4,"),
        ("groups: [{name: a, scaling: {max: 1_000}}]", "write 1000,"),
        ("groups: [{name: a, scaling: {max: 012}}]", "write 12,"),
        ("groups: [{name: a, kind: trainng}]", "did you mean training?"),
        ("groups: [{name: a, Taint: [x]}]", "did you mean taints?"),
        ("groups: [{name: a, scaling: {maxx: 1}}]", "did you mean max?"),
        ("nat: singel", "must be one of single, none or a whole number"),
        ("nat: singel", "did you mean single?"),
        ("backend: {type: S-3}", "did you mean s3?"),
        ("days: '7'", "write 7,"),
        ("region: [x]", "us-west-2"),
        ("checked: bad", "checked: must not be bad"),
        ("cidr: 10.0.0.1/16", 'without host bits, got "10.0.0.1/16"; write 10.0.0.0/16'),
        ("cidr: 'a; b'", 'must be an IPv4 network, got "a; b"; write an address and a prefix length'),
        ("groups: [{name: a}, {name: a}]", "f:2:17"),
        ("a: 1\na: 2", "f:2:1"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(StrategyError) as caught:
        load_document("version: 1\n" + text, Root, file="f")
    assert hint in str(caught.value)


def test_messages_are_one_printable_line_without_jargon() -> None:
    text = (
        'version: "a\\nb"\nregion: [x]\nratio: x\nkubernetes: ' + "y" * 300 + "\nnat: {a: 1}\n"
        '"k\\te\\u200by": 1\ndays: 8\nbackend: {type: 7}\nby_key: {a: x}\nzones: x\ngroups: [1, x, []]\n'
    )
    with pytest.raises(StrategyError) as caught:
        load_document(text, Root, file="f")
    assert len(caught.value.findings) >= 12
    for line in str(caught.value).split("\n"):
        assert line.isprintable()
        assert line.startswith("f:")
        assert not line.endswith(".")
        assert len(line) < 400
        assert "Input" not in line
        assert "pydantic" not in line


def test_strictness_still_lets_lists_and_text_become_tuples_and_enums() -> None:
    document = load_document(
        "version: 1\nratio: 2\ngroups: [{name: a, kind: training, types: [x, y]}]\nzones: [a]\n", Root
    )
    assert document.value == Root(
        version=1,
        ratio=2,
        groups=(Group(name="a", kind=Kind.TRAINING, types=("x", "y")),),
        zones=("a",),
    )


def test_free_form_values_may_repeat_names() -> None:
    document = load_document("version: 1\nfree: {env: [{name: a}, {name: a}]}\n", Root)
    assert document.value.free == {"env": [{"name": "a"}, {"name": "a"}]}


GOLDEN = """\
version: 2
nmae: mixed
groups:
  - name: gpu
    kind: trainng
    scaling: {min: 0, mx: 4}
  - name: gpu
    efa: on
backend: {type: s3}
days: 7
days: 30
"""

GOLDEN_FINDINGS = [
    "f.yaml:1:10: error FIELD_VALUE version: must be 1, got the number 2; 1 is the only version of this format: "
    "write version: 1, or upgrade eks-hardware if the file needs a newer one",
    'f.yaml:2:1: error FIELD_UNKNOWN nmae: unknown field "nmae"; did you mean name?',
    'f.yaml:5:11: error FIELD_VALUE groups[gpu].kind: must be one of training, inference, got "trainng"; '
    "did you mean training?",
    "f.yaml:6:14: error FIELD_MISSING groups[gpu].scaling.max: required field max is missing; add it",
    'f.yaml:6:23: error FIELD_UNKNOWN groups[gpu].scaling.mx: unknown field "mx"; did you mean max?',
    'f.yaml:7:11: error NAME_DUPLICATE groups[gpu]: the name "gpu" is used here and at f.yaml:4:11; rename one of them',
    'f.yaml:8:10: error FIELD_TYPE groups[gpu].efa: must be true or false, got "on"; write true',
    "f.yaml:9:10: error FIELD_MISSING backend.bucket: required field bucket is missing; add it",
    'f.yaml:11:1: error YAML_DUPLICATE_KEY: key "days" is used here and at f.yaml:10:1; keep one of them',
]


def test_all_findings_at_once() -> None:
    """The only test of the wording; all others test codes and positions."""
    with pytest.raises(StrategyError) as caught:
        load_document(GOLDEN, Root, file="f.yaml")
    assert [str(finding) for finding in caught.value.findings] == GOLDEN_FINDINGS


def test_indentation_slips_are_named_as_such() -> None:
    """Fields at the level of their section, of their list, and a section inside an item."""
    text = "version: 1\nname: a\ngroups:\n- name: gpu\n  scaling:\n  max: 4\n  backend: {}\nefa: true\n"
    with pytest.raises(StrategyError) as caught:
        load_document(text, Root, file="f")
    found = {finding.path: finding.message.partition("; ")[2] for finding in caught.value.findings}
    assert found["groups[gpu].max"] == "it is a field of scaling, so indent it further"
    assert found["efa"] == "it is a field of an item of groups, so indent it further"
    assert found["groups[gpu].backend"] == "it is a top-level section, so remove its indentation"


def test_the_fields_of_a_mapping_are_listed_once() -> None:
    with pytest.raises(StrategyError) as caught:
        load_document("version: 1\nqqq: 1\nzzz: 2\ngroups: [{name: a, qqq: 1}]\nnmae: 3\n", Root, file="f")
    found = {finding.path: finding.message.partition("; ") for finding in caught.value.findings}
    assert {path: (before, after[:11]) for path, (before, _, after) in found.items()} == {
        "qqq": ('unknown field "qqq"', "fields here"),
        "zzz": ('unknown field "zzz"', "rename or r"),
        "groups[a].qqq": ('unknown field "qqq"', "fields here"),
        "nmae": ('unknown field "nmae"', "did you mea"),
    }


def test_the_stack_of_charts_has_a_name_of_its_own(tmp_path: Path) -> None:
    text = (
        "version: 1\nname: {name}\nregion: us-west-2\nkubernetes: {{stack: {stack}}}\n"
        "node_groups: [{{name: a, instance_types: [m7i.large], scaling: {{max: 1}}}}]\n"
    )
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    files[0].write_text(text.format(name="demo", stack="separate"))
    files[1].write_text(text.format(name="demo-kubernetes", stack="same"))
    (finding,) = read_strategies(files).findings
    assert (finding.code, finding.path) == ("STRATEGY_NAME_DUPLICATE", "kubernetes.stack")
    assert finding.position is not None
    assert (finding.position.file, finding.position.line) == (str(files[0]), 4)
    files[0].write_text(text.format(name="demo", stack="same"))
    assert [each.strategy.name for each in read_strategies(files).strategies] == ["demo", "demo-kubernetes"]


STRATEGY = """\
version: 1
name: small
region: us-west-2
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
"""


def test_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(STRATEGY)
    Path("b.yaml").write_text(STRATEGY + "network: x\n")
    Path("c.yaml").write_text("version: 1\nname: [\n")
    Path("e.yaml").write_text(STRATEGY.replace("small", "large"))
    reading = read_strategies(["a.yaml", "b.yaml", "c.yaml", "d.yaml", tmp_path / "e.yaml"])
    assert [(f.position.file, f.code) for f in reading.findings if f.position] == [
        ("b.yaml", "FIELD_TYPE"),
        ("c.yaml", "YAML_SYNTAX"),
        ("d.yaml", "FILE_UNREADABLE"),
        ("b.yaml", "STRATEGY_NAME_DUPLICATE"),
    ]
    assert "a.yaml:2:7" in reading.findings[-1].message
    assert [(each.file, each.strategy.name) for each in reading.strategies] == [
        ("a.yaml", "small"),
        ("e.yaml", "large"),
    ]
    (remains,) = reading.remains
    assert (remains.loaded.file, remains.sections, remains.lists) == (
        "b.yaml",
        frozenset({"network"}),
        frozenset[str](),
    )


def test_strategies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("strategies").mkdir()
    Path("overlays").mkdir()
    Path("strategies/small.yaml").write_text(STRATEGY)
    Path("overlays/big.yaml").write_text("node_groups: [{name: system, scaling: {max: 9}}]\n")

    loaded = read_strategy("strategies/small.yaml", overlays=["big"])
    assert loaded.file == str(Path("strategies/small.yaml"))
    assert loaded.strategy.node_groups[0].scaling.max == 9
    assert str(loaded.source.locate("node_groups[system].scaling.min")) == "strategies/small.yaml:5:65"
    assert str(loaded.source.locate("node_groups[system].scaling.max")) == "overlays/big.yaml:1:45"

    assert parse_strategy(STRATEGY).strategy.name == "small"
    with pytest.raises(StrategyError) as caught:
        parse_strategy(STRATEGY + "nodegroups: []\n", file="mine")
    assert str(caught.value).startswith("mine:6:1: error FIELD_UNKNOWN nodegroups: ")

    assert len(read_strategies([Path("strategies/small.yaml")]).strategies) == 1
    selection = read_environment({"EKS_HARDWARE_STRATEGIES": "strategies", "EKS_HARDWARE_OVERLAY": "big"})
    (chosen,) = read_strategies(discover(selection.paths), selection.overlays).strategies
    assert chosen.strategy.node_groups[0].scaling.max == 9
    (default,) = read_strategies(discover(["strategies"])).strategies
    assert default.strategy.node_groups[0].scaling.max == 4


def test_every_strategy_in_the_package_loads() -> None:
    for overlays in ([], ["local"], ["private"]):
        reading = read_strategies(discover(None), overlays)
        assert reading.strategies
        assert reading.findings == ()


# -- empty files


@in_one_test(
    ("model", "fields"),
    [
        (Strategy, "version, name, region and node_groups"),
        (WorkloadFile, "task, model and version"),
        (Adoption, "name, region, cluster, network and karpenter"),
    ],
)
def test_an_empty_file_needs_the_required_fields(tmp_path: Path, model: type[BaseModel], fields: str) -> None:
    file = tmp_path / "empty.yaml"
    file.touch()
    for source in (file, ""):
        with pytest.raises(StrategyError) as refused:
            load_document(source, model)
        assert [each.message for each in refused.value.findings] == [f"the file is empty; add at least {fields}"]
