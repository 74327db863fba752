"""Metrics: Prometheus and Grafana, an exporter for each kind of hardware, and dashboards."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.dashboards import dashboards
from eks_hardware.kubernetes.exporters import EFA_METRICS, NEURON_MONITOR, efa_metrics, neuron_monitor
from eks_hardware.kubernetes.model import ChartRelease, ObjectRelease
from eks_hardware.kubernetes.nodes import has_efa, is_neuron, is_nvidia, label_selector, nodes_with, tolerations
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.resolve.node import NO_OPERANDS_LABEL, NVIDIA_PLUGIN_LABEL

PROMETHEUS = "kube-prometheus-stack"
DCGM_EXPORTER = "dcgm-exporter"
DASHBOARDS = "dashboards"


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease | ObjectRelease]:
    """Yield the charts and objects that the strategy enables, with metrics of its hardware."""
    scraped = PROMETHEUS in resolved.kubernetes.charts
    namespace = facts.chart(PROMETHEUS)["namespace"]
    neuron, efa = nodes_with(resolved, is_neuron), nodes_with(resolved, has_efa)
    if scraped:
        yield chart_release(resolved, PROMETHEUS, _prometheus_values(), timeout_seconds=900)
    if DCGM_EXPORTER in resolved.kubernetes.charts:
        yield chart_release(resolved, DCGM_EXPORTER, _dcgm_values(resolved, scraped=scraped), after=(PROMETHEUS,))
    if resolved.kubernetes.neuron_monitor and neuron:
        yield ObjectRelease(
            name=NEURON_MONITOR,
            namespace=namespace,
            after=(PROMETHEUS,),
            objects=neuron_monitor(neuron, namespace, scraped=scraped),
        )
    if scraped and efa:
        yield ObjectRelease(
            name=EFA_METRICS, namespace=namespace, after=(PROMETHEUS,), objects=efa_metrics(efa, namespace)
        )
    if scraped and (objects := tuple(dashboards(resolved, namespace))):
        yield ObjectRelease(name=DASHBOARDS, namespace=namespace, after=(PROMETHEUS,), objects=objects)


def _prometheus_values() -> dict[str, object]:
    # Without these, Prometheus uses only monitors of its own Helm release:
    # https://github.com/prometheus-community/helm-charts/tree/kube-prometheus-stack-88.5.3/charts/kube-prometheus-stack
    selectors = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")
    return {
        # EKS runs these components where Prometheus cannot reach them, so their alerts would fire forever.
        "kubeControllerManager": {"enabled": False},
        "kubeScheduler": {"enabled": False},
        "kubeEtcd": {"enabled": False},
        "prometheus": {"prometheusSpec": {f"{selector}SelectorNilUsesHelmValues": False for selector in selectors}},
        # The chart's own toleration does not cover NoExecute taints.
        "prometheus-node-exporter": {"tolerations": [{"operator": "Exists"}]},
        "grafana": {"sidecar": {"dashboards": {"enabled": True, "label": "grafana_dashboard", "labelValue": "1"}}},
    }


def _dcgm_values(resolved: ResolvedStrategy, *, scraped: bool) -> dict[str, object]:
    nodes = nodes_with(resolved, is_nvidia)
    return {
        # On Bottlerocket too: the chart adds SYS_ADMIN, with which Bottlerocket's runtime exposes the GPUs
        # (https://github.com/bottlerocket-os/bottlerocket/issues/3992).
        "affinity": label_selector(NVIDIA_PLUGIN_LABEL, NO_OPERANDS_LABEL),
        "tolerations": tolerations(nodes),
        "serviceMonitor": {"enabled": scraped},
    }
