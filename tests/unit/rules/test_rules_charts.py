"""Rules about chart settings: a strategy that breaks each, and a similar one that does not."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from eks_hardware.models import Strategy
from eks_hardware.rules import check
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.sections import at_path, kubernetes, on_kubernetes, with_groups
from helpers.strategies import SYSTEM, TODAY, document, group, pools

UNSUPPORTED = frozenset({"KUBERNETES_VERSION_UNSUPPORTED"})
UNREAD = frozenset({"CHART_VERSION_UNREAD"})
KARPENTER = "kubernetes.charts.karpenter"


def with_charts(**charts: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): chart for name, chart in charts.items()}
    return kubernetes(kueue=True, charts=named) | {"node_groups": [SYSTEM, group()]}


def kueue_values(**given: Any) -> dict[str, Any]:
    return with_charts(kueue={"values": given})


def karpenter_chart(**chart: Any) -> dict[str, Any]:
    return {**pools(), "kubernetes": {"charts": {"karpenter": chart}}}


def plugin(**chart: Any) -> dict[str, Any]:
    return with_groups(group("g5.xlarge"), charts={"nvidia-device-plugin": chart})


SWITCHES = {
    "aws-load-balancer-controller": "kubernetes.load_balancer_controller: true",
    "cluster-autoscaler": "kubernetes.cluster_autoscaler: true",
    "dcgm-exporter": "kubernetes.dcgm_exporter: true",
    "gpu-operator": "kubernetes.gpu_operator: true",
    "karpenter": "karpenter: {}",
    "kube-prometheus-stack": "kubernetes.prometheus: true",
    "kueue": "kubernetes.kueue: true",
}

CASES = [
    *(
        Case(
            "CHART_NOT_INSTALLED",
            f"kubernetes.charts.{name}",
            kubernetes(charts={name: {"version": facts.chart(name)["version"]}}),
            {},
        )
        for name in SWITCHES
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
        kueue_values(controllerManager={"replica": 3}),
        kueue_values(controllerManager={"replicas": 3}),
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.kueue.values.enableKueueVis",
        kueue_values(enableKueueVis=True),
        with_charts(kueue={"version": "0.18.6", "values": {"enableKueueVis": True}}),
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        "kubernetes.charts.kueue.values.controllerManager.replicas.max",
        with_charts(kueue={"version": "0.19.2", "values": {"controllerManager": {"replicas": {"max": 1}}}}),
        kueue_values(**{"global": {"any": 1}, "controllerManager": {"nodeSelector": {"any": "value"}}}),
        frozenset({"CHART_VALUE_KIND"}),
    ),
    Case(
        "CHART_KUBERNETES_VERSION",
        "cluster.kubernetes_version",
        {**with_groups(group(), kueue=True), **on_kubernetes("1.28")},
        {**with_groups(group(), kueue=True), **on_kubernetes("1.29")},
        UNSUPPORTED,
    ),
    Case(
        "CHART_KUBERNETES_VERSION",
        "cluster.kubernetes_version",
        {**with_groups(group(), kueue=True), **on_kubernetes("1.28")},
        {**with_groups(group(), kueue=True, charts={"kueue": {"version": "0.13.0"}}), **on_kubernetes("1.28")},
        UNSUPPORTED,
    ),
    Case(
        "CHART_VALUE_UNKNOWN",
        f"{KARPENTER}.values.setings",
        karpenter_chart(values={"setings": {"batchIdleDuration": "1s"}}),
        karpenter_chart(values={"settings": {"batchIdleDuration": "1s"}}),
    ),
    Case(
        "CHART_VALUES_UNCHECKED",
        "kubernetes.charts.kueue.values",
        with_charts(kueue={"version": "0.18.6", "values": {"enableKueueVis": True}}),
        with_charts(kueue={"version": "0.18.6"}),
    ),
    Case(
        "CHART_VALUES_UNCHECKED",
        f"{KARPENTER}.values",
        karpenter_chart(version="1.14.0", values={"logLevel": "debug"}),
        karpenter_chart(version="1.14.1", values={"logLevel": "debug"}),
    ),
    Case(
        "CHART_VALUE_DERIVED",
        f"{KARPENTER}.values.settings.clusterName",
        karpenter_chart(values={"settings": {"clusterName": "other"}}),
        karpenter_chart(values={"settings": {"batchMaxDuration": "20s"}}),
    ),
    Case(
        "CHART_VALUE_DERIVED",
        f"{KARPENTER}.values.settings",  # no field left
        karpenter_chart(values={"settings": None}),
        karpenter_chart(values={"settings": {}}),
    ),
    Case(
        "CHART_VALUE_DERIVED",
        f"{KARPENTER}.values.replicas",  # also in a version with unknown values
        karpenter_chart(version="1.14.0", values={"replicas": 3}),
        karpenter_chart(version="1.14.0", values={"logLevel": "debug"}),
        frozenset({"CHART_VALUES_UNCHECKED"}),
    ),
    Case(
        "CHART_VALUE_DERIVED",
        "kubernetes.charts.nvidia-device-plugin.values.tolerations",
        plugin(values={"tolerations": []}),
        plugin(values={"priorityClassName": "system-node-critical"}),
    ),
    Case(
        "CHART_VERSION_UNREAD",
        f"{KARPENTER}.version",
        karpenter_chart(version="9.9.9"),
        karpenter_chart(version="1.14.1"),
    ),
    Case(
        "CHART_VERSION_UNREAD",
        "kubernetes.charts.nvidia-device-plugin.version",
        plugin(version="0.20.1"),
        plugin(version="0.20.0"),
    ),
    Case(
        "CHART_VERSION_OLD",
        "kubernetes.charts.kueue.version",
        with_charts(kueue={"version": "0.14.9"}),
        with_charts(kueue={"version": "0.15.0"}),
    ),
    Case(
        "CHART_VERSION_OLD",
        "kubernetes.charts.nvidia-device-plugin.version",
        plugin(version="v0.11.0"),
        plugin(version="v0.12.0"),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_the_fix_names_the_setting_that_installs_the_chart() -> None:
    for name, setting in SWITCHES.items():
        changes = kubernetes(charts={name: {"version": facts.chart(name)["version"]}})
        (found,) = check(Strategy.model_validate(document(**changes)), today=TODAY)
        assert found.message == f"{name} is not installed, so this has no effect; set {setting}, or remove this"


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("charts")


def test_which_rules_warn() -> None:
    assert warnings_of("charts") == {
        "CHART_NOT_INSTALLED",
        "CHART_VALUES_UNCHECKED",
        "CHART_VERSION_UNREAD",
    }


DERIVED = [(chart, path) for chart, rows in facts.derived_chart_values()["charts"].items() for path in rows]


@in_one_test(("chart", "path"), DERIVED, ids=str)
def test_every_derived_value_is_refused(chart: str, path: str) -> None:
    values = at_path(path, "mine")
    assert unknown_keys(chart, values) == [], "the chart has it"
    found = shown_codes({**pools(), "kubernetes": {"charts": {chart: {"values": values}}}})
    assert ("CHART_VALUE_DERIVED", f"kubernetes.charts.{chart}.values.{path}") in found


def test_a_derived_value_names_the_field_to_use() -> None:
    given = karpenter_chart(values={"replicas": 3, "serviceAccount": {"name": "mine", "create": False}})
    said = [each.message for each in check(Strategy.model_validate(document(**given)), today=TODAY)]
    assert len(said) == 3
    assert any("karpenter.replicas" in each for each in said)
    assert any("karpenter.service_account" in each for each in said)


def test_a_parent_is_named_once() -> None:
    found = shown_codes(karpenter_chart(values={"settings": None, "serviceAccount": None}))
    assert [path for _, path in found] == [f"{KARPENTER}.values.serviceAccount", f"{KARPENTER}.values.settings"]


def test_a_value_that_is_almost_right_is_named() -> None:
    (found,) = check(Strategy.model_validate(document(**kueue_values(enableKueueVis=True))), today=TODAY)
    assert "did you mean enableKueueViz?" in found.message
