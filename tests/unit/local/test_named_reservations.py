"""The reservations that a strategy names, as the emulator gets them."""

from __future__ import annotations

from eks_hardware.local.named_reservations import POOL_INSTANCES, named
from helpers.kubernetes.objects import resolved_named
from helpers.paths import SPECIAL
from helpers.strategies import strategy_of


def test_reservations_of_groups() -> None:
    found = named(strategy_of(SPECIAL / "capacity.yaml"), resolved_named("capacity"))
    assert [
        (each["id"], each["instance_type"], each["zone_id"], each["count"], each["is_block"]) for each in found
    ] == [
        ("cr-0123456789abcdef0", "p5.48xlarge", "usw2-az3", 2, True),
        ("cr-0123456789abcdef1", "p4d.24xlarge", "usw2-az2", 4, False),
        (None, "g6.2xlarge", "usw2-az1", 4, False),
    ]
    assert [each["group_arn"] for each in found][2].endswith(":group/gpu-pool")


def test_reservations_of_pools() -> None:
    found = named(strategy_of(SPECIAL / "karpenter-pools.yaml"), resolved_named("karpenter-pools"))
    assert [(each["id"], each["tags"], each["owner"], each["is_block"]) for each in found] == [
        ("cr-0123456789abcdef1", {}, None, False),
        (None, {"purpose": "serving"}, "444455556666", False),
        ("cr-0123456789abcdef0", {}, None, True),
    ]
    assert {each["count"] for each in found} == {POOL_INSTANCES}
