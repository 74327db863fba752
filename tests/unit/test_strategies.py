"""The strategies that ship with the package."""

from __future__ import annotations

from eks_hardware.catalogue import Hardware
from helpers.cases import in_one_test
from helpers.strategies import FOLDER, SHIPPED, resolved_shipped


def test_which_ship() -> None:
    assert SHIPPED == (
        "cpu-inference",
        "development",
        "gpu-inference",
        "gpu-training",
        "inferentia-inference",
        "mixed-hardware",
        "trainium-training",
    )


@in_one_test("name", SHIPPED)
def test_name_and_first_group(name: str) -> None:
    resolved = resolved_shipped(name)
    assert name == resolved.name
    system = resolved.node_groups[0]
    assert (system.name, system.tainted, system.hardware) == ("system", False, Hardware.CPU)
    assert system.desired_size >= 2
    assert (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=")


def test_mixed_hardware() -> None:
    resolved = resolved_shipped("mixed-hardware")
    assert [
        (group.name, group.hardware.value, group.ami_type, group.efa_count, len(group.zone_ids))
        for group in resolved.node_groups
    ] == [
        ("system", "cpu", "AL2023_x86_64_STANDARD", 0, 3),
        ("gpu-training", "nvidia-gpu", "AL2023_x86_64_NVIDIA", 4, 1),
        ("trainium-training", "trainium", "AL2023_x86_64_NEURON", 8, 1),
        ("inferentia-inference", "inferentia", "AL2023_x86_64_NEURON", 0, 3),
        ("cpu-inference", "cpu", "AL2023_x86_64_STANDARD", 0, 3),
    ]
    assert resolved.karpenter is not None
