"""Run a sample workload for each node group and pool on a local cluster, and report where or why it does not run."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from eks_hardware.kubernetes.kueue import CHART as KUEUE
from eks_hardware.kubernetes.nodes import Node, name_label, nodes
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodePool, ResolvedStrategy
from eks_hardware.resolve.extended_resources import EFA, GPU, NEURON
from eks_hardware.workloads import Manifest, Request, WorkloadError, manifest

Object = Mapping[str, Any]

_POLL_SECONDS = 0.3
_JOB_LABEL = "batch.kubernetes.io/job-name"
_TYPE_LABEL = "node.kubernetes.io/instance-type"
_ZONE_LABEL = "topology.kubernetes.io/zone"
_RUNNING = ("Running", "Succeeded")
_DEVICES = {NEURON: "Neuron", GPU: "GPU", EFA: "EFA"}


class Kubectl(Protocol):
    """The part of a local cluster that this module uses."""

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run ``kubectl`` and return its output."""
        ...


@dataclass(frozen=True)
class Sample:
    """A job with one pod that needs a whole node of a group or pool.

    Attributes:
        job: the job's name.
        node: the name of the group or pool.
        called: the group or pool in messages, such as ``node pool gpu``.
        label: the label that only nodes of this group or pool have.
        objects: the objects to create.
    """

    job: str
    node: str
    called: str
    label: Mapping[str, str]
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Placed:
    """A sample whose pod runs. ``seconds`` is the time since all samples were created."""

    sample: Sample
    instance_type: str
    zone: str
    devices: str
    seconds: float


def samples(strategy: Strategy, resolved: ResolvedStrategy) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return a sample for each group and pool, and the reasons for those without one."""
    jobs: list[Sample] = []
    without: list[str] = []
    for number, node in enumerate(nodes(resolved), 1):
        called = f"node {'pool' if isinstance(node, ResolvedNodePool) else 'group'} {node.name}"
        try:
            made = _manifest(strategy, resolved, node, f"job-{number}")
        except WorkloadError as error:
            without.append(f"{called}: {error.message}")
            continue
        jobs.append(Sample(f"job-{number}", node.name, called, name_label(node), made.objects))
    return tuple(jobs), tuple(without)


def _manifest(strategy: Strategy, resolved: ResolvedStrategy, node: Node, name: str) -> Manifest:
    """Return a job for a group or pool, in the hardware's Kueue queue if a namespace may use it.

    Raises:
        WorkloadError: no job fits the group or pool.
    """
    plain = Request(kind="job", group=node.name, name=name)
    if KUEUE in resolved.kubernetes.charts:
        for namespace in [team.name for team in resolved.kubernetes.teams] or ["default"]:
            queued = replace(plain, queue=node.hardware.value, namespace=namespace)
            with contextlib.suppress(WorkloadError):
                return manifest(strategy, resolved, queued)
    return manifest(strategy, resolved, plain)


def delete(cluster: Kubectl, wanted: Sequence[Sample]) -> None:
    """Delete the objects of all samples, and wait until their pods are gone."""
    cluster.kubectl("delete", "--ignore-not-found", "--cascade=foreground", "-f", "-", stdin=_as_list(wanted))


def _as_list(wanted: Sequence[Sample]) -> str:
    items = [item for sample in wanted for item in sample.objects]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def run(cluster: Kubectl, wanted: Sequence[Sample], *, seconds: float, tell: Callable[[int], None]) -> list[Placed]:
    """Create all samples, wait until their pods run or the time is up, and return the running samples in order.

    Args:
        cluster: the cluster.
        wanted: the samples.
        seconds: the longest wait.
        tell: called with the number of running samples.
    """
    began = time.monotonic()
    cluster.kubectl("create", "-f", "-", stdin=_as_list(wanted))
    placed: dict[str, Placed] = {}
    while True:
        state = _items(cluster, "pods,nodes")
        now = time.monotonic() - began
        known = {each["metadata"]["name"]: each for each in state if each["kind"] == "Node"}
        pods = _pods_by_job(state)
        for sample in wanted:
            pod = pods.get(sample.job)
            node = known.get(pod["spec"].get("nodeName", "")) if pod else None
            if sample.job in placed or not pod or not node or pod["status"].get("phase") not in _RUNNING:
                continue
            if sample.label.items() <= _labels(node).items():
                placed[sample.job] = _placed(sample, pod, node, now)
        tell(len(placed))
        if len(placed) == len(wanted) or now > seconds:
            return [placed[each.job] for each in wanted if each.job in placed]
        time.sleep(_POLL_SECONDS)


def reasons(cluster: Kubectl, waiting: Sequence[Sample]) -> list[str]:
    """Return the messages of the scheduler, Karpenter and the job's controller for each sample that does not run."""
    state = _items(cluster, "pods,events")
    events = [each for each in state if each["kind"] == "Event"]
    pods = _pods_by_job(state)
    lines = []
    for sample in waiting:
        pod = pods.get(sample.job)
        texts = list(dict.fromkeys(_said_of_pod(pod, events) if pod else _said_of(sample.job, events)))
        lines.append(
            "\n  ".join([f"{sample.job} ({sample.called}):", *(texts or ["no pod, and no event gives the reason"])])
        )
    return lines


def _pods_by_job(state: Sequence[Object]) -> dict[str, Object]:
    return {_labels(each)[_JOB_LABEL]: each for each in state if _JOB_LABEL in _labels(each)}


def _placed(sample: Sample, pod: Object, node: Object, seconds: float) -> Placed:
    labels = _labels(node)
    return Placed(sample, labels.get(_TYPE_LABEL, "?"), labels.get(_ZONE_LABEL, "?"), devices(pod), seconds)


def devices(pod: Object) -> str:
    """Return the devices that a pod requests, such as ``8 GPU, 4 EFA``; ``-`` for none."""
    limits = (container.get("resources", {}).get("limits", {}) for container in pod["spec"]["containers"])
    counted = {name: amount for limit in limits for name, amount in limit.items() if "/" in name}
    return ", ".join(f"{amount} {_DEVICES.get(name, name)}" for name, amount in sorted(counted.items())) or "-"


def _said_of_pod(pod: Object, events: Sequence[Object]) -> Iterator[str]:
    name, status = pod["metadata"]["name"], pod.get("status", {})
    if node := pod["spec"].get("nodeName"):
        yield f"on node {node}, {status.get('phase', 'Pending')}"
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield f"scheduler: {condition.get('message', condition.get('reason', ''))}"
    yield from (said for said in _said_of(name, events) if not said.startswith("default-scheduler: "))


def _said_of(name: str, events: Sequence[Object]) -> Iterator[str]:
    """Yield the last event about an object from each component."""
    last: dict[str, str] = {}
    for event in sorted(events, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime"))):
        if event["involvedObject"].get("name") == name:
            source = event.get("reportingComponent") or event.get("source", {}).get("component", "event")
            last[source] = event.get("message", "")
    yield from (f"{source}: {message}" for source, message in last.items())


def _items(cluster: Kubectl, kinds: str) -> list[Object]:
    items: list[Object] = json.loads(cluster.kubectl("get", kinds, "--all-namespaces", "-o", "json"))["items"]
    return items


def _labels(item: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = item["metadata"].get("labels") or {}
    return labels
