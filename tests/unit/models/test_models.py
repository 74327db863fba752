"""Models: described, frozen, with valid defaults, and protected against text that Terraform would evaluate."""

from __future__ import annotations

import ast
import json
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from eks_hardware import models
from eks_hardware.findings import StrategyError
from eks_hardware.loader import parse_strategy
from eks_hardware.models import (
    AccessEntry,
    AddonSpec,
    Budget,
    Chart,
    Disk,
    Disruption,
    FsxLustre,
    GpuSharing,
    KarpenterSpec,
    Kubelet,
    KubernetesSpec,
    ModelShape,
    NetworkSpec,
    NodeGroupSpec,
    NodePoolSpec,
    NodeTemplate,
    PoolReservation,
    Strategy,
    Team,
    WorkloadSpec,
)
from eks_hardware.models.base import Cidr, JsonObject
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.source import tree_of
from helpers.strategies import document, group, pool

MODELS = [getattr(models, name) for name in models.__all__]
FIELDS = [pytest.param(model, name, id=f"{model.__name__}.{name}") for model in MODELS for name in model.model_fields]
ROLE = "arn:aws:iam::111122223333:role/admin"
SHAPE = {"parameters": "8B"}
TRAINING = {"task": "training", "model": SHAPE}
NOTEBOOK: dict[str, Any] = {"task": "development", "model": SHAPE}


def described(**more: Any) -> dict[str, Any]:
    """Return a node group that describes its workload instead of types."""
    return {"name": "described", "scaling": {"max": 1}, "workload": TRAINING, **more}


def annotated(field: FieldInfo) -> Any:
    """Return the annotation of a field with its limits."""
    described: Any = typing.Annotated
    parts = (field.annotation, *field.metadata)
    return described[parts] if field.metadata else field.annotation


def models_within(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_within(field.annotation)
    for argument in typing.get_args(annotation):
        yield from models_within(argument)


def test_every_model_of_a_strategy_is_exported() -> None:
    # NodeTemplate contains the fields that groups and pools share; no file has one.
    assert {*models_within(Strategy), NodeTemplate} == set(MODELS)


def test_every_field_is_described() -> None:
    missing = [f"{m.__name__}.{name}" for m in MODELS for name, f in m.model_fields.items() if not f.description]
    assert missing == []
    assert all(model.__doc__ for model in MODELS)


def test_every_model_is_frozen_and_strict_about_names() -> None:
    for model in MODELS:
        assert model.model_config.get("frozen") is True
        assert model.model_config.get("extra") == "forbid"


def test_defaults_are_valid() -> None:
    for model in MODELS:
        for name, field in model.model_fields.items():
            if not field.is_required():
                default = field.get_default(call_default_factory=True)
                value = default.model_dump(exclude_unset=True) if isinstance(default, BaseModel) else default
                assert TypeAdapter(annotated(field)).validate_python(value) == default, f"{model.__name__}.{name}"


WRITTEN_DEFAULTS = {
    ("AddonSpec", "enabled"): "an add-on that the strategy lists is on",
    ("LocalBackendSpec", "type"): "the name of the model",
    ("NodeTemplate", "placement_group"): "the value is derived",
    ("RemoteBackendSpec", "hostname"): "Terraform's own default, and not part of a resource",
}
"""Defaults that are not our choice of a value, with the reason; ``config/facts`` has all others."""


def _says_something(default: ast.expr) -> bool:
    """Return whether a default is a value in the source, and neither off nor empty."""
    try:
        return ast.literal_eval(default) not in (None, False, "", ())
    except ValueError:
        return False


def test_our_choices_are_rows() -> None:
    written = {
        (model.name, field.target.id)
        for file in sorted((ROOT / "eks_hardware" / "models").glob("*.py"))
        for model in ast.walk(tree_of(file))
        if isinstance(model, ast.ClassDef)
        for field in model.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(field.value, ast.Call)
        for default in field.value.keywords
        if default.arg == "default" and _says_something(default.value)
    }
    assert written == set(WRITTEN_DEFAULTS)


def test_a_model_cannot_be_changed() -> None:
    strategy = Strategy.model_validate(document())
    with pytest.raises(ValidationError):
        strategy.name = "other"  # type: ignore[misc]


# --- text that Terraform would evaluate

HOSTILE = ["${path.root}", "a${b}", "%{ if true }", "a\nb", "a\x00b", "a\x1bb", "\x7f", "a\r", "\t"]


def text_leaves(annotation: Any) -> Iterator[Any]:
    """Return every annotation in it that accepts any text; nested models are checked separately."""
    origin = typing.get_origin(annotation)
    if annotation is str or (origin is typing.Annotated and typing.get_args(annotation)[0] is str):
        yield annotation
    elif origin is typing.Annotated:
        yield from text_leaves(typing.get_args(annotation)[0])
    elif origin is not typing.Literal and typing.Any not in typing.get_args(annotation):
        # Mappings to Any: test_json_is_walked.
        for argument in typing.get_args(annotation):
            yield from text_leaves(argument)


@in_one_test("hostile", HOSTILE)
def test_no_field_takes_hostile_text(hostile: str) -> None:
    taken = []
    checked = 0
    for model in MODELS:
        for name, field in model.model_fields.items():
            leaves = [annotated(field)] if field.annotation is str else list(text_leaves(field.annotation))
            for leaf in leaves:
                checked += 1
                try:
                    TypeAdapter(leaf).validate_python(hostile)
                except ValidationError:
                    continue
                taken.append(f"{model.__name__}.{name}")
    assert taken == []
    assert checked > 50


def test_no_field_takes_values_of_any_kind_but_json() -> None:
    loose = [
        f"{model.__name__}.{name}"
        for model in MODELS
        for name, field in model.model_fields.items()
        if "Any" in str(field.annotation)
    ]
    # All are JsonObject, which checks the values.
    assert sorted(loose) == [
        "AddonSpec.configuration",
        "Chart.values",
        "NodeGroupSpec.user_data",
        "NodePoolSpec.user_data",
        "NodeTemplate.user_data",
    ]


@in_one_test(
    ("value", "code"),
    [
        ({"a": "${b}"}, "text_template"),
        ({"a": {"b": ["x", {"c": "%{d"}]}}, "text_template"),
        ({"${a}": 1}, "text_template"),
        ({"a": {"b\n": 1}}, "text_control_character"),
        ({"a": "b\x00"}, "text_control_character"),
        ({"a": "\x7f"}, "text_control_character"),
        ({"a": float("nan")}, "json_number"),
        ({"a": [float("-inf")]}, "json_number"),
        ({"a": {1: 2}}, "json_key"),
        ({"a": {1, 2}}, "json_type"),
        ({"a": b"x"}, "json_type"),
    ],
)
def test_json_is_walked(value: dict[str, Any], code: str) -> None:
    for build in (
        lambda: TypeAdapter(JsonObject).validate_python(value),
        lambda: AddonSpec(configuration=value),
        lambda: NodeGroupSpec.model_validate(group(user_data=value)),
        lambda: NodePoolSpec.model_validate(pool(user_data=value)),
        lambda: Chart(values=value),
    ):
        with pytest.raises(ValidationError) as caught:
            build()
        assert [code] == [error["type"] for error in caught.value.errors()]


@in_one_test(
    "value",
    [
        {},
        {"a": None, "b": True, "c": 1.5, "d": [1, "x"], "e": {"f.g/h": "é"}},
        {"corefile": ".:53 {\n\terrors\n}\n"},
        {"a": "$x {b} 100%"},
    ],
)
def test_json_that_is_taken(value: dict[str, Any]) -> None:
    assert value == TypeAdapter(JsonObject).validate_python(value)


def test_where_json_is_wrong() -> None:
    with pytest.raises(ValidationError) as caught:
        AddonSpec(configuration={"a": {"b": [0, {"c.d": "${e}"}]}})
    (error,) = caught.value.errors()
    assert error.get("ctx", {})["field"] == "a.b[1][c.d]"


# --- limits


def error_types(model: type[BaseModel], given: dict[str, Any]) -> list[str]:
    try:
        model.model_validate(given)
    except ValidationError as error:
        return [each["type"] for each in error.errors()]
    return []


RESERVATION = {"id": "cr-01234567", "zone": "usw2-az1"}
PATTERN = "string_pattern_mismatch"


@in_one_test(
    ("model", "given", "expected"),
    [
        (Disk, {"type": "io2"}, ["disk_iops"]),
        (Disk, {"type": "io2", "iops": 3000}, []),
        (Disk, {"type": "io2", "iops": 3000, "throughput_mibps": 125}, ["disk_throughput"]),
        (Disk, {"throughput_mibps": 750}, []),
        (Disk, {"throughput_mibps": 751}, ["disk_throughput"]),
        (Disk, {"throughput_mibps": 1000, "iops": 4000}, []),
        (Disk, {"throughput_mibps": 1001, "iops": 8000}, ["less_than_equal"]),
        (Kubelet, {"image_gc_high_threshold_percent": 80}, ["kubelet_image_gc"]),
        (Kubelet, {"image_gc_high_threshold_percent": 81}, []),
        (Kubelet, {"image_gc_low_threshold_percent": 85}, ["kubelet_image_gc"]),
        (Kubelet, {"image_gc_low_threshold_percent": 0, "image_gc_high_threshold_percent": 1}, []),
        (Kubelet, {"system_reserved": {"memory": "lots"}}, [PATTERN]),
        (Kubelet, {"system_reserved": {"memory": "1.5Gi", "cpu": "500m"}, "kube_reserved": {"pid": "1000"}}, []),
        (NodeGroupSpec, group(["m7i.xlarge", "m7i.xlarge"]), ["item_duplicate"]),
        (NodeGroupSpec, group(taints=[{"key": "a"}, {"key": "a", "effect": "NO_SCHEDULE"}]), ["item_duplicate"]),
        (NodeGroupSpec, group(taints=[{"key": "a"}, {"key": "a", "effect": "NoExecute"}]), []),
        (NodeGroupSpec, group(tags={f"t{index}": "" for index in range(11)}), ["too_long"]),
        (NodeGroupSpec, group(capacity="reserved"), ["reservation_missing"]),
        (NodeGroupSpec, group(reservation=RESERVATION), ["reservation_unused"]),
        (NodeGroupSpec, group(capacity="reserved", reservation=RESERVATION, zones=["usw2-az2"]), ["reservation_zone"]),
        (NodeGroupSpec, group(capacity="reserved", reservation=RESERVATION, zones=["usw2-az1"]), []),
        (NodeGroupSpec, group(capacity="reserved", reservation={"zone": "usw2-az1"}), ["reservation_target"]),
        (NodeGroupSpec, group(scaling={"min": 2, "max": 1}), ["scaling_bounds"]),
        (NodeGroupSpec, group(scaling={"min": 2, "desired": 1, "max": 3}), ["scaling_bounds"]),
        (NodeGroupSpec, group(update={"max_unavailable": 1, "max_unavailable_percentage": 1}), ["update_unavailable"]),
        (NodeGroupSpec, group(taints=[{"key": f"k{index}"} for index in range(50)]), ["too_long"]),
        (NodeGroupSpec, group(zones=["us-west-2a"]), [PATTERN]),
        (NodeGroupSpec, group(zones=["usw2-lax1-az1"]), []),
        (NodeGroupSpec, group(instance_types=[]), ["node_group_hardware"]),
        (NodeGroupSpec, described(), []),
        (NodeGroupSpec, described(instance_types=["g6.xlarge"]), ["node_group_hardware"]),
        (NodeGroupSpec, {"name": "a", "scaling": {"max": 1}}, ["node_group_hardware"]),
        (NodePoolSpec, {"name": "a", "limits": {"cpu": "4"}, "workload": TRAINING}, []),
        (
            NodePoolSpec,
            {"name": "a", "limits": {"cpu": "4"}, "workload": TRAINING, "instance_families": ["g6"]},
            ["node_pool_hardware"],
        ),
        (
            NodePoolSpec,
            {"name": "a", "limits": {"cpu": "4"}, "workload": TRAINING, "instance_sizes": ["xlarge"]},
            ["node_pool_hardware"],
        ),
        (WorkloadSpec, TRAINING, []),
        (WorkloadSpec, {**TRAINING, "context_length": 8}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "kv_cache_precision": "fp8"}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "method": "lora"}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "lora_rank": 8}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "task": "fine-tuning", "lora_rank": 8}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "mixed_precision": False, "precision": "fp32"}, ["workload_field"]),
        (
            WorkloadSpec,
            {**TRAINING, "task": "fine-tuning", "method": "lora", "mixed_precision": False},
            ["workload_field"],
        ),
        (WorkloadSpec, {**TRAINING, "precision": "int8"}, ["workload_precision"]),
        (WorkloadSpec, {"task": "inference", "model": SHAPE, "offload": ["weights"]}, ["workload_field"]),
        (WorkloadSpec, {"task": "inference", "model": SHAPE, "mixed_precision": False}, ["workload_field"]),
        (WorkloadSpec, {"task": "inference", "model": SHAPE, "gradient_accumulation": 4}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "serving": "batch"}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "precision": "int4"}, ["workload_precision"]),
        (WorkloadSpec, {**TRAINING, "purchase": ["spot"]}, ["workload_spot"]),
        (WorkloadSpec, {**TRAINING, "purchase": ["spot"], "interruptible": True}, []),
        (WorkloadSpec, {**TRAINING, "training_tokens": "0"}, [PATTERN]),
        (WorkloadSpec, {**TRAINING, "training_tokens": "0B"}, ["model_size"]),
        (WorkloadSpec, {**TRAINING, "task": "fine-tuning", "method": "qlora"}, []),
        (WorkloadSpec, {"task": "inference", "model": SHAPE, "optimizer": "sgd"}, ["workload_field"]),
        (WorkloadSpec, {"task": "inference", "model": SHAPE, "activation_checkpointing": True}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "activation_checkpointing": False}, []),
        (WorkloadSpec, {**TRAINING, "nodes": 2}, []),
        (WorkloadSpec, {**TRAINING, "task": "fine-tuning", "nodes": 2}, ["workload_field"]),
        (WorkloadSpec, {**TRAINING, "task": "fine-tuning", "nodes": 2, "training_tokens": "1B"}, []),
        (WorkloadSpec, {**NOTEBOOK, "optimizer": "sgd", "context_length": 8}, ["workload_field"]),
        (WorkloadSpec, {**NOTEBOOK, "chunked_loss": True, "concurrent_sequences": 8}, ["workload_field"]),
        (WorkloadSpec, {**NOTEBOOK, "batch_size": 8, "kv_cache_precision": "fp8"}, ["workload_field"]),
        (WorkloadSpec, {**NOTEBOOK, "activation_checkpointing": "selective"}, ["workload_field"]),
        (WorkloadSpec, {**NOTEBOOK, "activation_checkpointing": "selective", "batch_size": 8}, []),
        (WorkloadSpec, {**NOTEBOOK, "context_length": 8}, []),
        (ModelShape, {}, ["model_size"]),
        (ModelShape, {"hf_config": "config.json"}, []),
        (ModelShape, {"parameters": "8030261248"}, []),
        (ModelShape, {"parameters": 8030261248}, []),
        (ModelShape, {"parameters": 0}, [PATTERN]),
        (ModelShape, {"parameters": -1}, [PATTERN]),
        (ModelShape, {"parameters": True}, ["string_type"]),
        (ModelShape, {"parameters": 8.5}, ["string_type"]),
        (ModelShape, {"parameters": "9999T"}, ["model_size"]),
        (ModelShape, {"parameters": "30"}, ["model_size"]),
        (ModelShape, {"parameters": "8B", "active_parameters": "9B"}, ["model_size"]),
        (ModelShape, {"parameters": "8B", "attention_heads": 32, "kv_heads": 3}, ["model_heads"]),
        (ModelShape, {"parameters": "8B", "attention_heads": 32, "kv_heads": 8}, []),
        (ModelShape, {"parameters": "8B", "layers": 0}, ["greater_than_equal"]),
        (
            AccessEntry,
            {"name": "a", "principal_arn": ROLE, "policies": [{"policy": "AmazonEKSViewPolicy"}] * 2},
            ["access_policy_duplicate"],
        ),
        (Strategy, document(group(), group()), ["name_duplicate"]),
        (
            Strategy,
            document(cluster={"access_entries": [{"name": "a", "principal_arn": ROLE}] * 2}),
            ["name_duplicate"],
        ),
        (NodePoolSpec, pool(), []),
        (NodePoolSpec, {"name": "a", "limits": {}}, ["node_pool_hardware"]),
        (NodePoolSpec, {"name": "a", "instance_families": ["m7i"]}, ["missing"]),
        (NodePoolSpec, pool(instance_types=["m7i.xlarge"], accelerator="l4"), ["node_pool_hardware"]),
        (NodePoolSpec, pool(instance_types=["m7i.xlarge"], instance_sizes=["xlarge"]), ["node_pool_hardware"]),
        (NodePoolSpec, pool(instance_types=["m7i.xlarge", "m7i.xlarge"]), ["item_duplicate"]),
        (NodePoolSpec, pool(instance_families=["m7i", "m7i"]), ["item_duplicate"]),
        (KarpenterSpec, {"node_policies": ["arn:aws:iam::aws:policy/ReadOnlyAccess"] * 2}, ["item_duplicate"]),
        (NodePoolSpec, pool(capacity=["spot", "spot"]), ["item_duplicate"]),
        (
            NodePoolSpec,
            {"name": "a", "workload": TRAINING, "capacity": ["spot", "spot"], "limits": {"nvidia.com/gpu": 8}},
            ["item_duplicate"],
        ),
        (NodePoolSpec, pool(capacity=[]), ["too_short"]),
        (NodePoolSpec, pool(taints=[{"key": "a"}, {"key": "a", "effect": "NO_SCHEDULE"}]), ["item_duplicate"]),
        (NodePoolSpec, pool(capacity=["on-demand", "reserved"]), ["reservation_missing"]),
        (NodePoolSpec, pool(reservations=[RESERVATION]), ["reservation_unused"]),
        (NodePoolSpec, pool(capacity=["capacity-block", "spot"], reservations=[RESERVATION]), []),
        (NodePoolSpec, pool(weight=101), ["less_than_equal"]),
        (NodePoolSpec, pool(limits={"gpu": 1}), ["literal_error"]),
        (NodePoolSpec, pool(limits={"cpu": "lots"}), [PATTERN, "int_parsing"]),
        (NodePoolSpec, pool(ami={"version": "20260810"}), [PATTERN]),
        (NodePoolSpec, pool(accelerator="L4"), [PATTERN]),
        (PoolReservation, {"zone": "usw2-az1"}, ["reservation_target"]),
        (PoolReservation, {"id": "cr-01234567", "zone": "usw2-az1", "tags": {"a": "b"}}, ["reservation_target"]),
        (PoolReservation, {"id": "cr-01234567"}, ["reservation_zone"]),
        (PoolReservation, {**RESERVATION, "owner_account_id": "111122223333"}, ["reservation_target"]),
        (PoolReservation, {"tags": {"a": "b"}, "owner_account_id": "111122223333"}, []),
        (Budget, {"nodes": "101%"}, [PATTERN]),
        (Budget, {"nodes": "100%"}, []),
        (Budget, {"nodes": "0", "schedule": "0 8 * * mon-fri"}, ["budget_schedule"]),
        (Budget, {"nodes": "0", "duration": "8h"}, ["budget_schedule"]),
        (Budget, {"nodes": "0", "schedule": "@daily", "duration": "0s"}, ["duration_zero"]),
        (Budget, {"nodes": "0", "schedule": "@daily", "duration": "0h0m"}, ["duration_zero"]),
        (Disruption, {"expire_after": "0m"}, ["duration_zero"]),
        (Budget, {"nodes": "0", "reasons": ["Empty", "Empty"]}, ["item_duplicate"]),
        (Budget, {"nodes": "0", "schedule": "@daily", "duration": "8h"}, []),
        (Budget, {"nodes": "0", "schedule": "every day", "duration": "8h"}, [PATTERN]),
        (Disruption, {"expire_after": "never", "consolidate_after": "1h30m"}, []),
        (Disruption, {"expire_after": "30d"}, [PATTERN, "literal_error"]),
        (Disruption, {"termination_grace_period": "never"}, [PATTERN]),
        (KarpenterSpec, {"node_pools": [pool(), pool()]}, ["name_duplicate"]),
        (KarpenterSpec, {"replicas": 0}, ["greater_than_equal"]),
        (Strategy, document(group("m7i.xlarge", "a"), karpenter={"node_pools": [pool("a")]}), ["name_duplicate"]),
        (KubernetesSpec, {"teams": [{"name": "a"}, {"name": "a"}]}, ["name_duplicate"]),
        (KubernetesSpec, {"charts": {"nginx": {}}}, ["literal_error"]),
        (Chart, {"version": ">= 1.0"}, [PATTERN]),
        (Chart, {"version": "v26.7.0"}, []),
        (Chart, {"repository": "http://mirror.example.com"}, [PATTERN]),
        (GpuSharing, {}, ["gpu_sharing_way"]),
        (GpuSharing, {"time_slicing": {"replicas": 2}, "mig_profile": "1g.10gb"}, ["gpu_sharing_way"]),
        (GpuSharing, {"time_slicing": {"replicas": 1}}, ["greater_than_equal"]),
        (GpuSharing, {"mig_profile": "1g.10gb"}, []),
        (FsxLustre, {"size_gib": 3600}, ["fsx_size"]),
        (FsxLustre, {"size_gib": 4800}, []),
        (FsxLustre, {"deployment": "scratch-2", "throughput_mibps_per_tib": 125}, ["fsx_deployment"]),
        (Strategy, document(name="a" * 101), ["string_too_long"]),
        (Strategy, document(name="-a"), [PATTERN]),
        (Strategy, document(name="a" * 100), []),
        (Strategy, document(node_groups=[]), ["too_short"]),
        (Strategy, document(region="US-WEST-2"), [PATTERN]),
        (Strategy, document(tags={"aws:x": "y"}), ["tag_reserved"]),
        (Strategy, document(karpenter={"node_policies": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]}), []),
        (Strategy, document(karpenter={"node_policies": ["arn:aws:iam::1:policy/x"]}), [PATTERN]),
        (
            Strategy,
            document(
                network={
                    "cidr": "10.0.0.0/16",
                    "existing": {"vpc_id": "vpc-01234567", "private_subnets": {"usw2-az1": "subnet-01234567"}},
                }
            ),
            ["network_existing_conflict"],
        ),
    ],
)
def test_limits(model: type[BaseModel], given: dict[str, Any], expected: list[str]) -> None:
    assert expected == error_types(model, given)


@in_one_test("version", ["", " ", ",", ">=", ">= 5.100.0,", ">= 5.100.0, ,", ">=> 5", "5.x", "...", "~ 5", "1.2.3.4"])
def test_garbage_is_no_provider_range(version: str) -> None:
    assert PATTERN in error_types(Strategy, document(aws={"version": version}))


@in_one_test(
    "cidr",
    [
        "10.0.0.0",
        "10.0.0.0/255.255.0.0",
        "10.0.0.0/0.0.255.255",
        "10.0.0.0/016",
        "10.0.0.1/16",
        "::/0",
        "x",
        "10.0.0.0/33",
    ],
)
def test_cidrs_that_aws_does_not_take(cidr: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Cidr).validate_python(cidr)
    assert caught.value.errors()[0]["type"] == "cidr_invalid"


# --- positions of a model's own errors in the file

POOLS = """\
version: 1
name: demo
region: us-west-2
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
karpenter:
  node_pools:
    - name: none
      limits: {cpu: 1}
    - name: two
      instance_types: [g5.xlarge]
      accelerator: l4
      limits: {nvidia.com/gpu: 1}
    - name: reserved
      instance_types: [p5.48xlarge]
      capacity: [reserved]
      reservations:
        - {id: cr-01234567}
      limits: {nvidia.com/gpu: lots}
      disruption:
        budgets:
          - {nodes: "10%", schedule: "@daily"}
"""


def test_errors_of_a_pool_have_their_place() -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(POOLS, file="demo.yaml")
    found = {finding.path: (finding.code, finding.position) for finding in caught.value.findings}
    pools = "karpenter.node_pools"
    assert found == {
        f"{pools}[none]": ("NODE_POOL_HARDWARE", ("demo.yaml", 8, 7)),
        f"{pools}[two].accelerator": ("NODE_POOL_HARDWARE", ("demo.yaml", 12, 20)),
        f"{pools}[reserved].reservations[0].id": ("RESERVATION_ZONE", ("demo.yaml", 18, 16)),
        f"{pools}[reserved].limits[nvidia.com/gpu]": ("FIELD_PATTERN", ("demo.yaml", 19, 32)),
        f"{pools}[reserved].disruption.budgets[0].schedule": ("BUDGET_SCHEDULE", ("demo.yaml", 22, 38)),
    }


@in_one_test(
    ("name", "counts"),
    [
        ("cpu", True),
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("nvidia.com/mig-1g.10gb+me", False),
        ("nvidia.com/mig-1g", False),
        ("nvidia.com/mig-1g.10gb\n", False),
        ("nvidia.com/gpus", False),
        ("amd.com/gpu", False),
    ],
)
def test_what_a_quota_counts(name: str, counts: bool) -> None:
    """The model and the JSON Schema accept the same names."""
    named = Team.model_json_schema()["properties"]["quota"]["propertyNames"]["anyOf"]
    assert any(name in each.get("enum", ()) or re.fullmatch(each.get("pattern", "$"), name) for each in named) is counts
    given = {"name": "research", "quota": {name: 1}}
    if counts:
        assert Team.model_validate(given).quota == {name: 1}
        return
    with pytest.raises(ValidationError) as error:
        Team.model_validate(given)
    assert [(each["type"], each["loc"]) for each in error.value.errors()] == [("field_value", ("quota", name, "[key]"))]


@in_one_test(
    ("name", "write"),
    [
        ("requests.memory", "got requests.memory; write memory"),
        ("requests.cpu", "got requests.cpu; write cpu"),
        ("requests.nvidia.com/mig-1g.10gb", "write nvidia.com/mig-1g.10gb"),
        (
            "limits.memory",
            "a quota limits requests, not limits, and uses the plain resource name, got limits.memory; write memory",
        ),
        ("memori", "did you mean memory?"),
    ],
)
def test_what_to_write_for_a_key_of_a_resource_quota(name: str, write: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(write)):
        Team.model_validate({"name": "research", "quota": {name: 1}})


# Terraform and the AWS provider refuse these, but only when they run.
@in_one_test(
    ("section", "refused", "taken"),
    [
        ("aws", {"version": ">= 99999999999999999999"}, {"version": ">= 5.100.0"}),
        (
            "aws",
            {"assume_role": {"role_arn": "arn:aws:iam::111122223333:role/deploy", "external_id": ""}},
            {"assume_role": {"role_arn": "arn:aws:iam::111122223333:role/deploy", "external_id": "ci"}},
        ),
        (
            "backend",
            {"type": "s3", "bucket": "state", "kms_key_arn": "arn:aws:kms:us-west-2:111122223333:key/1234abcd"},
            {
                "type": "s3",
                "bucket": "state",
                "kms_key_arn": "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab",
            },
        ),
        (
            "cluster",
            {"addons": {"coredns": {"version": "v01.2.3-eksbuild.1"}}},
            {"addons": {"coredns": {"version": "v1.2.3-eksbuild.1"}}},
        ),
    ],
)
def test_what_terraform_refuses_late(section: str, refused: dict[str, Any], taken: dict[str, Any]) -> None:
    Strategy.model_validate(document(**{section: taken}))
    with pytest.raises(ValidationError):
        Strategy.model_validate(document(**{section: refused}))


def message_of(model: type[BaseModel], **fields: object) -> str:
    with pytest.raises(ValidationError) as caught:
        model(**fields)
    return caught.value.errors()[0]["msg"]


def test_of_fields_that_exclude_each_other_the_message_says_which_are_given() -> None:
    ways = "must have exactly one of 'time_slicing' and 'mig_profile', got"
    assert message_of(GpuSharing) == f"{ways} neither; add one"
    both = message_of(GpuSharing, time_slicing={"replicas": 2}, mig_profile="1g.10gb")
    assert both == f"{ways} both; remove one"
    assert f"`gpu_sharing: {both}`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    hardware = "must have exactly one of 'instance_types', 'instance_families' and 'accelerator', got"
    pool = {"name": "gpu", "limits": {"cpu": 8}}
    assert message_of(NodePoolSpec, **pool) == f"{hardware} none; add one"
    two = {"instance_families": ["g6"], "accelerator": "l4"}
    assert message_of(NodePoolSpec, **pool, **two) == f"{hardware} 'instance_families' and 'accelerator'; remove one"
    three = {"instance_types": ["g6.xlarge"], **two}
    assert message_of(NodePoolSpec, **pool, **three) == (
        f"{hardware} 'instance_types', 'instance_families' and 'accelerator'; keep one"
    )


@in_one_test(
    ("cidr", "fix"),
    [
        ("10.0.0.1/16", "write 10.0.0.0/16"),
        ("10.0.0.0/255.255.0.0", "write 10.0.0.0/16"),
        ("10.0.0/16", "write an address and a prefix length, such as 10.0.0.0/16"),
        ("2001:db8::/32", "write an address and a prefix length, such as 10.0.0.0/16"),
    ],
)
def test_a_network_that_is_none_is_shown_with_a_correct_one(cidr: str, fix: str) -> None:
    said = message_of(NetworkSpec, cidr=cidr)
    assert said.startswith("must be an IPv4 network")
    assert said.endswith(f"; {fix}")
    assert "xpected" not in said


@in_one_test(
    ("changes", "example"),
    [
        ({"node_groups": [{"name": "a", "instance_types": ["m7i.large"], "scaling": 2}]}, "scaling: {min: 1, max: 4}"),
        ({"cluster": "1.35"}, "cluster: {kubernetes_version: '1.35', creator_is_admin: true}"),
        ({"budget": 500}, "budget: {usd_per_month_at_max: 50000}"),
        ({"storage": {"s3_buckets": ["models"]}}, "{name: models}"),
        (
            {"network": {"existing": "vpc-01234567"}},
            "existing: {vpc_id: vpc-01234567, private_subnets: {usw2-az1: subnet-00000001, usw2-az2: subnet-00000002}}",
        ),
        (
            {"cluster": {"addons": ["coredns"]}},
            "addons: {aws-ebs-csi-driver: {}, coredns: {configuration: {replicaCount: 4}}}",
        ),
        ({"cluster": {"addons": {"coredns": "v1.12.0-eksbuild.1"}}}, "coredns: {version: v1.13.2-eksbuild.4}"),
        ({"node_groups": [group("m7i.large", ami="ami-01234567")]}, "ami: {image_id: ami-0123456789abcdef0}"),
        (
            {"node_groups": [group("m7i.large", taints={"a": "b"})]},
            "taints: [{key: team, value: research, effect: NoSchedule}]",
        ),
        (
            {"node_groups": {"a": {}}},
            "node_groups: [{name: h100, instance_types: [p5.48xlarge], efa: true, scaling: {max: 4}}]",
        ),
        ({"region": None}, "region: us-west-2"),
        ({"backend": "s3"}, "backend: {type: s3, bucket: example-state}"),
        ({"network": {"zones": "3"}}, "zones: 3"),
        ({"tags": [{"Key": "a"}]}, "tags: {team: research}"),
    ],
    ids=str,
)
def test_a_value_in_place_of_a_mapping_is_answered_with_an_example(changes: dict[str, Any], example: str) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(json.dumps(document(**changes)))
    (message,) = [finding.message for finding in caught.value.findings if finding.code == "FIELD_TYPE"]
    assert message.endswith(f"; for example {example}")


@in_one_test(
    ("model", "fields", "says"),
    [
        (AddonSpec, {"verison": "v1"}, 'unknown field "verison"; did you mean version?'),
        (KarpenterSpec, {"node_pools": [{"name": "a", "limit": {}}]}, 'unknown field "limit"; did you mean limits?'),
        (Disk, {"type": "gp2"}, 'must be one of gp3, io2, got "gp2"; did you mean gp3?'),
        (KubernetesSpec, {"charts": ["kueue"]}, "must be a mapping, got a list"),
    ],
)
def test_a_program_gets_the_messages_of_a_file(model: type[BaseModel], fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        model(**fields)
    assert any(says in each["msg"] for each in caught.value.errors()), caught.value


def test_values_that_no_file_can_have_get_the_error_of_pydantic() -> None:
    fields: dict[str, Any] = {"verison": object()}
    with pytest.raises(ValidationError, match="extra_forbidden"):
        AddonSpec(**fields)
