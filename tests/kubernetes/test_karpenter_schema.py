"""Every NodePool, EC2NodeClass and NodeOverlay passes Karpenter's own definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.kubernetes.karpenter import releases
from eks_hardware.kubernetes.model import Bundle
from eks_hardware.kubernetes.node_pool import node_class, node_overlays, node_pool, price_overlay
from eks_hardware.kubernetes.references import known, references_in, replaced
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import ResolvedNodePool, resolve_node_pool
from eks_hardware.resolve.extended_resources import accelerator_resource
from eks_hardware.resolve.gpu_sharing import mig_profiles
from eks_hardware.resolve.pool_types import known_to_karpenter
from helpers.kubernetes.karpenter_rules import check_rules
from helpers.kubernetes.karpenter_schema import check_custom_resources
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import resolved_of

STRATEGIES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])
RESERVATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"capacity": ["reserved"], "reservations": [{"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}]},
    {"capacity": ["capacity-block"], "reservations": [{"tags": {"job": "a"}, "owner_account_id": "111122223333"}]},
    {"capacity": ["reserved", "spot", "on-demand"], "reservations": [{"tags": {"job": "a"}}]},
)


def of_strategies() -> Iterator[dict[str, Any]]:
    for file in STRATEGIES:
        resolved = resolved_of(file)
        if resolved.node_pools:
            for each in Bundle(tuple(releases(resolved))).objects:
                yield replaced(each, known(resolved).__getitem__)


def accelerated() -> tuple[InstanceType, ...]:
    """Return every type that a pool can have."""
    return tuple(
        kind
        for kind in load().select()
        if kind.hardware is not Hardware.CPU and not kind.withdrawn and known_to_karpenter(kind) and kind.ami_types
    )


def variants(kind: InstanceType) -> Iterator[dict[str, Any]]:
    """Return settings that change the objects of a type."""
    sharing: list[dict[str, Any]] = [{}]
    if kind.hardware is Hardware.NVIDIA_GPU:
        sharing += [{"gpu_sharing": {"time_slicing": {"replicas": 4, "rename": each}}} for each in (False, True)]
        sharing += [{"gpu_sharing": {"mig_profile": each}} for each in mig_profiles(kind) or () if each.endswith("gb")]
    for efa in (False, True) if kind.supports_efa else (False,):
        for family, prefix in (("al2023", "AL2023"), ("bottlerocket", "BOTTLEROCKET")):
            if any(each.startswith(prefix) for each in kind.ami_types):
                for bought in RESERVATIONS:
                    yield {"efa": efa, "ami": {"family": family}, **bought}
                for shared in sharing:
                    yield {"efa": efa, "ami": {"family": family}, "workload": "training", **shared}


def accelerated_pools() -> Iterator[ResolvedNodePool]:
    for kind in accelerated():
        for number, fields in enumerate(variants(kind)):
            pool = NodePoolSpec.model_validate(
                {
                    "name": f"{kind.name.replace('.', '-')}-{number}",
                    "instance_types": [kind.name],
                    "limits": {accelerator_resource(kind.hardware) or "cpu": 64},
                    **fields,
                }
            )
            yield resolve_node_pool(
                pool,
                cluster_name="demo",
                region="us-west-2",
                zone_ids=("usw2-az1",),
                catalogue=load(),
                efa_security_group_name="demo-efa",
            )


def of_the_catalogue() -> Iterator[dict[str, Any]]:
    for pool in accelerated_pools():
        yield node_class(pool, instance_profile=False)
        yield node_class(pool, instance_profile=True)
        yield node_pool(pool)
        yield from node_overlays(pool)
    yield price_overlay("trn2.48xlarge", 85.964)


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    return [*of_strategies(), *of_the_catalogue()]


def test_there_are_many(objects: list[dict[str, Any]]) -> None:
    """Otherwise the tests below prove nothing."""
    assert {each["kind"] for each in objects} == {"NodePool", "EC2NodeClass", "NodeOverlay"}
    assert len(accelerated()) > 70
    assert len(objects) > 3 * len(accelerated())


def test_schema(objects: list[dict[str, Any]]) -> None:
    assert check_custom_resources(objects) == []


def test_rules(objects: list[dict[str, Any]]) -> None:
    assert [finding for each in objects for finding in check_rules(each)] == []


def test_strategies_leave_no_reference() -> None:
    assert [each["metadata"]["name"] for each in of_strategies() if references_in(str(each))] == []


def test_an_overlay_says_nothing_that_karpenter_counts_itself(objects: list[dict[str, Any]]) -> None:
    """Some resources pass the definition, and are refused when the controller reads the overlay."""
    forbidden = {"cpu", "memory", "ephemeral-storage", "pods"}
    overlays = [each for each in objects if each["kind"] == "NodeOverlay"]
    assert [each["metadata"]["name"] for each in overlays if forbidden & set(each["spec"].get("capacity", ()))] == []
