"""Resolved values of ``gpu_sharing``: shares, labels, Bottlerocket settings, and the MIG facts behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.resolve import GpuShares, mig_profiles
from eks_hardware.resolve.gpu_sharing import mig_bottlerocket_key
from helpers.cases import in_one_test
from helpers.strategies import resolved_gpu_pool, resolved_group

BOTTLEROCKET = {"family": "bottlerocket"}


def in_four_turns(**fields: Any) -> dict[str, Any]:
    return {"time_slicing": {"replicas": 4, **fields}}


CASES: list[tuple[str, dict[str, Any] | None, GpuShares | None, dict[str, str], dict[str, Any]]] = [
    ("g6.xlarge", None, None, {}, {}),
    (
        "g6.xlarge",
        in_four_turns(),
        GpuShares("time-slicing-4", "nvidia.com/gpu", 4, None),
        {"nvidia.com/device-plugin.config": "time-slicing-4"},
        {
            "device-sharing-strategy": "time-slicing",
            "time-slicing": {"replicas": 4, "rename-by-default": False, "fail-requests-greater-than-one": True},
        },
    ),
    (
        "g6.xlarge",
        in_four_turns(rename=True),
        GpuShares("time-slicing-4-renamed", "nvidia.com/gpu.shared", 4, None),
        {"nvidia.com/device-plugin.config": "time-slicing-4-renamed"},
        {
            "device-sharing-strategy": "time-slicing",
            "time-slicing": {"replicas": 4, "rename-by-default": True, "fail-requests-greater-than-one": True},
        },
    ),
    (
        "p4d.24xlarge",
        {"mig_profile": "1g.5gb"},
        GpuShares("all-1g.5gb", "nvidia.com/mig-1g.5gb", 7, "1g.5gb"),
        {"nvidia.com/mig.config": "all-1g.5gb"},
        {"device-partitioning-strategy": "mig", "mig": {"profile": {"a100.40gb": "1g.5gb"}}},
    ),
    (
        "p5.48xlarge",
        {"mig_profile": "3g.40gb"},
        GpuShares("all-3g.40gb", "nvidia.com/mig-3g.40gb", 2, "3g.40gb"),
        {"nvidia.com/mig.config": "all-3g.40gb"},
        {"device-partitioning-strategy": "mig", "mig": {"profile": {"h100.80gb": "3g.40gb"}}},
    ),
]
SELECTORS = frozenset({"nvidia.com/device-plugin.config", "nvidia.com/mig.config"})


@in_one_test("built", [resolved_group, resolved_gpu_pool], ids=["of_group", "of_pool"])
@in_one_test(("name", "sharing", "shares", "labels", "settings"), CASES)
def test_sharing(
    built: Any,
    name: str,
    sharing: dict[str, Any] | None,
    shares: GpuShares | None,
    labels: dict[str, str],
    settings: dict[str, Any],
) -> None:
    fields = {"gpu_sharing": sharing} if sharing else {}
    al2023, bottlerocket = built(name, **fields), built(name, ami=BOTTLEROCKET, **fields)
    assert shares == al2023.gpu_shares
    # Bottlerocket's plugin uses the same name for a slice and a whole GPU.
    same = replace(shares, resource="nvidia.com/gpu") if shares and shares.mig_profile else shares
    assert same == bottlerocket.gpu_shares
    assert {key: value for key, value in al2023.labels.items() if key in SELECTORS} == labels
    assert "kubelet-device-plugins" not in al2023.user_data
    # Bottlerocket's own plugin reads settings, and no label.
    assert not SELECTORS & set(bottlerocket.labels)
    assert bottlerocket.user_data.get("kubelet-device-plugins", {}).get("nvidia", {}) == settings


def test_nothing_fits_an_al2023_node_before_its_gpus_are_cut() -> None:
    """Until then, the plugin shows whole GPUs, and the MIG manager can reboot the node under pods that got one."""
    pool = resolved_gpu_pool("p4d.24xlarge", gpu_sharing={"mig_profile": "1g.5gb"}, limits={"nvidia.com/gpu": 16})
    assert pool.limits == {"nvidia.com/mig-1g.5gb": "112", "cpu": "192"}
    (overlay,) = pool.overlays
    assert overlay.capacity == {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.5gb": "56"}
    image = resolved_gpu_pool(
        "p4d.24xlarge", gpu_sharing={"mig_profile": "1g.5gb"}, limits={"nvidia.com/gpu": 16}, ami=BOTTLEROCKET
    )
    assert image.limits == {"nvidia.com/gpu": "112", "cpu": "192"}
    assert [each.capacity for each in image.overlays] == [{"nvidia.com/gpu": "56"}]


@pytest.mark.parametrize("built", [resolved_group, resolved_gpu_pool], ids=["of_group", "of_pool"])
def test_plugin_labels(built: Any) -> None:
    """A Bottlerocket node with NVIDIA GPUs has no label that a plugin's daemonset selects."""
    assert built("g6.xlarge").labels["nvidia.com/gpu.present"] == "true"
    bottlerocket = built("g6.xlarge", ami=BOTTLEROCKET).labels
    assert "nvidia.com/gpu.present" not in bottlerocket
    assert bottlerocket["nvidia.com/gpu.deploy.operands"] == "false"


@in_one_test(
    ("name", "profile", "count", "key"),
    [
        ("p4d.24xlarge", "1g.10gb", 4, "a100.40gb"),
        ("p4de.24xlarge", "1g.10gb", 7, "a100.80gb"),
        ("p5.4xlarge", "7g.80gb", 1, "h100.80gb"),
        ("p5en.48xlarge", "3g.71gb", 2, "h200.141gb"),
        ("p6-b200.48xlarge", "1g.23gb", 7, "b200.180gb"),
        ("p6-b300.48xlarge", "1g.34gb", 7, None),
        ("g7e.2xlarge", "1g.24gb", 4, "rtxpro6000.96gb"),
    ],
)
def test_profiles(name: str, profile: str, count: int, key: str | None) -> None:
    kind = load().get(name)
    assert (mig_profiles(kind) or {})[profile] == count
    assert key == mig_bottlerocket_key(kind)


@in_one_test("name", ["g6.xlarge", "g6f.xlarge", "p3.2xlarge", "trn1.2xlarge", "m6i.xlarge"])
def test_no_profiles(name: str) -> None:
    assert mig_profiles(load().get(name)) is None
    assert mig_bottlerocket_key(load().get(name)) is None


def test_the_facts_have_every_gpu_that_the_catalogue_says_can_be_cut() -> None:
    kinds = [kind for kind in load().select() if kind.accelerator and kind.accelerator.mig]
    assert kinds
    for kind in kinds:
        profiles = mig_profiles(kind)
        assert profiles, kind.name
        assert all(count >= 1 for count in profiles.values())
    families = {family for gpu in facts.mig()["gpus"].values() for fact in gpu.values() for family in fact["families"]}
    assert {kind.family for kind in kinds} <= families


def test_slices_of_a_profile_fit_a_gpu() -> None:
    # https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html
    for name, sizes in facts.mig()["gpus"].items():
        slices = 4 if name.startswith("RTX") else 7
        for fact in sizes.values():
            for each in fact["profiles"]:
                assert each["max_per_gpu"] * _slices(each["profile"]) <= slices, (name, each)


def _slices(profile: str) -> int:
    """Return the compute slices of a profile: 3 of ``3g.20gb``."""
    return int(profile.partition("g.")[0])
