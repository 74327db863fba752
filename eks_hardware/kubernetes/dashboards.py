"""Grafana dashboards for GPUs, Neuron devices and EFA, as ConfigMaps that Grafana's sidecar picks up.

Every metric is one that the exporters of ``monitoring`` have by default:

- ``DCGM_FI_*``: https://github.com/NVIDIA/dcgm-exporter/blob/4.5.3-4.8.2/deployment/templates/metrics-configmap.yaml
- Neuron: https://github.com/aws-neuron/aws-neuron-sdk/blob/master/src/examples/neuron-monitor/neuron-monitor-grafana.json
- EFA: https://github.com/torvalds/linux/blob/v6.12/drivers/infiniband/hw/efa/efa_verbs.c (``EFA_DEFINE_PORT_STATS``)
  under the names of https://github.com/aws-samples/awsome-distributed-training (3.efa-node-exporter)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eks_hardware.kubernetes.model import Object
from eks_hardware.kubernetes.nodes import has_efa, is_neuron, is_nvidia, nodes_with
from eks_hardware.resolve import ResolvedStrategy

_COLUMNS = 24
_WIDTH = 12
_HEIGHT = 8


@dataclass(frozen=True)
class Panel:
    """A graph: one line for each series of each expression.

    Attributes:
        unit: as Grafana names it (https://github.com/grafana/grafana/blob/main/packages/grafana-data/src/valueFormats).
        queries: pairs of PromQL expression and legend.
    """

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dashboard:
    """A dashboard; ``name`` is its uid and the name of its ConfigMap."""

    name: str
    title: str
    panels: tuple[Panel, ...]


_OF_GPU = "{{Hostname}} GPU {{gpu}}"
GPU = Dashboard(
    "eks-hardware-gpu",
    "NVIDIA GPUs",
    (
        Panel("Time the GPU computes", "percentunit", (("DCGM_FI_PROF_GR_ENGINE_ACTIVE", _OF_GPU),)),
        Panel("Time the tensor cores compute", "percentunit", (("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", _OF_GPU),)),
        Panel("Memory in use", "mbytes", (("DCGM_FI_DEV_FB_USED", _OF_GPU),)),
        Panel(
            "Memory in use by pod",
            "mbytes",
            (
                (
                    'sum by (exported_namespace, exported_pod) (DCGM_FI_DEV_FB_USED{exported_pod!=""})',
                    "{{exported_namespace}}/{{exported_pod}}",
                ),
            ),
        ),
        Panel("Power", "watt", (("DCGM_FI_DEV_POWER_USAGE", _OF_GPU),)),
        Panel("Temperature", "celsius", (("DCGM_FI_DEV_GPU_TEMP", _OF_GPU),)),
        Panel("Memory bandwidth in use", "percentunit", (("DCGM_FI_PROF_DRAM_ACTIVE", _OF_GPU),)),
        Panel(
            "PCIe traffic",
            "Bps",
            (
                ("sum by (Hostname) (DCGM_FI_PROF_PCIE_TX_BYTES)", "{{Hostname}} sent"),
                ("sum by (Hostname) (DCGM_FI_PROF_PCIE_RX_BYTES)", "{{Hostname}} received"),
            ),
        ),
        Panel("Last XID error (0: none)", "none", (("DCGM_FI_DEV_XID_ERRORS", _OF_GPU),)),
        Panel(
            "Remapped memory rows, uncorrectable and failed",
            "none",
            (
                ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", f"{_OF_GPU} uncorrectable"),
                ("DCGM_FI_DEV_ROW_REMAP_FAILURE", f"{_OF_GPU} failed"),
            ),
        ),
    ),
)

NEURON = Dashboard(
    "eks-hardware-neuron",
    "Trainium and Inferentia",
    (
        Panel(
            "NeuronCore utilization by node",
            "percentunit",
            (("avg by (instance_id) (neuroncore_utilization_ratio)", "{{instance_id}}"),),
        ),
        Panel(
            "NeuronCore utilization by core",
            "percentunit",
            (("avg by (neuroncore) (neuroncore_utilization_ratio)", "core {{neuroncore}}"),),
        ),
        Panel(
            "Cores in use",
            "none",
            (("count by (instance_id) (neuroncore_utilization_ratio > 0)", "{{instance_id}}"),),
        ),
        Panel(
            "Memory of the Neuron runtime",
            "bytes",
            (
                (
                    "sum by (instance_id, memory_location) (neuron_runtime_memory_used_bytes)",
                    "{{instance_id}} {{memory_location}}",
                ),
            ),
        ),
        Panel(
            "Execution latency",
            "s",
            (("max by (percentile) (execution_latency_seconds)", "{{percentile}}"),),
        ),
        Panel(
            "Executions by result",
            "ops",
            (("sum by (status_type) (rate(execution_status_total[$__rate_interval]))", "{{status_type}}"),),
        ),
        Panel(
            "Host CPU of the Neuron runtime",
            "percentunit",
            (("avg by (instance_id, usage_type) (neuron_runtime_vcpu_usage_ratio)", "{{instance_id}} {{usage_type}}"),),
        ),
        Panel(
            "Host memory in use",
            "percentunit",
            (("system_memory_used_bytes / system_memory_total_bytes", "{{instance_id}}"),),
        ),
    ),
)


def _efa_rate(*counters: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"sum by (node) (rate(node_amazonefa_{counter}[$__rate_interval]))", f"{{{{node}}}} {label}")
        for counter, label in counters
    )


EFA = Dashboard(
    "eks-hardware-efa",
    "Elastic Fabric Adapter",
    (
        Panel("Traffic", "Bps", _efa_rate(("tx_bytes", "sent"), ("rx_bytes", "received"))),
        Panel("Packets", "pps", _efa_rate(("tx_pkts", "sent"), ("rx_pkts", "received"))),
        Panel("RDMA", "Bps", _efa_rate(("rdma_read_bytes", "read"), ("rdma_write_bytes", "written"))),
        Panel("Messages", "Bps", _efa_rate(("send_bytes", "sent"), ("recv_bytes", "received"))),
        Panel("Sent again", "pps", _efa_rate(("retrans_pkts", "packets"), ("retrans_timeout_events", "timeouts"))),
        Panel(
            "Errors",
            "ops",
            _efa_rate(
                ("rx_drops", "dropped"),
                ("rdma_read_wr_err", "RDMA read"),
                ("rdma_write_wr_err", "RDMA write"),
                ("unresponsive_remote_events", "no answer"),
                ("impaired_remote_conn_events", "impaired"),
            ),
        ),
    ),
)


def dashboards(resolved: ResolvedStrategy, namespace: str) -> Iterator[Object]:
    """A ConfigMap for each kind of hardware that the strategy has."""
    for dashboard, condition in ((GPU, is_nvidia), (NEURON, is_neuron), (EFA, has_efa)):
        if nodes_with(resolved, condition):
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": dashboard.name,
                    "namespace": namespace,
                    # What the sidecar of kube-prometheus-stack's Grafana looks for.
                    "labels": {"grafana_dashboard": "1"},
                },
                "data": {f"{dashboard.name}.json": json.dumps(dashboard_model(dashboard), indent=2) + "\n"},
            }


def dashboard_model(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana stores it.

    Source: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
    """
    return {
        "uid": dashboard.name,
        "title": dashboard.title,
        "tags": ["eks-hardware"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [_panel(index, panel) for index, panel in enumerate(dashboard.panels)],
    }


def _panel(index: int, panel: Panel) -> dict[str, Any]:
    datasource = {"type": "prometheus", "uid": "${datasource}"}
    row, column = divmod(index * _WIDTH, _COLUMNS)
    return {
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": datasource,
        "gridPos": {"x": column, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": datasource, "expr": expression, "legendFormat": legend}
            for number, (expression, legend) in enumerate(panel.queries)
        ],
    }
