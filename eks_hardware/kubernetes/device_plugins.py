"""The device plugins: exactly one for each device of a node, none where there is nothing to find.

Who runs what:

- NVIDIA on AL2023: the chart of NVIDIA's plugin, or the GPU Operator where the strategy asks for it.
- NVIDIA on Bottlerocket: a plugin that is part of the image, set up in user data; no chart comes near it.
- Trainium and Inferentia: AWS's chart, with its scheduler extension where a type has several devices.
- EFA: AWS's chart, in addition to any of these.

Selectors are labels that the strategy emits (``resolve/node.py``), tolerations are its taints: no list of instance
types can become outdated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.gpu_sharing import DEFAULT_CONFIG, plugin_configs
from eks_hardware.kubernetes.model import ChartRelease
from eks_hardware.kubernetes.nodes import (
    Node,
    has_efa,
    is_neuron,
    is_nvidia_al2023,
    label_selector,
    nodes_with,
    tolerations,
)
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.resolve.node import EFA_LABEL, NEURON_PLUGIN_LABEL, NVIDIA_PLUGIN_LABEL

NVIDIA = "nvidia-device-plugin"
NEURON = "neuron-helm-chart"
EFA = "aws-efa-k8s-device-plugin"

NEURON_SCHEDULER = "my-scheduler"
"""Scheduler that pods with several Neuron devices name in ``schedulerName``.

The name is the chart's own and that of AWS's examples:
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html#neuron-scheduler-extension
"""

# The charts' first toleration; a list in values replaces theirs.
_CRITICAL: dict[str, str] = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease]:
    """The device plugins that the hardware of a strategy needs."""
    if NVIDIA in resolved.kubernetes.charts:
        yield chart_release(resolved, NVIDIA, _nvidia_values(nodes_with(resolved, is_nvidia_al2023)))
    if NEURON in resolved.kubernetes.charts:
        yield chart_release(resolved, NEURON, _neuron_values(resolved, nodes_with(resolved, is_neuron)))
    if EFA in resolved.kubernetes.charts:
        yield chart_release(resolved, EFA, _efa_values(resolved, nodes_with(resolved, has_efa)))


def _nvidia_values(nodes: tuple[Node, ...]) -> dict[str, Any]:
    configs = plugin_configs(nodes)
    config = {"config": {"map": configs, "default": DEFAULT_CONFIG}} if configs else {}
    return {
        "affinity": label_selector(NVIDIA_PLUGIN_LABEL),
        "tolerations": [_CRITICAL, *tolerations(nodes)],
        # GPU Feature Discovery would bring Node Feature Discovery with it, and the strategy sets the labels.
        "gfd": {"enabled": False},
        "nfd": {"enabled": False},
        **config,
    }


def _neuron_values(resolved: ResolvedStrategy, nodes: tuple[Node, ...]) -> dict[str, Any]:
    return {
        "devicePlugin": {
            "enabled": True,
            "affinity": label_selector(NEURON_PLUGIN_LABEL),
            "tolerations": [_CRITICAL, *tolerations(nodes)],
        },
        # The driver for Dynamic Resource Allocation replaces the plugin, and cannot run on the same node.
        "draDriver": {"enabled": False},
        # Reports problems to a namespace that may not exist, and replaces nodes if it may.
        "npd": {"enabled": False},
        "scheduler": _scheduler_values(resolved) if has_several_devices(nodes) else {"enabled": False},
    }


def has_several_devices(nodes: tuple[Node, ...]) -> bool:
    """Whether a node may have more than one Neuron device.

    A pod that asks for several must get neighbours on the ring, which only the scheduler extension ensures:
    https://github.com/aws/containers-roadmap/issues/1735
    """
    kinds = (load().find(name) for node in nodes for name in node.instance_types)
    return any(kind is not None and kind.accelerator is not None and kind.accelerator.count > 1 for kind in kinds)


def _scheduler_values(resolved: ResolvedStrategy) -> dict[str, Any]:
    # No toleration: extension and scheduler run on untainted nodes.
    return {
        "enabled": True,
        "nodeSelector": {},
        "tolerations": [],
        # EKS's own scheduler cannot be given an extender.
        "defaultScheduler": {"enabled": False},
        "customScheduler": {
            "enabled": True,
            "fullnameOverride": NEURON_SCHEDULER,
            "nodeSelector": {},
            "tolerations": [],
            # A scheduler may be older than the API server, never newer, and by one minor version at most, so that the
            # first release of the cluster's minor version always fits; EKS Distro's tags have numbers of their own.
            # https://kubernetes.io/releases/version-skew-policy/#kube-controller-manager-kube-scheduler-and-cloud-controller-manager
            "image": {
                "repository": "registry.k8s.io/kube-scheduler",
                "tag": f"v{resolved.kubernetes.kubernetes_version}.0",
            },
        },
    }


def _efa_values(resolved: ResolvedStrategy, nodes: tuple[Node, ...]) -> dict[str, Any]:
    ((key, value),) = EFA_LABEL.items()
    values: dict[str, Any] = {
        # The chart's list of instance types lacks the newest ones; it takes a label of ours instead.
        "supportedInstanceLabels": {"keys": [key], "values": [value]},
        # The chart adds these to CriticalAddonsOnly.
        "tolerations": tolerations(nodes),
    }
    if repository := efa_image(resolved.region):
        values["image"] = {"repository": repository}
    return values


def efa_image(region: str) -> str | None:
    """The plugin's image in the registry of a region, as eksctl takes it; the chart names that of us-west-2.

    A private network has a way to the registry of its own region only.
    https://github.com/eksctl-io/eksctl/blob/main/pkg/addons/device_plugin.go (SetImage)
    """
    account = facts.eks()["image_registries"]["accounts"].get(region)
    if account is None:
        return None
    domain = "amazonaws.com.cn" if facts.partition(region) == "aws-cn" else "amazonaws.com"
    return f"{account}.dkr.ecr.{region}.{domain}/eks/aws-efa-k8s-device-plugin"
