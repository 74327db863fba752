"""Every resolved value has a reason, and resolved data is immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.resolve import (
    Origin,
    Resolved,
    ResolvedNodeGroup,
    ResolvedNodePool,
    ResolvedNodes,
    ResolvedStrategy,
    resolve,
    resolve_node_group,
)
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, SYSTEM, gpu_pool, group, pools, resolved_once, shipped, strategy

SIZE = {"size_gib": 1200}
DEFAULT = {"deployment": "persistent-2"}
LUSTRE = {"fsx_lustre": SIZE}

EVERYTHING = strategy(
    group(
        "p5.48xlarge",
        efa=True,
        capacity="capacity-block",
        reservation={"id": "cr-0123456789abcdef0", "zone": "usw2-az1"},
        ami={"family": "bottlerocket"},
        user_data={"container-registry": {"mirrors": [{"registry": "*", "endpoint": ["https://mirror"]}]}},
        tags={"a": "b"},
    ),
    network={"pod_cidr": "100.64.0.0/16", "flow_logs": {}},
    cluster={
        "admins": ["arn:aws:iam::111122223333:role/admin"],
        "addons": {"coredns": {"configuration": {"tolerations": [{"key": "a", "operator": "Exists"}]}}},
    },
    karpenter={
        "node_pools": [
            {
                "name": "pool",
                "instance_types": ["g5.xlarge", "g6f.xlarge"],
                "capacity": ["reserved", "spot"],
                "reservations": [{"tags": {"team": "a"}}],
                "limits": {"nvidia.com/gpu": 4},
                "kubelet": {"system_reserved": {"memory": "1Gi"}, "cpu_manager_policy": "static"},
                "user_data": {"kubelet": {"config": {"evictionHard": {"memory.available": "1Gi"}}}},
                "disruption": {"budgets": [{"nodes": "1", "reasons": ["Drifted"]}]},
                "gpu_sharing": {"time_slicing": {"replicas": 2}},
            }
        ]
    },
    kubernetes={
        "prometheus": True,
        "load_balancer_controller": True,
        "charts": {"karpenter": {"values": {"controller": {"env": [{"name": "A", "value": "b"}]}}}},
        "teams": [{"name": "a", "quota": {"cpu": 4}}],
    },
    storage={"fsx_lustre": {"size_gib": 1200}, "efs": {}, "s3_buckets": [{"name": "models"}]},
    backend={"type": "s3", "bucket": "state"},
    aws={"assume_role": {"role_arn": "arn:aws:iam::111122223333:role/deploy"}},
)
STRATEGIES = [pytest.param(shipped(name), id=name) for name in SHIPPED] + [pytest.param(EVERYTHING, id="everything")]
EXISTING = strategy(
    network={
        "existing": {
            "vpc_id": "vpc-01234567",
            "private_subnets": {"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"},
        }
    }
)
STRATEGIES.append(pytest.param(EXISTING, id="existing"))


def resolved_within(value: Any) -> Iterator[Resolved]:
    if isinstance(value, Resolved):
        yield value
        for each in fields(value):
            yield from resolved_within(getattr(value, each.name))
    elif isinstance(value, tuple | MappingProxyType):
        for item in value.values() if isinstance(value, MappingProxyType) else value:
            yield from resolved_within(item)


def mutable_within(value: Any, path: str) -> Iterator[str]:
    """Return the paths of everything that could be changed."""
    if value is None or isinstance(value, str | int | float | Enum):
        return
    if isinstance(value, tuple):
        children: dict[str, Any] = {str(index): item for index, item in enumerate(value)}
    elif isinstance(value, MappingProxyType):
        children = dict(value)
    elif is_dataclass(value):
        if not getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009
            yield path
        children = {each.name: getattr(value, each.name) for each in fields(value)}
    elif isinstance(value, BaseModel):
        if not value.model_config.get("frozen"):
            yield path
        children = {name: getattr(value, name) for name in type(value).model_fields}
    else:
        yield path
        return
    for name, child in children.items():
        yield from mutable_within(child, f"{path}.{name}")


@in_one_test("given", STRATEGIES)
def test_every_value_has_a_reason(given: Strategy) -> None:
    for each in resolved_within(resolved_once(given)):
        names = {field.name for field in fields(each)} - {"reasons"}
        assert sorted(names) == sorted(name for name, _, _ in each.explained())
        assert names == set(each.reasons)
        for name, value, reason in each.explained():
            assert value is getattr(each, name)
            assert reason is each.why(name)
            assert reason.text.strip() == reason.text != ""
            assert str(reason) == f"{reason.text} [{reason.origin.value}]"
            assert isinstance(reason.origin, Origin)


@in_one_test("given", STRATEGIES)
def test_nothing_can_be_changed(given: Strategy) -> None:
    assert list(mutable_within(resolved_once(given), "resolved")) == []


@in_one_test("given", STRATEGIES)
def test_the_same_strategy_resolves_to_the_same(given: Strategy) -> None:
    first, second = resolve(given), resolve(Strategy.model_validate(given.model_dump(exclude_unset=True)))
    assert first == second
    pairs = zip(resolved_within(first), resolved_within(second), strict=True)
    assert all(one.reasons == other.reasons for one, other in pairs)


def test_every_class_is_met() -> None:
    met = {type(each) for each in resolved_within(resolved_once(EVERYTHING))}
    assert {*Resolved.__subclasses__(), ResolvedNodeGroup, ResolvedNodePool} == met | {ResolvedNodes}


def test_why_of_an_unknown_field() -> None:
    with pytest.raises(KeyError):
        resolved_once(EVERYTHING).why("nonsense")


PLAIN = resolve(strategy(group("g5.xlarge"), karpenter={"node_pools": [gpu_pool(accelerator="l4")]}, storage=LUSTRE))
# The resolved object, a section that states the default, and the field whose reason then names the file.
STATED: list[tuple[Callable[[ResolvedStrategy], Resolved], dict[str, Any], str]] = [
    (
        lambda found: found.cluster,
        {"cluster": {"upgrade_policy": "standard", "creator_is_admin": True}},
        "support_type",
    ),
    (lambda found: found.cluster, {"cluster": {"zonal_shift": False, "creator_is_admin": True}}, "zonal_shift"),
    (lambda found: found.network, {"network": {"flow_logs": {}}}, "flow_logs"),
    (lambda found: found.network, {"network": {"nat_gateways": "single"}}, "nat_zone_ids"),
    (lambda found: found.kubernetes, {"kubernetes": {"teams": []}}, "teams"),
    (
        lambda found: found.storage.fsx_lustre or found,
        {"storage": {"fsx_lustre": {**SIZE, **DEFAULT}}},
        "deployment",
    ),
    (lambda found: found, {"backend": {"type": "local"}}, "backend"),
    (lambda found: found.karpenter or found, {"karpenter": {"interruption_queue": True}}, "queue_name"),
    (lambda found: found.node_groups[1], {"node_groups": [SYSTEM, group("g5.xlarge", workload="general")]}, "workload"),
    (
        lambda found: found.node_groups[1],
        {"node_groups": [SYSTEM, group("g5.xlarge", node_repair=True)]},
        "node_repair",
    ),
    (
        lambda found: found.node_groups[1],
        {"node_groups": [SYSTEM, group("g5.xlarge", ami={"family": "al2023"})]},
        "ami_family",
    ),
    (lambda found: found.node_pools[0], pools(gpu_pool(accelerator="l4", capacity=["on-demand"])), "capacity_types"),
]


@in_one_test(("part", "fields", "field"), STATED, ids=[field for _, _, field in STATED])
def test_a_value_that_the_file_states_has_the_file_as_its_reason(
    part: Callable[[ResolvedStrategy], Resolved], fields: dict[str, Any], field: str
) -> None:
    """Even where the value is the default."""
    document = {"karpenter": pools(gpu_pool(accelerator="l4"))["karpenter"], "storage": LUSTRE, **fields}
    groups = document.pop("node_groups", [SYSTEM, group("g5.xlarge")])[1:]
    stated = part(resolve(strategy(*groups, **document)))
    assert stated.why(field).origin is Origin.STRATEGY
    assert part(PLAIN).why(field).origin is not Origin.STRATEGY


def test_reasons_follow_the_choice_that_they_are_for() -> None:
    private = resolve(strategy(network={"private": True})).network.why("nat_zone_ids").text
    assert private != PLAIN.network.why("nat_zone_ids").text
    assert "private" in private
    training = gpu_pool("training", accelerator="l4", workload="training")
    nodes = resolve(strategy(**pools(training, gpu_pool(accelerator="a10g")))).node_pools
    never, limited = (each.disruption for each in nodes)
    assert (never.expire_after, limited.expire_after == "Never") == ("Never", False)
    assert never.why("expire_after").text == never.why("consolidation_policy").text
    assert limited.why("expire_after").text != limited.why("consolidation_policy").text


def test_huge_pages_of_a_pool_cite_the_row_that_promises_them() -> None:
    pool = gpu_pool("efa", instance_types=["p5.48xlarge"], efa=True)
    (with_efa,) = resolve(strategy(**pools(pool))).node_pools
    (without,) = resolve(strategy(**pools({**pool, "efa": False}))).node_pools
    assert "efa_huge_pages" in str(with_efa.why("overlays").source)
    assert "efa_huge_pages" not in str(without.why("overlays").source)


def test_a_group_alone_has_pods_in_the_nodes_subnets() -> None:
    """As for a group in a cluster that is defined elsewhere."""
    spec = Strategy.model_validate(strategy(group("t3.small"))).node_groups[1]
    fixed: dict[str, Any] = {"cluster_name": "demo", "kubernetes_version": "1.35", "zone_ids": ("usw2-az1",)}
    alone = resolve_node_group(spec, catalogue=load(), **fixed)
    assert alone == resolve_node_group(spec, catalogue=load(), custom_networking=False, **fixed)
    assert alone != resolve_node_group(spec, catalogue=load(), custom_networking=True, **fixed)
