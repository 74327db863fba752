"""The pods of EKS add-ons on a local cluster.

The emulator records add-ons and runs nothing. This module creates each add-on as a Deployment or DaemonSet with the
recorded replicas and requests (``config/facts/system_pods.json``) and the tolerations of ``config/facts/addons.json``.
The add-on's configuration overrides them. The pods request the same resources as on AWS, and do nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.local.chart_workloads import affinity_to
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.readback import Account
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.system_pods import replicas, values_if_on

Map = Mapping[str, Any]

_LABEL = "eks-hardware.local/addon"
_NAMESPACE = "kube-system"
_KINDS = "deployments,daemonsets"
_EVERY_TAINT = ({"operator": "Exists"},)
_PLACEMENT = ("nodeSelector", "affinity", "topologySpreadConstraints", "tolerations")


def apply(account: Account, cluster: Cluster, name: str) -> tuple[list[str], list[str]]:
    """Create the objects of an EKS cluster's add-ons on a local cluster, and delete objects of other add-ons.

    Args:
        account: the emulated account.
        cluster: the local cluster.
        name: the name of the EKS cluster.

    Returns:
        All add-ons, and the add-ons without recorded pods, for which nothing is created.
    """
    eks = account.client("eks")
    addons = {
        each: str(eks.describe_addon(clusterName=name, addonName=each)["addon"].get("configurationValues") or "")
        for each in account.items("eks", "list_addons", "addons", clusterName=name)
    }
    wanted = list(objects(addons))
    selector = f"{_LABEL},{_LABEL} notin ({','.join(addons)})" if addons else _LABEL
    cluster.kubectl("delete", _KINDS, "--all-namespaces", "-l", selector, "--ignore-not-found")
    if wanted:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": wanted})
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
    made = {each["metadata"]["labels"].get(_LABEL) for each in wanted if "labels" in each["metadata"]}
    return sorted(addons), sorted(addons.keys() - made)


def not_running(cluster: Cluster) -> list[str]:
    """Describe each Deployment that charts wait for and that has too few ready pods, with the scheduler's reason."""
    known = facts.addons()
    items = json.loads(cluster.kubectl("get", "deployments,pods", "--all-namespaces", "-l", _LABEL, "-o", "json"))
    by_kind: dict[str, dict[str, list[Map]]] = {"Deployment": {}, "Pod": {}}
    for item in items["items"]:
        by_kind[item["kind"]].setdefault(item["metadata"]["labels"][_LABEL], []).append(item)
    lines = []
    for name, (deployment, *_) in by_kind["Deployment"].items():
        running, wanted = deployment["status"].get("readyReplicas", 0), deployment["spec"]["replicas"]
        if running < wanted and (name not in known or known[name]["before_charts"]):
            reasons = {
                condition.get("message", condition.get("reason", ""))
                for pod in by_kind["Pod"].get(name, ())
                for condition in pod.get("status", {}).get("conditions", ())
                if condition["type"] == "PodScheduled" and condition["status"] == "False"
            }
            lines.append("\n  ".join([f"{name}: {running} of {wanted} pods run", *sorted(reasons)]))
    return lines


def objects(addons: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the namespaces, Deployments and DaemonSets of add-ons.

    Args:
        addons: the configuration of each add-on, in YAML or JSON as EKS accepts it; empty for the defaults.
    """
    known = facts.addons()
    namespaces = {name: known[name].get("namespace", _NAMESPACE) if name in known else _NAMESPACE for name in addons}
    for namespace in sorted(set(namespaces.values()) - {_NAMESPACE}):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for name, text in addons.items():
        configuration = yaml.safe_load(text) or {}
        tolerations = known[name].get("tolerations", []) if name in known else []
        for kind, of, row in _rows(name):
            if values_if_on(configuration, row.get("values", "")) is not None:
                made = workload(kind, of, row, configuration, software=name, tolerations=tolerations)
                made["metadata"]["namespace"] = namespaces[name]
                yield made


def workload(
    kind: str,
    name: str,
    row: Map,
    configuration: Map | None = None,
    *,
    software: str = "",
    tolerations: Sequence[object] = (),
) -> dict[str, Any]:
    """Return a Deployment or DaemonSet in ``kube-system`` with recorded requests.

    The values of individual sidecars are ignored: sidecars keep their recorded requests.

    Args:
        kind: ``Deployment`` or ``DaemonSet``.
        name: the workload's name.
        row: the workload's row in ``config/facts/system_pods.json``.
        configuration: the values that the user sets.
        software: the name of the add-on or chart, if it differs from the workload's.
        tolerations: the default tolerations of a Deployment's pods.
    """
    configuration = configuration or {}
    given: Map = values_if_on(configuration, row.get("values", "")) or {}
    labels = {"k8s-app": name, _LABEL: software or name}
    pod: dict[str, Any] = {
        "containers": list(_containers(row, given)),
        **_placement(kind, row, configuration, given, tolerations),
    }
    if row.get("critical", True):
        # As in their charts: these pods preempt others when the node is full.
        pod["priorityClassName"] = "system-node-critical" if kind == "DaemonSet" else "system-cluster-critical"
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": _NAMESPACE, "labels": labels},
        "spec": {
            **({"replicas": replicas(given, replicas(configuration, row["replicas"]))} if kind == "Deployment" else {}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _rows(addon: str) -> Iterator[tuple[str, str, Map]]:
    """Yield the kind, name and row of each workload of an add-on."""
    recorded = facts.system_pods()
    if addon in recorded["deployments"]:
        deployment = recorded["deployments"][addon]
        yield "Deployment", deployment.get("workload", addon), deployment
    for name, row in recorded["daemonsets"].items():
        if row["addon"] == addon:
            yield "DaemonSet", name, row


def _containers(row: Map, given: Map) -> Iterator[dict[str, Any]]:
    """Yield the main containers, with the configured resources, and one container for all sidecars."""
    requests = _requests(row["millicores"], row["mib"])
    resources = merged({"requests": requests} if requests else {}, given.get("resources") or {})
    for number in range(row.get("containers", 1)):
        yield {"name": f"main-{number}" if number else "main", "image": "none", "resources": resources}
    if sidecars := _requests(row.get("sidecar_millicores", 0), row.get("sidecar_mib", 0)):
        yield {"name": "sidecars", "image": "none", "resources": {"requests": sidecars}}


def _requests(millicores: int, mib: int) -> dict[str, object]:
    amounts = {"cpu": (millicores, "m"), "memory": (mib, "Mi")}
    return {key: f"{amount}{unit}" for key, (amount, unit) in amounts.items() if amount}


def _placement(kind: str, row: Map, configuration: Map, given: Map, tolerations: Sequence[object]) -> dict[str, Any]:
    """Return the fields of a pod that decide where it runs."""
    own: Any = tolerations
    if kind == "DaemonSet":
        own = configuration.get("tolerations") or row.get("tolerations", _EVERY_TAINT)
    placement = {"tolerations": own, **{key: given[key] for key in _PLACEMENT if given.get(key)}}
    if row.get("tolerate_all_taints"):
        added = given.get("tolerations") or []
        placement["tolerations"] = _EVERY_TAINT if given.get("tolerateAllTaints", True) else [*tolerations, *added]
    if "hardware" in row and "affinity" not in placement:
        placement["affinity"] = _on_types(row)
    return placement


def _on_types(row: Map) -> dict[str, Any]:
    """Return an affinity to the instance types of a row's hardware."""
    catalogue, architecture = load(), row.get("architecture")
    names = [
        kind.name
        for kind in map(catalogue.get, catalogue.names)
        if kind.hardware.value in row["hardware"] and architecture in (None, kind.architecture)
    ]
    return affinity_to([("node.kubernetes.io/instance-type", "In", names)])
