"""The rule about units of memory and CPU: strategies that break it, and similar ones that do not."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.models import ClusterSpec
from eks_hardware.section_checks import check_cluster
from helpers.cases import in_one_test
from helpers.rules import Case, rules_of, shown_codes
from helpers.sections import configured, kubernetes
from helpers.strategies import SYSTEM, group, pool, pools


def team(**fields: Any) -> dict[str, Any]:
    return {"kubernetes": {"delivery": "manifests", "teams": [{"name": "research", **fields}]}}


def kubelet(**fields: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group("g6.xlarge", kubelet=fields)]}


def manager_requests(**requests: Any) -> dict[str, Any]:
    settings = {"kueue": {"values": {"controllerManager": {"manager": {"resources": {"requests": requests}}}}}}
    return kubernetes(kueue=True, charts=settings)


def node_config_with(**config: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group("g6.xlarge", user_data={"kubelet": {"config": config}})]}


def grafana(**persistence: str) -> dict[str, Any]:
    charts = {"kube-prometheus-stack": {"values": {"grafana": {"persistence": persistence}}}}
    return kubernetes(prometheus=True, charts=charts)


CHART = "kubernetes.charts.kueue.values.controllerManager.manager.resources.requests"
COREDNS = "cluster.addons.coredns.configuration.resources"
KUBELET = "node_groups[gpu].user_data.kubelet.config"
TEAM = "kubernetes.teams[research]"
CASES = [
    Case("QUANTITY_UNIT", f"{TEAM}.quota.memory", team(quota={"memory": "500m"}), team(quota={"memory": "500M"})),
    Case("QUANTITY_UNIT", f"{TEAM}.quota.cpu", team(quota={"cpu": "4Gi"}), team(quota={"cpu": "4k"})),
    Case(
        "QUANTITY_UNIT",
        f"{TEAM}.container_defaults.requests.memory",
        team(container_defaults={"requests": {"memory": "100m", "cpu": "100m"}}),
        team(container_defaults={"requests": {"memory": "100Mi", "cpu": "100m"}}),
    ),
    Case(
        "QUANTITY_UNIT",
        f"{TEAM}.container_defaults.limits.cpu",
        team(container_defaults={"limits": {"memory": "1Gi", "cpu": "1Gi"}}),
        team(container_defaults={"limits": {"memory": "1Gi", "cpu": "1"}}),
    ),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].kubelet.kube_reserved.memory",
        kubelet(kube_reserved={"memory": "900m"}),
        kubelet(kube_reserved={"memory": "900Mi", "cpu": "80m"}),
    ),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].kubelet.system_reserved.ephemeral-storage",
        kubelet(system_reserved={"ephemeral-storage": "500m"}),
        kubelet(system_reserved={"ephemeral-storage": "5Gi"}),
    ),
    Case(
        "QUANTITY_UNIT",
        "karpenter.node_pools[pool].limits.memory",
        pools(pool(limits={"nvidia.com/gpu": 4, "memory": "500m"})),
        pools(pool(limits={"nvidia.com/gpu": 4, "memory": "500Gi"})),
    ),
    # Bytes, where mebibytes are meant.
    Case("QUANTITY_UNIT", f"{TEAM}.quota.memory", team(quota={"memory": 64}), team(quota={"memory": "64Gi"})),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].kubelet.system_reserved.memory",
        kubelet(system_reserved={"memory": "512"}),
        kubelet(system_reserved={"memory": "536870912"}),
    ),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].kubelet.kube_reserved.memory",
        kubelet(kube_reserved={"memory": "900k"}),
        kubelet(kube_reserved={"memory": "900000k"}),
    ),
    # Cores, where thousandths are meant.
    Case(
        "QUANTITY_UNIT",
        f"{TEAM}.container_defaults.requests.cpu",
        team(container_defaults={"requests": {"memory": "1Gi", "cpu": "2500"}}),
        team(container_defaults={"requests": {"memory": "1Gi", "cpu": "2500m"}}),
    ),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].kubelet.system_reserved.pid",
        kubelet(system_reserved={"pid": "1Gi"}),
        kubelet(system_reserved={"pid": "1000"}),
    ),
    Case(
        "QUANTITY_UNIT",
        "kubernetes.charts.kube-prometheus-stack.values.grafana.persistence.size",
        grafana(size="10m"),
        grafana(size="10Gi"),
    ),
    Case(
        "QUANTITY_UNIT",
        "node_groups[gpu].user_data.kubelet.config.containerLogMaxSize",
        node_config_with(containerLogMaxSize="10m"),
        node_config_with(containerLogMaxSize="10Mi"),
    ),
    # Settings that are passed on.
    Case("QUANTITY_UNIT", f"{CHART}.memory", manager_requests(memory="512m"), manager_requests(memory="512Mi")),
    Case("QUANTITY_UNIT", f"{CHART}.cpu", manager_requests(cpu=2000), manager_requests(cpu=2)),
    Case(
        "QUANTITY_UNIT",
        f"{COREDNS}.limits.memory",
        configured("coredns", resources={"requests": {"memory": "70Mi"}, "limits": {"memory": "170m"}}),
        configured("coredns", resources={"requests": {"memory": "70Mi"}, "limits": {"memory": "170Mi"}}),
    ),
    Case(
        "QUANTITY_UNIT",
        f"{KUBELET}.evictionHard[memory.available]",
        node_config_with(evictionHard={"memory.available": "100m"}),
        node_config_with(evictionHard={"memory.available": "100Mi", "nodefs.available": "10%"}),
    ),
    Case(
        "QUANTITY_UNIT",
        f"{KUBELET}.systemReserved.memory",
        node_config_with(systemReserved={"memory": "1"}),
        node_config_with(systemReserved={"memory": "1Gi"}),
    ),
]


@in_one_test("case", CASES)
def test_rule(case: Case) -> None:
    """A tiny limit or reservation can have findings of its own."""
    assert [path for code, path in shown_codes(case.bad) if code == case.code] == [case.path]
    assert case.code not in {code for code, _ in shown_codes(case.good)}


@in_one_test("little", ["512Ki", "0.5Mi", "1M", "0.0001Gi"])
def test_a_small_amount_with_a_larger_unit_is_meant(little: str) -> None:
    """All are below one mebibyte."""
    requested = manager_requests(memory=little)
    logs = node_config_with(containerLogMaxSize=little)
    assert "QUANTITY_UNIT" not in {code for given in (requested, logs) for code, _ in shown_codes(given)}


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("quantities")


def test_a_cluster_from_python_has_the_units_of_its_add_ons_checked() -> None:
    def checked(memory: str) -> None:
        resources = {"limits": {"memory": memory}}
        spec = {"kubernetes_version": "1.35", "addons": {"coredns": {"configuration": {"resources": resources}}}}
        check_cluster(ClusterSpec.model_validate(spec), path="Stack/cluster", cluster_name="demo", region="us-west-2")

    checked("500Mi")
    with pytest.raises(ValueError, match=r"^QUANTITY_UNIT .*500m of memory"):
        checked("500m")
