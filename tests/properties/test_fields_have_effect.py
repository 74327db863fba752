"""A field that a strategy sets is never dropped in silence: it changes the result, or a finding names it.

Each base is a small strategy. Its variants set one switch: a choice, a flag, or an optional section. In each of them,
values are given to every omitted field next to the switch, and to a sample of the others. The values are those of the
good strategies, and the choices of the schema. A value changes nothing if it is also derived without the field. A field
has at most one such value, and a flag only its default.

``EKS_HARDWARE_PROPERTY_COUNT=1000`` takes all fields instead of a sample, also with switches of other sections. It
takes about seven minutes, and ``pytest -s`` prints the number of variants.
"""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from eks_hardware.advisor.model import Request, ShapeError
from eks_hardware.advisor.recommend import recommend
from eks_hardware.advisor.shapes.shape import shape_of
from eks_hardware.catalogue import load
from eks_hardware.findings import Severity
from eks_hardware.models import (
    AmiVersions,
    GpuSharing,
    Latency,
    LocalBackendSpec,
    ModelShape,
    Needs,
    NodeGroupSpec,
    NodePoolSpec,
    PoolReservation,
    RemoteBackendSpec,
    Reservation,
    S3BackendSpec,
    Strategy,
    WorkloadSpec,
)
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.resolve import strategy as whole
from eks_hardware.rules import RULES, Context, check
from eks_hardware.rules.explanations import explanations
from helpers.model_fields import choices_in, models_in
from helpers.paths import SHIPPED, SPECIAL, TESTS
from helpers.random_strategies import property_count
from helpers.strategies import SYSTEM, TODAY, document, gpu_pool, group, pool, pools

Document = dict[str, Any]
Path = tuple[str | int, ...]
Field = tuple[type[BaseModel], str]

_SAMPLE = property_count(1)
_MOST_VALUES = 4

_CHECKED = ("precision", "attention", "framework", "cuda", "distributed")
GUARANTEES: Mapping[Field, str] = {
    **{(Needs, name): "it is only checked: hardware that meets it stays as it is" for name in _CHECKED},
    (PoolReservation, "zone"): "it only adds a zone that the pool does not have yet",
}
"""Fields that may have several values without effect, with the reason. Another value has one."""

_ALL_KERNELS = {"attention": "H100 runs every kernel"}
_ALL_KERNELS_AND_EFA = {**_ALL_KERNELS, "distributed": "nodes with EFA run every job"}
MET: Mapping[str, Mapping[str, str]] = {
    "reserved group with EFA": _ALL_KERNELS_AND_EFA,
    "Trainium group": {"distributed": "nodes with EFA run every job"},
    "reserved pool with EFA": _ALL_KERNELS_AND_EFA,
    "pool with tagged reservations": _ALL_KERNELS,
}
"""Guarantees whose every value the hardware of a base meets, with the reason."""

MET_NEXT_TO: Mapping[str, Mapping[str, str]] = {
    "efa=true": {"distributed": "nodes with EFA run every job"},
    'ami.release_version="1.35.6-20260625"': {"neuron_sdk": "its driver starts every SDK of the candidates"},
}
"""The same for values of another field."""

COINCIDENCES: Mapping[Field, str] = {
    (WorkloadSpec, "gradient_accumulation"): "it shortens the idle time of pipelines, and most layouts have none",
    (WorkloadSpec, "software"): "it leaves out hardware, which may not be among the candidates anyway",
}
"""The same for fields of a described workload, whose values can all lead to the same hardware."""

ALWAYS_SET: Mapping[Field, str] = {
    (LocalBackendSpec, "type"): "it has one value",
    (NodeGroupSpec, "instance_types"): "a group must have it",
    (Reservation, "id"): "a reservation has it or a resource group",
    (GpuSharing, "time_slicing"): "sharing has it or a MIG profile",
}
"""Optional fields that no base omits, with the reason."""

_ARN = "arn:aws:iam::111122223333"
_RESERVATION = {"id": "cr-0123456789abcdef0", "zone": load().offered("p5.48xlarge", "us-west-2")[0]}
_SUBNETS = {"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"}
_OWN = {"image_id": "ami-0123456789abcdef0"}
_L4 = {"instance_types": ["g6.12xlarge"], "workload": "inference"}
_H100 = {"instance_types": ["p5.48xlarge"], "workload": "training", "efa": True}
_GROUP: Path = ("node_groups", 1)
_POOL: Path = ("karpenter", "node_pools", 0)


def _of(section: str, **fields: Any) -> tuple[Document, Path]:
    return document(**{section: fields}), (section,)


BASES: Mapping[str, tuple[Document, Path]] = {
    "everything omitted": (
        {
            "version": 1,
            "name": "demo",
            "region": "us-west-2",
            "cluster": {"admins": [f"{_ARN}:role/admin"]},
            "node_groups": [SYSTEM],
        },
        (),
    ),
    "everything at once": (
        document(
            group(**_L4),
            aws={"assume_role": {"role_arn": f"{_ARN}:role/deploy"}},
            kubernetes={"delivery": "helm", "teams": [{"name": "research"}]},
            network={"flow_logs": {}},
            storage={"fsx_lustre": {}, "efs": {}, "s3_buckets": [{"name": "acme-data"}]},
            **pools(gpu_pool(instance_families=["g6"])),
        ),
        (),
    ),
    "CPU group": (document(group("m7gd.2xlarge", taints=[{"key": "team"}])), _GROUP),
    "GPU group": (document(group(**_L4)), _GROUP),
    "GPU group with Bottlerocket": (document(group(**_L4, ami={"family": "bottlerocket"})), _GROUP),
    "GPU group with its own image": (document(group(**_L4, ami=_OWN)), _GROUP),
    "reserved group with EFA": (document(group(**_H100, capacity="reserved", reservation=_RESERVATION)), _GROUP),
    "Trainium group": (document(group("trn1.32xlarge", efa=True)), _GROUP),
    "CPU pool": (document(**pools(pool(disruption={"budgets": [{"nodes": "1"}]}))), _POOL),
    "GPU pool": (
        document(**pools(gpu_pool(instance_families=["g6"], gpu_sharing={"time_slicing": {"replicas": 2}}))),
        _POOL,
    ),
    "reserved pool with EFA": (
        document(**pools(gpu_pool(**_H100, capacity=["reserved"], reservations=[_RESERVATION]))),
        _POOL,
    ),
    "pool with tagged reservations": (
        document(
            **pools(
                gpu_pool(
                    instance_types=["p5.48xlarge"],
                    capacity=["reserved", "on-demand"],
                    reservations=[{"tags": {"team": "research"}}],
                )
            )
        ),
        _POOL,
    ),
    "cluster": (
        document(
            cluster={
                "creator_is_admin": True,
                "addons": {"metrics-server": {}, "coredns": {"enabled": False}},
                "access_entries": [
                    {
                        "name": "viewers",
                        "principal_arn": f"{_ARN}:role/Viewer",
                        "policies": [{"policy": "AmazonEKSViewPolicy"}],
                    },
                    {"name": "groups", "principal_arn": f"{_ARN}:role/Group", "kubernetes_groups": ["oncall"]},
                ],
            }
        ),
        ("cluster",),
    ),
    "network": _of("network", flow_logs={}),
    "existing network": _of("network", existing={"vpc_id": "vpc-01234567", "private_subnets": _SUBNETS}),
    "Karpenter": (document(karpenter={}), ("karpenter",)),
    "Karpenter with pools": (document(**pools(pool(), pool("other", ami={"family": "bottlerocket"}))), ("karpenter",)),
    "charts": (
        document(
            group(**_L4, scaling={"max": 4, "autoscaled": True}),
            kubernetes={"delivery": "helm", "teams": [{"name": "research"}], "charts": {"nvidia-device-plugin": {}}},
        ),
        ("kubernetes",),
    ),
    "storage": _of("storage", fsx_lustre={}, efs={}, s3_buckets=[{"name": "acme-data"}]),
    "provider": _of("aws", assume_role={"role_arn": f"{_ARN}:role/deploy"}),
    "S3 backend": _of("backend", type="s3", bucket="acme-state"),
    "remote backend": _of("backend", type="remote", organization="acme"),
    "local backend": _of("backend", type="local"),
}

# Values that no good strategy has, or that it has only with others.
_MORE_VALUES: Mapping[Field, Sequence[Any]] = {
    (PoolReservation, "zone"): ["usw2-az4"],
    (NodeGroupSpec, "zones"): [["usw2-az1"], ["usw2-az2", "usw2-az3"]],
    (NodePoolSpec, "zones"): [["usw2-az1"], ["usw2-az2", "usw2-az3"]],
    (ModelShape, "active_parameters"): ["300M"],
    (ModelShape, "architecture"): ["vit"],
    (ModelShape, "attention_heads"): [8],
    (ModelShape, "head_dim"): [1024],
    (ModelShape, "hidden_size"): [8192],
    (ModelShape, "kv_heads"): [1],
    (ModelShape, "layers"): [7],
    (WorkloadSpec, "batch_size"): [8],
    (WorkloadSpec, "concurrent_sequences"): [64],
    (WorkloadSpec, "context_length"): [131072],
    (WorkloadSpec, "answer_tokens"): [2000],
    (WorkloadSpec, "prompt_tokens"): [3500],
    (WorkloadSpec, "gradient_accumulation"): [64],
    (WorkloadSpec, "latency"): [{"first_token_ms": 5}, {"per_token_ms": 0.1}],
    (WorkloadSpec, "lora_rank"): [4096],
    (WorkloadSpec, "nodes"): [4],
    (WorkloadSpec, "sequence_length"): [32768],
    (WorkloadSpec, "think_seconds"): [1],
    (WorkloadSpec, "training_tokens"): ["1T"],
    (WorkloadSpec, "users"): [1000],
    (WorkloadSpec, "within"): ["12h"],
    (Latency, "first_token_ms"): [5],
    (Latency, "per_token_ms"): [0.1],
    (Strategy, "budget"): [{"usd_per_month_at_max": 1}],
    (AmiVersions, "bottlerocket"): ["v1.60.0"],
    (Needs, "precision"): ["nvfp4"],
    (Needs, "framework"): ["torch-neuron"],
    (Needs, "cuda"): ["11.0"],
    (Needs, "nvidia_driver"): ["999"],
    (Needs, "neuron_sdk"): ["2.1"],
}
_BACKENDS: dict[str, type[BaseModel]] = {"local": LocalBackendSpec, "s3": S3BackendSpec, "remote": RemoteBackendSpec}


# --- values


@cache
def written_corpus() -> tuple[Document, ...]:
    """Return the good, special and shipped strategies, as written."""
    files = [*(TESTS / "corpus" / "good").glob("*.yaml"), *SPECIAL.glob("*.yaml"), *SHIPPED.glob("*.yaml")]
    return tuple(yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in sorted(files))


@cache
def all_candidates() -> Mapping[Field, tuple[Any, ...]]:
    """Return the values of each field: all choices and flags, some given here, and those of the corpus."""
    found: dict[Field, dict[str, Any]] = defaultdict(dict)

    def add(field: Field, value: Any) -> None:
        found[field].setdefault(json.dumps(value, sort_keys=True), value)

    def collect(model: type[BaseModel], given: Document) -> None:
        for name, value in given.items():
            if name not in model.model_fields:
                continue
            add((model, name), value)
            items = value if isinstance(value, list) else [value, *(value.values() if isinstance(value, dict) else ())]
            for inner, item in itertools.product(models_in(model.model_fields[name].annotation), items):
                if isinstance(item, dict) and set(item) <= set(inner.model_fields):
                    collect(inner, item)

    for field in fields_below(Strategy):
        annotation = field[0].model_fields[field[1]].annotation
        flags = [True, False] if is_flag(annotation) else []
        none: list[object] = [[]] if holds(annotation, tuple) else []
        for value in (*_MORE_VALUES.get(field, ()), *flags, *none):
            add(field, value)
        if not any(models_in(annotation)) and not holds(annotation, dict):
            for choice in filter(None, choices_in(annotation)):
                add(field, [choice] if holds(annotation, tuple) else choice)
    for each in written_corpus():
        collect(Strategy, each)
    return {field: tuple(each.values()) for field, each in found.items()}


def fields_below(model: type[BaseModel], seen: set[Field] | None = None) -> set[Field]:
    """Return every field of a model and of the models in it."""
    seen = set() if seen is None else seen
    for name, info in model.model_fields.items():
        if (model, name) not in seen:
            seen.add((model, name))
            for inner in models_in(info.annotation):
                fields_below(inner, seen)
    return seen


def is_flag(annotation: Any) -> bool:
    """Return whether a field can be true or false."""
    return annotation is bool or bool in get_args(annotation)


def holds(annotation: Any, container: type) -> bool:
    """Return whether a field is a list or a mapping."""
    return container in [get_origin(each) for each in (annotation, *get_args(annotation))]


@cache
def _local(value: str) -> Any:
    """Return a value with zones and ARNs of us-west-2, where all bases are."""
    text = re.sub(r'"[a-z]{2,5}[0-9]{1,2}-az([1-4])"', r'"usw2-az\1"', value)
    return json.loads(re.sub(r"(arn:aws:(?:kms|resource-groups):)[a-z0-9-]+:", r"\1us-west-2:", text))


@cache
def candidates_of(field: Field) -> list[Any]:
    """Return at most :data:`_MOST_VALUES` different values of a field, the first ones and the last."""
    local = {json.dumps(each): each for each in (_local(json.dumps(each)) for each in all_candidates().get(field, ()))}
    found = list(local.values())
    return found if len(found) <= _MOST_VALUES else [*found[: _MOST_VALUES - 1], found[-1]]


# --- places


class Place(NamedTuple):
    """A field of a document, set or not."""

    path: Path
    field: Field


def omitted(model: type[BaseModel], given: Document, path: Path = ()) -> Iterator[Place]:
    """Yield each field that a document omits, also those of its sections and items."""
    for name, info in model.model_fields.items():
        value, here = given.get(name), (*path, name)
        models = [_BACKENDS[value["type"]]] if name == "backend" and value else list(models_in(info.annotation))
        optional = type(None) in get_args(info.annotation) or name == "backend"
        if not models or (
            value is None and (optional or holds(info.annotation, tuple) or holds(info.annotation, dict))
        ):
            if value is None:
                yield Place(here, (model, name))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from omitted(models[0], item, (*here, index))
        elif holds(info.annotation, dict):
            for key, item in (value or {}).items():
                yield from omitted(models[0], item, (*here, key))
        elif models[0] is not WorkloadSpec:
            yield from omitted(models[0], value or {}, here)
        elif value is None:
            yield Place(here, (model, name))


def changed_at(given: Any, path: Path, value: Any, parsed: Any = None) -> Any:
    """Return a copy of a document with a value at a path.

    With the model of the document, the other sections are those of the model: pydantic does not parse them again.
    """
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(given, list):
        items = [each if parsed is None else parsed[index] for index, each in enumerate(given)]
        items[int(key)] = changed_at(given[int(key)], rest, value, items[int(key)] if parsed else None)
        return items
    parts = {name: _section(parsed, name) or each for name, each in given.items()}
    return {**parts, key: changed_at(given.get(key, {}), rest, value, _section(parsed, key))}


def _section(parsed: Any, name: str | int) -> Any:
    """Return a section of a model, or the models in a list or mapping; None for other values."""
    found = parsed.get(name) if isinstance(parsed, Mapping) else getattr(parsed, str(name), None)
    parts = found.values() if isinstance(found, Mapping) else found if isinstance(found, tuple) else (found,)
    return found if any(isinstance(each, BaseModel) for each in parts) else None


# --- outcomes


class State(NamedTuple):
    """A strategy with its result and findings."""

    strategy: Strategy
    resolved: ResolvedStrategy
    findings: frozenset[tuple[str, str]]


def state_of(given: Document) -> State | None:
    """Return the state of a document; None with an error."""
    try:
        strategy = Strategy.model_validate(given)
    except ValidationError:
        return None
    findings = check(strategy, today=TODAY)
    if any(each.severity is Severity.ERROR for each in findings):
        return None
    return State(strategy, resolve(strategy), frozenset((each.code, each.path) for each in findings))


def outcome_of_change(base: State, given: Document, place: Path, codes: set[str]) -> str:
    """Return what a document that is changed at a place is: refused, changed, found, default or silent.

    Only values with the wrong type or form are refused. Values that contradict another field are found, and so are
    those in a section that has a finding. The rules with these ``codes`` run first; those that find something are
    added.
    """
    try:
        strategy = Strategy.model_validate(given)
    except ValidationError as error:
        return "found" if any(each["type"].upper() in explanations() for each in error.errors()) else "refused"
    if any(found_by(code, strategy) != {each for each in base.findings if each[0] == code} for code in codes):
        return "found"
    try:
        if resolve(strategy) != base.resolved:
            return "changed"
    except (ValueError, LookupError):
        pass  # the rules say why
    findings = {(each.code, each.path) for each in check(strategy, today=TODAY)}
    if findings != base.findings:
        codes |= {code for code, _ in findings ^ base.findings if code in RULES and not RULES[code].last}
        return "found"
    if strategy == base.strategy:
        return "default"
    return "found" if any(in_section(path, place) for _, path in base.findings) else "silent"


_PARTS = ("resolve_cluster", "resolve_karpenter", "resolve_network", "resolve_node_group", "resolve_node_pool")


class Parts:
    """The resolved parts of a strategy. Equal ones are resolved once, because a change is in one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._known: dict[tuple[str, int], tuple[object, Mapping[str, object], object]] = {}
        for name in _PARTS:
            monkeypatch.setattr(whole, name, partial(self._resolve, name, getattr(whole, name)))

    def forget(self) -> None:
        self._known.clear()

    def _resolve(self, part: str, function: Callable[..., object], spec: object, /, **others: object) -> object:
        known = self._known.get((part, id(spec)))
        if known is None or known[1] != others:
            # With the section itself: otherwise another can get its id.
            known = self._known[part, id(spec)] = (spec, others, function(spec, **others))
        return known[2]


def found_by(code: str, strategy: Strategy) -> set[tuple[str, str]]:
    """Return the findings of one rule."""
    return {(code, path) for path, _ in RULES[code].check(Context(strategy, load(), TODAY))}


def in_section(section: str, place: Path) -> bool:
    """Return whether a place is in a section of a strategy, such as ``kubernetes.charts.karpenter``."""
    return ".".join(map(str, place)).startswith(f"{section}.")


class Tried(NamedTuple):
    """The outcomes of a field's values."""

    silent: list[Any]
    live: bool


class Memory:
    """The effects of values in earlier variants of a base: the likely outcome is tried first."""

    def __init__(self) -> None:
        self._effects: Counter[tuple[Path, str]] = Counter()
        self._codes: dict[tuple[Path, str], set[str]] = defaultdict(set)

    def try_candidates(self, base: State, given: Document, place: Place) -> Tried:
        """Set a field to its values, until the others cannot change whether it is dropped."""
        default = place.field[0].model_fields[place.field[1]].default
        left = [(json.dumps(value), value) for value in candidates_of(place.field)]
        left.sort(key=lambda each: (each[1] == default, -self._effects[place.path, each[0]]))
        silent: list[Any] = []
        live = False
        while left:
            others = sum(value != default for _, value in left)  # the default cannot be silent
            if (live and len(silent) + others <= 1) or not (silent or others):
                break
            text, value = left.pop(0)
            changed = changed_at(given, place.path, value, base.strategy)
            outcome = outcome_of_change(base, changed, place.path, self._codes[place.path, text])
            if outcome == "silent":
                silent.append(value)
            elif outcome in ("changed", "found"):
                live = True
                self._effects[place.path, text] += 1
        return Tried(silent, live)


def is_dropped(field: Field, result: Tried) -> bool:
    """Return whether a field has no effect, and nothing says so."""
    if len(result.silent) > 1:
        return True
    default = field[0].model_fields[field[1]].default
    flag_is_off = isinstance(default, bool) and result.silent == [not default]
    return flag_is_off or (bool(result.silent) and not result.live)


# --- variants


def is_switch(place: Place) -> bool:
    """Return whether a field can switch others off: a flag, a choice, or an optional section or value."""
    annotation = place.field[0].model_fields[place.field[1]].annotation
    chooses = is_flag(annotation) or any(filter(None, choices_in(annotation)))
    return chooses or type(None) in get_args(annotation) or holds(annotation, tuple)


def variants_of_base(given: Document, prefix: Path, number: int) -> Iterator[tuple[str, Path | None, Document]]:
    """Yield the base and its variants: the name, the path of the switch, and the document.

    By default these are an eighth of the variants of nodes, another eighth for the next ``number``, and no variants of
    whole strategies.
    """
    yield "", None, given
    for place in places_in(given, prefix):
        if (prefix or _SAMPLE > 1) and is_switch(place):
            for value in candidates_of(place.field):
                name = f"{'.'.join(map(str, place.path))}={json.dumps(value)}"
                if prefix not in (_GROUP, _POOL) or _SAMPLE > 1 or zlib.crc32(name.encode()) % 8 == number % 8:
                    yield name, place.path, changed_at(given, place.path, value)


def places_in(given: Document, prefix: Path) -> list[Place]:
    """Return the omitted fields in a part of a document; the pools are not part of Karpenter's section alone."""
    found = (each for each in omitted(Strategy, given) if each.path[: len(prefix)] == prefix)
    return [each for each in found if prefix in (_POOL, ()) or len(each.path) < 3 or each.path[:2] != _POOL[:2]]


def sampled_places(places: list[Place], name: str, switch: Path | None, prefix: Path) -> list[Place]:
    """Return all places next to the switch inside a section, and a sample of the others."""
    if switch is None:
        return places
    inside = switch[:-1] if len(switch) > len(prefix) + 1 else None
    near = [each for each in places if each.path[:-1] == inside]
    others = [each for each in places if each.path[:-1] != inside]
    others.sort(key=lambda each: zlib.crc32(f"{name} {each.path}".encode()))
    return [*near, *others[: _SAMPLE if prefix in (_GROUP, _POOL) else 3 * _SAMPLE]]


def test_no_field_is_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(monkeypatch)
    dropped: list[str] = []
    variants = fields = 0
    used: set[Field | tuple[str, str]] = set()
    live: set[Field] = set()
    for number, (title, (given, prefix)) in enumerate(BASES.items()):
        memory = Memory()
        for name, switch, variant in variants_of_base(given, prefix, number):
            parts.forget()
            base = state_of(variant)
            if base is None:
                continue
            variants += 1
            for place in sampled_places(places_in(variant, prefix), name, switch, prefix):
                fields += 1
                result = memory.try_candidates(base, variant, place)
                if result.live:
                    live.add(place.field)
                if not is_dropped(place.field, result):
                    continue
                met = place.field[1] in MET.get(title, ())
                next_to = any(place.field[1] in MET_NEXT_TO[each] for each in MET_NEXT_TO if name.endswith(each))
                if next_to:
                    continue
                if place.field in GUARANTEES and (result.live or met):
                    used |= {place.field, *([(title, place.field[1])] if met else [])}
                else:
                    dropped.append(f"{title} {name}: {'.'.join(map(str, place.path))} = {result.silent[:3]}")
    print(f"{len(dropped)} of {fields} fields in {variants} variants have no effect")
    assert not dropped, "\n".join(dropped)
    exceptions = {*GUARANTEES, *((title, name) for title, names in MET.items() for name in names)}
    assert exceptions - used == set(), "no longer needed"
    assert set(GUARANTEES) - live == set(), "no value has an effect"
    assert optional_fields() - live == set(ALWAYS_SET)


def optional_fields() -> set[Field]:
    """Return the fields that a strategy can omit, except sections, and except those of described workloads."""
    fields = fields_below(Strategy) - fields_below(WorkloadSpec)
    return {(model, name) for model, name in fields if not is_section(model.model_fields[name])}


def is_section(info: FieldInfo) -> bool:
    """Return whether a field is required, or a section whose fields are tried instead."""
    return info.is_required() or isinstance(info.default, BaseModel)


# --- described workloads


_LLM = {"parameters": "8B"}
_RUN = {"model": _LLM, "training_tokens": "15B"}
WORKLOADS: Mapping[str, Document] = {
    "inference": {"task": "inference", "model": _LLM, "latency": {}},
    "inference for users": {"task": "inference", "model": _LLM, "users": 50},
    "inference in batches": {"task": "inference", "serving": "batch", "model": _LLM},
    "inference without tokens": {"task": "inference", "model": {"parameters": "110M", "architecture": "bert"}},
    "inference of a public model": {"task": "inference", "model": {"name": "llama-3.1-8b"}},
    "inference in 4 bits": {"task": "inference", "model": {"parameters": "70B"}, "precision": "int4"},
    "training": {"task": "training", "model": _LLM},
    "training run": {"task": "training", **_RUN},
    "training run on two nodes": {"task": "training", **_RUN, "nodes": 2},
    "training in a pipeline": {"task": "training", "model": {"parameters": "405B"}},
    "fine-tuning": {"task": "fine-tuning", "model": _LLM},
    "fine-tuning run": {"task": "fine-tuning", **_RUN},
    "adapters": {"task": "fine-tuning", "method": "lora", "model": _LLM},
    "adapters on 4 bits": {"task": "fine-tuning", "method": "qlora", "model": {"parameters": "70B"}},
    "development": {"task": "development", "model": {"parameters": "1B"}},
    "development of inference": {"task": "development", "model": {"parameters": "1B"}, "context_length": 4096},
    "development of training": {"task": "development", "model": {"parameters": "1B"}, "sequence_length": 4096},
}
_HARDWARE = (
    "p5.48xlarge",
    "p4d.24xlarge",
    "g6e.12xlarge",
    "g5.xlarge",
    "trn1.32xlarge",
    "inf2.48xlarge",
    "m7i.16xlarge",
)


def recommendation_text(given: Document) -> str:
    """Return the recommendation for a workload, without the request."""
    workload = WorkloadSpec.model_validate(given)
    request = Request(workload=workload, shape=shape_of(workload.model), regions=("us-east-1",))
    found = recommend(request, only=_HARDWARE)
    return repr((found.candidates, found.rejections, found.nearest, found.notes, found.unreasonable))


def workload_outcome(base: str, given: Document, changed: Document) -> str:
    """Return what a changed workload is: refused, changed, found, default or silent."""
    try:
        found = recommendation_text(changed)
    except ValidationError as error:
        return "found" if any(each["type"].upper() in explanations() for each in error.errors()) else "refused"
    except ShapeError:
        return "found"
    if found != base:
        return "changed"
    same = WorkloadSpec.model_validate(given) == WorkloadSpec.model_validate(changed)
    return "default" if same else "silent"


def test_no_field_of_a_workload_is_dropped_in_silence() -> None:
    dropped: list[str] = []
    used: set[Field] = set()
    live: set[Field] = set()
    for title, given in WORKLOADS.items():
        base = recommendation_text(given)
        for place in omitted(WorkloadSpec, given):
            changes = [(value, changed_at(given, place.path, value)) for value in candidates_of(place.field)]
            found = {json.dumps(value): workload_outcome(base, given, changed) for value, changed in changes}
            if {"changed", "found"} & set(found.values()):
                live.add(place.field)
            elif "silent" in found.values() and place.field in COINCIDENCES:
                used.add(place.field)
            elif "silent" in found.values():
                dropped.append(f"{title}: {'.'.join(map(str, place.path))}: {found}")
    assert not dropped, "\n".join(dropped)
    assert set(COINCIDENCES) - used == set(), "no longer needed"
    assert {
        field for field in fields_below(WorkloadSpec) if not is_section(field[0].model_fields[field[1]])
    } - live == set()
