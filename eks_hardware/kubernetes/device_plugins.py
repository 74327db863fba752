"""The device plugins: exactly one for each device of a node, none where there is no device.

Plugins by hardware:

- NVIDIA on AL2023: the chart of NVIDIA's plugin, or the GPU Operator if the strategy enables it.
- NVIDIA on Bottlerocket: a plugin in the image, configured in user data; no chart runs there.
- Trainium and Inferentia: AWS's chart, with its scheduler extension if a type has several devices.
- EFA: AWS's chart, in addition to any of these.

Selectors use labels that the strategy sets (``resolve/node.py``), and tolerations match the strategy's taints. There is
no list of instance types that could become outdated.
"""

from __future__ import annotations

from collections.abc import Iterator

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
"""Scheduler that pods with several Neuron devices set in ``schedulerName``.

The name is the default of the chart and of AWS's examples:
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/kubernetes-getting-started.html#neuron-scheduler-extension
"""

# The charts' first toleration; a list in values replaces theirs.
_CRITICAL: dict[str, str] = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease]:
    """Yield the device plugins for a strategy's hardware."""
    if NVIDIA in resolved.kubernetes.charts:
        yield chart_release(resolved, NVIDIA, _nvidia_values(nodes_with(resolved, is_nvidia_al2023)))
    if NEURON in resolved.kubernetes.charts:
        yield chart_release(resolved, NEURON, _neuron_values(resolved, nodes_with(resolved, is_neuron)))
    if EFA in resolved.kubernetes.charts:
        yield chart_release(resolved, EFA, _efa_values(resolved, nodes_with(resolved, has_efa)))


def _nvidia_values(nodes: tuple[Node, ...]) -> dict[str, object]:
    configs = plugin_configs(nodes)
    config = {"config": {"map": configs, "default": DEFAULT_CONFIG}} if configs else {}
    return {
        "affinity": label_selector(NVIDIA_PLUGIN_LABEL),
        "tolerations": [_CRITICAL, *tolerations(nodes)],
        # GPU Feature Discovery would also install Node Feature Discovery. The strategy already sets the labels.
        "gfd": {"enabled": False},
        "nfd": {"enabled": False},
        **config,
    }


def _neuron_values(resolved: ResolvedStrategy, nodes: tuple[Node, ...]) -> dict[str, object]:
    return {
        "devicePlugin": {
            "enabled": True,
            "affinity": label_selector(NEURON_PLUGIN_LABEL),
            "tolerations": [_CRITICAL, *tolerations(nodes)],
        },
        # The driver for Dynamic Resource Allocation replaces the plugin, and cannot run on the same node.
        "draDriver": {"enabled": False},
        # The node problem detector reports to a namespace that may not exist, and replaces nodes if it has permission.
        "npd": {"enabled": False},
        "scheduler": _scheduler_values(resolved) if has_several_devices(nodes) else {"enabled": False},
    }


def has_several_devices(nodes: tuple[Node, ...]) -> bool:
    """Return whether a node may have more than one Neuron device.

    A pod that requests several devices needs neighbors on the ring. Only the scheduler extension allocates these:
    https://github.com/aws/containers-roadmap/issues/1735
    """
    kinds = (load().find(name) for node in nodes for name in node.instance_types)
    return any(kind is not None and kind.accelerator is not None and kind.accelerator.count > 1 for kind in kinds)


def _scheduler_values(resolved: ResolvedStrategy) -> dict[str, object]:
    # No toleration: extension and scheduler run on untainted nodes.
    return {
        "enabled": True,
        "nodeSelector": {},
        "tolerations": [],
        # EKS's own scheduler does not accept an extender.
        "defaultScheduler": {"enabled": False},
        "customScheduler": {
            "enabled": True,
            "fullnameOverride": NEURON_SCHEDULER,
            "nodeSelector": {},
            "tolerations": [],
            # A scheduler may be older than the API server by at most one minor version, and never newer. The first
            # release of the cluster's minor version therefore always works. EKS Distro's tags have a different
            # numbering.
            # https://kubernetes.io/releases/version-skew-policy/#kube-controller-manager-kube-scheduler-and-cloud-controller-manager
            "image": {
                "repository": "registry.k8s.io/kube-scheduler",
                "tag": f"v{resolved.kubernetes.kubernetes_version}.0",
            },
        },
    }


def _efa_values(resolved: ResolvedStrategy, nodes: tuple[Node, ...]) -> dict[str, object]:
    ((key, value),) = EFA_LABEL.items()
    values: dict[str, object] = {
        # The newest types are missing from the chart's list of instance types, so the strategy's label replaces it.
        "supportedInstanceLabels": {"keys": [key], "values": [value]},
        # The chart adds these to CriticalAddonsOnly.
        "tolerations": tolerations(nodes),
    }
    if repository := efa_image(resolved.region):
        values["image"] = {"repository": repository}
    return values


def efa_image(region: str) -> str | None:
    """Return the plugin's image in the registry of a region, as eksctl does; the chart uses us-west-2.

    A private network can reach only the registry of its own region.
    https://github.com/eksctl-io/eksctl/blob/main/pkg/addons/device_plugin.go (SetImage)
    """
    account = facts.eks()["image_registries"]["accounts"].get(region)
    if account is None:
        return None
    domain = "amazonaws.com.cn" if facts.partition(region) == "aws-cn" else "amazonaws.com"
    return f"{account}.dkr.ecr.{region}.{domain}/eks/aws-efa-k8s-device-plugin"
