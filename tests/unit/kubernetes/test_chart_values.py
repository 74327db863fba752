"""The chart has every value that is derived for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_hardware import facts
from eks_hardware.kubernetes import bundle
from eks_hardware.resolve import resolve
from eks_hardware.rules.unknown_keys import unknown_keys
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL
from helpers.strategies import group, resolved_of, strategy

FILES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])

# A combination that no file has: every switch of `kubernetes`.
AUTOSCALED = {"min": 0, "max": 2, "autoscaled": True}
ALL = {
    "dcgm_exporter": True,
    "neuron_monitor": True,
    "prometheus": True,
    "kueue": True,
    "load_balancer_controller": True,
    "teams": [{"name": "research"}],
}
SWITCHES = {
    "karpenter": strategy(
        group("p5.48xlarge", efa=True), group("inf2.xlarge", name="neuron"), karpenter={}, kubernetes=ALL
    ),
    "cluster-autoscaler": strategy(
        group("g5.xlarge", scaling=AUTOSCALED), kubernetes={**ALL, "gpu_operator": True, "cluster_autoscaler": True}
    ),
}


@in_one_test("file", FILES, ids=lambda file: str(file.stem))
def test_of_every_strategy(file: Path) -> None:
    for chart in bundle(resolved_of(file)).charts:
        if chart.version == facts.chart(chart.key)["version"]:
            assert [str(each) for each in unknown_keys(chart.key, chart.values)] == [], chart.key


@pytest.mark.parametrize("name", SWITCHES)
def test_of_every_switch(name: str) -> None:
    charts = bundle(resolve(SWITCHES[name])).charts
    assert charts
    for chart in charts:
        assert [str(each) for each in unknown_keys(chart.key, chart.values)] == [], chart.key


def test_every_chart_is_among_them() -> None:
    found = {chart.key for given in SWITCHES.values() for chart in bundle(resolve(given)).charts}
    assert found == set(facts.charts()["charts"])


@in_one_test("key", sorted(facts.charts()["charts"]))
def test_keys_are_of_the_recorded_version(key: str) -> None:
    assert facts.chart_keys(key)["version"] == facts.chart(key)["version"]
    assert [str(each) for each in unknown_keys(key, {"aMisspelledKey": 1})] == ["aMisspelledKey"]
