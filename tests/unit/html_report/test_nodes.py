"""Groups and pools in the words of the page."""

from __future__ import annotations

from typing import Any

from eks_hardware.catalogue import load
from eks_hardware.html_report.nodes import NodeSet, node_sets
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.strategies import group, pool, strategy


def node_set_of_group(instance_types: str | list[str], **fields: Any) -> NodeSet:
    return node_sets(resolve(strategy(group(instance_types, **fields))), load())[1]


def node_set_of_pool(**fields: Any) -> NodeSet:
    found = node_sets(resolve(strategy(karpenter={"node_pools": [pool(**fields)]})), load())
    return found[1]


@in_one_test(
    ("instance_types", "types", "devices"),
    [
        ("m7i.xlarge", "m7i.xlarge", None),
        ("p4d.24xlarge", "p4d.24xlarge", (8, 8, "8 × A100, 40 GiB each")),
        (["g6.xlarge", "g5.12xlarge"], "g6.xlarge, g5.12xlarge", (1, 4, "1 to 4 × L4 or A10G, 22.4 GiB each")),
        (["g4dn.xlarge", "g6.xlarge", "g5.xlarge"], None, (1, 1, "1 × T4, L4 or A10G, 16 to 22.4 GiB each")),
        (["g6.xlarge", "g6.2xlarge", "g6.4xlarge", "g6.8xlarge"], "g6: 4 types", (1, 1, "1 × L4, 22.4 GiB each")),
        ("gr6f.4xlarge", "gr6f.4xlarge", (1, 1, "1/2 of 1 × L4, 11.2 GiB each")),
        ("inf2.48xlarge", "inf2.48xlarge", (12, 12, "12 × Inferentia2, 32 GiB each")),
    ],
)
def test_hardware(instance_types: Any, types: str | None, devices: tuple[int, int, str] | None) -> None:
    found = node_set_of_group(instance_types)
    if types:
        assert found.types == types
    assert (found.devices and (found.devices.fewest, found.devices.most, found.devices.text)) == devices


def test_a_training_group() -> None:
    found = node_set_of_group("p4d.24xlarge", efa=True, scaling={"min": 1, "desired": 2, "max": 1000})
    assert (found.is_pool, found.size, found.capacity) == (False, "min 1, desired 2, max 1,000", "On-Demand")
    assert (found.efa, found.marks, len(found.zone_ids)) == (4, ("placement group",), 1)
    assert found.taints == ("nvidia.com/gpu=true:NoSchedule",)
    assert found.most_devices == 8000


def test_shared_gpus() -> None:
    assert node_set_of_group("g6.xlarge", gpu_sharing={"time_slicing": {"replicas": 4}}).marks == (
        "4 pods share a GPU",
    )


@in_one_test(
    ("fields", "most"),
    [
        ({"instance_families": ["g6"], "limits": {"nvidia.com/gpu": 10}}, 10),
        # Nodes with 8 GPUs: a second one would exceed the limit.
        ({"instance_types": ["p5.48xlarge"], "limits": {"nvidia.com/gpu": 15}}, 8),
        # 192 vCPUs per node.
        ({"instance_types": ["p5.48xlarge"], "limits": {"nvidia.com/gpu": 64, "cpu": 400}}, 16),
        ({"accelerator": "inferentia2", "limits": {"aws.amazon.com/neuron": 12}}, 12),
        ({"instance_families": ["m7i"], "limits": {"cpu": 64}}, 0),
        # The strategy counts GPUs, Karpenter their shares.
        (
            {
                "instance_types": ["g6.xlarge"],
                "gpu_sharing": {"time_slicing": {"replicas": 4}},
                "limits": {"nvidia.com/gpu": 8},
            },
            8,
        ),
    ],
)
def test_what_the_limits_of_a_pool_allow(fields: dict[str, Any], most: int) -> None:
    found = node_set_of_pool(**fields)
    assert (found.is_pool, found.most_devices) == (True, most)


def test_a_pool_says_its_limits_and_how_it_buys() -> None:
    found = node_set_of_pool(
        instance_families=["g6"], capacity=["spot", "on-demand"], limits={"nvidia.com/gpu": 8, "cpu": 400}
    )
    assert (found.size, found.capacity) == ("limits: nvidia.com/gpu 8, cpu 400", "Spot, On-Demand")
