"""Chart values that the strategy derives, because they connect a chart to the cluster.

Overriding one disconnects the chart from its nodes, its cluster or its IAM role. Helm reports no error; pods stay
pending instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class DerivedValue(NamedTuple):
    """A value that a strategy derives; ``instead`` says what to do instead of setting it."""

    chart: str
    path: str
    reason: str
    instead: str


_NODES = "it follows the labels of the nodes with the device"
_TAINTS = "it follows the nodes' taints"
_KEEP_LABELS = "remove it"
_KEEP_TAINTS = "set taints or accelerator_taint of the group or pool instead"
_IDENTITY = "Pod Identity identifies the controller by its service account"
_CLUSTER = "it is the strategy's cluster"
_GATES = "it follows karpenter.feature_gates"
_SHARING = "it follows gpu_sharing of the nodes"
_USE_SHARING = "set gpu_sharing of the group or pool instead"
_IMAGE = "the EKS image includes it"
_DISCOVERY = "the operator uses it to find its nodes"

_ROWS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "karpenter": (
        ("settings.clusterName", _CLUSTER, "set the strategy's name instead"),
        (
            "settings.interruptionQueue",
            "it is the name of the strategy's queue",
            "set karpenter.interruption_queue instead",
        ),
        ("settings.isolatedVPC", "it follows the network", "set network.private instead"),
        ("settings.enableZonalShift", "it follows the cluster", "set cluster.zonal_shift instead"),
        ("settings.reservedENIs", "it follows the pods' subnets", "set network.pod_cidr instead"),
        ("settings.featureGates.nodeRepair", _GATES, "set karpenter.feature_gates.node_repair instead"),
        ("settings.featureGates.nodeOverlay", _GATES, "set karpenter.feature_gates.node_overlay instead"),
        ("settings.featureGates.staticCapacity", _GATES, "set karpenter.feature_gates.static_capacity instead"),
        ("settings.featureGates.capacityBuffer", _GATES, "set karpenter.feature_gates.capacity_buffer instead"),
        (
            "settings.featureGates.spotToSpotConsolidation",
            _GATES,
            "set karpenter.feature_gates.spot_to_spot_consolidation instead",
        ),
        ("serviceAccount.name", _IDENTITY, "set karpenter.service_account instead"),
        ("serviceAccount.create", _IDENTITY, "remove it"),
        ("replicas", "it is checked against the number of nodes", "set karpenter.replicas instead"),
        ("settings.featureGates.reservedCapacity", "pools with reservations need it", "remove it"),
        ("settings.clusterEndpoint", _CLUSTER, "remove it"),
        ("controller.env", "it sets the controller's region", "remove it"),
        ("affinity", "it keeps the controller off its own nodes", "remove it"),
        ("nodeSelector", "the controller runs on untainted groups", "remove it"),
    ),
    "kueue": (
        (
            "managerConfig",
            "it lists the namespaces and resources that Kueue manages",
            "set kubernetes.teams, and the sizes of groups and pools, instead",
        ),
    ),
    "kube-prometheus-stack": (
        ("prometheus-node-exporter.tolerations", _TAINTS, "remove it"),
        ("grafana.sidecar.dashboards", "Grafana uses it to find the hardware dashboards", "remove it"),
    ),
    "nvidia-device-plugin": (
        ("affinity", _NODES, _KEEP_LABELS),
        ("nodeSelector", _NODES, _KEEP_LABELS),
        ("tolerations", _TAINTS, _KEEP_TAINTS),
        ("config", _SHARING, _USE_SHARING),
        ("migStrategy", _SHARING, _USE_SHARING),
        ("devicePlugin.enabled", "nothing else advertises the GPUs", "remove it"),
        ("gfd.enabled", "the strategy sets the labels of GPU nodes", "remove it"),
        ("nfd.enabled", "the strategy sets the labels of GPU nodes", "remove it"),
    ),
    "gpu-operator": (
        ("driver.enabled", _IMAGE, "remove it"),
        ("toolkit.enabled", _IMAGE, "remove it"),
        ("mig.strategy", _SHARING, _USE_SHARING),
        ("migManager.enabled", _SHARING, _USE_SHARING),
        ("migManager.config", _SHARING, _USE_SHARING),
        ("devicePlugin.enabled", "nothing else advertises the GPUs", "remove it"),
        ("devicePlugin.config", _SHARING, _USE_SHARING),
        ("daemonsets.tolerations", _TAINTS, _KEEP_TAINTS),
        ("node-feature-discovery.worker.tolerations", _TAINTS, _KEEP_TAINTS),
        ("nfd.enabled", _DISCOVERY, "remove it"),
        ("gfd.enabled", "the MIG manager needs its labels", "remove it"),
    ),
    "neuron-helm-chart": (
        ("devicePlugin.enabled", "nothing else advertises the devices", "remove it"),
        ("devicePlugin.affinity", _NODES, _KEEP_LABELS),
        ("devicePlugin.nodeSelector", _NODES, _KEEP_LABELS),
        ("devicePlugin.tolerations", _TAINTS, _KEEP_TAINTS),
        ("draDriver.enabled", "it cannot run together with the device plugin", "remove it"),
        ("scheduler.enabled", "it follows the number of devices per node", "remove it"),
        ("scheduler.defaultScheduler.enabled", "the EKS scheduler does not support extenders", "remove it"),
        ("scheduler.customScheduler.enabled", "pods with several devices refer to it", "remove it"),
        ("scheduler.customScheduler.fullnameOverride", "pods with several devices refer to it", "remove it"),
    ),
    "aws-efa-k8s-device-plugin": (
        ("supportedInstanceLabels", _NODES, _KEEP_LABELS),
        ("nodeSelector", _NODES, _KEEP_LABELS),
        ("tolerations", _TAINTS, _KEEP_TAINTS),
    ),
    "dcgm-exporter": (
        ("affinity", _NODES, _KEEP_LABELS),
        ("nodeSelector", _NODES, _KEEP_LABELS),
        ("tolerations", _TAINTS, _KEEP_TAINTS),
    ),
    "aws-load-balancer-controller": (
        ("clusterName", _CLUSTER, "set the strategy's name instead"),
        ("region", "it is the strategy's region", "set the strategy's region instead"),
        ("vpcId", "it is the strategy's VPC", "set network.existing.vpc_id instead"),
        ("serviceAccount.name", _IDENTITY, "remove it"),
        ("serviceAccount.create", _IDENTITY, "remove it"),
    ),
    "cluster-autoscaler": (
        ("autoDiscovery", "EKS's tags name the strategy's cluster", "set scaling.autoscaled of a node group instead"),
        (
            "autoscalingGroups",
            "the autoscaler finds groups by EKS's tags",
            "set scaling.autoscaled of a node group instead",
        ),
        ("awsRegion", "it is the strategy's region", "set the strategy's region instead"),
        ("cloudProvider", "the nodes are on AWS", "remove it"),
        ("rbac.serviceAccount.name", _IDENTITY, "remove it"),
        ("rbac.serviceAccount.create", _IDENTITY, "remove it"),
    ),
}

DERIVED: tuple[DerivedValue, ...] = tuple(DerivedValue(key, *row) for key, rows in _ROWS.items() for row in rows)
"""One row per value, in the order in which findings list them."""


def derived_values(chart: str, values: Mapping[str, object]) -> Iterator[tuple[str, DerivedValue]]:
    """Yield each place in ``values`` that overrides a derived value, once: the value itself or a non-mapping parent."""
    seen: set[str] = set()
    for row in DERIVED:
        place = _place(values, row.path) if row.chart == chart else None
        if place and place not in seen:
            seen.add(place)
            yield place, row


def _place(values: Mapping[str, object], path: str) -> str | None:
    names = path.split(".")
    at: Any = values
    for depth, name in enumerate(names, start=1):
        if name not in at:
            return None
        at = at[name]
        if not isinstance(at, Mapping):
            return ".".join(names[:depth])
    return path
