"""The scheduler places the cluster's own software on the nodes that a new cluster starts with.

Those are the nodes of groups without taints that do not start empty. Replicas and requests are the recorded ones of
``config/facts/system_pods.json``, tolerations those of ``addons.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eks_hardware import facts
from eks_hardware.local import addon_pods
from eks_hardware.local.cluster import Cluster
from eks_hardware.resolve import ResolvedStrategy
from eks_hardware.testing import Template
from helpers.kubernetes.objects import Object, bundle_of, manifest_list, resolved_named
from helpers.polling import eventually
from helpers.strategies import SHIPPED

from .test_install_scripts import node_manifest, node_objects


def first_nodes(resolved: ResolvedStrategy, template: Template) -> list[Object]:
    """Return the nodes that exist before Karpenter starts any."""
    each_kind = node_objects(template, resolved.name).values()
    found = []
    for group in resolved.node_groups:
        node = next(each for each in each_kind if each.source == group.name and not each.pool)
        names = (f"{group.name}-{number}" for number in range(group.desired_size))
        found += [node_manifest(name, node) for name in names]
    return found


def deployment_of(name: str, row: Mapping[str, Any]) -> Object:
    """Return the Deployment of a chart with recorded requests; replicas of Karpenter never share a node."""
    made = addon_pods.workload("Deployment", row.get("workload", name), row, software=name)
    if name == "karpenter":
        apart = {"labelSelector": made["spec"]["selector"], "topologyKey": "kubernetes.io/hostname"}
        made["spec"]["template"]["spec"]["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        }
    return made


def software(resolved: ResolvedStrategy) -> list[Object]:
    """Return the add-ons of a strategy and the controllers of its charts."""
    charts = {each.chart for each in bundle_of(resolved.name).charts}
    given = {each.name: json.dumps(each.configuration, default=dict) for each in resolved.cluster.addons}
    rows = facts.system_pods()["deployments"]
    return [*addon_pods.objects(given), *(deployment_of(name, row) for name, row in rows.items() if name in charts)]


def test_a_new_cluster_has_room_for_its_own_software(server: Cluster, templates: Mapping[str, Template]) -> None:
    for name in SHIPPED:
        resolved = resolved_named(name)
        nodes, objects = first_nodes(resolved, templates[name]), software(resolved)
        expected = sum(each["spec"].get("replicas", len(nodes_of(each, nodes))) for each in objects if "spec" in each)
        names = {each["metadata"]["name"] for each in objects}
        assert {"coredns", "metrics-server", "aws-node", "kube-proxy"} <= names
        server.kubectl("create", "-f", "-", stdin=manifest_list([*nodes, *objects]))
        assert eventually(lambda: phases(server), ["Running"] * expected) == ["Running"] * expected, name
        server.kubectl("delete", "-f", "-", "--wait=false", stdin=manifest_list(objects))
        assert eventually(lambda: phases(server), []) == []
        server.kubectl("delete", "node", "--all", "--wait=false")


def nodes_of(daemonset: Object, nodes: list[Object]) -> list[Object]:
    """Return the nodes of the instance types that a DaemonSet's affinity names; all without an affinity."""
    affinity = daemonset["spec"]["template"]["spec"].get("affinity", {})
    if "nodeAffinity" not in affinity:
        return nodes
    (term,) = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    return [each for each in nodes if each["metadata"]["labels"][expression["key"]] in expression["values"]]


def phases(server: Cluster) -> list[str]:
    """Return the phases of the software's pods."""
    found = json.loads(server.kubectl("get", "pods", "-n", "kube-system", "-l", "k8s-app", "-o", "json"))["items"]
    return [each["status"]["phase"] for each in found]


class Recorded:
    """An account whose EKS cluster has these add-ons, by name with their configuration."""

    def __init__(self, **addons: str) -> None:
        self.addons = {name.replace("_", "-"): text for name, text in addons.items()}

    def client(self, service: str) -> Recorded:
        assert service == "eks"
        return self

    def items(self, *_: str, clusterName: str) -> list[str]:  # noqa: N803
        assert clusterName == "mine"
        return list(self.addons)

    def describe_addon(self, *, clusterName: str, addonName: str) -> Any:  # noqa: N803
        assert clusterName == "mine"
        return {"addon": {"configurationValues": self.addons[addonName] or None}}


def test_pods_follow_the_add_ons(server: Cluster) -> None:
    def of(kind: str) -> dict[str, Any]:
        found = json.loads(server.kubectl("get", kind, "-A", "-l", "eks-hardware.local/addon", "-o", "json"))["items"]
        return {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"] for each in found}

    ebs = "controller: {replicaCount: 3, nodeSelector: {a: b}}\nnode: {resources: {requests: {cpu: 1}}}"
    account: Any = Recorded(
        coredns="", aws_ebs_csi_driver=ebs, amazon_cloudwatch_observability="{}", unheard_of='{"replicaCount": 2}'
    )
    names, without = addon_pods.apply(account, server, "mine")
    assert names == ["amazon-cloudwatch-observability", "aws-ebs-csi-driver", "coredns", "unheard-of"]
    assert without == ["unheard-of"]
    controllers, agents = of("deployments"), of("daemonsets")
    assert {name: spec["replicas"] for name, spec in controllers.items()} == {
        "amazon-cloudwatch/amazon-cloudwatch-observability-controller-manager": 1,
        "kube-system/coredns": 2,
        "kube-system/ebs-csi-controller": 3,
    }
    assert controllers["kube-system/ebs-csi-controller"]["template"]["spec"]["nodeSelector"] == {"a": "b"}
    of_cloudwatch = ("cloudwatch-agent", "dcgm-exporter", "fluent-bit", "neuron-monitor")
    assert agents.keys() == {*(f"amazon-cloudwatch/{name}" for name in of_cloudwatch), "kube-system/ebs-csi-node"}
    driver, _ = agents["kube-system/ebs-csi-node"]["template"]["spec"]["containers"]
    assert driver["resources"]["requests"] == {"cpu": "1", "memory": "40Mi"}
    waiting = [
        "amazon-cloudwatch-observability: 0 of 1 pods run\n  no nodes available to schedule pods",
        "aws-ebs-csi-driver: 0 of 3 pods run\n  no nodes available to schedule pods",
        "coredns: 0 of 2 pods run\n  no nodes available to schedule pods",
    ]
    assert eventually(lambda: sorted(addon_pods.not_running(server)), waiting, seconds=60) == waiting

    account.addons = {"coredns": "replicaCount: 1"}
    addon_pods.apply(account, server, "mine")
    assert [spec["replicas"] for spec in of("deployments").values()] == [1]
    assert of("daemonsets") == {}
    account.addons = {}
    assert addon_pods.apply(account, server, "mine") == ([], [])
    assert of("deployments") == {}
