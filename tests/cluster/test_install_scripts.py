"""``install.sh`` and ``uninstall.sh`` with the real Helm, API server and scheduler, and where pods then run.

Nodes are those that the strategy's groups have and its pools can launch, from the synthesized user data. Karpenter's
charts are its own; the others are stand-ins (:mod:`eks_hardware.local.stand_in_charts`). Kueue's has no webhooks.
"""

from __future__ import annotations

import dataclasses
import functools
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eks_hardware.catalogue import Hardware
from eks_hardware.kubernetes.files.write import write
from eks_hardware.kubernetes.nodes import nodes as groups_and_pools
from eks_hardware.kubernetes.references import known
from eks_hardware.local import install_scripts
from eks_hardware.local.chart_workloads import DAEMONSET
from eks_hardware.local.cluster import Cluster, ClusterError
from eks_hardware.local.stand_in_charts import Chart, charts_folder
from eks_hardware.testing import Template
from eks_hardware.workloads import Request, manifest
from helpers.kubernetes.objects import Object, bundle_of, manifest_list, resolved_named
from helpers.kubernetes.scheduling import Node, lands, nodes
from helpers.kubernetes.workloads import workloads
from helpers.paths import SHIPPED
from helpers.polling import eventually
from helpers.strategies import strategy_of

# Together they have every release of the shipped strategies.
NAMES = ("mixed-hardware", "gpu-training", "gpu-inference", "trainium-training")

# Helm writes a new secret for each revision. The others change on their own, or belong to a namespace.
_VOLATILE = frozenset(
    {"ComponentStatus", "ControllerRevision", "EndpointSlice", "Endpoints", "Event", "Lease", "Node", "Pod", "Secret"}
)
_OF_A_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
# Their status changes when pods start; of the others, every change counts.
_COUNTED_BY_GENERATION = frozenset({"DaemonSet", "Deployment", "PodDisruptionBudget", "ReplicaSet"})


@pytest.fixture(scope="module")
def server(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), programs=tools, kwok=True) as running:
        yield running


@pytest.fixture(scope="module")
def charts(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the charts of all releases, as ``pull-charts.sh`` fills it."""
    folder = tmp_path_factory.mktemp("charts")
    used = {Chart(each.chart, each.version) for name in NAMES for each in bundle_of(name).charts}
    charts_folder(used, folder, helm=tools["helm"], karpenter=tools["karpenter-files"])
    return folder


@dataclasses.dataclass(frozen=True)
class Installation:
    """A strategy's folder from ``render``, and a cluster with its nodes."""

    name: str
    folder: Path
    cluster: Cluster
    nodes: Mapping[str, Node]
    environment: Mapping[str, str]

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
                field = "generation" if kind in _COUNTED_BY_GENERATION else "resourceVersion"
                found[identity] = (data["uid"], data.get(field))
        return found

    def pods_by_node(self, selector: str) -> dict[str, str]:
        """Return the phase of the pods with a label, by the name of their node."""
        found = self.get("pods", "-l", selector)
        return {each["spec"].get("nodeName", ""): each["status"]["phase"] for each in found}


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
    charts: Path,
    tools: Mapping[str, Path],
    templates: Mapping[str, Template],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """Return a strategy whose ``install.sh`` has run."""
    name, folder = request.param, tmp_path_factory.mktemp("rendered")
    resolved = resolved_named(name)
    write(bundle_of(name), folder, name=name, region=resolved.region, known=known(resolved))
    environment = install_scripts.environment(
        server.environment(), tmp_path_factory.mktemp("bin"), tools, charts, outputs={}
    )
    there = node_objects(templates[name], name)
    server.kubectl("create", "-f", "-", stdin=manifest_list([node_manifest(*each) for each in there.items()]))
    running = Installation(name, folder, server, there, environment)
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


def test_every_pod_runs_where_the_simulation_says(installation: Installation) -> None:
    """This also tests the simulation, which covers many more strategies (tests/kubernetes/test_scheduling.py)."""
    placed = 0
    for workload in workloads(bundle_of(installation.name)):
        allowed = {name for name, node in installation.nodes.items() if lands(workload, node)}
        label = "app.kubernetes.io/name" if workload.name in ("karpenter", "neuron-monitor") else "stand-in"
        selector = f"{label}={workload.name}"
        if workload.kind == DAEMONSET:
            expected = dict.fromkeys(allowed, "Running")
            assert eventually(lambda of=selector: installation.pods_by_node(of), expected) == expected, workload.name
        else:
            found = installation.pods_by_node(selector)
            assert set(found) <= allowed, workload.name
            assert set(found.values()) == {"Running"}, workload.name
        placed += 1
    assert placed > 1


def test_printed_workloads_run_on_their_group(installation: Installation) -> None:
    resolved, strategy = resolved_named(installation.name), strategy_of(SHIPPED / f"{installation.name}.yaml")
    for node in groups_and_pools(resolved):
        if node.hardware is Hardware.CPU:
            continue
        printed = manifest(strategy, resolved, Request(kind="job", group=node.name, name=f"on-{node.name}"))
        text = manifest_list(printed.objects)
        installation.cluster.kubectl("create", "-f", "-", stdin=text)
        (job,) = (each["metadata"]["name"] for each in printed.objects if each["kind"] == "Job")
        found = eventually(
            lambda of=job: {
                installation.nodes[name].source if name else "": phase
                for name, phase in installation.pods_by_node(f"batch.kubernetes.io/job-name={of}").items()
            },
            {node.name: "Succeeded"},
        )
        installation.cluster.kubectl("delete", "-f", "-", stdin=text)
        assert found == {node.name: "Succeeded"}


def test_a_second_run_changes_nothing(installation: Installation) -> None:
    before = installation.state()
    said = installation.run("install.sh")
    assert said.count("has been upgraded") == len(bundle_of(installation.name).charts)
    assert installation.state() == before


def test_charts_are_pulled_once(charts: Path, tmp_path: Path, tools: Mapping[str, Path]) -> None:
    """Helm downloads from a repository on this machine; the script differs only in the addresses."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002  (the base's names)
            asked.append(self.path)

    repository = tmp_path / "repository"
    repository.mkdir()
    for chart in charts.glob("*.tgz"):
        (repository / chart.name).symlink_to(chart)
    subprocess.run([tools["helm"], "repo", "index", repository], check=True)
    resolved, rendered = resolved_named("gpu-inference"), tmp_path / "rendered"
    write(bundle_of("gpu-inference"), rendered, name="gpu-inference", region=resolved.region, known=known(resolved))
    script, pulled = rendered / "pull-charts.sh", tmp_path / "a folder" / "charts"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=repository)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text, count = re.subn(
            r"(?m)(^pull .*) \S+://\S+$",
            rf"\1 http://127.0.0.1:{server.server_port}",
            script.read_text(encoding="utf-8"),
        )
        script.write_text(text, encoding="utf-8")
        environment = {"PATH": f"{tools['helm'].parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
        try:
            for _ in range(2):
                subprocess.run([script, pulled], env=environment, check=True, timeout=300)
        finally:
            server.shutdown()
    wanted = {f"{each.chart}-{each.version}.tgz" for each in bundle_of("gpu-inference").charts}
    assert {file.name for file in pulled.iterdir()} == wanted
    assert len([path for path in asked if path.endswith(".tgz")]) == len(wanted) == count
