"""The pods of a bundle with their placement: a chart's defaults merged with the release's values.

Helm merges maps and replaces lists, so ``affinity`` of the values and of the chart are merged. ``fixed`` contains
settings in a chart's templates that are not in its values. Sources: the ``source`` of each chart in
``config/facts/charts.json``, with its ``values.yaml`` and templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware.kubernetes.model import Bundle, ChartRelease
from eks_hardware.resolve.mappings import merged

Map = Mapping[str, Any]

CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
_CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
_NEURON = {"key": "aws.amazon.com/neuron", "operator": "Exists", "effect": "NoSchedule"}
_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_EVERY_NO_SCHEDULE = {"operator": "Exists", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Workload:
    """DaemonSet or Deployment, with the placement of its pods."""

    release: str
    name: str
    kind: str
    node_selector: Map
    affinity: Map
    tolerations: Sequence[Map]

    @property
    def pod(self) -> dict[str, Any]:
        """Its pods, with the fields that a scheduler reads."""
        return {
            "metadata": {"name": self.name},
            "spec": {
                "nodeSelector": self.node_selector,
                "affinity": self.affinity,
                "tolerations": list(self.tolerations),
                "containers": [{"name": self.name}],
            },
        }


def _terms(*terms: Sequence[tuple[str, str, Sequence[str]]]) -> dict[str, Any]:
    """Return required node affinity: one of the terms must match, with all its expressions."""
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


_NVIDIA_AFFINITY = _terms(
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
        at: path of its placement in the values.
        defaults: the chart's default values there.
        fixed: tolerations in the template, in addition to those in the values.
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
                "affinity": _terms([("karpenter.sh/nodepool", "DoesNotExist", [])]),
                "tolerations": [CRITICAL],
            },
        ),
    ),
    "aws-load-balancer-controller": (Row(DEPLOYMENT, "aws-load-balancer-controller"),),
    "cluster-autoscaler": (Row(DEPLOYMENT, "cluster-autoscaler"),),
    "kueue": (Row(DEPLOYMENT, "kueue", ("controllerManager",)),),
    "nvidia-device-plugin": (
        Row(DAEMONSET, "nvidia-device-plugin", defaults=_PLUGIN_DEFAULTS, on=(("devicePlugin.enabled", True),)),
        Row(DAEMONSET, "gpu-feature-discovery", defaults=_PLUGIN_DEFAULTS, on=(("gfd.enabled", False),)),
    ),
    "neuron-helm-chart": (
        Row(
            DAEMONSET,
            "neuron-device-plugin",
            ("devicePlugin",),
            {
                "tolerations": [CRITICAL, _NEURON],
                "affinity": _terms([("node.kubernetes.io/instance-type", "In", _NEURON_TYPES)]),
            },
            on=(("devicePlugin.enabled", True),),
        ),
        Row(
            DAEMONSET,
            "node-problem-detector",
            ("npd",),
            {
                "tolerations": [_EVERY_NO_SCHEDULE, {"operator": "Exists", "effect": "NoExecute"}],
                "affinity": _terms([("node.kubernetes.io/instance-type", "In", _NEURON_TYPES)]),
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
        Row(DEPLOYMENT, "gpu-operator", ("operator",), {"nodeSelector": _LINUX, "tolerations": [_CONTROL_PLANE]}),
        Row(
            DAEMONSET,
            "node-feature-discovery-worker",
            ("node-feature-discovery", "worker"),
            on=(("nfd.enabled", True),),
        ),
        # The operator's daemonsets run where discovery found a GPU and no label excludes them:
        # https://github.com/NVIDIA/gpu-operator/blob/v26.7.0/controllers/state_manager.go
        Row(
            DAEMONSET,
            "nvidia-device-plugin-daemonset",
            ("daemonsets",),
            {
                "tolerations": [_GPU],
                "affinity": _terms(
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
            "prometheus-node-exporter",
            ("prometheus-node-exporter",),
            {"nodeSelector": _LINUX, "tolerations": [_EVERY_NO_SCHEDULE]},
            on=(("nodeExporter.enabled", True),),
        ),
        Row(DEPLOYMENT, "prometheus-operator", ("prometheusOperator",)),
        Row(DEPLOYMENT, "prometheus", ("prometheus", "prometheusSpec")),
        Row(DEPLOYMENT, "alertmanager", ("alertmanager", "alertmanagerSpec")),
        Row(DEPLOYMENT, "grafana", ("grafana",)),
        Row(DEPLOYMENT, "kube-state-metrics", ("kube-state-metrics",)),
    ),
}


def workloads(bundle: Bundle) -> tuple[Workload, ...]:
    """Return every workload of a bundle's charts and objects; raises ``KeyError`` for a chart without a row."""
    of_charts = [each for release in bundle.charts for each in of_chart(release)]
    of_objects = [
        Workload(release.name, found["metadata"]["name"], found["kind"], *_placement(found["spec"]["template"]["spec"]))
        for release in bundle.object_releases
        for found in release.objects
        if found["kind"] in (DAEMONSET, DEPLOYMENT)
    ]
    return (*of_charts, *of_objects)


def of_chart(release: ChartRelease) -> Iterator[Workload]:
    """Return the workloads of one chart, with the values of its release."""
    for row in CHARTS[release.key]:
        if all(value_at(release.values, path, default) for path, default in row.on):
            given = value_at(release.values, ".".join(row.at), {}) if row.at else release.values
            asked = {key: given[key] for key in ("nodeSelector", "affinity", "tolerations") if key in given}
            selector, affinity, tolerations = _placement(merged(row.defaults or {}, asked))
            if release.key == "aws-efa-k8s-device-plugin":
                affinity = _efa_affinity(release.values)
            yield Workload(release.name, row.name, row.kind, selector, affinity, (*row.fixed, *tolerations))


def value_at(values: Map, path: str, default: Any) -> Any:
    """Return a value by its path of names separated by dots."""
    found: Any = values
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return default
        found = found[step]
    return found


def _placement(pod: Map) -> tuple[Map, Map, Sequence[Map]]:
    return pod.get("nodeSelector", {}), pod.get("affinity", {}), pod.get("tolerations", ())


def _efa_affinity(values: Map) -> dict[str, Any]:
    """Return the affinity from the chart's template; its own list contains the types with EFA."""
    from eks_hardware.catalogue import load

    labels = value_at(values, "supportedInstanceLabels", {})
    keys = labels.get("keys", ["node.kubernetes.io/instance-type"])
    given = labels.get("values", [kind.name for kind in load().select() if kind.supports_efa])
    *others, last = [[(key, "In", given)] for key in keys]
    return _terms(*others, [*last, ("eks.amazonaws.com/compute-type", "NotIn", ["auto"])])
