"""Values of the device plugins' charts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_hardware.kubernetes.device_plugins import NEURON_SCHEDULER, efa_image, releases
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.resolve import resolve
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.cases import in_one_test
from helpers.paths import ROOT
from helpers.strategies import gpu_pool, group, pools, strategy

BOTTLEROCKET = {"family": "bottlerocket"}
CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
NEURON = {"key": "aws.amazon.com/neuron", "operator": "Exists", "effect": "NoSchedule"}
TEAM = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
TRAINIUM = {"instance_types": ["trn1.2xlarge"], "limits": {"aws.amazon.com/neuron": 4}, "name": "trainium"}


def charts_by_key(*groups: dict[str, Any], **fields: Any) -> dict[str, ChartRelease]:
    return {each.key: each for each in releases(resolve(strategy(*groups, **fields)))}


def time_slicing(replicas: int, **fields: Any) -> dict[str, Any]:
    return {"gpu_sharing": {"time_slicing": {"replicas": replicas, **fields}}}


NVIDIA, EFA, NEURONS = "nvidia-device-plugin", "aws-efa-k8s-device-plugin", "neuron-helm-chart"


@in_one_test(
    ("groups", "fields", "expected"),
    [
        ([], {}, set()),
        ([group("g6.xlarge")], {}, {NVIDIA}),
        ([group("g6.xlarge", ami=BOTTLEROCKET)], {}, set()),
        ([group("g6.xlarge", ami=BOTTLEROCKET), group("g5.xlarge", "al2023")], {}, {NVIDIA}),
        ([group("g6.xlarge")], {"kubernetes": {"gpu_operator": True}}, set()),
        ([group("p5.48xlarge", efa=True)], {}, {NVIDIA, EFA}),
        ([group("p5.48xlarge", efa=True, ami=BOTTLEROCKET)], {}, {EFA}),
        ([group("hpc7a.96xlarge", efa=True)], {}, {EFA}),
        ([group("inf2.xlarge", ami=BOTTLEROCKET)], {}, {NEURONS}),
        ([], pools(gpu_pool(instance_types=["g6.xlarge"]), TRAINIUM), {NVIDIA, NEURONS}),
    ],
)
def test_which_charts(groups: list[dict[str, Any]], fields: dict[str, Any], expected: set[str]) -> None:
    found = charts_by_key(*groups, **fields)
    assert expected == set(found)
    for key, chart in found.items():
        assert unknown_keys(key, chart.values) == []


def terms(affinity: dict[str, Any]) -> Any:
    return affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]


def requires(key: str) -> list[dict[str, Any]]:
    return [{"matchExpressions": [{"key": key, "operator": "In", "values": ["true"]}]}]


def test_nvidia() -> None:
    values = charts_by_key(
        group("g6.xlarge"),
        group("g5.xlarge", "mine", taints=[{"key": "team", "value": "a"}]),
        group("g6e.xlarge", "image", ami=BOTTLEROCKET, taints=[{"key": "other"}]),
        group("inf2.xlarge", "neuron"),
    )[NVIDIA].values
    # Not the chart's own three terms, because Bottlerocket nodes have Node Feature Discovery's labels too.
    assert terms(values["affinity"]) == requires("nvidia.com/gpu.present")
    assert values["tolerations"] == [CRITICAL, GPU, TEAM]
    assert values["gfd"] == values["nfd"] == {"enabled": False}
    assert "config" not in values


def test_time_slicing() -> None:
    found = charts_by_key(
        group("g6.xlarge", **time_slicing(4)),
        group("g5.xlarge", "again", **time_slicing(4)),
        group("g5.xlarge", "renamed", **time_slicing(8, rename=True)),
        group("g5.xlarge", "whole"),
        group("g6.xlarge", "image", ami=BOTTLEROCKET, **time_slicing(2)),
    )
    config = found[NVIDIA].values["config"]
    assert config["default"] == "default"
    assert list(config["map"]) == ["default", "time-slicing-4", "time-slicing-8-renamed"]
    contents = {name: yaml.safe_load(text) for name, text in config["map"].items()}
    assert contents["default"] == {"version": "v1"}
    assert contents["time-slicing-8-renamed"] == {
        "version": "v1",
        "sharing": {
            "timeSlicing": {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": "nvidia.com/gpu", "replicas": 8}],
            }
        },
    }


def test_every_label_selects_a_configuration_that_is_there() -> None:
    resolved = resolve(
        strategy(
            group("g6.xlarge", **time_slicing(4)), **pools(gpu_pool(instance_types=["g6.xlarge"], **time_slicing(3)))
        )
    )
    (plugin,) = releases(resolved)
    labels = [
        each.labels.get("nvidia.com/device-plugin.config") for each in (*resolved.node_groups, *resolved.node_pools)
    ]
    assert labels == [None, "time-slicing-4", "time-slicing-3"]
    assert {label for label in labels if label} < set(plugin.values["config"]["map"])


def test_neuron() -> None:
    values = charts_by_key(group("inf2.xlarge", taints=[{"key": "team"}]), **pools(TRAINIUM))[NEURONS].values
    assert terms(values["devicePlugin"]["affinity"]) == requires("aws.amazon.com/neuron.present")
    assert values["devicePlugin"]["tolerations"] == [CRITICAL, NEURON, TEAM]
    assert values["devicePlugin"]["enabled"] is True
    assert values["draDriver"] == values["npd"] == values["scheduler"] == {"enabled": False}


@in_one_test(
    ("groups", "fields", "expected"),
    [
        ([group("inf2.xlarge")], {}, False),
        ([group("inf2.8xlarge"), group("trn1.2xlarge", "trainium")], {}, False),
        ([group(["inf2.xlarge", "inf2.24xlarge"])], {}, True),
        ([group("trn1.32xlarge")], {}, True),
        ([], pools({**TRAINIUM, "instance_types": ["trn1.2xlarge", "trn1.32xlarge"]}), True),
    ],
)
def test_scheduler_extension(groups: list[dict[str, Any]], fields: dict[str, Any], expected: bool) -> None:
    # trap: aws/containers-roadmap#1735
    scheduler = charts_by_key(*groups, **fields)[NEURONS].values["scheduler"]
    assert expected == scheduler["enabled"]


@pytest.mark.parametrize("version", ["1.34", "1.36"])
def test_scheduler_is_of_the_version_of_the_cluster(version: str) -> None:
    cluster = {"kubernetes_version": version, "creator_is_admin": True}
    scheduler = charts_by_key(group("trn1.32xlarge"), cluster=cluster)[NEURONS].values["scheduler"]
    custom = scheduler["customScheduler"]
    assert custom["enabled"] is True
    assert custom["fullnameOverride"] == NEURON_SCHEDULER
    assert custom["image"]["tag"] == f"v{version}.0"
    assert scheduler["defaultScheduler"] == {"enabled": False}
    # On untainted nodes: no toleration, and no selector for control-plane nodes, which EKS hides.
    assert [part[key] for part in (scheduler, custom) for key in ("tolerations", "nodeSelector")] == [[], {}, [], {}]


def test_efa() -> None:
    values = charts_by_key(
        group("p4d.24xlarge", efa=True, taints=[{"key": "team"}]),
        group("trn1.32xlarge", "trainium", efa=True),
        group("g6.xlarge", "other", taints=[{"key": "other"}]),
    )[EFA].values
    assert values["supportedInstanceLabels"] == {"keys": ["vpc.amazonaws.com/efa.present"], "values": ["true"]}
    assert values["tolerations"] == [NEURON, GPU, TEAM]


@in_one_test(
    ("region", "repository"),
    [
        ("us-west-2", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"),
        ("us-east-1", "602401143452.dkr.ecr.us-east-1.amazonaws.com/eks/aws-efa-k8s-device-plugin"),
        ("eu-south-1", "590381155156.dkr.ecr.eu-south-1.amazonaws.com/eks/aws-efa-k8s-device-plugin"),
        ("cn-north-1", "918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn/eks/aws-efa-k8s-device-plugin"),
        ("ap-southeast-5", None),
    ],
)
def test_efa_image_is_of_the_region(region: str, repository: str | None) -> None:
    assert repository == efa_image(region)


def test_the_strategy_has_the_last_word() -> None:
    mine = {"charts": {NVIDIA: {"values": {"gfd": {"enabled": True}, "tolerations": []}, "version": "0.19.0"}}}
    chart = charts_by_key(group("g6.xlarge"), kubernetes=mine)[NVIDIA]
    assert (chart.version, chart.values["gfd"], list(chart.values["tolerations"])) == ("0.19.0", {"enabled": True}, [])
    assert terms(chart.values["affinity"]) == requires("nvidia.com/gpu.present")


def test_the_guide_names_the_scheduler() -> None:
    text = (ROOT / "docs" / "guides" / "devices.md").read_text(encoding="utf-8")
    assert f"schedulerName: {NEURON_SCHEDULER}\n" in text
