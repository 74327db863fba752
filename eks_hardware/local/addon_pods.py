"""The pods of EKS add-ons on a local cluster.

The emulator records add-ons and runs nothing. Here each becomes a Deployment or DaemonSet with the recorded replicas
and requests (``config/facts/system_pods.json``), the tolerations of ``config/facts/addons.json``, and what the add-on's
configuration changes. They take the room that they take on AWS. They do nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.readback import Account

Map = Mapping[str, Any]

_LABEL = "eks-hardware.local/addon"
_NAMESPACE = "kube-system"
_KINDS = "deployments,daemonsets"
_EVERY_TAINT = ({"operator": "Exists"},)
_PLACEMENT = ("nodeSelector", "affinity", "topologySpreadConstraints", "tolerations")


def apply(account: Account, cluster: Cluster, name: str) -> tuple[list[str], list[str]]:
    """Make the objects of a local cluster agree with the add-ons of an EKS cluster.

    Args:
        account: the emulated account.
        cluster: the local cluster.
        name: the name of the EKS cluster.

    Returns:
        The add-ons, and those of them without recorded pods, for which nothing is created.
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
    """Return a line for each Deployment that charts wait for and that lacks pods, with the scheduler's reason."""
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
        addons: the configuration of each add-on, YAML or JSON as EKS takes it, or an empty text.
    """
    recorded, known = facts.system_pods(), facts.addons()
    namespaces = {name: known[name].get("namespace", _NAMESPACE) if name in known else _NAMESPACE for name in addons}
    for namespace in sorted(set(namespaces.values()) - {_NAMESPACE}):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for name, text in addons.items():
        configuration = yaml.safe_load(text) or {}
        for kind, rows in (("Deployment", recorded["deployments"]), ("DaemonSet", recorded["daemonsets"])):
            if name in rows:
                tolerations = known[name].get("tolerations", []) if name in known else []
                made = workload(kind, name, rows[name], configuration, tolerations=tolerations)
                made["metadata"]["namespace"] = namespaces[name]
                yield made


def workload(
    kind: str, name: str, row: Map, configuration: Map | None = None, *, tolerations: Sequence[object] = ()
) -> dict[str, Any]:
    """Return a Deployment or DaemonSet in ``kube-system`` with recorded requests.

    Args:
        kind: ``Deployment`` or ``DaemonSet``.
        name: the add-on or chart.
        row: its row in ``config/facts/system_pods.json``.
        configuration: the values that the user sets.
        tolerations: those of a Deployment's pods by default; pods of a DaemonSet tolerate every taint.
    """
    values = (configuration or {}).get(row["values"]) if row.get("values") else configuration
    given: Map = values if isinstance(values, Mapping) else {}
    requests = {"cpu": f"{row['millicores']}m", "memory": f"{row['mib']}Mi"}
    resources = {"requests": {key: amount for key, amount in requests.items() if not amount.startswith("0")}}
    pod: dict[str, Any] = {
        "containers": [{"name": "main", "image": "none", "resources": given.get("resources") or resources}],
        "tolerations": _EVERY_TAINT if kind == "DaemonSet" else tolerations,
        # As in their charts: they displace pods that took their room.
        "priorityClassName": "system-node-critical" if kind == "DaemonSet" else "system-cluster-critical",
        **{key: given[key] for key in _PLACEMENT if given.get(key)},
    }
    labels = {"k8s-app": row.get("workload", name), _LABEL: name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": row.get("workload", name), "namespace": _NAMESPACE, "labels": labels},
        "spec": {
            **({"replicas": given.get("replicaCount", row["replicas"])} if kind == "Deployment" else {}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
