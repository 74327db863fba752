"""Grafana dashboards for GPUs, Neuron devices and EFA, as ConfigMaps that Grafana's sidecar loads.

Each JSON file in this folder is a dashboard in Grafana's format
(https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/); the file name is the
dashboard's uid. The exporters of ``monitoring`` export every metric by default:

- ``DCGM_FI_*``: https://github.com/NVIDIA/dcgm-exporter/blob/4.5.3-4.8.2/deployment/templates/metrics-configmap.yaml
- Neuron: https://github.com/aws-neuron/aws-neuron-sdk/blob/master/src/examples/neuron-monitor/neuron-monitor-grafana.json
- EFA: https://github.com/torvalds/linux/blob/v6.12/drivers/infiniband/hw/efa/efa_verbs.c (``EFA_DEFINE_PORT_STATS``)
  with the metric names of https://github.com/aws-samples/awsome-distributed-training (3.efa-node-exporter)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eks_hardware.kubernetes.model import Object
from eks_hardware.kubernetes.nodes import has_efa, is_neuron, is_nvidia, nodes_with
from eks_hardware.resolve import ResolvedStrategy

DASHBOARDS = {"eks-hardware-gpu": is_nvidia, "eks-hardware-neuron": is_neuron, "eks-hardware-efa": has_efa}
"""The nodes that a strategy must have for each dashboard."""


def dashboard(name: str) -> str:
    """Return the JSON text of a dashboard."""
    return Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8")


def dashboards(resolved: ResolvedStrategy, namespace: str) -> Iterator[Object]:
    """Yield a ConfigMap for each kind of hardware that the strategy has."""
    for name, condition in DASHBOARDS.items():
        if nodes_with(resolved, condition):
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    # The label that the sidecar of kube-prometheus-stack's Grafana selects.
                    "labels": {"grafana_dashboard": "1"},
                },
                "data": {f"{name}.json": dashboard(name)},
            }
