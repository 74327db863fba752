"""Rules about chart settings: unknown charts, overridden values, and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.printable import quoted
from eks_hardware.rules.registry import Breach, Context, error, warning
from eks_hardware.rules.unknown_keys import unknown_keys
from eks_hardware.suggestions import question
from eks_hardware.versions import numbers


@warning("CHART_NOT_INSTALLED")
def _not_installed(context: Context) -> Iterator[Breach]:
    installed = context.charts
    # An adopted cluster has no groups and no switches.
    switches = _SWITCHES if context.strategy.node_groups else {}
    for name in context.strategy.kubernetes.charts:
        if name not in installed:
            switch = f"set {wanted}, or " if (wanted := switches.get(name)) else ""
            yield f"kubernetes.charts.{name}", f"{name} is not installed, so this has no effect; {switch}remove this"


# The setting that installs each chart; the other charts follow from the hardware.
_SWITCHES = {
    "aws-load-balancer-controller": "kubernetes.load_balancer_controller: true",
    "cluster-autoscaler": "kubernetes.cluster_autoscaler: true",
    "dcgm-exporter": "kubernetes.dcgm_exporter: true",
    "gpu-operator": "kubernetes.gpu_operator: true",
    "karpenter": "karpenter: {}",
    "karpenter-crd": "karpenter: {}",
    "kube-prometheus-stack": "kubernetes.prometheus: true",
    "kueue": "kubernetes.kueue: true",
}


# --- values


@error("CHART_VALUE_UNKNOWN")
def _unknown_value(context: Context) -> Iterator[Breach]:
    for name, chart in context.strategy.kubernetes.charts.items():
        version = facts.chart(name)["version"]
        # Value names are recorded for one version only.
        if chart.version not in (None, version):
            continue
        for unknown in unknown_keys(name, chart.values):
            hint = f"; {question(unknown.close)}" if unknown.close else "; remove this"
            yield (
                f"kubernetes.charts.{name}.values.{unknown}",
                f"{name} {version} has no value {quoted(str(unknown))}, so this has no effect{hint}",
            )


@warning("CHART_VALUES_UNCHECKED")
def _unchecked(context: Context) -> Iterator[Breach]:
    for name, chart in context.strategy.kubernetes.charts.items():
        if chart.values and chart.version not in (None, facts.chart(name)["version"]):
            yield (
                f"kubernetes.charts.{name}.values",
                f"the value names of {name} {chart.version} are not recorded, so these values are not checked; use "
                f"{facts.chart(name)['version']}, or compare them with `helm show values`",
            )


@error("CHART_VALUE_DERIVED")
def _derived(context: Context) -> Iterator[Breach]:
    for name, chart in context.strategy.kubernetes.charts.items():
        rows, seen = facts.derived_chart_values()["charts"].get(name, {}), set[str]()
        for path, row in rows.items():
            place = _overridden(chart.values, path)
            if place and place not in seen:
                seen.add(place)
                lost = "" if place == path else f" (this value also removes {path})"
                yield (
                    f"kubernetes.charts.{name}.values.{place}",
                    f"{place} must not be set{lost}, because {row['reason']}; {row['instead']}",
                )


def _overridden(values: Mapping[str, object], path: str) -> str | None:
    """Return the path of a value if ``values`` has it, or of a parent of it that is not a mapping."""
    names = path.split(".")
    at: Any = values
    for depth, name in enumerate(names, start=1):
        if name not in at:
            return None
        at = at[name]
        if not isinstance(at, Mapping):
            return ".".join(names[:depth])
    return path


# --- versions

# The versions of Karpenter's CRDs follow its controller.
_FOLLOWS = frozenset({"karpenter-crd"})


@warning("CHART_VERSION_UNREAD")
def _unread(context: Context) -> Iterator[Breach]:
    for name, chart in context.strategy.kubernetes.charts.items():
        read = facts.chart(name)["version"]
        if name not in _FOLLOWS and chart.version and numbers(chart.version) > numbers(read):
            yield (
                f"kubernetes.charts.{name}.version",
                f"the newest recorded version of {name} is {read}, so {chart.version} may not exist or may not accept "
                f"the generated values; use {read}, or test {chart.version} first",
            )


@error("CHART_VERSION_OLD")
def _old(context: Context) -> Iterator[Breach]:
    for name, chart in context.strategy.kubernetes.charts.items():
        lowest = facts.chart(name).get("lowest")
        if lowest and chart.version and numbers(chart.version) < numbers(lowest["version"]):
            yield (
                f"kubernetes.charts.{name}.version",
                f"{name} {chart.version} {lowest['why']}; use {lowest['version']} or newer",
            )


# Karpenter has its own rules.
_OWN_RULES = frozenset({"karpenter", "karpenter-crd"})


def _lowest_kubernetes(context: Context) -> Iterator[tuple[str, str]]:
    """Yield charts in the recorded version, with the lowest Kubernetes version that they support."""
    given = {str(name): chart.version for name, chart in context.strategy.kubernetes.charts.items()}
    for key in sorted(context.charts - _OWN_RULES):
        fact = facts.chart(key)
        limit = fact["kubernetes"]["min"]
        if limit and given.get(key) in (None, fact["version"]):
            yield key, limit


@error("CHART_KUBERNETES_VERSION")
def _too_old(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    for key, lowest in _lowest_kubernetes(context):
        if numbers(version) < numbers(lowest):
            yield (
                "cluster.kubernetes_version",
                (
                    f"{key} requires Kubernetes {lowest} or later, got {version}; raise the version, or set an older "
                    f"chart in kubernetes.charts.{key}.version"
                ),
            )
