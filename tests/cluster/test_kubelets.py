"""Instances become Nodes as their user data says, and have devices while the device plugin's pod runs there."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.local import kubelets as module
from eks_hardware.local.cluster import Cluster
from eks_hardware.local.cluster_client import ApiError
from eks_hardware.local.kubelets import Kubelets
from eks_hardware.local.node_plugins import EFA as EFA_PLUGIN
from eks_hardware.local.node_plugins import NEURON as NEURON_PLUGIN
from eks_hardware.local.node_plugins import NVIDIA as NVIDIA_PLUGIN
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.resolve.extended_resources import EFA, GPU, NEURON, NEURON_CORE
from eks_hardware.testing import Template
from helpers.instances import CLUSTER, ZONE, ZONE_ID, StubAccount
from helpers.kubernetes.objects import Object, bundle_of, manifest_list
from helpers.polling import eventually

Templates = Mapping[str, Template]

CONFIGS = {
    "default": "version: v1\n",
    "time-slicing-8": "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}\n",
}


@pytest.fixture(scope="module")
def cluster(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster in which kwok keeps Nodes ready."""
    with Cluster(tmp_path_factory.mktemp("kubelets"), programs=tools, kwok=True) as running:
        yield running


@pytest.fixture
def account(cluster: Cluster) -> Iterator[StubAccount]:
    """Return an account without instances; afterwards their Nodes and the plugins are gone."""
    found = StubAccount(cluster.endpoint, base64.b64encode(cluster.certificate_authority.read_bytes()).decode())
    yield found
    found.launched.clear()
    found.errors.clear()
    Kubelets(found.as_account(), cluster).sync()
    cluster.kubectl("delete", "daemonsets,configmaps", "-n", "kube-system", "-l", "plugin", "--wait=false")


def registered(cluster: Cluster, account: StubAccount, instance_id: str) -> Object:
    return cluster.request("GET", f"/api/v1/nodes/{account.launched[instance_id]['PrivateDnsName']}")


def node_names(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.request("GET", "/api/v1/nodes")["items"]]


def is_ready(cluster: Cluster, account: StubAccount, instance_id: str) -> bool:
    found = registered(cluster, account, instance_id)
    ready = [each["status"] for each in found["status"].get("conditions", ()) if each["type"] == "Ready"]
    taints = [each["key"] for each in found["spec"].get("taints", ())]
    return ready == ["True"] and "node.kubernetes.io/not-ready" not in taints


def plugin_objects(name: str, *, configs: Mapping[str, str] | None = None, default: str = "") -> list[Object]:
    """Return a device plugin on every node, with a ConfigMap as in the charts of NVIDIA."""
    labels, place = {"plugin": name}, {"name": name, "namespace": "kube-system", "labels": {"plugin": name}}
    spec: dict[str, Any] = {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "none", "env": [{"name": "DEFAULT_CONFIG", "value": default}]}],
    }
    objects: list[Object] = []
    if configs:
        spec["volumes"] = [{"name": "available-configs", "configMap": {"name": f"{name}-configs"}}]
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {**place, "name": f"{name}-configs"},
                "data": dict(configs),
            }
        )
    template = {"metadata": {"labels": labels}, "spec": spec}
    return [
        *objects,
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": place,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
    ]


def device_resources(found: Object) -> dict[str, str]:
    """Return the extended resources of a Node that pods can use."""
    amounts = found["status"]["allocatable"]
    return {key: value for key, value in amounts.items() if "/" in key and value != "0"}


def test_a_gpu_node_with_efa(cluster: Cluster, account: StubAccount, templates: Templates) -> None:
    instance_id = account.launch_group(templates["mixed-hardware"], "gpu-training")
    instance = account.launched[instance_id]
    with Kubelets(account.as_account(), cluster) as kubelets:
        assert eventually(lambda: is_ready(cluster, account, instance_id), ignored=(ApiError,)) is True
        found = registered(cluster, account, instance_id)
        assert found["spec"]["providerID"] == f"aws:///{ZONE}/{instance_id}"
        labels = found["metadata"]["labels"]
        assert (
            labels.items()
            >= {
                "eks.amazonaws.com/nodegroup": "gpu-training",
                "hardware-type": "nvidia-gpu",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": instance["PrivateDnsName"],
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "p4d.24xlarge",
                "nvidia.com/gpu.present": "true",
                "topology.k8s.aws/zone-id": ZONE_ID,
                "topology.kubernetes.io/region": "us-west-2",
                "topology.kubernetes.io/zone": ZONE,
            }.items()
        )
        assert {"key": GPU, "value": "true", "effect": "NoSchedule"} in found["spec"]["taints"]
        allocatable = found["status"]["allocatable"]
        assert allocatable["pods"] == "250"
        assert allocatable["hugepages-2Mi"] == "10256Mi"
        assert allocatable["cpu"] == "95690m"
        assert device_resources(found) == {}

        plugins = manifest_list([*plugin_objects(NVIDIA_PLUGIN), *plugin_objects(EFA_PLUGIN)])
        cluster.kubectl("apply", "-f", "-", stdin=plugins)
        expected = {GPU: "8", EFA: "4"}
        assert eventually(lambda: device_resources(registered(cluster, account, instance_id)), expected) == expected
        cluster.kubectl("delete", "daemonset", NVIDIA_PLUGIN, "-n", "kube-system")
        assert eventually(lambda: device_resources(registered(cluster, account, instance_id)), {EFA: "4"}) == {EFA: "4"}

        instance["State"]["Name"] = "terminated"
        assert eventually(lambda: node_names(cluster), []) == []
        kubelets.check()
        assert kubelets.refused == {}


def test_the_plugin_shares_gpus_by_its_configuration(
    cluster: Cluster, account: StubAccount, templates: Templates
) -> None:
    """The label of the node selects the configuration of the plugin, which shares each GPU eight times."""
    instance_id = account.launch_group(templates["gpu-sharing"], "notebooks")
    kubelets = Kubelets(account.as_account(), cluster)
    kubelets.sync()
    name = account.launched[instance_id]["PrivateDnsName"]
    cluster.kubectl(
        "apply", "-f", "-", stdin=manifest_list(plugin_objects(NVIDIA_PLUGIN, configs=CONFIGS, default="default"))
    )

    def phases() -> list[tuple[str, str]]:
        pods = cluster.request("GET", "/api/v1/namespaces/kube-system/pods")["items"]
        return [(each["spec"].get("nodeName"), each["status"]["phase"]) for each in pods]

    assert eventually(phases, [(name, "Running")]) == [(name, "Running")]
    kubelets.sync()
    assert device_resources(registered(cluster, account, instance_id)) == {GPU: "8"}


def test_the_gpu_operator_partitions_gpus(
    cluster: Cluster, account: StubAccount, templates: Templates, tools: Mapping[str, Path], tmp_path: Path
) -> None:
    """Node Feature Discovery finds the GPUs, and its label lets the plugin's pods run."""
    groups = {
        "a100-sevenths": {"nvidia.com/mig-1g.5gb": "56"},
        "h100-halves": {"nvidia.com/mig-3g.40gb": "16"},
        "notebooks": {GPU: "8"},
        "h100-bottlerocket": {GPU: "56"},
        "system": {},
    }
    ids = {name: account.launch_group(templates["gpu-sharing"], name) for name in groups}
    (release,) = (each for each in bundle_of("gpu-sharing").charts if each.chart == "gpu-operator")
    chart = Chart(release.chart, release.version)
    charts_folder([chart], tmp_path, tools)
    values = tmp_path / "values.yaml"
    values.write_text(json.dumps(release.values, default=dict), encoding="utf-8")
    command: list[str | Path] = [
        tools["helm"],
        "template",
        "x",
        tmp_path / chart.archive,
        "--namespace",
        "kube-system",
        "-f",
        values,
    ]
    objects = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    cluster.kubectl("apply", "-f", "-", stdin=objects)
    with Kubelets(account.as_account(), cluster):

        def resources() -> dict[str, dict[str, str]]:
            return {name: device_resources(registered(cluster, account, each)) for name, each in ids.items()}

        assert eventually(resources, groups, ignored=(ApiError,)) == groups
    cluster.kubectl("delete", "--wait=false", "-f", "-", stdin=objects)


def test_neuron(cluster: Cluster, account: StubAccount, templates: Templates) -> None:
    instance_id = account.launch_group(templates["mixed-hardware"], "trainium-training")
    cluster.kubectl("apply", "-f", "-", stdin=manifest_list(plugin_objects(NEURON_PLUGIN)))
    with Kubelets(account.as_account(), cluster):
        expected = {NEURON: "16", NEURON_CORE: "32"}
        assert eventually(
            lambda: device_resources(registered(cluster, account, instance_id)), expected, ignored=(ApiError,)
        ) == (expected)


def test_bottlerocket_has_its_own_plugin(cluster: Cluster, account: StubAccount, templates: Templates) -> None:
    """It partitions each of the 8 GPUs into 7 slices."""
    instance_id = account.launch_group(templates["gpu-sharing"], "h100-bottlerocket")
    kubelets = Kubelets(account.as_account(), cluster)
    kubelets.sync()
    found = registered(cluster, account, instance_id)
    assert kubelets.refused == {}
    assert device_resources(found) == {GPU: "56"}
    assert found["status"]["allocatable"]["pods"] == "250"
    assert found["metadata"]["labels"]["workload-type"] == "inference"
    assert {"key": GPU, "value": "true", "effect": "NoSchedule"} in found["spec"]["taints"]
    # The disks of the instance, which the user data prepares.
    assert found["status"]["capacity"]["ephemeral-storage"] == f"{30400 * 10**9 // 1024}Ki"


def test_an_instance_does_not_register(cluster: Cluster, account: StubAccount, templates: Templates) -> None:
    mixed = templates["mixed-hardware"]
    good = account.user_data[account.launch_group(mixed, "system")]
    other = base64.b64encode(b"another authority").decode()
    cases = {
        good[: len(good) // 2]: "must be a complete MIME multipart document: CloseBoundaryNotFoundDefect",
        b"#!/bin/bash\necho hello\n": "must have an object of kind NodeConfig",
        b"": "launched without user data",
        good.replace(b"NodeConfig", b"NodeConfiguration"): "must have an object of kind NodeConfig",
        good.replace(CLUSTER.encode(), b"another"): f"must name a cluster of the account ({CLUSTER}), got 'another'",
        good.replace(b"https://127", b"https://10"): ", got https://10",
        good.replace(account.authority.encode(), other.encode()): "must contain the cluster's CA certificate",
        good.replace(b"workload-type=", b"other.kubernetes.io/workload="): "must not set labels in Kubernetes",
        good.replace(b"workload-type=", b"workload-type=a/b"): "Invalid value",
    }
    reasons = {account.launch("m6i.xlarge", data, image="AL2023_x86_64_STANDARD"): said for data, said in cases.items()}
    kubelets = Kubelets(account.as_account(), cluster)
    kubelets.sync()
    assert len(node_names(cluster)) == 1
    assert kubelets.refused.keys() == reasons.keys()
    assert [said for each, said in reasons.items() if said not in kubelets.refused[each]] == []


def test_a_node_that_was_deleted_does_not_come_back(
    cluster: Cluster, account: StubAccount, templates: Templates
) -> None:
    """The kubelet registers once, when it starts; another process finds the existing Nodes."""
    account.launch_group(templates["mixed-hardware"], "system")
    kubelets = Kubelets(account.as_account(), cluster)
    kubelets.sync()
    (name,) = node_names(cluster)
    another = Kubelets(account.as_account(), cluster)
    another.sync()
    assert another.refused == {}
    cluster.request("DELETE", f"/api/v1/nodes/{name}")
    kubelets.sync()
    assert node_names(cluster) == []


def test_errors(cluster: Cluster, account: StubAccount, templates: Templates, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that passes is ignored; one that stays ends the thread, and is raised."""
    account.launch_group(templates["mixed-hardware"], "system")
    account.errors = [OSError("refused once")]
    with Kubelets(account.as_account(), cluster):
        assert eventually(lambda: len(node_names(cluster)), 1) == 1
    monkeypatch.setattr(module, "ERRORS_SECONDS", 0.1)
    account.errors = [OSError("refused for ever")] * 1000
    with pytest.raises(OSError, match="for ever"), Kubelets(account.as_account(), cluster) as kubelets:
        assert eventually(lambda: is_failing(kubelets))


def is_failing(kubelets: Kubelets) -> bool:
    try:
        kubelets.check()
    except OSError:
        return True
    return False
