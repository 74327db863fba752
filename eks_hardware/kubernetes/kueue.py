"""Kueue: jobs wait until the hardware they request is free, within quotas derived from the strategy.

Each kind of hardware has a ClusterQueue, and a LocalQueue of the same name in each team's namespace. With a single
queue, a job without accelerators would use accelerated nodes as soon as the CPU nodes are full. Flavors of one queue
share their quota for CPU and memory, and a flavor's tolerations admit any pod.

Kueue adds the flavor's labels and tolerations to a job's pods, so a job only has to name its queue::

    metadata: {labels: {kueue.x-k8s.io/queue-name: nvidia-gpu}}

Sources: https://github.com/kubernetes-sigs/kueue/tree/v0.19.2 (apis/kueue/v1beta2, apis/config/v1beta2, charts/kueue).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from eks_hardware.catalogue import Hardware
from eks_hardware.kubernetes.charts import chart_release
from eks_hardware.kubernetes.flavors import Flavor, flavors, neuron_cores_per_device
from eks_hardware.kubernetes.model import ChartRelease, Object, ObjectRelease
from eks_hardware.kubernetes.teams import QUEUES_LABEL
from eks_hardware.kubernetes.teams import RELEASE as NAMESPACES
from eks_hardware.kubernetes.yaml_text import yaml_text
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.resolve.extended_resources import NEURON, NEURON_CORE

CHART = "kueue"
QUEUES = "kueue-queues"
"""The name of the release with flavors and queues."""

API_VERSION = "kueue.x-k8s.io/v1beta2"

_KUBEFLOW = ("jaxjob", "mpijob", "paddlejob", "pytorchjob", "tfjob", "xgboostjob")

# An integration whose CRD is missing waits until the CRD is installed (pkg/controller/jobframework/setup.go).
_FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "trainer.kubeflow.org/trainjob",
    *(f"kubeflow.org/{job}" for job in _KUBEFLOW),
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "pod",
    "deployment",
    "statefulset",
)

# A job that requests a resource without a quota would wait forever.
_NOT_COUNTED = ("ephemeral-storage", "hugepages-")


def releases(resolved: ResolvedStrategy) -> Iterator[ChartRelease | ObjectRelease]:
    """Yield the chart, then flavors and queues; nothing unless the strategy enables Kueue."""
    if CHART not in resolved.kubernetes.charts:
        return
    yield chart_release(resolved, CHART, _values(resolved))
    node_flavors = flavors(resolved)
    if node_flavors:
        yield ObjectRelease(
            name=QUEUES,
            namespace=resolved.kubernetes.charts[CHART].namespace,
            after=(CHART, NAMESPACES),
            objects=tuple(_objects(resolved, node_flavors)),
        )


def _values(resolved: ResolvedStrategy) -> dict[str, object]:
    # This configuration replaces the chart's completely, so it repeats the chart's other settings.
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Pod": 5,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "manageJobsWithoutQueueName": False,
        # The chart's webhooks use the selector, too, so that pods in other namespaces can start while Kueue is down.
        "managedJobsNamespaceSelector": _namespace_selector(resolved),
        "integrations": {"frameworks": list(_FRAMEWORKS)},
        "resources": {"excludeResourcePrefixes": list(_NOT_COUNTED), **_neuron_cores(resolved)},
    }
    return {
        "controllerManager": {
            # Without a running controller, no job is admitted and no pod in a team's namespace is created.
            "replicas": 2,
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml_text(configuration)},
    }


def _neuron_cores(resolved: ResolvedStrategy) -> dict[str, object]:
    """Return settings that count NeuronCores as parts of a device; with its own quota, each device would count twice.

    Kueue rounds up requests, so a pod that requests one of two cores counts as a whole device
    (pkg/workload/workload.go, applyResourceTransformations; pkg/resources/requests.go, ResourceValue).
    """
    cores = neuron_cores_per_device(resolved)
    if cores is None:
        return {}
    part = "1" if cores == 1 else f"{math.ceil(1000 / cores)}m"
    return {"transformations": [{"input": NEURON_CORE, "strategy": "Replace", "outputs": {NEURON: part}}]}


def _namespace_selector(resolved: ResolvedStrategy) -> dict[str, object]:
    if resolved.kubernetes.teams:
        return {"matchLabels": {QUEUES_LABEL: "true"}}
    return {"matchLabels": {"kubernetes.io/metadata.name": "default"}}


def _objects(resolved: ResolvedStrategy, node_flavors: tuple[Flavor, ...]) -> Iterator[Object]:
    by_hardware: dict[Hardware, list[Flavor]] = {}
    for flavor in node_flavors:
        by_hardware.setdefault(flavor.hardware, []).append(flavor)
    namespaces = [team.name for team in resolved.kubernetes.teams] or ["default"]
    for flavor in node_flavors:
        yield _object("ResourceFlavor", flavor.name, _flavor_spec(flavor))
    for hardware, of_hardware in by_hardware.items():
        spec = {"namespaceSelector": _namespace_selector(resolved), "resourceGroups": [_resource_group(of_hardware)]}
        yield _object("ClusterQueue", hardware.value, spec)
    for namespace in namespaces:
        for hardware in by_hardware:
            yield _object("LocalQueue", hardware.value, {"clusterQueue": hardware.value}, namespace=namespace)


def _object(kind: str, name: str, spec: Mapping[str, object], *, namespace: str | None = None) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _flavor_spec(flavor: Flavor) -> dict[str, object]:
    spec: dict[str, object] = {"nodeLabels": dict(flavor.labels)}
    if flavor.taints:
        spec["nodeTaints"] = [dict(taint) for taint in flavor.taints]
    if flavor.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in flavor.tolerations]
    return spec


def _resource_group(of_hardware: list[Flavor]) -> dict[str, object]:
    # Every flavor names every resource of the group, in the same order.
    others = sorted({name for flavor in of_hardware for name in flavor.quota} - {"cpu", "memory"})
    covered = ["cpu", "memory", *others]
    return {
        "coveredResources": covered,
        "flavors": [
            {
                "name": flavor.name,
                "resources": [{"name": name, "nominalQuota": flavor.quota.get(name, "0")} for name in covered],
            }
            for flavor in of_hardware
        ],
    }
