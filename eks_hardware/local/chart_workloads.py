"""The workloads of each chart in ``config/facts/charts.json``, with their default placement.

Helm merges maps and replaces lists. Sources: the ``source`` of each chart in ``config/facts/charts.json``, with its
``values.yaml`` and templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Map = Mapping[str, Any]

CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
_CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE_EQUAL = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Equal",
    "value": "",
    "effect": "NoSchedule",
}
_NEURON = {"key": "aws.amazon.com/neuron", "operator": "Exists", "effect": "NoSchedule"}
_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_EVERY_NO_SCHEDULE = {"operator": "Exists", "effect": "NoSchedule"}


def affinity_to(*terms: Sequence[tuple[str, str, Sequence[str]]]) -> dict[str, Any]:
    """Return required node affinity: a node must match all expressions of at least one term."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
                            for key, operator, values in term
                        ]
                    }
                    for term in terms
                ]
            }
        }
    }


_NVIDIA_AFFINITY = affinity_to(
    [("feature.node.kubernetes.io/pci-10de.present", "In", ["true"])],
    [("feature.node.kubernetes.io/cpu-model.vendor_id", "In", ["NVIDIA"])],
    [("nvidia.com/gpu.present", "In", ["true"])],
)

# The chart's list, limited to the types in the catalogue.
_NEURON_TYPES = (
    *("trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"),
    *("inf1.xlarge", "inf1.2xlarge", "inf1.6xlarge", "inf1.24xlarge"),
    *("inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge", "inf2.48xlarge"),
)


@dataclass(frozen=True)
class Row:
    """One workload of a chart.

    Attributes:
        name: the workload's name when the release is named after the chart's key.
        at: the path of the workload's placement in the values.
        defaults: the chart's default values at this path.
        fixed: tolerations that the template adds to those in the values.
        on: values that must be true, with their defaults.
    """

    kind: str
    name: str
    at: tuple[str, ...] = ()
    defaults: Map | None = None
    fixed: tuple[Map, ...] = ()
    on: tuple[tuple[str, bool], ...] = ()


DAEMONSET, DEPLOYMENT = "DaemonSet", "Deployment"
_LINUX = {"kubernetes.io/os": "linux"}
_PLUGIN_DEFAULTS = {"affinity": _NVIDIA_AFFINITY, "tolerations": [CRITICAL, _GPU]}

CHARTS: Mapping[str, tuple[Row, ...]] = {
    "karpenter-crd": (),
    "karpenter": (
        Row(
            DEPLOYMENT,
            "karpenter",
            defaults={
                "nodeSelector": _LINUX,
                "affinity": affinity_to([("karpenter.sh/nodepool", "DoesNotExist", [])]),
                "tolerations": [CRITICAL],
            },
        ),
    ),
    "aws-load-balancer-controller": (Row(DEPLOYMENT, "aws-load-balancer-controller"),),
    "cluster-autoscaler": (Row(DEPLOYMENT, "cluster-autoscaler-aws-cluster-autoscaler"),),
    "kueue": (Row(DEPLOYMENT, "kueue-controller-manager", ("controllerManager",)),),
    "nvidia-device-plugin": (
        Row(DAEMONSET, "nvidia-device-plugin", defaults=_PLUGIN_DEFAULTS, on=(("devicePlugin.enabled", True),)),
        Row(
            DAEMONSET,
            "nvidia-device-plugin-gpu-feature-discovery",
            defaults=_PLUGIN_DEFAULTS,
            on=(("gfd.enabled", False),),
        ),
    ),
    "neuron-helm-chart": (
        Row(
            DAEMONSET,
            "neuron-device-plugin",
            ("devicePlugin",),
            {
                "tolerations": [CRITICAL, _NEURON],
                "affinity": affinity_to([("node.kubernetes.io/instance-type", "In", _NEURON_TYPES)]),
            },
            on=(("devicePlugin.enabled", True),),
        ),
        Row(
            DAEMONSET,
            "node-problem-detector",
            ("npd",),
            {
                "tolerations": [_EVERY_NO_SCHEDULE, {"operator": "Exists", "effect": "NoExecute"}],
                "affinity": affinity_to([("node.kubernetes.io/instance-type", "In", _NEURON_TYPES)]),
            },
            on=(("npd.enabled", True),),
        ),
        Row(DEPLOYMENT, "k8s-neuron-scheduler", ("scheduler",), on=(("scheduler.enabled", False),)),
        Row(
            DEPLOYMENT,
            "my-scheduler",
            ("scheduler", "customScheduler"),
            on=(("scheduler.enabled", False), ("scheduler.customScheduler.enabled", True)),
        ),
    ),
    # Its affinity is generated from supportedInstanceLabels, below.
    "aws-efa-k8s-device-plugin": (Row(DAEMONSET, "aws-efa-k8s-device-plugin", fixed=(CRITICAL,)),),
    "dcgm-exporter": (Row(DAEMONSET, "dcgm-exporter", defaults={"tolerations": [_CONTROL_PLANE]}),),
    "gpu-operator": (
        Row(DEPLOYMENT, "gpu-operator", ("operator",), {"nodeSelector": _LINUX, "tolerations": [_CONTROL_PLANE_EQUAL]}),
        Row(
            DAEMONSET,
            "gpu-operator-node-feature-discovery-worker",
            ("node-feature-discovery", "worker"),
            on=(("nfd.enabled", True),),
        ),
        Row(
            DEPLOYMENT,
            "gpu-operator-node-feature-discovery-master",
            ("node-feature-discovery", "master"),
            {"tolerations": [_CONTROL_PLANE_EQUAL]},
            on=(("nfd.enabled", True),),
        ),
        Row(
            DEPLOYMENT,
            "gpu-operator-node-feature-discovery-gc",
            ("node-feature-discovery", "gc"),
            on=(("nfd.enabled", True),),
        ),
        # The operator's DaemonSets run on nodes where discovery found a GPU, unless a label excludes the node:
        # https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/controllers/state_manager.go
        Row(
            DAEMONSET,
            "nvidia-device-plugin-daemonset",
            ("daemonsets",),
            {
                "tolerations": [_GPU],
                "affinity": affinity_to(
                    [
                        ("feature.node.kubernetes.io/pci-10de.present", "In", ["true"]),
                        ("nvidia.com/gpu.deploy.operands", "NotIn", ["false"]),
                    ]
                ),
            },
            on=(("devicePlugin.enabled", True),),
        ),
    ),
    "kube-prometheus-stack": (
        Row(
            DAEMONSET,
            "kube-prometheus-stack-prometheus-node-exporter",
            ("prometheus-node-exporter",),
            {
                "nodeSelector": _LINUX,
                "tolerations": [_EVERY_NO_SCHEDULE],
                "affinity": affinity_to(
                    [
                        ("eks.amazonaws.com/compute-type", "NotIn", ["fargate"]),
                        ("type", "NotIn", ["virtual-kubelet"]),
                    ]
                ),
            },
            on=(("nodeExporter.enabled", True),),
        ),
        Row(DEPLOYMENT, "kube-prometheus-stack-operator", ("prometheusOperator",)),
        # The operator creates the pods of these two from custom resources in the chart.
        Row(DEPLOYMENT, "kube-prometheus-stack-prometheus", ("prometheus", "prometheusSpec")),
        Row(DEPLOYMENT, "kube-prometheus-stack-alertmanager", ("alertmanager", "alertmanagerSpec")),
        Row(DEPLOYMENT, "kube-prometheus-stack-grafana", ("grafana",)),
        Row(DEPLOYMENT, "kube-prometheus-stack-kube-state-metrics", ("kube-state-metrics",)),
    ),
}
