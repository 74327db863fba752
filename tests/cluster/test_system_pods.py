"""The scheduler places the cluster's own software on the nodes that a new cluster starts with.

Those are the nodes of groups without taints that do not start empty. Replicas and requests are the recorded ones of
``config/facts/system_pods.json``, tolerations those of ``addons.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.local.cluster import Cluster
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.testing import Template
from helpers.kubernetes.objects import Object, bundle_of, manifest_list, resolved_named
from helpers.polling import eventually
from helpers.strategies import SHIPPED

from .test_install_scripts import node_manifest, node_objects

LABEL = "system-pods"


def first_nodes(resolved: ResolvedStrategy, template: Template) -> list[Object]:
    """Return the nodes that exist before Karpenter starts any."""
    each_kind = node_objects(template, resolved.name).values()
    found = []
    for group in resolved.node_groups:
        node = next(each for each in each_kind if each.source == group.name and not each.pool)
        names = (f"{group.name}-{number}" for number in range(group.desired_size))
        found += [node_manifest(name, node) for name in names]
    return found


def controller(kind: str, name: str, row: Mapping[str, Any], tolerations: object) -> Object:
    """Return a Deployment or DaemonSet with recorded requests; replicas of Karpenter never share a node."""
    labels = {LABEL: f"{name}-{kind.lower()}"}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    requests = {"cpu": f"{row['millicores']}m", "memory": f"{row['mib']}Mi"}
    pod: dict[str, Any] = {
        "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        "tolerations": tolerations,
    }
    if name == "karpenter":
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": labels[LABEL], "namespace": "kube-system", "labels": labels},
        "spec": {
            **({"replicas": row["replicas"]} if kind == "Deployment" else {}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def software(resolved: ResolvedStrategy) -> list[Object]:
    """Return the add-ons of a strategy and the controllers of its charts."""
    recorded, addons = facts.system_pods(), facts.addons()
    wanted = {each.name for each in resolved.cluster.addons} | {each.chart for each in bundle_of(resolved.name).charts}
    controllers = [
        controller("Deployment", name, row, addons.get(name, {}).get("tolerations", []))
        for name, row in recorded["deployments"].items()
        if name in wanted
    ]
    everywhere = [{"operator": "Exists"}]
    agents = [
        controller("DaemonSet", name, row, everywhere) for name, row in recorded["daemonsets"].items() if name in wanted
    ]
    return [*agents, *controllers]


def test_a_new_cluster_has_room_for_its_own_software(server: Cluster, templates: Mapping[str, Template]) -> None:
    for name in SHIPPED:
        resolved = resolved_named(name)
        nodes, objects = first_nodes(resolved, templates[name]), software(resolved)
        counts = {"Deployment": 0, "DaemonSet": len(nodes)}
        expected = sum(each["spec"].get("replicas", counts[each["kind"]]) for each in objects)
        names = {each["metadata"]["name"] for each in objects}
        assert {"coredns-deployment", "metrics-server-deployment", "vpc-cni-daemonset"} <= names
        server.kubectl("create", "-f", "-", stdin=manifest_list([*nodes, *objects]))
        assert eventually(lambda: phases(server), ["Running"] * expected) == ["Running"] * expected, name
        server.kubectl("delete", "-f", "-", "--wait=false", stdin=manifest_list(objects))
        assert eventually(lambda: phases(server), []) == []
        server.kubectl("delete", "node", "--all", "--wait=false")


def phases(server: Cluster) -> list[str]:
    """Return the phases of the software's pods."""
    found = json.loads(server.kubectl("get", "pods", "-n", "kube-system", "-l", LABEL, "-o", "json"))["items"]
    return [each["status"]["phase"] for each in found]
