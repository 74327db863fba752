"""Charts for each hardware and option; the strategy's settings for them take precedence."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.resolve import ResolvedKubernetes, ResolvedTeam, resolve
from helpers.cases import in_one_test
from helpers.strategies import gpu_pool, group, pool, pools, strategy

BOTTLEROCKET = {"family": "bottlerocket"}
NEURON_LIMIT = {"aws.amazon.com/neuron": 32}
SHARED = {"time_slicing": {"replicas": 4}}
KARPENTER = ["karpenter-crd", "karpenter"]


def resolved_kubernetes(
    *groups: dict[str, Any], kubernetes: dict[str, Any] | None = None, **fields: Any
) -> ResolvedKubernetes:
    return resolve(strategy(*groups, kubernetes=kubernetes or {}, **fields)).kubernetes


@in_one_test(
    ("groups", "fields", "kubernetes", "expected"),
    [
        # --- by hardware
        ([], {}, {}, []),
        ([group("g5.xlarge")], {}, {}, ["nvidia-device-plugin"]),
        ([group("g5.xlarge", ami=BOTTLEROCKET)], {}, {}, []),  # has its own device plugin
        (
            [group("g5.xlarge", ami=BOTTLEROCKET), group("g6.xlarge", "al2023")],
            {},
            {},
            ["nvidia-device-plugin"],
        ),
        ([group("inf2.xlarge")], {}, {}, ["neuron-helm-chart"]),
        ([group("trn1.32xlarge", ami=BOTTLEROCKET)], {}, {}, ["neuron-helm-chart"]),
        ([group("trn1.32xlarge", efa=True)], {}, {}, ["neuron-helm-chart", "aws-efa-k8s-device-plugin"]),
        ([group("c6i.32xlarge", efa=True)], {}, {}, ["aws-efa-k8s-device-plugin"]),
        ([group("p5.48xlarge", efa=True, ami=BOTTLEROCKET)], {}, {}, ["aws-efa-k8s-device-plugin"]),
        # --- pools count like groups
        ([], pools(), {}, KARPENTER),
        ([], pools(pool()), {}, KARPENTER),
        ([], pools(gpu_pool(accelerator="l4")), {}, [*KARPENTER, "nvidia-device-plugin"]),
        ([], pools(gpu_pool(accelerator="l4", ami=BOTTLEROCKET)), {}, KARPENTER),
        (
            [],
            pools(pool(instance_types=["trn1.32xlarge"], efa=True, limits=NEURON_LIMIT)),
            {},
            [*KARPENTER, "neuron-helm-chart", "aws-efa-k8s-device-plugin"],
        ),
        # --- requested charts
        ([group("g5.xlarge")], {}, {"gpu_operator": True}, ["gpu-operator"]),
        ([group("g5.xlarge")], {}, {"gpu_operator": True, "dcgm_exporter": True}, ["gpu-operator"]),
        ([group("g5.xlarge")], {}, {"dcgm_exporter": True}, ["nvidia-device-plugin", "dcgm-exporter"]),
        ([], {}, {"prometheus": True}, ["kube-prometheus-stack"]),
        ([], {}, {"kueue": True}, ["kueue"]),
        ([], {}, {"load_balancer_controller": True}, ["aws-load-balancer-controller"]),
        ([], {}, {"cluster_autoscaler": True}, ["cluster-autoscaler"]),
        ([group("inf2.xlarge")], {}, {"neuron_monitor": True}, ["neuron-helm-chart"]),  # a part of that chart
        (
            [group("p5.48xlarge", efa=True), group("inf2.xlarge", "inf2")],
            pools(),
            {"prometheus": True, "dcgm_exporter": True, "kueue": True},
            [
                "kube-prometheus-stack",
                *KARPENTER,
                "nvidia-device-plugin",
                "neuron-helm-chart",
                "aws-efa-k8s-device-plugin",
                "dcgm-exporter",
                "kueue",
            ],
        ),
    ],
)
def test_charts(
    groups: list[dict[str, Any]], fields: dict[str, Any], kubernetes: dict[str, Any], expected: list[str]
) -> None:
    assert expected == list(resolved_kubernetes(*groups, kubernetes=kubernetes, **fields).charts)


def test_a_chart_is_as_recorded() -> None:
    for key, chart in resolved_kubernetes(
        group("p5.48xlarge", efa=True), **pools(), kubernetes={"prometheus": True}
    ).charts.items():
        fact = facts.chart(key)
        assert (key, fact["chart"], fact["repository"], fact["version"], fact["namespace"], {}) == (
            chart.key,
            chart.chart,
            chart.repository,
            chart.version,
            chart.namespace,
            chart.values,
        )


def test_a_chart_is_as_the_strategy_says() -> None:
    given = {"version": "0.19.0", "repository": "oci://mirror.example.com/charts", "values": {"a": {"b": [1]}}}
    charts = resolved_kubernetes(
        group("g5.xlarge"), **pools(), kubernetes={"charts": {"nvidia-device-plugin": given}}
    ).charts
    found = charts["nvidia-device-plugin"]
    assert (found.version, found.repository, found.chart) == (
        "0.19.0",
        "oci://mirror.example.com/charts",
        "nvidia-device-plugin",
    )
    assert found.values == {"a": {"b": (1,)}}
    assert charts["karpenter"].version == facts.chart("karpenter")["version"]


@in_one_test(
    ("given", "controller", "definitions"),
    [
        ({"karpenter": {"version": "1.13.0"}}, "1.13.0", "1.13.0"),  # the CRDs are removed with the controller
        ({"karpenter": {"version": "1.13.0"}, "karpenter-crd": {"version": "1.13.1"}}, "1.13.0", "1.13.1"),
        ({"karpenter": {"repository": "oci://mirror.example.com"}}, None, None),
    ],
)
def test_version_of_karpenter(given: dict[str, Any], controller: str | None, definitions: str | None) -> None:
    charts = resolved_kubernetes(**pools(), kubernetes={"charts": given}).charts
    recorded = facts.chart("karpenter")["version"]
    assert charts["karpenter"].version == (controller or recorded)
    assert charts["karpenter-crd"].version == (definitions or recorded)


def test_karpenter_is_where_the_strategy_wants_it() -> None:
    charts = resolved_kubernetes(**pools(namespace="karpenter")).charts
    assert {charts[key].namespace for key in KARPENTER} == {"karpenter"}
    assert {each.namespace for each in resolved_kubernetes(**pools()).charts.values()} == {"kube-system"}


# --- Karpenter's options


@in_one_test(
    ("fields", "expected"),
    [
        ({}, {}),
        (pools(), {}),
        (pools(gpu_pool(accelerator="l4", gpu_sharing=SHARED)), {"nodeOverlay": True}),
        (pools(gpu_pool(instance_families=["g6f"])), {"nodeOverlay": True}),
        (
            pools(gpu_pool(accelerator="l4", gpu_sharing=SHARED), feature_gates={"node_overlay": False}),
            {"nodeOverlay": False},
        ),
        (
            pools(
                feature_gates={
                    "node_repair": True,
                    "spot_to_spot_consolidation": True,
                    "static_capacity": False,
                    "capacity_buffer": True,
                }
            ),
            {"nodeRepair": True, "spotToSpotConsolidation": True, "staticCapacity": False, "capacityBuffer": True},
        ),
    ],
)
def test_feature_gates(fields: dict[str, Any], expected: dict[str, bool]) -> None:
    found = resolved_kubernetes(**fields).feature_gates
    assert expected == found
    keys: Any = facts.chart_keys("karpenter")["keys"]
    assert set(found) <= set(keys["settings"]["featureGates"])


@in_one_test(("fields", "expected"), [({}, 0), (pools(), 2), (pools(replicas=1), 1)])
def test_replicas(fields: dict[str, Any], expected: int) -> None:
    assert expected == resolved_kubernetes(**fields).karpenter_replicas


def test_prices_that_karpenter_lacks() -> None:
    mixed = gpu_pool(name="g7", instance_types=["g7.2xlarge", "g6.xlarge"])
    spot = gpu_pool(name="spot", instance_types=["g7.4xlarge"], capacity=["spot"])
    fields = {"network": {"private": True}, **pools(mixed, spot)}
    found = resolved_kubernetes(**fields)
    price = load().price("g7.2xlarge", "us-west-2")
    assert price is not None
    assert found.overlay_prices == {"g7.2xlarge": price.usd_per_hour}
    assert found.feature_gates == {"nodeOverlay": True}
    assert resolved_kubernetes(**pools(mixed)).overlay_prices == {}


# --- delivery, teams, roles


def test_delivery() -> None:
    plain = resolve(strategy()).kubernetes
    assert plain.stack == "same"
    chosen = resolved_kubernetes(kubernetes={"delivery": "helm", "stack": "separate"})
    assert (chosen.delivery, chosen.stack) == ("helm", "separate")


def test_teams() -> None:
    team = {
        "name": "research",
        "quota": {"nvidia.com/gpu": 8, "cpu": "64", "pods": 20, "persistentvolumeclaims": 5},
        "container_defaults": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
    }
    assert resolved_kubernetes(kubernetes={"teams": [team, {"name": "empty"}]}).teams == (
        ResolvedTeam(
            "research",
            {
                "requests.nvidia.com/gpu": "8",
                "requests.cpu": "64",
                "pods": "20",
                "persistentvolumeclaims": "5",
            },
            {"cpu": "100m"},
            {"memory": "1Gi"},
        ),
        ResolvedTeam("empty", {}, {}, {}),
    )


@in_one_test(
    ("kubernetes", "expected"),
    [
        ({}, []),
        ({"load_balancer_controller": True}, ["aws-load-balancer-controller"]),
        ({"cluster_autoscaler": True}, ["cluster-autoscaler"]),
    ],
)
def test_roles_are_for_charts_that_are_installed(kubernetes: dict[str, Any], expected: list[str]) -> None:
    found = resolved_kubernetes(kubernetes=kubernetes)
    assert expected == [role.key for role in found.service_roles]
    for role in found.service_roles:
        assert role.namespace == found.charts[role.key].namespace
        assert role.service_account
        assert len(role.role_name) <= 64
