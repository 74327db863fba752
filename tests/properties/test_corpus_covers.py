"""The strategies in tests/corpus/good use every field of a strategy, and every kind of hardware and region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel

from eks_hardware.catalogue import Hardware, load
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.resolve.zones import control_plane_excluded
from helpers.cases import in_one_test
from helpers.model_fields import choices_in, models_in
from helpers.paths import TESTS
from helpers.strategies import strategy_of

GOOD = sorted((TESTS / "corpus" / "good").glob("*.yaml"))
CATALOGUE = load()

Field = tuple[type[BaseModel], str]


@cache
def corpus_strategies() -> tuple[Strategy, ...]:
    return tuple(strategy_of(file) for file in GOOD)


@cache
def resolved_corpus() -> tuple[ResolvedStrategy, ...]:
    return tuple(map(resolve, corpus_strategies()))


@cache
def model_fields() -> dict[Field, Any]:
    """Return every field of every model, with its annotation."""
    found: dict[Field, Any] = {}
    waiting: list[type[BaseModel]] = [Strategy]
    while waiting:
        model = waiting.pop()
        for name, info in model.model_fields.items():
            if (model, name) not in found:
                found[model, name] = info.annotation
                waiting.extend(models_in(info.annotation))
    return found


def models_of(value: Any) -> Iterator[BaseModel]:
    """Return every model in a value."""
    if isinstance(value, BaseModel):
        yield value
        for name in type(value).model_fields:
            yield from models_of(getattr(value, name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from models_of(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from models_of(each)


def values_of(value: Any) -> Iterator[object]:
    """Return every plain value and every key in a field's value."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from values_of(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from values_of(each)
    elif not isinstance(value, BaseModel):
        yield value


def test_every_field_is_set_somewhere() -> None:
    given = {
        (type(model), name)
        for strategy in corpus_strategies()
        for model in models_of(strategy)
        for name in model.model_fields_set
    }
    assert sorted(f"{model.__name__}.{name}" for model, name in set(model_fields()) - given) == []


def test_every_choice_is_made_somewhere() -> None:
    chosen: dict[Field, set[object]] = {}
    for strategy in corpus_strategies():
        for model in models_of(strategy):
            for name in type(model).model_fields:
                chosen.setdefault((type(model), name), set()).update(values_of(getattr(model, name)))
    missing = {
        f"{model.__name__}.{name}": sorted(map(str, set(choices_in(annotation)) - chosen.get((model, name), set())))
        for (model, name), annotation in model_fields().items()
    }
    # One day more or less of log retention makes no difference.
    assert {name: each for name, each in missing.items() if each and not name.endswith("retention_days")} == {}


ACCELERATED = sorted(
    {
        kind.family
        for kind in map(CATALOGUE.get, CATALOGUE.names)
        if kind.accelerator and kind.ami_types and not kind.withdrawn and CATALOGUE.offered_regions(kind.name)
    }
)


@cache
def covered_families() -> Counter[str]:
    return Counter(
        CATALOGUE.get(name).family
        for strategy in resolved_corpus()
        for node in (*strategy.node_groups, *strategy.node_pools)
        for name in node.instance_types
    )


@in_one_test("family", ACCELERATED)
def test_every_accelerated_family_is_there(family: str) -> None:
    assert covered_families()[family]


def test_the_families_are_those_that_one_thinks_of() -> None:
    assert {"g4dn", "g5g", "g6f", "g7e", "p3dn", "p4de", "p6-b300", "trn2u", "inf1", "inf2", "f2"} <= set(ACCELERATED)


def test_every_kind_of_region_is_there() -> None:
    """By the number of zones, gaps in their numbers, and whether all support the control plane."""

    def kind(region: str) -> tuple[int, bool, bool]:
        zones = CATALOGUE.zone_ids(region)
        numbers = [int(zone.rpartition("-az")[2]) for zone in zones]
        return len(zones), numbers[-1] > len(zones), bool(set(control_plane_excluded().value) & set(zones))

    assert {kind(strategy.region) for strategy in resolved_corpus()} == {kind(region) for region in CATALOGUE.regions}


def test_every_kind_of_hardware_runs_each_operating_system_that_it_can() -> None:
    found = {
        (node.hardware, node.architecture, node.ami_family)
        for strategy in resolved_corpus()
        for node in (*strategy.node_groups, *strategy.node_pools)
    }
    assert found >= {
        (hardware, architecture, system)
        for hardware, architecture in (
            *((Hardware.CPU, each) for each in ("x86_64", "arm64")),
            *((Hardware.NVIDIA_GPU, each) for each in ("x86_64", "arm64")),
            (Hardware.TRAINIUM, "x86_64"),
            (Hardware.INFERENTIA, "x86_64"),
        )
        for system in ("al2023", "bottlerocket")
    }


def test_some_are_large() -> None:
    sizes = [len(strategy.node_groups) + len(strategy.node_pools) for strategy in resolved_corpus()]
    assert sum(size >= 20 for size in sizes) >= 2
    assert max(sizes) > 100
