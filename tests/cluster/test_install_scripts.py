"""``install.sh`` and ``uninstall.sh`` with the real Helm, API server and scheduler, and where pods then run.

Nodes are those that the strategy's groups have and its pools can launch, from the synthesized user data. The charts of
Karpenter and Kueue are in their Go modules. The others are those that ``make charts`` downloaded, or stand-ins
(:mod:`eks_hardware.local.stand_in_charts`); the end of the run lists both.

Kueue's controller runs where ``make cluster-tools TOOLS=kueue`` built it. The API server then calls webhooks; the end
of the run lists those that no controller serves. Without it, the API server calls none.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.kueue import API_VERSION
from eks_hardware.kubernetes.nodes import nodes as groups_and_pools
from eks_hardware.kubernetes.references import known
from eks_hardware.local import cluster_tools, install_scripts
from eks_hardware.local.chart_cache import charts_cache
from eks_hardware.local.chart_workloads import DAEMONSET
from eks_hardware.local.cluster import Cluster, ClusterError
from eks_hardware.local.kueue_process import NAME as KUEUE
from eks_hardware.local.kueue_process import Kueue
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.testing import Template
from eks_hardware.workloads import Request, manifest
from helpers.kubernetes.objects import Object, bundle_of, manifest_list, resolved_named
from helpers.kubernetes.scheduling import Node, lands, nodes
from helpers.kubernetes.workloads import Workload, workloads
from helpers.paths import SHIPPED
from helpers.polling import eventually
from helpers.strategies import strategy_of

# Together they have every release of the shipped strategies.
NAMES = ("mixed-hardware", "gpu-training", "gpu-inference", "trainium-training")
OTHERS = sorted({file.stem for file in SHIPPED.glob("*.yaml")} - set(NAMES))

# The Prometheus Operator makes pods of these, and it does not run.
OF_OPERATOR = ("kube-prometheus-stack-alertmanager", "kube-prometheus-stack-prometheus")

# The real chart has the checksum of another random password on its first installation than on its second, which
# therefore restarts Grafana once: grafana.password and checksum/secret in
# https://github.com/grafana-community/helm-charts/tree/grafana-12.11.1/charts/grafana/templates
GRAFANA = "kube-prometheus-stack-grafana"

# Helm writes a new secret for each revision. The others change on their own, or belong to a namespace.
_VOLATILE = frozenset(
    {"ComponentStatus", "ControllerRevision", "EndpointSlice", "Endpoints", "Event", "Lease", "Node", "Pod", "Secret"}
)
_OF_A_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
# Their status changes when pods start; of the others, every change counts.
_COUNTED_BY_GENERATION = frozenset({"DaemonSet", "Deployment", "PodDisruptionBudget", "ReplicaSet"})


@dataclasses.dataclass(frozen=True)
class Charts:
    """A folder of charts, as ``pull-charts.sh`` fills it; the names of its charts, and of those that are stand-ins."""

    folder: Path
    names: frozenset[str]
    stand_ins: frozenset[str]


@pytest.fixture(scope="module")
def charts(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Charts:
    """Return the charts of all releases."""
    folder = tmp_path_factory.mktemp("charts")
    used = {Chart(each.chart, each.version) for name in NAMES for each in bundle_of(name).charts}
    given = charts_cache(os.environ)
    stand_ins = charts_folder(used, folder, tools, given=given)
    return Charts(folder, frozenset(each.name for each in used), frozenset(each.name for each in stand_ins))


@dataclasses.dataclass(frozen=True)
class Installation:
    """A strategy's folder from ``render``, and a cluster with its nodes."""

    name: str
    folder: Path
    cluster: Cluster
    nodes: Mapping[str, Node]
    environment: Mapping[str, str]
    stand_ins: frozenset[str]

    def run(self, script: str) -> str:
        ran = subprocess.run(
            [self.folder / script],
            env=self.environment,
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=900,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def get(self, kinds: str, *arguments: str) -> list[Object]:
        found = self.cluster.kubectl("get", kinds, "--all-namespaces", "-o", "json", *arguments)
        items: list[Object] = json.loads(found)["items"]
        return items

    def state(self) -> dict[tuple[str, str, str], tuple[str, object]]:
        """Return the version of every object that users and charts write."""
        kinds = self.cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        found = {}
        for item in self.get(",".join(kinds)):
            data, kind = item["metadata"], item["kind"]
            identity = (kind, data.get("namespace", ""), data["name"])
            if kind not in _VOLATILE and (kind, data["name"]) not in _OF_A_NAMESPACE:
                if data["name"].startswith(GRAFANA) and kind in ("Deployment", "ReplicaSet") and self.has_real_grafana:
                    continue
                field = "generation" if kind in _COUNTED_BY_GENERATION else "resourceVersion"
                found[identity] = (data["uid"], data.get(field))
        return found

    @property
    def has_real_grafana(self) -> bool:
        return "kube-prometheus-stack" not in self.stand_ins

    def selector(self, workload: Workload) -> str:
        """Return the selector of a workload's pods; an empty text if the chart leaves the workload to an operator."""
        found = [each for each in self.get(f"{workload.kind.lower()}s") if each["metadata"]["name"] == workload.name]
        if not found and workload.release not in self.stand_ins and workload.name in OF_OPERATOR:
            return ""
        (item,) = found
        return ",".join(f"{key}={value}" for key, value in item["spec"]["selector"]["matchLabels"].items())

    def pods_by_node(self, selector: str) -> dict[str, str]:
        """Return the phase of the pods with a label, by the name of their node."""
        found = self.get("pods", "-l", selector)
        return {each["spec"].get("nodeName", ""): each["status"]["phase"] for each in found}


@pytest.fixture(autouse=True)
def _says_which_charts_are_real(charts: Charts, record_property: Callable[[str, object], None]) -> None:
    record_property("real charts", ", ".join(sorted(charts.names - charts.stand_ins)))
    record_property("stand-ins", ", ".join(sorted(charts.stand_ins)))
    record_property("real controllers", ", ".join(controllers()))


def controllers() -> tuple[str, ...]:
    """Return the controllers that are built and run next to the cluster."""
    try:
        cluster_tools.paths(KUEUE)
    except cluster_tools.ToolsMissing:
        return ()
    return (KUEUE,)


@pytest.fixture(scope="module")
def server(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a cluster with simulated kubelets, and Kueue where it is built."""
    directory, names = tmp_path_factory.mktemp("cluster"), controllers()
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(Cluster(directory, programs=tools, kwok=True, controllers=names))
        if names:
            stack.enter_context(Kueue(running, directory))
        yield running


@pytest.fixture
def queues(installation: Installation, record_property: Callable[[str, object], None]) -> Installation:
    """Return a strategy with queues, whose controller runs."""
    if not controllers():
        reason = f"{cluster_tools.TOOLS[KUEUE]} is not built: make cluster-tools TOOLS={KUEUE}"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    served = {f"kueue-{kind}-webhook-configuration" for kind in ("mutating", "validating")}
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    webhooks = {each["metadata"]["name"] for each in installation.get(kinds)}
    assert served <= webhooks
    record_property("webhooks without a controller", ", ".join(sorted(webhooks - served)))
    return installation


def node_objects(template: Template, name: str) -> dict[str, Node]:
    """Return the nodes by name: one for each group, type and zone, and one for each pool and type."""
    found: dict[str, Node] = {}
    for node in nodes(template, bundle_of(name)):
        words = [node.source, node.instance_type, *(() if node.pool else (node.zone_id,))]
        found.setdefault(re.sub(r"[^a-z0-9-]", "-", "-".join(words)), node)
    return found


def node_manifest(name: str, node: Node) -> Object:
    amounts = {key: str(amount) for key, amount in node.allocatable.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**node.labels, "kubernetes.io/hostname": name}},
        "spec": {"taints": [dict(taint) for taint in node.taints]},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


@pytest.fixture(scope="module", params=NAMES)
def installation(
    request: pytest.FixtureRequest,
    server: Cluster,
    charts: Charts,
    tools: Mapping[str, Path],
    templates: Mapping[str, Template],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """Return a strategy whose ``install.sh`` has run."""
    name, folder = request.param, tmp_path_factory.mktemp("rendered")
    resolved = resolved_named(name)
    write(bundle_of(name), folder, name=name, region=resolved.region, known=known(resolved))
    environment = install_scripts.environment(
        server.environment(), tmp_path_factory.mktemp("bin"), tools, charts.folder, outputs={}
    )
    there = node_objects(templates[name], name)
    server.kubectl("create", "-f", "-", stdin=manifest_list([node_manifest(*each) for each in there.items()]))
    running = Installation(name, folder, server, there, environment, charts.stand_ins)
    before = running.state()
    running.run("install.sh")
    try:
        yield running
        running.run("uninstall.sh")
        kept = eventually(lambda: left_over(running, before), [], ignored=(ClusterError,))
        assert kept == [], "uninstall.sh leaves objects"
        # kwok cannot end a pod without its node.
        assert eventually(lambda: running.get("pods"), []) == []
    finally:
        server.kubectl("delete", "node", "--all", "--wait=false")


def left_over(running: Installation, before: Mapping[tuple[str, str, str], object]) -> list[tuple[str, str, str]]:
    """Return objects that were not there before, except those that ``uninstall.sh`` says it keeps."""
    new = set(running.state()) - set(before)
    return sorted(each for each in new if each[0] != "Namespace" and not each[2].endswith(".monitoring.coreos.com"))


def printed_jobs(name: str) -> dict[str, list[Object]]:
    """Return the job that ``workload`` prints for each group and pool that is not for the cluster's own software."""
    resolved, strategy = resolved_named(name), strategy_of(SHIPPED / f"{name}.yaml")
    return {
        node.name: [
            dict(each)
            for each in manifest(
                strategy, resolved, Request(kind="job", group=node.name, name=f"on-{node.name}")
            ).objects
        ]
        for node in groups_and_pools(resolved)
        if node.workload != "system"
    }


def check_printed_jobs(name: str, cluster: Cluster, there: Mapping[str, Node]) -> None:
    """Run the printed jobs of a strategy, and check that each ran on its group or pool only."""
    jobs = printed_jobs(name)
    text = manifest_list([each for objects in jobs.values() for each in objects])
    cluster.kubectl("create", "-f", "-", stdin=text)

    def found() -> dict[str, set[tuple[str, str]]]:
        places: dict[str, set[tuple[str, str]]] = {source: set() for source in jobs}
        pods = json.loads(cluster.kubectl("get", "pods", "--all-namespaces", "-o", "json"))["items"]
        for pod in pods:
            source = pod["metadata"]["labels"].get("batch.kubernetes.io/job-name", "").removeprefix("on-")
            if source in places:
                node = there.get(pod["spec"].get("nodeName", ""))
                places[source].add((node.source if node else "", pod["status"]["phase"]))
        return places

    expected = {source: {(source, "Succeeded")} for source in jobs}
    assert expected
    result = eventually(found, expected)
    cluster.kubectl("delete", "-f", "-", stdin=text)
    assert result == expected


@pytest.mark.parametrize("name", OTHERS)
def test_printed_workloads_of_the_other_strategies_run_on_their_group(
    name: str, server: Cluster, templates: Mapping[str, Template]
) -> None:
    """Their nodes have devices without the plugins. It runs first, before others install plugins on its nodes."""
    there = node_objects(templates[name], name)
    server.kubectl("create", "-f", "-", stdin=manifest_list([node_manifest(*each) for each in there.items()]))
    try:
        check_printed_jobs(name, server, there)
    finally:
        server.kubectl("delete", "node", "--all", "--wait=false")


def test_every_pod_runs_where_the_simulation_says(installation: Installation) -> None:
    """This also tests the simulation, which covers many more strategies (tests/kubernetes/test_scheduling.py)."""
    placed = 0
    for workload in workloads(bundle_of(installation.name)):
        allowed = {name for name, node in installation.nodes.items() if lands(workload, node)}
        selector = installation.selector(workload)
        if not selector:
            continue
        if workload.kind == DAEMONSET:
            expected = dict.fromkeys(allowed, "Running")
            assert eventually(partial(installation.pods_by_node, selector), expected) == expected, workload.name
        else:
            found = installation.pods_by_node(selector)
            assert set(found) <= allowed, workload.name
            assert set(found.values()) == {"Running"}, workload.name
        placed += 1
    assert placed > 1


def test_printed_workloads_run_on_their_group(installation: Installation) -> None:
    check_printed_jobs(installation.name, installation.cluster, installation.nodes)


# --- queues


WITH_QUEUES = pytest.mark.parametrize("installation", ["gpu-training"], indirect=True)


def queued(group: str, queue: str, name: str) -> Object:
    """Return the job that ``workload --queue`` prints."""
    request = Request(kind="job", group=group, queue=queue, name=name)
    strategy = strategy_of(SHIPPED / "gpu-training.yaml")
    (job,) = manifest(strategy, resolved_named("gpu-training"), request).objects
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == queue
    return dict(job)


def held(job: Object, pods: int) -> Object:
    """Return a job with more pods, which no node runs: it uses quota until it is deleted."""
    found: dict[str, Any] = copy.deepcopy(dict(job))
    found["spec"] |= {"parallelism": pods, "completions": pods}
    found["spec"]["template"]["spec"].setdefault("nodeSelector", {})["held"] = "true"
    return found


@contextlib.contextmanager
def created(installation: Installation, *objects: Object) -> Iterator[None]:
    text = manifest_list(objects)
    installation.cluster.kubectl("create", "-f", "-", stdin=text)
    try:
        yield
    finally:
        installation.cluster.kubectl("delete", "-f", "-", "--cascade=foreground", "--ignore-not-found", stdin=text)


def assigned_flavors(installation: Installation) -> dict[str, set[str]]:
    """Return the flavors that Kueue assigned to each job; none for a job that waits."""
    return {
        workload["metadata"]["ownerReferences"][0]["name"]: {
            flavor
            for pods in workload.get("status", {}).get("admission", {}).get("podSetAssignments", ())
            for flavor in pods["flavors"].values()
        }
        for workload in installation.get("workloads")
    }


def ran_on(installation: Installation, job: str) -> set[tuple[str, str]]:
    """Return the group or pool and the phase of each of a job's pods."""
    pods = installation.pods_by_node(f"batch.kubernetes.io/job-name={job}").items()
    return {(installation.nodes[node].source if node else "", phase) for node, phase in pods}


@WITH_QUEUES
def test_queued_jobs_run_on_the_nodes_of_their_flavor(queues: Installation) -> None:
    jobs = {"h100": queued("h100", "nvidia-gpu", "on-gpus"), "preprocessing": queued("preprocessing", "cpu", "on-cpus")}
    with created(queues, *jobs.values()):
        for source, job in jobs.items():
            name, expected = job["metadata"]["name"], {(source, "Succeeded")}
            assert eventually(partial(ran_on, queues, name), expected) == expected, name
        assert assigned_flavors(queues) == {"on-gpus": {"h100"}, "on-cpus": {"cpu"}}


@WITH_QUEUES
def test_a_job_above_the_quota_waits_until_another_ends(queues: Installation) -> None:
    """The quota is that of the group's 8 nodes."""
    first, second = held(queued("h100", "nvidia-gpu", "first"), 8), queued("h100", "nvidia-gpu", "second")
    with created(queues, first):
        assert eventually(lambda: assigned_flavors(queues), {"first": {"h100"}}) == {"first": {"h100"}}
        with created(queues, second, held(queued("h100", "nvidia-gpu", "never"), 9)):
            waiting = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/nvidia-gpu/pendingworkloads"

            def pending() -> list[str]:
                """Return what Kueue's own API lists."""
                items = json.loads(queues.cluster.kubectl("get", "--raw", waiting))["items"]
                return sorted(each["metadata"]["ownerReferences"][0]["name"] for each in items)

            assert eventually(pending, ["never", "second"]) == ["never", "second"]
            suspended = {each["metadata"]["name"]: each["spec"]["suspend"] for each in queues.get("jobs")}
            assert suspended == {"first": False, "second": True, "never": True}
            assert queues.pods_by_node("batch.kubernetes.io/job-name=second") == {}
            queues.cluster.kubectl("delete", "job", "first", "--namespace=research")
            expected = {("h100", "Succeeded")}
            assert eventually(lambda: ran_on(queues, "second"), expected) == expected
            assert pending() == ["never"]


@WITH_QUEUES
def test_kueue_s_webhooks_refuse_what_the_definitions_allow(queues: Installation) -> None:
    label = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": "wrong"}}
    job = queued("h100", "nvidia-gpu", "wrong")
    job["metadata"] = {**job["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "Not_A_Name"}}
    for wrong, webhook in (
        ({**label, "spec": {"nodeLabels": {"team": "not a label"}}}, "vresourceflavor.kb.io"),
        (job, "vjob.kb.io"),
    ):
        with pytest.raises(ClusterError, match=f'admission webhook "{webhook}" denied the request'):
            queues.cluster.kubectl("create", "-f", "-", stdin=json.dumps(wrong, default=dict))


def test_a_second_run_changes_nothing(installation: Installation) -> None:
    before = installation.state()
    said = installation.run("install.sh")
    assert said.count("has been upgraded") == len(bundle_of(installation.name).charts)
    assert installation.state() == before


@WITH_QUEUES
def test_a_queue_in_use_is_not_deleted(queues: Installation) -> None:
    """``docs/guides/delivery.md`` says to delete running jobs first. The last test: afterwards the queue is gone."""
    names = ("get", "clusterqueues", "nvidia-gpu", "--ignore-not-found", "--output=name")
    with created(queues, held(queued("h100", "nvidia-gpu", "first"), 8)):
        assert eventually(lambda: assigned_flavors(queues), {"first": {"h100"}}) == {"first": {"h100"}}
        with pytest.raises(ClusterError, match="timed out"):
            queues.cluster.kubectl("delete", "clusterqueue", "nvidia-gpu", "--wait", "--timeout=3s")
        assert queues.cluster.kubectl(*names).split() == ["clusterqueue.kueue.x-k8s.io/nvidia-gpu"]
    assert eventually(lambda: queues.cluster.kubectl(*names), "") == ""
