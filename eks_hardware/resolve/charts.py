"""The charts that a strategy needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eks_hardware.catalogue import Hardware
from eks_hardware.models import Strategy


class NodeNeeds(NamedTuple):
    """Properties of a group or pool that decide which charts it needs; ``path`` is its place in the strategy."""

    path: str
    hardware: Hardware
    ami_family: str
    efa: bool


def wanted_charts(strategy: Strategy, nodes: Sequence[NodeNeeds]) -> Iterator[tuple[str, str]]:
    """Return key and reason of each chart to install, in the order of installation."""
    kubernetes = strategy.kubernetes
    # Bottlerocket's NVIDIA variants run their own device plugin; a second one fails:
    # https://github.com/eksctl-io/eksctl/issues/5277
    gpu = [node for node in nodes if node.hardware is Hardware.NVIDIA_GPU and node.ami_family == "al2023"]
    neuron = [node for node in nodes if node.hardware.is_neuron]
    efa = [node for node in nodes if node.efa]
    if kubernetes.prometheus:
        # First, because other charts need its ServiceMonitor.
        yield "kube-prometheus-stack", "kubernetes.prometheus is true"
    if strategy.karpenter:
        yield "karpenter-crd", "Karpenter's CRDs, in a separate chart so that they are upgraded"
        yield "karpenter", "the strategy has a karpenter section"
    if kubernetes.gpu_operator:
        yield "gpu-operator", "kubernetes.gpu_operator is true"
    elif gpu:
        yield "nvidia-device-plugin", f"AL2023 nodes with NVIDIA GPUs: {_paths(gpu)}"
    if neuron:
        yield "neuron-helm-chart", f"nodes with Trainium or Inferentia: {_paths(neuron)}"
    if efa:
        yield "aws-efa-k8s-device-plugin", f"nodes with EFA: {_paths(efa)}"
    if kubernetes.dcgm_exporter and not kubernetes.gpu_operator:
        yield (
            "dcgm-exporter",
            "kubernetes.dcgm_exporter is true, and there is no GPU Operator, which has its own exporter",
        )
    if kubernetes.load_balancer_controller:
        yield "aws-load-balancer-controller", "kubernetes.load_balancer_controller is true"
    if kubernetes.cluster_autoscaler:
        yield "cluster-autoscaler", "kubernetes.cluster_autoscaler is true"
    if kubernetes.kueue:
        yield "kueue", "kubernetes.kueue is true"


def _paths(nodes: Sequence[NodeNeeds]) -> str:
    return ", ".join(dict.fromkeys(node.path for node in nodes))
