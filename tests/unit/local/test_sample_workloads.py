"""Sample workloads on a cluster whose answers are written here: where they run, and why not."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eks_hardware.local import demo_folder, sample_workloads
from eks_hardware.local.demo_cluster import differences, table
from eks_hardware.local.sample_workloads import Placed, Sample, devices, reasons, run, samples
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.paths import SHIPPED
from helpers.strategies import strategy_of

Object = dict[str, Any]
POOL = Sample("job-1", "gpu", "node pool gpu", {"karpenter.sh/nodepool": "gpu"}, ())
GROUP = Sample("job-2", "cpu", "node group cpu", {"eks.amazonaws.com/nodegroup": "cpu"}, ())
LABELS = {"node.kubernetes.io/instance-type": "g6.xlarge", "topology.kubernetes.io/zone": "us-west-2a"}


class Answers:
    """A cluster that gives these items, one list after the other, and the last one from then on."""

    def __init__(self, *items: Sequence[Object]) -> None:
        self.items = list(items)
        self.created: list[str] = []

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        if arguments[0] == "create":
            self.created.append(stdin)
            return ""
        found = self.items.pop(0) if len(self.items) > 1 else self.items[0]
        return json.dumps({"items": found})


def known_node(name: str, labels: Mapping[str, str]) -> Object:
    return {"kind": "Node", "metadata": {"name": name, "labels": {**LABELS, **labels}}}


def pod_of_sample(sample: Sample, phase: str, on: str = "", **status: object) -> Object:
    place = {"nodeName": on} if on else {}
    return {
        "kind": "Pod",
        "metadata": {"name": f"{sample.job}-x", "labels": {"batch.kubernetes.io/job-name": sample.job}},
        "spec": {
            "containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}],
            **place,
        },
        "status": {"phase": phase, **status},
    }


def event_about(about: str, source: str, message: str, at: str) -> Object:
    return {
        "kind": "Event",
        "metadata": {"name": f"{about}.{at}"},
        "involvedObject": {"name": about},
        "reportingComponent": source,
        "message": message,
        "lastTimestamp": at,
    }


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_workloads, "_POLL_SECONDS", 0)


def test_samples_that_run_are_told_with_their_node() -> None:
    gpu, cpu = known_node("a", POOL.label), known_node("b", GROUP.label)
    there = [gpu, cpu, pod_of_sample(POOL, "Succeeded", "a"), pod_of_sample(GROUP, "Running", "b")]
    told: list[int] = []
    cluster = Answers([pod_of_sample(POOL, "Pending")], [gpu, pod_of_sample(POOL, "Running", "a")], there)
    found = run(cluster, (POOL, GROUP), seconds=60, tell=told.append)
    assert [(each.sample, each.instance_type, each.zone, each.devices) for each in found] == [
        (POOL, "g6.xlarge", "us-west-2a", "8 GPU"),
        (GROUP, "g6.xlarge", "us-west-2a", "8 GPU"),
    ]
    assert told == [0, 1, 2]
    assert len(cluster.created) == 1


def test_a_pod_on_a_node_of_another_group_does_not_count() -> None:
    cluster = Answers([known_node("b", GROUP.label), pod_of_sample(POOL, "Running", "b")])
    assert run(cluster, (POOL,), seconds=-1, tell=lambda _: None) == []


def test_reasons_are_the_last_ones_of_each_component() -> None:
    unschedulable = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available"}
    cluster = Answers(
        [
            pod_of_sample(POOL, "Pending", conditions=[unschedulable]),
            event_about("job-1-x", "default-scheduler", "0/1 nodes are available", "2026-01-01T00:00:00Z"),
            event_about("job-1-x", "karpenter", "all offerings are unavailable", "2026-01-01T00:00:02Z"),
            event_about("job-1-x", "karpenter", "launching", "2026-01-01T00:00:01Z"),
            event_about("job-2", "job-controller", "exceeded quota: cpu", "2026-01-01T00:00:00Z"),
        ]
    )
    other = Sample("job-3", "big", "node group big", {}, ())
    assert reasons(cluster, (POOL, GROUP, other)) == [
        "job-1 (node pool gpu):\n  scheduler: 0/2 nodes are available\n  karpenter: all offerings are unavailable",
        "job-2 (node group cpu):\n  job-controller: exceeded quota: cpu",
        "job-3 (node group big):\n  no pod, and no event gives the reason",
    ]


def test_devices_are_named_as_people_do() -> None:
    limits = {"cpu": "4", "vpc.amazonaws.com/efa": "4", "nvidia.com/gpu": "8", "hugepages-2Mi": "5Gi"}
    own = {"spec": {"containers": [{"resources": {"limits": limits}}, {}]}}
    assert devices(own) == "8 GPU, 4 EFA"
    assert devices({"spec": {"containers": [{}]}}) == "-"


def test_each_group_and_pool_of_a_strategy_has_a_sample() -> None:
    strategy = strategy_of(SHIPPED / "mixed-hardware.yaml")
    resolved = resolve(strategy)
    found, without = samples(strategy, resolved)
    assert without == ()
    assert [each.node for each in found] == [each.name for each in (*resolved.node_groups, *resolved.node_pools)]
    assert len({each.job for each in found}) == len(found)


def test_samples_of_a_strategy_with_queues_are_in_the_queues_of_a_team() -> None:
    strategy = strategy_of(SHIPPED / "gpu-training.yaml")
    found, without = samples(strategy, resolve(strategy))
    assert without == ()
    places = {}
    for sample in found:
        (job,) = sample.objects
        labels = job["metadata"].get("labels", {})
        places[sample.node] = (job["metadata"].get("namespace"), labels.get("kueue.x-k8s.io/queue-name"))
    assert places == {"system": (None, None), "h100": ("research", "nvidia-gpu"), "preprocessing": ("research", "cpu")}


def test_the_table_fits_80_columns() -> None:
    sample = Sample("job-12", "inferentia-inference", "", {}, ())
    row = Placed(sample, "trn1.32xlarge", "us-west-2a", "16 Neuron, 8 EFA", 118.25)
    console = Console(width=80, color_system=None)
    with console.capture() as shown:
        console.print(table([row]))
    head, line = shown.get().splitlines()
    assert head.split() == ["Workload", "Group", "or", "pool", "Instance", "type", "Zone", "Devices", "After"]
    assert line.rstrip().endswith("16 Neuron, 8 EFA 118.2 s")


def test_what_differs_on_this_machine_is_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Without programs and without Go.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    def with_(lustre: dict[str, Any] | None, delivery: str, version: str) -> Strategy:
        own = strategy_of(SHIPPED / "development.yaml").model_dump(exclude_unset=True, mode="json")
        own["storage"] = {**own.get("storage", {}), "fsx_lustre": lustre}
        own["kubernetes"] = {**own.get("kubernetes", {}), "delivery": delivery}
        own["cluster"] = {**own.get("cluster", {}), "kubernetes_version": version}
        return Strategy.model_validate(own)

    for folder, command in (
        (demo_folder.CHECKOUT, "make cluster-tools TOOLS=kubernetes-1.34"),
        (tmp_path, f"{shlex.quote(sys.executable)} -m eks_hardware.local.cluster_tools kubernetes-1.34"),
    ):
        monkeypatch.chdir(folder)
        found = differences(with_({"size_gib": 1200}, "helm", "1.34"), with_(None, "manifests", "1.34"))
        assert found == (
            "storage.fsx_lustre is left out",
            "kubernetes.delivery is manifests, not helm",
            f"Kubernetes is 1.35, not 1.34; to build it: {command}",
        )
    same = with_(None, "manifests", "1.35")
    assert differences(same, same) == ()
