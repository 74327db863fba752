"""Manifests of ``eks-hardware workload`` are valid, and their pods run only on the intended nodes.

The scheduling simulation reads the nodes from each synthesized strategy, so this compares manifests with clusters.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from eks_hardware.catalogue import Hardware, load
from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.kubernetes.nodes import nodes as all_nodes
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve
from eks_hardware.testing import Template
from eks_hardware.workloads import KINDS, Request, WorkloadError, manifest
from eks_hardware.workloads.request import Kind
from eks_hardware.workloads.sizing import size
from eks_hardware.workloads.target import find_target
from helpers.cases import in_one_test
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.kubernetes.namespaces import refusals
from helpers.kubernetes.placement import KEEPS_AWAY
from helpers.kubernetes.scheduling import Node, gang_homes, homes, nodes
from helpers.kubernetes.workloads import workloads
from helpers.paths import SPECIAL
from helpers.strategies import FOLDER, SHIPPED, gpu_pool, pools, resolved_of, strategy, strategy_of
from helpers.strategies import group as small_group

Pod = dict[str, Any]

FILES = {file.stem: file for folder in (FOLDER, SPECIAL) for file in sorted(folder.glob("*.yaml"))}
STRATEGIES = tuple(FILES)
CUSTOM = ("kubeflow.org",)
_MOST_PODS = 16

# Fields of a PyTorchJob that the command writes. Source: manifests/base/crds/kubeflow.org_pytorchjobs.yaml and
# pkg/webhooks/pytorch/pytorchjob_webhook.go of https://github.com/kubeflow/training-operator/tree/v1.9.0
PYTORCH_JOB: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "kubeflow.org/v1"},
        "kind": {"const": "PyTorchJob"},
        "metadata": {
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}},
        },
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["pytorchReplicaSpecs"],
            "properties": {
                "nprocPerNode": {"type": "string", "pattern": "^(auto|cpu|gpu|[1-9][0-9]*)$"},
                "runPolicy": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "backoffLimit": {"type": "integer"},
                        "cleanPodPolicy": {"enum": ["All", "Running", "None"]},
                        "ttlSecondsAfterFinished": {"type": "integer"},
                    },
                },
                "elasticPolicy": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "rdzvBackend": {"enum": ["c10d", "etcd", "etcd-v2"]},
                        "minReplicas": {"type": "integer"},
                        "maxReplicas": {"type": "integer"},
                    },
                },
                "pytorchReplicaSpecs": {
                    "type": "object",
                    # With an elastic policy, the operator requires workers.
                    "required": ["Worker"],
                    "additionalProperties": False,
                    "properties": {
                        "Worker": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "replicas": {"type": "integer", "minimum": 1},
                                "restartPolicy": {"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
                                "template": {
                                    "type": "object",
                                    "properties": {
                                        "spec": {
                                            "type": "object",
                                            "properties": {
                                                "containers": {
                                                    "contains": {"properties": {"name": {"const": "pytorch"}}}
                                                }
                                            },
                                        }
                                    },
                                },
                            },
                        }
                    },
                },
            },
        },
    },
}


@cache
def bundle_of(name: str) -> Bundle:
    return bundle(resolved_of(FILES[name]))


@cache
def schedulers(name: str) -> frozenset[str]:
    return frozenset(each.name for each in workloads(bundle_of(name)) if each.kind == "Deployment")


@pytest.fixture(scope="module")
def candidates(templates: Mapping[str, Template]) -> Mapping[str, tuple[Node, ...]]:
    return {name: nodes(templates[name], bundle_of(name)) for name in STRATEGIES}


def every(*kinds: Kind) -> Iterator[tuple[str, str, Kind]]:
    """Return every group and pool of every strategy, with every kind."""
    for name in STRATEGIES:
        for node in all_nodes(resolved_of(FILES[name])):
            for kind in kinds or KINDS:
                yield name, node.name, kind


ROWS = list(every())
every_row = in_one_test("row", ROWS, ids="-".join)


def workload_objects(name: str, group: str, kind: Kind, **fields: Any) -> list[dict[str, Any]] | None:
    """Return the objects of a workload as plain data; None if nodes have nothing to test or need a custom image."""
    request = Request(kind=kind, group=group, **fields)
    try:
        found = manifest(strategy_of(FILES[name]), resolved_of(FILES[name]), request)
    except WorkloadError as problem:
        if problem.code in ("WORKLOAD_CHECK", "WORKLOAD_HARDWARE", "WORKLOAD_IMAGE_UNKNOWN"):
            return None
        raise
    plain: list[dict[str, Any]] = json.loads(json.dumps(found.objects))
    return plain


def template_of(item: Mapping[str, Any]) -> Pod:
    spec = item["spec"]
    holder = spec["pytorchReplicaSpecs"]["Worker"] if item["kind"] == "PyTorchJob" else spec
    template: Pod = holder["template"]
    return template


def most(name: str, group: str, kind: Kind) -> int:
    """Return the maximum of pods for ``--nodes``, limited to the number that a simulation needs."""
    target = find_target(strategy_of(FILES[name]), resolved_of(FILES[name]), group, load())
    return min(size(target, Request(kind=kind, group=group)).most, _MOST_PODS)


def test_every_shipped_strategy_has_workloads() -> None:
    """Only a smoke test of CPU nodes has nothing to print."""
    rows = [row for row in ROWS if row[0] in SHIPPED]
    assert {row[0] for row in rows} == set(SHIPPED)
    cpu = {
        (name, node.name)
        for name in SHIPPED
        for node in all_nodes(resolved_of(FILES[name]))
        if node.hardware is Hardware.CPU
    }
    assert {row for row in rows if not workload_objects(*row)} == {(*each, "smoke-test") for each in cpu}


@every_row
def test_objects_are_valid(row: tuple[str, str, Kind]) -> None:
    name, group, kind = row
    version = resolved_of(FILES[name]).kubernetes.kubernetes_version
    found = workload_objects(name, group, kind) or []
    if kind in ("job", "pytorchjob") and most(*row) > 1 and _distributes(row):
        found += workload_objects(name, group, kind, nodes=2) or []
    if kind == "job":
        found += workload_objects(name, group, kind, independent=True) or []
    assert check_objects(found, version, custom_groups=CUSTOM) == []
    for each in found:
        if each["kind"] == "PyTorchJob":
            problems = [error.message for error in Draft202012Validator(PYTORCH_JOB).iter_errors(each)]
            assert problems == []
            wrapped = {
                "apiVersion": "v1",
                "kind": "PodTemplate",
                "metadata": {"name": "worker"},
                "template": template_of(each),
            }
            assert check_objects([wrapped], version) == []


def _distributes(row: tuple[str, str, Kind]) -> bool:
    """Return whether a job on two nodes is allowed: not on shared GPUs, nor on Neuron without EFA."""
    name, group, kind = row
    try:
        manifest(
            strategy_of(FILES[name]),
            resolved_of(FILES[name]),
            Request(kind=kind, group=group, nodes=2, image="registry.example/a:1"),
        )
    except WorkloadError:
        return False
    return True


@every_row
def test_pods_land_on_their_nodes_and_nowhere_else(
    row: tuple[str, str, Kind], candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    name, group, _ = row
    found = workload_objects(*row)
    if found is None:
        return
    pod = template_of(found[-1])
    assert homes(pod, candidates[name], schedulers=schedulers(name)) == {group}
    # All pods that --nodes allows fit at once. The simulation of gangs supports one scheduler.
    alone = {"spec": {key: value for key, value in pod["spec"].items() if key != "schedulerName"}}
    assert gang_homes(alone, most(*row), candidates[name]) == {group}


@every_row
def test_without_a_toleration_or_a_selector_they_do_not(
    row: tuple[str, str, Kind], candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    name, group, _ = row
    found = workload_objects(*row)
    if found is None:
        return
    pod = template_of(found[-1])
    tolerations = pod["spec"].get("tolerations", [])
    taints = {
        (taint["key"], taint["effect"])
        for node in candidates[name]
        if node.source == group
        for taint in node.taints
        if taint["effect"] in KEEPS_AWAY
    }
    assert taints == {(each["key"], each["effect"]) for each in tolerations if each["effect"] in KEEPS_AWAY}
    for index, _toleration in enumerate(tolerations):
        without = copy.deepcopy(pod)
        removed = without["spec"]["tolerations"].pop(index)
        left = homes(without, candidates[name], schedulers=schedulers(name))
        assert (group in left) == (removed["effect"] not in KEEPS_AWAY)
    elsewhere = copy.deepcopy(pod)
    elsewhere["spec"]["nodeSelector"] = {"karpenter.sh/nodepool": "another"}
    assert homes(elsewhere, candidates[name], schedulers=schedulers(name)) == set()


@pytest.mark.parametrize(
    ("key", "value"),
    [("nvidia.com/gpu", 9), ("vpc.amazonaws.com/efa", 33), ("hugepages-2Mi", "11Gi"), ("memory", "2Ti")],
)
def test_a_pod_that_asks_for_more_lands_nowhere(
    key: str, value: int | str, candidates: Mapping[str, tuple[Node, ...]]
) -> None:
    (job,) = workload_objects("gpu-training", "h100", "job") or []
    pod = template_of(job)
    assert homes(pod, candidates["gpu-training"]) == {"h100"}
    for part in pod["spec"]["containers"][0]["resources"].values():
        if key in part:
            part[key] = value
    assert homes(pod, candidates["gpu-training"]) == set()


def test_a_gang_one_larger_has_no_room(candidates: Mapping[str, tuple[Node, ...]]) -> None:
    _, job = workload_objects("gpu-training", "h100", "job", nodes=8) or []
    pod = template_of(job)
    assert gang_homes(pod, 8, candidates["gpu-training"]) == {"h100"}
    assert gang_homes(pod, 9, candidates["gpu-training"]) == set()
    with pytest.raises(WorkloadError, match="room for at most 8 nodes"):
        workload_objects("gpu-training", "h100", "job", nodes=9)


def test_kueue_takes_a_queued_job_for_its_flavor() -> None:
    """A job's selector and tolerations fit one flavor of its queue: that of its nodes."""
    (job,) = workload_objects("gpu-training", "h100", "job", queue="nvidia-gpu") or []
    metadata, of = job["metadata"], bundle_of("gpu-training").objects
    queue = (metadata["namespace"], metadata["labels"]["kueue.x-k8s.io/queue-name"])
    queues = [each["metadata"] for each in of if each["kind"] == "LocalQueue"]
    assert queue in [(each["namespace"], each["name"]) for each in queues]
    selector = template_of(job)["spec"]["nodeSelector"]
    flavors = [
        each["metadata"]["name"]
        for each in of
        if each["kind"] == "ResourceFlavor" and each["spec"]["nodeLabels"].items() <= selector.items()
    ]
    assert flavors == ["h100"]


@pytest.mark.parametrize("name", ["p4d.24xlarge", "g6.8xlarge"])
def test_huge_pages_of_bottlerocket_are_seen_by_karpenter(name: str) -> None:
    """A pod of AWS's example for EFA, with 5 GiB of huge pages, gets a node of a pool on Bottlerocket."""
    nodes_of = gpu_pool(instance_types=[name], efa=True, ami={"family": "bottlerocket"})
    of = strategy(**pools(nodes_of))
    of_resolved = resolve(of)
    (job,) = manifest(of, of_resolved, Request(kind="job", group="pool")).objects
    pod = template_of(job)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["hugepages-2Mi"] == "5120Mi"
    region = Template({"provider": {"aws": [{"region": of.region}]}})
    of_bundle = bundle(of_resolved)
    assert homes(pod, nodes(region, of_bundle)) == {"pool"}
    told = [each for each in of_bundle.objects if each["kind"] == "NodeOverlay"]
    assert [each["spec"]["capacity"] for each in told] == [{"hugepages-2Mi": f"{220 * load().get(name).vcpus}Mi"}]


# --- teams' namespaces

P4D = small_group("p4d.24xlarge", efa=True, workload="training")
LIMITED = {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "16Gi"}}


def of_team(**team: Any) -> tuple[Strategy, ResolvedStrategy]:
    of = strategy(P4D, kubernetes={"kueue": True, "teams": [{"name": "research", **team}]})
    return of, resolve(of)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nodes_", [1, 2])
@pytest.mark.parametrize(
    ("team", "most"),
    [
        ({}, 4),
        ({"container_defaults": LIMITED}, 4),
        ({"container_defaults": {"limits": {"memory": "16Gi"}}}, 4),
        ({"quota": {"nvidia.com/gpu": 4, "cpu": 64}, "container_defaults": LIMITED}, 0),
        ({"quota": {"nvidia.com/gpu": 8}}, 1),
        ({"quota": {"nvidia.com/gpu": 16, "cpu": 180, "memory": "1988Gi", "pods": 2, "vpc.amazonaws.com/efa": 8}}, 2),
        ({"quota": {"cpu": "179999m"}}, 1),
        ({"quota": {"memory": "1987Gi"}}, 1),
        ({"quota": {"pods": 1}}, 1),
        ({"quota": {"vpc.amazonaws.com/efa": 7}}, 1),
    ],
)
def test_a_team_s_namespace_takes_what_is_printed(kind: Kind, nodes_: int, team: dict[str, Any], most: int) -> None:
    """The API accepts the output for a team, and would also refuse what the command refuses."""
    of, of_resolved = of_team(**team)
    whole: dict[str, Any] = {"kind": kind, "group": "gpu", "nodes": nodes_, "accelerators": 8}
    elsewhere = manifest(of, of_resolved, Request(**whole)).objects[-1]
    if nodes_ <= most:
        found = manifest(of, of_resolved, Request(**whole, queue="nvidia-gpu")).objects[-1]
        assert refusals(template_of(found), "research", bundle(of_resolved), count=nodes_) == []
        # Without the CPU limit, the default limit would be below the request.
        bare = [each for each in refusals(template_of(elsewhere), "research", bundle(of_resolved)) if "limit" in each]
        assert bool(bare) == ("cpu" in team.get("container_defaults", {}).get("limits", {}))
        return
    with pytest.raises(WorkloadError) as caught:
        manifest(of, of_resolved, Request(**whole, queue="nvidia-gpu"))
    assert caught.value.code == "WORKLOAD_QUOTA"
    assert [
        each
        for each in refusals(template_of(elsewhere), "research", bundle(of_resolved), count=nodes_)
        if " x " in each
    ]


@every_row
def test_shipped_teams_take_what_is_printed(row: tuple[str, str, Kind]) -> None:
    name, group, kind = row
    anywhere = workload_objects(*row)
    for team in resolved_of(FILES[name]).kubernetes.teams if anywhere else ():
        assert anywhere is not None
        if any(" x " in each for each in refusals(template_of(anywhere[-1]), team.name, bundle_of(name))):
            with pytest.raises(WorkloadError, match="WORKLOAD_QUOTA"):
                workload_objects(name, group, kind, namespace=team.name)
        else:
            found = workload_objects(name, group, kind, namespace=team.name) or []
            assert refusals(template_of(found[-1]), team.name, bundle_of(name)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["spec"].update(workers=2),
        lambda job: job["spec"]["runPolicy"].update(cleanPodPolicy="Some"),
        lambda job: job["spec"]["pytorchReplicaSpecs"].pop("Worker"),
        lambda job: template_of(job)["spec"]["containers"][0].update(name="main"),
    ],
)
def test_the_schema_of_pytorchjobs_refuses(change: Any) -> None:
    (job,) = workload_objects("gpu-training", "h100", "pytorchjob") or []
    assert not list(Draft202012Validator(PYTORCH_JOB).iter_errors(job))
    change(job)
    assert list(Draft202012Validator(PYTORCH_JOB).iter_errors(job))
