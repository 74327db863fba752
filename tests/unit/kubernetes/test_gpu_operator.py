"""Values of the GPU Operator's chart."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.gpu_operator import releases
from eks_hardware.resolve import resolve
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.strategies import gpu_pool, group, pools, strategy

BOTTLEROCKET = {"family": "bottlerocket"}
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TEAM = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
MAINTENANCE = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}


def operator_values(*groups: dict[str, Any], kubernetes: dict[str, Any] | None = None, **fields: Any) -> Any:
    given = strategy(*groups, kubernetes={"gpu_operator": True, **(kubernetes or {})}, **fields)
    (release,) = releases(resolve(given))
    assert unknown_keys(release.key, release.values) == []
    return release.values


def test_only_where_it_is_asked_for() -> None:
    assert list(releases(resolve(strategy(group("g6.xlarge"))))) == []


def test_what_the_image_brings_is_off() -> None:
    # trap: NVIDIA/gpu-operator#1492
    found = operator_values(group("g6.xlarge"))
    assert found["driver"] == found["toolkit"] == {"enabled": False}
    assert found["devicePlugin"] == found["nfd"] == found["gfd"] == {"enabled": True}
    assert found["migManager"] == {"enabled": False}


def test_tolerations_are_those_of_the_nodes_it_works_on() -> None:
    found = operator_values(
        group("g6.xlarge", taints=[{"key": "team"}]),
        group("g6.xlarge", "image", ami=BOTTLEROCKET, taints=[{"key": "other"}]),
        group("inf2.xlarge", "neuron"),
        **pools(gpu_pool(instance_types=["g6.xlarge"], taints=[{"key": "maintenance", "effect": "NoExecute"}])),
    )
    expected = [MAINTENANCE, GPU, TEAM]
    assert expected == found["daemonsets"]["tolerations"] == found["node-feature-discovery"]["worker"]["tolerations"]
    # The operator itself stays on untainted nodes.
    assert "operator" not in found


def test_no_empty_list_of_tolerations() -> None:
    """The operator treats an empty list as unset, and uses its own default."""
    assert operator_values(group("g6.xlarge", accelerator_taint=False))["daemonsets"]["tolerations"] == [GPU]


def test_mig() -> None:
    found = operator_values(group("p4d.24xlarge", gpu_sharing={"mig_profile": "1g.5gb"}))
    # A slice has its own name: no pod is bound to a whole GPU before partitioning.
    assert found["mig"] == {"strategy": "mixed"}
    assert found["migManager"] == {
        "enabled": True,
        "config": {"default": "all-disabled"},
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }
    assert found["devicePlugin"] == {"enabled": True}


def test_mig_of_bottlerocket_is_not_its_business() -> None:
    found = operator_values(
        group("p4d.24xlarge", ami=BOTTLEROCKET, gpu_sharing={"mig_profile": "1g.5gb"}), group("g6.xlarge", "g6")
    )
    assert found["migManager"] == {"enabled": False}


def test_time_slicing() -> None:
    sharing = {"time_slicing": {"replicas": 4}}
    found = operator_values(**pools(gpu_pool(instance_types=["g6.xlarge"], gpu_sharing=sharing)))
    config = found["devicePlugin"]["config"]
    assert (config["create"], config["name"], config["default"]) == (True, "time-slicing", "default")
    assert set(config["data"]) == {"default", "time-slicing-4"}


@pytest.mark.parametrize("prometheus", [False, True])
def test_metrics(prometheus: bool) -> None:
    given = strategy(
        group("g6.xlarge"),
        kubernetes={"gpu_operator": True, "prometheus": prometheus, "dcgm_exporter": True},
    )
    installed = bundle(resolve(given))
    release = installed.release("gpu-operator")
    assert release.after == (("kube-prometheus-stack",) if prometheus else ())
    chart = next(each for each in installed.charts if each.key == "gpu-operator")
    assert chart.values["dcgmExporter"] == {"enabled": True, "serviceMonitor": {"enabled": prometheus}}
    # One exporter per GPU, one plugin per GPU.
    assert not {"dcgm-exporter", "nvidia-device-plugin"} & {each.key for each in installed.charts}
