"""The pods of EKS add-ons have the requests and the placement that the add-ons' charts give them.

Expected values are those of ``helm template`` with the charts and commits that ``config/facts/system_pods.json`` names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from eks_hardware import facts
from eks_hardware.catalogue import InstanceType, load
from eks_hardware.local import addon_pods
from eks_hardware.units import MIB, amount
from helpers.cases import in_one_test

EVERY_TAINT = [{"operator": "Exists"}]
EVICTED_LATE = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
OWN = [{"key": "own"}]


def made(addon: str, configuration: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Return the Deployments and DaemonSets of an add-on, by name."""
    found = addon_pods.objects({addon: json.dumps(configuration or {})})
    return {each["metadata"]["name"]: each for each in found if "spec" in each}


def requested_by(workload: dict[str, Any]) -> tuple[float, float]:
    """Return the millicores and MiB that one pod requests."""
    given = [each["resources"].get("requests", {}) for each in workload["spec"]["template"]["spec"]["containers"]]
    return (
        float(sum(1000 * amount(each.get("cpu", "0")) for each in given)),
        float(sum(amount(each.get("memory", "0")) for each in given) / MIB),
    )


def cpu(millicores: int) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": f"{millicores}m"}}}


class Requests(NamedTuple):
    addon: str
    configuration: dict[str, Any]
    expected: dict[str, tuple[float, float]]


REQUESTS = [
    Requests("aws-ebs-csi-driver", {}, {"ebs-csi-controller": (60, 232), "ebs-csi-node": (30, 104)}),
    Requests(
        "aws-ebs-csi-driver",
        {"controller": cpu(222), "node": cpu(333)},
        {"ebs-csi-controller": (5 * 222 + 10, 232), "ebs-csi-node": (353, 104)},
    ),
    Requests("aws-efs-csi-driver", {}, {"efs-csi-controller": (0, 0), "efs-csi-node": (0, 0)}),
    Requests("aws-efs-csi-driver", {"controller": cpu(222)}, {"efs-csi-controller": (666, 0), "efs-csi-node": (0, 0)}),
    Requests("aws-efs-csi-driver", {"controller": {"create": False}}, {"efs-csi-node": (0, 0)}),
    Requests(
        "aws-fsx-csi-driver",
        {"controller": cpu(222), "node": cpu(333)},
        {"fsx-csi-controller": (252, 136), "fsx-csi-node": (353, 104)},
    ),
    Requests("aws-mountpoint-s3-csi-driver", {}, {"s3-csi-controller": (0, 0), "s3-csi-node": (30, 120)}),
    Requests(
        "aws-mountpoint-s3-csi-driver",
        {"controller": cpu(222), "node": cpu(333)},
        {"s3-csi-controller": (222, 0), "s3-csi-node": (999, 120)},
    ),
    Requests("snapshot-controller", {}, {"snapshot-controller": (0, 0)}),
    Requests("vpc-cni", cpu(111), {"aws-node": (136, 0)}),
    Requests(
        "eks-node-monitoring-agent",
        {"nodeAgent": cpu(666), "dcgmAgent": cpu(555)},
        {"eks-node-monitoring-agent": (666, 30), "dcgm-server": (555, 0)},
    ),
    Requests(
        "amazon-cloudwatch-observability",
        {"agent": cpu(777), "manager": cpu(888), "containerLogs": {"fluentBit": cpu(999)}},
        {
            "amazon-cloudwatch-observability-controller-manager": (888, 64),
            "cloudwatch-agent": (777, 128),
            "fluent-bit": (999, 25),
            "dcgm-exporter": (250, 128),
            "neuron-monitor": (256, 128),
        },
    ),
    Requests(
        "amazon-cloudwatch-observability",
        {name: {"enabled": False} for name in ("agent", "containerLogs", "dcgmExporter", "neuronMonitor")},
        {"amazon-cloudwatch-observability-controller-manager": (100, 64)},
    ),
]


@in_one_test("case", REQUESTS)
def test_requests_are_those_of_the_charts(case: Requests) -> None:
    assert {name: requested_by(each) for name, each in made(case.addon, case.configuration).items()} == case.expected


class Placement(NamedTuple):
    addon: str
    configuration: dict[str, Any]
    workload: str
    tolerations: list[dict[str, Any]]


PLACEMENTS = [
    Placement("aws-ebs-csi-driver", {}, "ebs-csi-controller", [CRITICAL, EVICTED_LATE]),
    Placement("aws-ebs-csi-driver", {"controller": {"tolerations": OWN}}, "ebs-csi-controller", OWN),
    Placement("aws-ebs-csi-driver", {"node": {"tolerations": OWN}}, "ebs-csi-node", EVERY_TAINT),
    Placement(
        "aws-fsx-csi-driver",
        {"node": {"tolerateAllTaints": False, "tolerations": OWN}},
        "fsx-csi-node",
        [CRITICAL, EVICTED_LATE, *OWN],
    ),
    Placement("aws-efs-csi-driver", {"node": {"tolerations": OWN}}, "efs-csi-node", OWN),
    Placement("aws-mountpoint-s3-csi-driver", {}, "s3-csi-controller", []),
    Placement("vpc-cni", {"tolerations": OWN}, "aws-node", OWN),
    Placement("eks-node-monitoring-agent", {}, "dcgm-server", []),
    Placement("eks-node-monitoring-agent", {"dcgmAgent": {"tolerations": OWN}}, "dcgm-server", OWN),
    Placement("amazon-cloudwatch-observability", {"tolerations": OWN}, "fluent-bit", OWN),
    Placement(
        "amazon-cloudwatch-observability",
        {"tolerations": OWN},
        "amazon-cloudwatch-observability-controller-manager",
        [],
    ),
    Placement("amazon-cloudwatch-observability", {"agent": {"tolerations": OWN}}, "cloudwatch-agent", OWN),
]


@in_one_test("case", PLACEMENTS)
def test_tolerations_are_those_of_the_charts(case: Placement) -> None:
    found = made(case.addon, case.configuration)[case.workload]
    assert list(found["spec"]["template"]["spec"]["tolerations"]) == case.tolerations


def test_pods_for_accelerators_run_on_their_instance_types_only() -> None:
    catalogue = load()
    found = made("amazon-cloudwatch-observability") | made("eks-node-monitoring-agent")
    expected: dict[str, Callable[[InstanceType], bool]] = {
        "dcgm-server": lambda kind: kind.hardware.value == "nvidia-gpu" and kind.architecture == "x86_64",
        "dcgm-exporter": lambda kind: kind.hardware.value == "nvidia-gpu",
        "neuron-monitor": lambda kind: kind.hardware.is_neuron,
    }
    for name, runs_on in expected.items():
        node_affinity = found[name]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        (expression,) = term["matchExpressions"]
        assert set(expression["values"]) == {each for each in catalogue.names if runs_on(catalogue.get(each))}
    assert "affinity" not in found["fluent-bit"]["spec"]["template"]["spec"]


def test_replicas_follow_the_values() -> None:
    def replicas(addon: str, **configuration: Any) -> list[int]:
        return [each["spec"]["replicas"] for each in made(addon, configuration).values() if "replicas" in each["spec"]]

    assert replicas("coredns", replicaCount=4) == [4]
    assert replicas("coredns", autoScaling={"enabled": True, "minReplicas": 3, "maxReplicas": 9}) == [3]
    assert replicas("metrics-server", replicas=3) == [3]
    assert replicas("aws-efs-csi-driver", controller={"replicaCount": 1}) == [1]
    assert replicas("amazon-cloudwatch-observability", replicaCount=2) == [2]
    assert replicas("snapshot-controller") == [2]


def test_every_add_on_has_recorded_pods() -> None:
    assert [name for name in facts.addons() if not made(name)] == []
