"""The device plugins of a local cluster: the nodes where their pods run, and the resources that they advertise."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from eks_hardware.catalogue import load
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.node_devices import GpuSharing, bottlerocket_sharing, gpus, plugin_sharing
from eks_hardware.local.node_object import Machine
from eks_hardware.resolve.gpu_sharing import MIG_CONFIG_LABEL, PLUGIN_CONFIG_LABEL

Map = Mapping[str, Any]

NVIDIA, NEURON, EFA = "nvidia-device-plugin", "neuron-device-plugin", "aws-efa-k8s-device-plugin"
DISCOVERY = "node-feature-discovery-worker"
DISCOVERED_GPU = {"feature.node.kubernetes.io/pci-10de.present": "true"}
"""The label that Node Feature Discovery sets on a node with an NVIDIA device."""

# Charts add the release's name as a prefix; the GPU Operator and plain manifests add the suffix "-daemonset".
_NAME = re.compile(rf"(?:.+-)?({NVIDIA}|{NEURON}|{EFA}|{DISCOVERY})(?:-daemonset)?")


@dataclass(frozen=True)
class Plugin:
    """A device plugin's DaemonSet.

    Attributes:
        configurations: The configuration files in the ConfigMap of NVIDIA's plugin, by name.
        default: The name of the configuration for nodes without the label.
        mig: NVIDIA's MIG strategy: ``none``, ``single`` or ``mixed``.
    """

    configurations: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    mig: str = "none"

    def sharing(self, labels: Mapping[str, str]) -> GpuSharing | None:
        """Return how the plugin shares GPUs on a node with these labels; None if the plugin's pod fails there."""
        profile = labels.get(MIG_CONFIG_LABEL, "all-disabled").removeprefix("all-")
        if profile != "disabled" and self.mig != "none":
            return GpuSharing(mig_profile=profile, mixed=self.mig == "mixed")
        if not self.configurations:
            return GpuSharing()
        chosen = self.configurations.get(labels.get(PLUGIN_CONFIG_LABEL) or self.default)
        return plugin_sharing(chosen) if chosen is not None else None


def running(cluster: Cluster) -> dict[str, dict[str, Plugin]]:
    """Return the plugins whose pods run, by node and by ``NVIDIA``, ``NEURON``, ``EFA`` and ``DISCOVERY``."""
    plugins: dict[str, dict[str, Plugin]] = {}
    for daemonset in cluster.request("GET", "/apis/apps/v1/daemonsets?resourceVersion=0")["items"]:
        match = _NAME.fullmatch(daemonset["metadata"]["name"])
        if match:
            nodes = set(_nodes(cluster, daemonset))
            plugin = _nvidia(cluster, daemonset) if nodes and match[1] == NVIDIA else Plugin()
            for node in nodes:
                plugins.setdefault(node, {})[match[1]] = plugin
    return plugins


def advertised(machine: Machine, plugins: Mapping[str, Plugin], labels: Mapping[str, str]) -> dict[str, int]:
    """Return the resources that plugins on a node advertise.

    Args:
        plugins: The plugins whose pods run on the node.
        labels: The node's labels.
    """
    devices = machine.devices
    counts: dict[str, int] = {}
    if NEURON in plugins:
        counts |= devices.neuron_resources()
    if EFA in plugins:
        counts |= devices.efa_resources()
    ways = [plugins[NVIDIA].sharing(labels)] if NVIDIA in plugins else []
    if machine.has_own_gpu_plugin:
        ways.append(bottlerocket_sharing(machine.boot.settings))
    # Two plugins on one node conflict over the same socket.
    if devices.gpus and len(ways) == 1 and ways[0] is not None:
        resource, number = gpus(load().get(machine.instance["InstanceType"]), devices.gpus, ways[0])
        counts[resource] = number
    return counts


def _nodes(cluster: Cluster, daemonset: Map) -> Iterator[str]:
    """Yield the nodes on which a DaemonSet's pods run."""
    selector = ",".join(f"{key}={value}" for key, value in daemonset["spec"]["selector"]["matchLabels"].items())
    path = f"/api/v1/namespaces/{daemonset['metadata']['namespace']}/pods?resourceVersion=0"
    for pod in cluster.request("GET", f"{path}&labelSelector={quote(selector)}")["items"]:
        if pod["status"].get("phase") == "Running" and "nodeName" in pod["spec"]:
            yield pod["spec"]["nodeName"]


def _nvidia(cluster: Cluster, daemonset: Map) -> Plugin:
    """Return the settings of NVIDIA's plugin, which its charts pass as variables and in a ConfigMap.

    Source: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/deployments/helm/nvidia-device-plugin/templates/daemonset-device-plugin.yml
    """
    spec = daemonset["spec"]["template"]["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    variables = {
        variable["name"]: variable.get("value", "") for container in containers for variable in container.get("env", ())
    }
    configurations: dict[str, str] = {}
    for volume in spec.get("volumes") or ():
        if "configMap" in volume:
            configurations |= _config_map(cluster, daemonset["metadata"]["namespace"], volume["configMap"]["name"])
    return Plugin(configurations, variables.get("DEFAULT_CONFIG", ""), variables.get("MIG_STRATEGY") or "none")


def _config_map(cluster: Cluster, namespace: str, name: str) -> Mapping[str, str]:
    try:
        config_map: Mapping[str, str] = cluster.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{name}").get(
            "data", {}
        )
    except ApiError as error:
        if error.status == http.client.NOT_FOUND:
            return {}
        raise
    return config_map
