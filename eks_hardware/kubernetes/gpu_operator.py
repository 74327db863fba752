"""NVIDIA's GPU Operator, if the strategy enables it: device plugin, metrics and MIG on AL2023 nodes.

EKS's AMIs contain the driver and the container toolkit, so both are disabled. The operator finds GPU nodes through
Node Feature Discovery, and runs its DaemonSets on all of them. Bottlerocket nodes have a label that prevents this
(``NO_OPERANDS_LABEL``), so one strategy may have both.

Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html,
https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/deployments/gpu-operator/values.yaml
"""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.gpu_sharing import DEFAULT_CONFIG, plugin_configs
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.kubernetes.nodes import Node, is_nvidia_al2023, nodes_with, tolerations
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.resolve.gpu_sharing import MIG_STRATEGY

GPU_OPERATOR = "gpu-operator"

_PROMETHEUS = "kube-prometheus-stack"
_CONFIG_MAP = "time-slicing"
# The chart's default toleration, which our list replaces.
_GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease]:
    """Yield the GPU Operator if the strategy enables it."""
    if GPU_OPERATOR in resolved.kubernetes.charts:
        yield chart_release(resolved, GPU_OPERATOR, _values(resolved), after=(_PROMETHEUS,), timeout_seconds=900)


def _values(resolved: ResolvedStrategy) -> dict[str, object]:
    nodes = nodes_with(resolved, is_nvidia_al2023)
    tolerated = tolerations(nodes) or [_GPU_TOLERATION]
    return {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "nfd": {"enabled": True},
        # The operator and the discovery controllers do not tolerate the taints of accelerated nodes. These DaemonSets
        # run on GPU nodes.
        "daemonsets": {"tolerations": tolerated},
        "node-feature-discovery": {"worker": {"tolerations": tolerated}},
        "devicePlugin": _device_plugin(nodes),
        # Labels nodes whose GPUs can be partitioned; the MIG manager waits for this.
        "gfd": {"enabled": True},
        "mig": {"strategy": MIG_STRATEGY},
        "migManager": _mig_manager(nodes),
        "dcgmExporter": {"enabled": True, "serviceMonitor": {"enabled": _PROMETHEUS in resolved.kubernetes.charts}},
    }


def _device_plugin(nodes: tuple[Node, ...]) -> dict[str, object]:
    configs = plugin_configs(nodes)
    if not configs:
        return {"enabled": True}
    config = {"create": True, "name": _CONFIG_MAP, "default": DEFAULT_CONFIG, "data": configs}
    return {"enabled": True, "config": config}


def _mig_manager(nodes: tuple[Node, ...]) -> dict[str, object]:
    if not any(node.gpu_shares and node.gpu_shares.mig_profile for node in nodes):
        return {"enabled": False}
    return {
        "enabled": True,
        "config": {"default": "all-disabled"},
        # Enabling MIG may need a GPU reset, which a virtual machine may not do. A reboot has the same effect:
        # https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
        "env": [{"name": "WITH_REBOOT", "value": "true"}],
    }
