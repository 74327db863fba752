"""Rules about autoscalers, queues, teams and charts: what breaks each, and what just does not."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.config import facts
from eks_hardware.config.models import Strategy
from eks_hardware.config.rules import check
from helpers.rules import Case, check_case, codes, rules_of, warnings_of
from helpers.strategies import SYSTEM, TODAY, document, group

AUTOSCALED = {"min": 0, "max": 4, "autoscaled": True}
FIXED = {**SYSTEM, "scaling": {"min": 2, "max": 2}}
CA = "kubernetes.cluster_autoscaler"


def kubernetes(**fields: Any) -> dict[str, Any]:
    # Nothing is installed on the cluster by Terraform: rules about that are not these.
    return {"kubernetes": {"delivery": "manifests", **fields}}


def autoscaled(**fields: Any) -> dict[str, Any]:
    groups = [FIXED, group("g5.xlarge", scaling=AUTOSCALED)]
    return {"node_groups": groups, **kubernetes(cluster_autoscaler=True, **fields)}


def team(**fields: Any) -> dict[str, Any]:
    return kubernetes(teams=[{"name": "research", **fields}])


def charts(**charts: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): chart for name, chart in charts.items()}
    return kubernetes(kueue=True, charts=named) | {"node_groups": [SYSTEM, group()]}


def values(**given: Any) -> dict[str, Any]:
    return charts(kueue={"values": given})


def version(text: str) -> dict[str, Any]:
    return {"cluster": {"creator_is_admin": True, "kubernetes_version": text}}


def with_groups(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, *groups], **kubernetes(**fields)}


TAINTS = [{"key": f"taint-{index}"} for index in range(9)]
SOFT = [{"key": "soft", "effect": "PreferNoSchedule"}]
UNSUPPORTED = frozenset({"KUBERNETES_VERSION_UNSUPPORTED"})
NEUTRAL = {"container_defaults": {"requests": {"cpu": "1", "memory": "1Gi"}}}
NO_NAT = {"network": {"nat_gateways": "none"}}
NODES_NEED = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts"]


def endpoints(*more: str) -> dict[str, Any]:
    return {"network": {"nat_gateways": "none", "interface_endpoints": [*NODES_NEED, *more]}}


CASES = [
    Case("AUTOSCALERS_BOTH", CA, {**autoscaled(), "karpenter": {}}, autoscaled()),
    Case(
        "AUTOSCALER_NO_GROUP",
        CA,
        {"node_groups": [FIXED], **kubernetes(cluster_autoscaler=True)},
        autoscaled(),
    ),
    Case(
        "AUTOSCALER_MISSING",
        "node_groups[gpu].scaling.autoscaled",
        {"node_groups": [SYSTEM, group(scaling=AUTOSCALED)]},
        {"node_groups": [SYSTEM, group()]},
    ),
    Case(
        "AUTOSCALER_MISSING",
        "node_groups[gpu].scaling.autoscaled",
        {"node_groups": [SYSTEM, group(scaling=AUTOSCALED)], "karpenter": {}, **kubernetes()},
        autoscaled(),
    ),
    Case(
        "AUTOSCALER_TAKES_GROUP",
        "node_groups[system].scaling",
        {**autoscaled(), "node_groups": [SYSTEM, group(scaling=AUTOSCALED)]},
        {**autoscaled(), "node_groups": [FIXED, group(scaling=AUTOSCALED)]},
    ),
    Case(
        "AUTOSCALER_VERSION", CA, {**autoscaled(), **version("1.30")}, {**autoscaled(), **version("1.36")}, UNSUPPORTED
    ),
    Case(
        "AUTOSCALER_VERSION",
        CA,
        {**autoscaled(), **version("1.99")},
        {**autoscaled(charts={"cluster-autoscaler": {"values": {"image": {"tag": "v1.99.0"}}}}), **version("1.99")},
        UNSUPPORTED,
    ),
    Case(
        "KUEUE_NO_NODES",
        "kubernetes.kueue",
        with_groups(kueue=True) | {"node_groups": [{**SYSTEM, "workload": "system"}]},
        with_groups(group(), kueue=True),
    ),
    Case(
        "KUEUE_TAINTS",
        "node_groups[gpu].taints",
        with_groups(group(taints=TAINTS), kueue=True),
        with_groups(group(taints=[*TAINTS[:8], *SOFT]), kueue=True),
    ),
    Case(
        "KUEUE_TAINTS",
        "node_groups[gpu].taints",
        with_groups(group(taints=TAINTS), kueue=True),
        with_groups(group(taints=TAINTS)),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[kube-system].name",
        kubernetes(teams=[{"name": "kube-system"}]),
        kubernetes(teams=[{"name": "system"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[default].name",
        kubernetes(teams=[{"name": "default"}]),
        kubernetes(teams=[{"name": "defaults"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[kueue-system].name",
        with_groups(group(), kueue=True, teams=[{"name": "kueue-system"}]),
        with_groups(group(), teams=[{"name": "kueue-system"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[autoscaling].name",
        {"karpenter": {"namespace": "autoscaling"}, **kubernetes(teams=[{"name": "autoscaling"}])},
        kubernetes(teams=[{"name": "autoscaling"}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[nvidia.com/gpu]",
        team(quota={"nvidia.com/gpu": 4}),
        with_groups(group("g5.xlarge"), teams=[{"name": "research", "quota": {"nvidia.com/gpu": 4}}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[aws.amazon.com/neuroncore]",
        team(quota={"aws.amazon.com/neuroncore": 4}),
        with_groups(group("inf2.xlarge"), teams=[{"name": "research", "quota": {"aws.amazon.com/neuroncore": 4}}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[vpc.amazonaws.com/efa]",
        with_groups(group("g5.8xlarge"), teams=[{"name": "research", "quota": {"vpc.amazonaws.com/efa": 4}}]),
        with_groups(group("g5.8xlarge", efa=True), teams=[{"name": "research", "quota": {"vpc.amazonaws.com/efa": 4}}]),
    ),
    Case(
        "TEAM_QUOTA_NO_DEFAULT",
        "kubernetes.teams[research].quota.cpu",
        team(quota={"cpu": 8}, container_defaults={"requests": {"memory": "1Gi"}}),
        team(quota={"cpu": 8, "pods": 10}, **NEUTRAL),
    ),
    Case(
        "TEAM_QUOTA_NO_DEFAULT",
        "kubernetes.teams[research].quota.memory",
        team(quota={"memory": "8Gi"}),
        team(quota={"memory": "8Gi"}, container_defaults={"limits": {"memory": "1Gi"}}),
    ),
    Case(
        "CHART_NOT_INSTALLED",
        "kubernetes.charts.gpu-operator",
        kubernetes(charts={"gpu-operator": {"version": "v26.7.0"}}),
        with_groups(group("g5.xlarge"), gpu_operator=True, charts={"gpu-operator": {"version": "v26.7.0"}}),
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.kueue.values.controllerManager.replica",
        values(controllerManager={"replica": 3}),
        values(controllerManager={"replicas": 3}),
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.kueue.values.enableKueueVis",
        values(enableKueueVis=True),
        charts(kueue={"version": "0.18.6", "values": {"enableKueueVis": True}}),
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.kueue.values.controllerManager.replicas.max",
        charts(kueue={"version": "0.19.2", "values": {"controllerManager": {"replicas": {"max": 1}}}}),
        values(**{"global": {"any": 1}, "controllerManager": {"nodeSelector": {"any": "value"}}}),
    ),
    Case(
        "CHART_KUBERNETES_VERSION",
        "cluster.kubernetes_version",
        {**with_groups(group(), kueue=True), **version("1.28")},
        {**with_groups(group(), kueue=True), **version("1.29")},
        UNSUPPORTED,
    ),
    Case(
        "CHART_KUBERNETES_VERSION",
        "cluster.kubernetes_version",
        {**with_groups(group(), kueue=True), **version("1.28")},
        {**with_groups(group(), kueue=True, charts={"kueue": {"version": "0.13.0"}}), **version("1.28")},
        UNSUPPORTED,
    ),
    Case(
        "CONTROLLER_NO_WAY_OUT",
        "network.interface_endpoints",
        {**autoscaled(), **endpoints("elasticloadbalancing")},
        {**autoscaled(), **endpoints("autoscaling")},
    ),
    Case(
        "CONTROLLER_NO_WAY_OUT",
        "network.interface_endpoints",
        {**kubernetes(load_balancer_controller=True), **endpoints()},
        {**kubernetes(load_balancer_controller=True), **NO_NAT},
    ),
]

# CHART_KUBERNETES_UNTESTED: no chart states a highest version, but Karpenter, which has rules of its own.
OWN_TEST = {"CHART_KUBERNETES_UNTESTED"}


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} | OWN_TEST == rules_of("platform")


def test_which_rules_warn() -> None:
    assert warnings_of("platform") == {
        "AUTOSCALER_MISSING",
        "AUTOSCALER_TAKES_GROUP",
        "AUTOSCALER_VERSION",
        "CHART_KUBERNETES_UNTESTED",
        "CHART_NOT_INSTALLED",
        "CHART_VALUE_UNKNOWN",
        "TEAM_QUOTA_NO_DEFAULT",
        "TEAM_QUOTA_UNUSED",
    }


@pytest.mark.parametrize(("highest", "found"), [("1.34", True), ("1.35", False), ("1.36", False), (None, False)])
def test_chart_for_older_kubernetes(highest: str | None, found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = facts.chart("kueue")
    changed = {**fact, "kubernetes": {**fact["kubernetes"], "max": highest}}
    recorded = facts.chart
    monkeypatch.setattr(facts, "chart", lambda key: changed if key == "kueue" else recorded(key))
    expected = [("CHART_KUBERNETES_UNTESTED", "cluster.kubernetes_version")] if found else []
    assert expected == codes(with_groups(group(), kueue=True))


def test_a_value_that_is_almost_right_is_named() -> None:
    (found,) = check(Strategy.model_validate(document(**values(enableKueueVis=True))), today=TODAY)
    assert "'enableKueueViz'" in found.message
