"""Our tables of placement and keys agree with the real charts: those in Go modules, and those of ``make charts``.

``tests/cluster/test_install_scripts.py`` installs the same charts on the API server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.kubernetes.references import replaced
from eks_hardware.local.chart_cache import charts_cache
from eks_hardware.local.stand_in_charts import IN_MODULES, Chart
from helpers.cluster_programs import programs
from helpers.kubernetes import helm
from helpers.kubernetes.objects import bundle_of
from helpers.kubernetes.workloads import of_chart
from helpers.paths import SHIPPED, SPECIAL

STRATEGIES = sorted(file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml"))
KEYS = sorted(facts.charts()["charts"])

# Workloads that the chart's controller makes while it runs.
MADE_BY_CONTROLLER = {"nvidia-device-plugin-daemonset"}
# Its pods run only on nodes with the label nvidia.com/mps.capable, which no strategy sets.
WITHOUT_ROW = {"nvidia-device-plugin-mps-control-daemon"}
OF_OPERATOR = ("Alertmanager", "Prometheus")


def archive(key: str) -> Path:
    """Return the real chart, or skip the test."""
    if key in IN_MODULES:
        return programs(IN_MODULES[key])[IN_MODULES[key]] / key
    row = facts.charts()["charts"][key]
    file = charts_cache(os.environ) / Chart(row["chart"], row["version"]).archive
    if not file.is_file():
        pytest.skip(f"{file.name} is not in {file.parent}: only its stand-in is tested (make charts)")
    return file


def releases(key: str) -> Iterator[ChartRelease]:
    """Yield the release of a chart in each strategy that has it, without references."""
    for name in STRATEGIES:
        for release in bundle_of(name).charts:
            if release.key == key:
                yield release


def chart_values_of(release: ChartRelease) -> dict[str, Any]:
    found: dict[str, Any] = replaced(release.values, lambda reference: reference.value)
    return found


def placement(pod: dict[str, Any]) -> tuple[Any, Any, list[dict[str, Any]]]:
    """Return what decides where a pod can run; preferences do not."""
    node = (pod.get("affinity") or {}).get("nodeAffinity", {})
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    tolerations = sorted((dict(each) for each in pod.get("tolerations") or ()), key=lambda each: sorted(each.items()))
    return dict(pod.get("nodeSelector") or {}), required, tolerations


def real_placements(file: Path, release: ChartRelease) -> dict[str, Any]:
    """Return the placement of each workload of the real chart."""
    objects = helm.template(
        file,
        chart_values_of(release),
        release=release.name,
        namespace=release.namespace,
        kubernetes_version=f"{facts.eks()['versions']['default']}.0",
        api_versions=("monitoring.coreos.com/v1",),
    )
    found = {}
    for item in objects:
        name, spec = item["metadata"]["name"], item.get("spec") or {}
        if item["kind"] in OF_OPERATOR:
            found[name] = placement(spec)
        elif item["kind"] in ("DaemonSet", "Deployment", "StatefulSet"):
            found[name] = placement(spec["template"]["spec"])
    return found


@pytest.mark.parametrize("key", KEYS)
def test_stand_ins_place_pods_as_the_chart_does(key: str) -> None:
    file, seen = archive(key), 0
    for release in releases(key):
        expected = {each.name: placement(each.pod["spec"]) for each in of_chart(release)}
        real = real_placements(file, release)
        assert {name: each for name, each in real.items() if name not in WITHOUT_ROW} == {
            name: each for name, each in expected.items() if name not in MADE_BY_CONTROLLER
        }
        seen += 1
    assert seen


@pytest.mark.parametrize("key", KEYS)
def test_the_recorded_keys_include_the_chart_s_defaults(key: str) -> None:
    """A missing key would make ``validate`` refuse a value that the chart has."""
    recorded: Any = facts.chart_keys(key)["keys"]

    def missing(defaults: Any, known: Any, path: str) -> Iterator[str]:
        if isinstance(defaults, dict) and isinstance(known, dict):
            for name, value in defaults.items():
                yield from missing(value, known[name], f"{path}.{name}") if name in known else [f"{path}.{name}"]

    assert list(missing(helm.default_values(archive(key)), recorded, key)) == []
