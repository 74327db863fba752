"""Manifests of ``eks-hardware workload``: requests of pods, errors, and results for every strategy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import yaml

from eks_hardware import data, facts
from eks_hardware.models import Strategy
from eks_hardware.workloads import KINDS, Manifest, Request, WorkloadError, manifest
from helpers.cases import in_one_test
from helpers.sections import configured
from helpers.strategies import SHIPPED, gpu_pool, group, pools, resolved_once, shipped, strategy

P4D = group("p4d.24xlarge", efa=True, workload="training")
TRN1 = group("trn1.32xlarge", name="trn1", efa=True, workload="training")
INF2 = group("inf2.48xlarge", name="inf2")


def manifest_of(of: Strategy, **request: Any) -> Manifest:
    return manifest(of, resolved_once(of), Request(**{"kind": "job", "group": "gpu", **request}))


def refused(of: Strategy, **request: Any) -> WorkloadError:
    with pytest.raises(WorkloadError) as caught:
        manifest_of(of, **request)
    return caught.value


def pod_of(found: Mapping[str, Any]) -> dict[str, Any]:
    spec = found["spec"]
    template = spec["pytorchReplicaSpecs"]["Worker"]["template"] if "pytorchReplicaSpecs" in spec else spec["template"]
    pod: dict[str, Any] = template["spec"]
    return pod


def workload_pod(of: Strategy, **request: Any) -> dict[str, Any]:
    return pod_of(manifest_of(of, **request).objects[-1])


def container(of: Strategy, **request: Any) -> dict[str, Any]:
    (found,) = workload_pod(of, **request)["containers"]
    assert isinstance(found, dict)
    return found


def environment_of(of: Strategy, **request: Any) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in container(of, **request)["env"]}


def yaml_documents(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def extended(of: Strategy, **request: Any) -> dict[str, Any]:
    """Return a pod's requests other than CPU and memory."""
    limits = container(of, **request)["resources"]["limits"]
    return {name: value for name, value in limits.items() if name != "memory"}


# --- requests of pods

GPU, EFA, PAGES, NEURON = "nvidia.com/gpu", "vpc.amazonaws.com/efa", "hugepages-2Mi", "aws.amazon.com/neuron"
SLICED = {"gpu_sharing": {"time_slicing": {"replicas": 4}}}
RENAMED = {"gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}}}
BOTTLEROCKET = {"ami": {"family": "bottlerocket"}}
PAGES_512 = {"user_data": {"kernel": {"sysctl": {"vm/nr_hugepages": "512"}}}}
NO_PAGES = {"user_data": {"kernel": {"sysctl": {"vm/nr_hugepages": "0"}}}}
FEW_PAGES = {GPU: 8, EFA: 4, PAGES: "1024Mi"}
OPERATOR = {"kubernetes": {"gpu_operator": True}}
MIG = {"gpu_sharing": {"mig_profile": "1g.5gb"}}

ASKED: list[tuple[str, Strategy, dict[str, Any], dict[str, Any]]] = [
    ("a node with EFA", strategy(P4D), {}, {GPU: 8, EFA: 4, PAGES: "5120Mi"}),
    ("a deployment takes one", strategy(P4D), {"kind": "deployment"}, {GPU: 1}),
    ("half a node, half its EFA", strategy(P4D), {"accelerators": 4}, {GPU: 4, EFA: 2, PAGES: "5120Mi"}),
    ("too few for an interface", strategy(P4D), {"accelerators": 1}, {GPU: 1}),
    ("Bottlerocket", strategy({**P4D, **BOTTLEROCKET}), {}, {GPU: 8, EFA: 4, PAGES: "5120Mi"}),
    ("Bottlerocket with its own number of pages", strategy({**P4D, **BOTTLEROCKET, **PAGES_512}), {}, FEW_PAGES),
    ("Bottlerocket without pages", strategy({**P4D, **BOTTLEROCKET, **NO_PAGES}), {}, {GPU: 8, EFA: 4}),
    (
        "Bottlerocket without accelerators",
        strategy(group("hpc7a.96xlarge", efa=True, **BOTTLEROCKET)),
        {},
        {EFA: 2, PAGES: "5120Mi"},
    ),
    (
        "what one's own image sets aside is not known",
        strategy({**P4D, "ami": {"image_id": "ami-0123456789abcdef0"}}),
        {},
        {GPU: 8, EFA: 4},
    ),
    # 110 MiB per vCPU, for 32.
    ("a small node has fewer pages", strategy(group("g6.8xlarge", efa=True)), {}, {GPU: 1, EFA: 1, PAGES: "3520Mi"}),
    ("an EFA node without accelerators", strategy(group("hpc7a.96xlarge", efa=True)), {}, {EFA: 2}),
    ("shares keep the name", strategy(group("g6.xlarge", **SLICED)), {}, {GPU: 1}),
    ("shares of another name", strategy(group("g6.12xlarge", **RENAMED)), {}, {"nvidia.com/gpu.shared": 1}),
    ("slices", strategy(group("p4d.24xlarge", **MIG), **OPERATOR), {}, {"nvidia.com/mig-1g.5gb": 1}),
    ("slices of Bottlerocket", strategy(group("p4d.24xlarge", **MIG, **BOTTLEROCKET)), {}, {GPU: 1}),
    ("Trainium", strategy(TRN1), {"group": "trn1"}, {NEURON: 16, EFA: 8, PAGES: "5120Mi"}),
    ("Inferentia", strategy(INF2), {"group": "inf2", "accelerators": 5}, {NEURON: 5}),
    # Inferentia's devices form a ring: any number of them is adjacent.
    ("Inferentia1", strategy(group("inf1.24xlarge")), {"accelerators": 2}, {NEURON: 2}),
    ("Inferentia1 too", strategy(group("inf1.24xlarge")), {"accelerators": 11}, {NEURON: 11}),
    ("Trainium2", strategy(group("trn2.48xlarge")), {"accelerators": 4}, {NEURON: 4}),
    ("CPU", strategy(group("m7i.4xlarge")), {}, {}),
    ("independent pods", strategy(P4D), {"nodes": 2, "independent": True}, {GPU: 8}),
    (
        "independent pods on Neuron without EFA",
        strategy({**INF2, "scaling": {"max": 2}}),
        {"group": "inf2", "nodes": 2, "independent": True},
        {NEURON: 12},
    ),
    (
        "independent pods on parts of Neuron nodes",
        strategy(TRN1),
        {"group": "trn1", "nodes": 4, "accelerators": 4, "independent": True},
        {NEURON: 4},
    ),
    (
        "independent pods on shares",
        strategy(group("g6.xlarge", **SLICED)),
        {"nodes": 2, "independent": True},
        {GPU: 1},
    ),
    ("the smallest type of a group", strategy(group(["g6.12xlarge", "g6.48xlarge"])), {}, {GPU: 4}),
    (
        "the smallest type of a pool",
        strategy(**pools(gpu_pool(instance_types=["g6.12xlarge", "g6.48xlarge"]))),
        {"group": "pool"},
        {GPU: 4},
    ),
    (
        "a larger type of a pool, if it is asked for",
        strategy(**pools(gpu_pool(instance_types=["g6.12xlarge", "g6.48xlarge"]))),
        {"group": "pool", "accelerators": 8},
        {GPU: 8},
    ),
]


@in_one_test(("of", "request_", "expected"), [row[1:] for row in ASKED], ids=[row[0] for row in ASKED])
def test_extended_resources(of: Strategy, request_: dict[str, Any], expected: dict[str, Any]) -> None:
    assert extended(of, **request_) == expected


def test_cpu_and_memory_are_a_share_of_the_smallest_node() -> None:
    of = strategy(group(["g6.12xlarge", "g6.48xlarge"]))
    # 48 vCPUs and 192 GiB, minus 7.5%, the reservations, and a twentieth.
    assert container(of)["resources"]["requests"] == {"cpu": "45", "memory": "166Gi"}
    assert container(of, kind="deployment")["resources"]["requests"] == {"cpu": "11", "memory": "41Gi"}


def test_the_daemonsets_of_add_ons_fit_next_to_a_job_on_a_whole_node() -> None:
    # 3920m can be allocated. CloudWatch's three daemonsets request 550m there, the usual ones 160m; 100m is for charts.
    of = strategy(group("g5.xlarge"), **configured("amazon-cloudwatch-observability"))
    assert container(of)["resources"]["requests"]["cpu"] == "3110m"
    assert container(strategy(group("g5.xlarge")))["resources"]["requests"]["cpu"] == "3520m"


@pytest.mark.parametrize("of", [strategy(), strategy(group("m6i.xlarge", name="own", workload="system"))])
def test_half_of_a_node_is_left_to_the_cluster(of: Strategy) -> None:
    name = of.node_groups[-1].name
    requests = container(of, group=name)["resources"]["requests"]
    assert requests == {"cpu": "1960m", "memory": "7080Mi"}


def test_memory_is_a_limit_and_cpu_is_none() -> None:
    resources = container(strategy(P4D))["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    assert "cpu" not in resources["limits"]


def test_every_taint_is_tolerated() -> None:
    taints = [{"key": "team", "value": "a", "effect": "NoExecute"}, {"key": "vpc.amazonaws.com/efa", "value": "true"}]
    found = workload_pod(strategy({**P4D, "taints": taints}))["tolerations"]
    assert found == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
        {"key": "vpc.amazonaws.com/efa", "operator": "Exists", "effect": "NoSchedule"},
    ]
    assert "tolerations" not in workload_pod(strategy(group("m7i.4xlarge")))


@in_one_test(
    ("of", "request_", "expected"),
    [
        (strategy(P4D), {}, {"FI_PROVIDER": "efa", "PET_NPROC_PER_NODE": "8", "PET_NNODES": "1"}),
        (strategy(P4D), {"nodes": 3}, {"MASTER_ADDR": "gpu-job-0.gpu-job", "PET_NNODES": "3"}),
        (strategy(TRN1), {"group": "trn1"}, {"FI_EFA_USE_DEVICE_RDMA": "1", "PET_NPROC_PER_NODE": "32"}),
        # Each process of torchrun uses one core; a server uses all.
        (strategy(TRN1), {"group": "trn1"}, {"NEURON_RT_NUM_CORES": None}),
        (
            strategy(INF2),
            {"group": "inf2", "kind": "deployment", "accelerators": 6},
            {"NEURON_RT_NUM_CORES": "12", "FI_PROVIDER": None},
        ),
        # Two physical cores of Trainium2 are one core for pods.
        (strategy(group("trn2.48xlarge", efa=True)), {}, {"PET_NPROC_PER_NODE": "64"}),
        (strategy(P4D), {"kind": "pytorchjob"}, {"PET_NNODES": None, "FI_PROVIDER": "efa"}),
    ],
)
def test_environment(of: Strategy, request_: dict[str, Any], expected: dict[str, str | None]) -> None:
    found = environment_of(of, **request_)
    assert {name: found.get(name) for name in expected} == expected


def test_neuron_devices_that_have_to_be_neighbors_name_their_scheduler() -> None:
    of = strategy(TRN1, kubernetes={"delivery": "helm"})
    assert workload_pod(of, group="trn1")["schedulerName"] == "my-scheduler"
    assert "schedulerName" not in workload_pod(of, group="trn1", accelerators=1)
    assert "schedulerName" not in workload_pod(of, group="system")


def security(of: Strategy, **request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a pod's user, and its container's capabilities."""
    spec = workload_pod(of, **request)
    (main,) = spec["containers"]
    assert spec["securityContext"].pop("seccompProfile") == {"type": "RuntimeDefault"}
    assert main["securityContext"]["allowPrivilegeEscalation"] is False
    return spec["securityContext"], main["securityContext"]["capabilities"]


NOBODY = {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000}


@in_one_test(
    ("of", "request_", "user", "capabilities"),
    [
        (strategy(group("g6.xlarge")), {}, NOBODY, {"drop": ["ALL"]}),
        (strategy(P4D), {"kind": "deployment"}, NOBODY, {"drop": ["ALL"]}),
        (strategy(INF2), {"group": "inf2"}, NOBODY, {"drop": ["ALL"]}),
        # Memory for EFA is pinned, which AL2023 allows only for root.
        (strategy(P4D), {}, {"runAsUser": 0}, {"drop": ["ALL"], "add": ["IPC_LOCK"]}),
        (strategy(P4D), {"kind": "smoke-test"}, {"runAsUser": 0}, {"drop": ["ALL"], "add": ["IPC_LOCK"]}),
        (strategy(TRN1), {"group": "trn1"}, {"runAsUser": 0}, {"drop": ["ALL"], "add": ["IPC_LOCK"]}),
        (strategy({**P4D, **BOTTLEROCKET}), {}, NOBODY, {"drop": ["ALL"]}),
    ],
)
def test_pods_are_as_little_as_they_can_be(
    of: Strategy, request_: dict[str, Any], user: dict[str, Any], capabilities: dict[str, Any]
) -> None:
    assert security(of, **request_) == (user, capabilities)


@in_one_test("kind", ["job", "deployment", "pytorchjob"])
def test_pods_keep_to_themselves(kind: str) -> None:
    spec = workload_pod(strategy(P4D), kind=kind)
    assert spec["automountServiceAccountToken"] is False
    assert "hostNetwork" not in spec
    (volume,) = spec["volumes"]
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "31Gi" if kind == "deployment" else "248Gi"}


def test_bottlerocket_is_told_of_the_user() -> None:
    text = manifest_of(strategy(group("inf2.xlarge", ami={"family": "bottlerocket"}))).yaml
    assert "device-ownership-from-security-context" in text


def test_jobs_over_several_nodes_have_names_and_a_number() -> None:
    service, job = manifest_of(strategy(P4D), nodes=4, name="train", namespace="ml").objects
    assert (service["kind"], service["metadata"]) == ("Service", {"name": "train", "namespace": "ml"})
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (4, 4, "Indexed")
    assert spec["template"]["spec"]["subdomain"] == "train"
    assert job["metadata"]["namespace"] == "ml"


def test_independent_pods_do_not_meet() -> None:
    (job,) = manifest_of(strategy(P4D), nodes=3, independent=True).objects
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (3, 3, "Indexed")
    # A failed one does not end others.
    assert (spec["backoffLimitPerIndex"], "backoffLimit" in spec) == (0, False)
    assert "subdomain" not in pod_of(job)
    found = environment_of(strategy(P4D), nodes=3, independent=True)
    assert (found["PET_NNODES"], found["MASTER_ADDR"], found["PET_NODE_RANK"]) == ("1", "localhost", "0")
    assert "FI_PROVIDER" not in found
    assert manifest_of(strategy(group("g6.12xlarge")), nodes=2, independent=True).warnings == ()


def annotations_of(of: Strategy, **request: Any) -> Any:
    found = manifest_of(of, **request).objects[-1]
    spec = found["spec"].get("pytorchReplicaSpecs", {}).get("Worker", found["spec"])
    return spec["template"]["metadata"].get("annotations")


@in_one_test("kind", ["job", "pytorchjob", "smoke-test"])
def test_karpenter_leaves_the_nodes_of_jobs_alone(kind: str) -> None:
    keep = {"karpenter.sh/do-not-disrupt": "true"}
    of_pool = strategy(**pools(gpu_pool(instance_types=["g6.12xlarge"])))
    assert annotations_of(of_pool, group="pool", kind=kind) == keep
    # Karpenter does not manage groups, and a deployment's pods can move.
    assert annotations_of(strategy(P4D), kind=kind) is None
    assert annotations_of(of_pool, group="pool", kind="deployment") is None


def test_one_node_needs_no_service() -> None:
    (job,) = manifest_of(strategy(P4D)).objects
    assert "completionMode" not in job["spec"]


def test_workers_of_a_pytorchjob() -> None:
    found = manifest_of(strategy(P4D), kind="pytorchjob", nodes=3)
    (job,) = found.objects
    assert list(job["spec"]["pytorchReplicaSpecs"]) == ["Worker"]
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert job["spec"]["nprocPerNode"] == "8"
    assert pod_of(job)["containers"][0]["name"] == "pytorch"
    (warning,) = found.warnings
    assert "Training Operator" in warning
    assert "kubectl apply" in warning


def test_the_command_is_the_users() -> None:
    of = strategy(P4D)
    own = container(of, image="registry.example:5000/team/train:1.0", command=("python3", "-c", "print('a b')"))
    assert (own["image"], own["command"]) == (
        "registry.example:5000/team/train:1.0",
        ["python3", "-c", "print('a b')"],
    )
    assert "command" not in container(of, image="registry.example/train:1.0")
    server = container(of, kind="deployment", image="registry.example/serve:1", port=9000)
    assert server["readinessProbe"]["tcpSocket"] == {"port": 9000}
    assert "readinessProbe" not in container(of, kind="deployment", image="registry.example/serve:1")


def test_a_service_reaches_the_pods_of_a_deployment_with_a_port() -> None:
    of = strategy(P4D)
    service, deployment = manifest_of(
        of, kind="deployment", image="registry.example/serve:1", port=9000, name="chat", namespace="serving"
    ).objects
    assert service["metadata"] == {"name": "chat", "namespace": "serving"}
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["ports"] == [{"port": 9000}]
    (placeholder_service, _) = manifest_of(of, kind="deployment").objects
    assert placeholder_service["spec"]["ports"] == [{"port": 8000}]
    (_,) = manifest_of(of, kind="deployment", image="registry.example/serve:1").objects


@in_one_test("kind", ["job", "deployment", "pytorchjob", "smoke-test"])
def test_a_secret_becomes_environment_variables(kind: str) -> None:
    of = strategy(P4D)
    assert container(of, kind=kind, env_from="hugging-face")["envFrom"] == [{"secretRef": {"name": "hugging-face"}}]
    assert "envFrom" not in container(of, kind=kind)


# --- images -------------------------------------------------------------------------------------------------------


HPC = group("hpc7a.96xlarge", efa=True)
OLD_CLUSTER = {"kubernetes_version": "1.32", "creator_is_admin": True}
OLD_IMAGE = group("g6.xlarge", ami={"release_version": "1.32.3-20250505"})


@in_one_test(
    ("of", "request_", "part"),
    [
        (strategy(P4D), {}, "/pytorch:2.13-cu133"),
        # CUDA 13 does not support Volta.
        (strategy(group("p3.2xlarge")), {}, "pytorch-training:2.6.0-gpu-py312-cu126"),
        # And a driver before 580 does not support CUDA 13.
        (strategy(OLD_IMAGE, cluster=OLD_CLUSTER), {}, "gpu-py312-cu126"),
        (strategy(group("g5g.xlarge")), {}, "pytorch-training-arm64:2.7.0-gpu"),
        (strategy(group("c7i.4xlarge")), {}, "pytorch:2.13-cpu"),
        (strategy(group("c7g.4xlarge")), {}, "pytorch-inference-arm64:2.6.0-cpu"),
        # CPU nodes with EFA: only the images for GPUs have its software.
        (strategy(HPC), {}, "/pytorch:2.13-cu133"),
        (strategy(HPC), {"kind": "smoke-test"}, "/pytorch:2.13-cu133"),
        (strategy(HPC), {"independent": True}, "/pytorch:2.13-cpu"),
        (strategy(group("hpc7g.16xlarge", efa=True)), {"kind": "smoke-test"}, "pytorch-training-arm64:2.7.0-gpu"),
        (strategy({**TRN1, "needs": {"neuron_sdk": "2.29"}}), {"group": "trn1"}, "training-neuronx:2.9.0-.*sdk2.29.1"),
        (
            strategy({**TRN1, "needs": {"neuron_sdk": "2.29"}}),
            {"group": "trn1", "kind": "deployment"},
            "inference-neuronx:2.9.0-.*sdk2.29.1",
        ),
        (strategy(INF2), {"group": "inf2"}, "inference-neuronx:2.9.0-.*sdk2.31.1"),
        (strategy(group("inf1.xlarge")), {}, "pytorch-inference-neuron:"),
        (strategy(group("g6.xlarge")), {"kind": "smoke-test"}, "nvcr.io/nvidia/cuda:12.6.0-base"),
    ],
)
def test_images_fit_the_hardware(of: Strategy, request_: dict[str, Any], part: str) -> None:
    assert re.search(part, container(of, **request_)["image"])


def test_what_no_source_names_is_asked_for() -> None:
    of = strategy({**TRN1, "needs": {"neuron_sdk": "2.32"}})
    problem = refused(of, group="trn1")
    assert (problem.code, problem.option) == ("WORKLOAD_IMAGE_UNKNOWN", "--image")
    assert container(of, group="trn1", image="registry.example/train:1")["image"] == "registry.example/train:1"


def test_an_image_without_efa_is_not_given_to_pods_with_efa() -> None:
    of = strategy(group("inf1.24xlarge", efa=True))
    for request in ({}, {"kind": "smoke-test"}, {"kind": "smoke-test", "checks": ("efa",)}):
        problem = refused(of, **request)
        assert problem.code == "WORKLOAD_IMAGE_UNKNOWN"
        assert "Neuron for Inferentia with EFA software" in problem.message
    assert "pytorch-inference-neuron:" in container(of, kind="smoke-test", checks=("neuron-ls",))["image"]
    # With SDK 2.25, the inference image has none, but the training image does.
    old = strategy({**TRN1, "needs": {"neuron_sdk": "2.25"}})
    serving = container(old, group="trn1", kind="deployment", accelerators=16)
    assert "pytorch-training-neuronx" in serving["image"]
    assert "pytorch-inference-neuronx" in container(old, group="trn1", kind="deployment")["image"]


def test_no_image_with_efa_is_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    sections = json.loads((data.FOLDER / "facts" / "workload_images.json").read_text(encoding="utf-8"))
    for row in sections["pytorch"]["images"]:
        row["efa"] = False
    monkeypatch.setattr(facts, "workload_images", lambda: sections)
    for of in (strategy(HPC), strategy(P4D)):
        assert "with EFA software" in refused(of).message
    assert "pytorch" in container(strategy(P4D), independent=True)["image"]


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _images(each)
    elif isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, str) and re.match(r"(public\.ecr\.aws|nvcr\.io)/", value):
        yield value


def test_facts_have_sources_and_images_have_tags() -> None:
    file = data.FOLDER / "facts" / "workload_images.json"
    sections = json.loads(file.read_text(encoding="utf-8"))
    for name, section in sections.items():
        if name != "_about":
            assert section["source"].startswith("https://"), name
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", section["as_of"]), name
    images = list(_images(sections))
    assert len(images) > 10
    for image in images:
        assert image.rpartition(":")[2] not in ("latest", ""), image
        assert ":" in image, image
        Request(kind="job", group="gpu", image=image).check()


# --- errors

KUEUE = {"kubernetes": {"kueue": True}}
QUOTA = {"kubernetes": {"kueue": True, "teams": [{"name": "research", "quota": {"nvidia.com/gpu": 4, "cpu": 64}}]}}
TEAMS = {"kubernetes": {"kueue": True, "teams": [{"name": "a"}, {"name": "b"}]}}

REFUSED: list[tuple[str, Strategy, dict[str, Any], str, str, str]] = [
    ("a group", strategy(P4D), {"group": "gpus"}, "WORKLOAD_GROUP_UNKNOWN", "--group", "did you mean gpu"),
    ("nothing like it", strategy(P4D), {"group": "zzz"}, "WORKLOAD_GROUP_UNKNOWN", "--group", "use one of gpu, system"),
    ("too many GPUs", strategy(P4D), {"accelerators": 9}, "WORKLOAD_ACCELERATORS", "--accelerators", "at most 8"),
    ("no GPUs", strategy(P4D), {"accelerators": 0}, "WORKLOAD_NUMBER", "--accelerators", "must be from 1"),
    (
        "GPUs of a CPU node",
        strategy(group("m7i.xlarge")),
        {"accelerators": 1},
        "WORKLOAD_ACCELERATORS",
        "--accelerators",
        "has no accelerators",
    ),
    (
        "two shares",
        strategy(group("g6.12xlarge", **SLICED)),
        {"accelerators": 2},
        "WORKLOAD_ACCELERATORS",
        "--accelerators",
        "use 1",
    ),
    (
        "devices that are no neighbors",
        strategy(TRN1),
        {"group": "trn1", "accelerators": 3},
        "WORKLOAD_ACCELERATORS",
        "--accelerators",
        "1, 4, 8, 16",
    ),
    (
        "devices of Trainium2 that are no neighbors",
        strategy(group("trn2.48xlarge")),
        {"accelerators": 2},
        "WORKLOAD_ACCELERATORS",
        "--accelerators",
        "2 Trainium2 devices cannot be neighbors; use one of 1, 4, 8, 16",
    ),
    (
        "independent replicas",
        strategy(P4D),
        {"kind": "deployment", "independent": True},
        "WORKLOAD_OPTION",
        "--independent",
        "omit the option",
    ),
    (
        "independent workers",
        strategy(P4D),
        {"kind": "pytorchjob", "independent": True},
        "WORKLOAD_OPTION",
        "--independent",
        "--kind job",
    ),
    (
        "more GPUs than the team's quota",
        strategy(P4D, **QUOTA),
        {"namespace": "research"},
        "WORKLOAD_QUOTA",
        "--namespace",
        "8 nvidia.com/gpu of 4, 90 cpu of 64; use fewer --accelerators, or raise kubernetes.teams[research].quota",
    ),
    (
        "more pods than the team's quota",
        strategy(P4D, **QUOTA),
        {"namespace": "research", "accelerators": 1, "nodes": 5},
        "WORKLOAD_QUOTA",
        "--nodes",
        "5 x 1 nvidia.com/gpu of 4; use fewer --nodes",
    ),
    (
        "more replicas than the team's queue",
        strategy(P4D, **QUOTA),
        {"queue": "nvidia-gpu", "kind": "deployment", "nodes": 5},
        "WORKLOAD_QUOTA",
        "--nodes",
        "nvidia.com/gpu of 4",
    ),
    (
        "more than the quota of CPUs",
        strategy(group("m7i.48xlarge"), **QUOTA),
        {"namespace": "research"},
        "WORKLOAD_QUOTA",
        "--namespace",
        "cpu of 64; raise kubernetes.teams[research].quota",
    ),
    ("too many nodes", strategy(P4D), {"nodes": 5}, "WORKLOAD_NODES", "--nodes", "room for at most 4 nodes"),
    (
        "more than a pool's limits",
        strategy(**pools(gpu_pool(instance_types=["p4d.24xlarge"]))),
        {"group": "pool", "nodes": 2},
        "WORKLOAD_NODES",
        "--nodes",
        "raise its limits",
    ),
    (
        "slices of several nodes",
        strategy(group("p4d.24xlarge", **MIG), **OPERATOR),
        {"nodes": 2},
        "WORKLOAD_NODES",
        "--nodes",
        "NCCL runs on whole GPUs",
    ),
    (
        "Neuron over several nodes without EFA",
        strategy({**INF2, "scaling": {"max": 2}}),
        {"group": "inf2", "nodes": 2},
        "WORKLOAD_EFA",
        "--nodes",
        "trn1.32xlarge",
    ),
    (
        "Neuron over parts of nodes",
        strategy(TRN1),
        {"group": "trn1", "nodes": 2, "accelerators": 1},
        "WORKLOAD_EFA",
        "--nodes",
        "whole nodes",
    ),
    (
        "no accelerator to test",
        strategy(),
        {"group": "system", "kind": "smoke-test"},
        "WORKLOAD_CHECK",
        "--kind",
        "job",
    ),
    (
        "EFA where there is none",
        strategy(group("g6.8xlarge")),
        {"kind": "smoke-test", "checks": ("efa",)},
        "WORKLOAD_CHECK",
        "--check",
        "set efa: true",
    ),
    (
        "NCCL over one GPU",
        strategy(group("g6.xlarge")),
        {"kind": "smoke-test", "checks": ("nccl",)},
        "WORKLOAD_CHECK",
        "--check",
        "--nodes 2",
    ),
    (
        "Neuron on GPUs",
        strategy(P4D),
        {"kind": "smoke-test", "checks": ("neuron-ls",)},
        "WORKLOAD_CHECK",
        "--check",
        "no Neuron devices",
    ),
    ("checks of a job", strategy(P4D), {"checks": ("efa",)}, "WORKLOAD_OPTION", "--check", "smoke-test"),
    (
        "a command of a test",
        strategy(P4D),
        {"kind": "smoke-test", "command": ("a",)},
        "WORKLOAD_OPTION",
        "--command",
        "",
    ),
    ("a port of a job", strategy(P4D), {"port": 80}, "WORKLOAD_OPTION", "--port", "deployment"),
    ("a queue without Kueue", strategy(P4D), {"queue": "nvidia-gpu"}, "WORKLOAD_QUEUE", "--queue", "kueue: true"),
    ("another's queue", strategy(P4D, **KUEUE), {"queue": "cpu"}, "WORKLOAD_QUEUE", "--queue", "use nvidia-gpu"),
    (
        "a queue of the system",
        strategy(group("m7i.xlarge", name="own", workload="system"), **KUEUE),
        {"group": "own", "queue": "cpu"},
        "WORKLOAD_QUEUE",
        "--queue",
        "no queue",
    ),
    (
        "a queue in one of several namespaces",
        strategy(P4D, **TEAMS),
        {"queue": "nvidia-gpu"},
        "WORKLOAD_NAMESPACE",
        "--namespace",
        "choose a or b",
    ),
    (
        "a queue in another namespace",
        strategy(P4D, **TEAMS),
        {"queue": "nvidia-gpu", "namespace": "c"},
        "WORKLOAD_NAMESPACE",
        "--namespace",
        "choose a or b",
    ),
    ("a name in capitals", strategy(P4D), {"name": "Train"}, "WORKLOAD_NAME", "--name", "lower-case"),
    (
        "a name with a number first",
        strategy(P4D),
        {"name": "1train"},
        "WORKLOAD_NAME",
        "--name",
        "starting with a letter",
    ),
    ("a name with a line", strategy(P4D), {"name": "a\nb: c"}, "WORKLOAD_NAME", "--name", r"a\nb: c"),
    ("a long name", strategy(P4D), {"name": "a" * 49}, "WORKLOAD_NAME", "--name", "48"),
    ("a namespace", strategy(P4D), {"namespace": "-a"}, "WORKLOAD_NAME", "--namespace", "'-a'"),
    ("a queue's name", strategy(P4D), {"queue": "a\x1b[31m"}, "WORKLOAD_NAME", "--queue", r"\x1b"),
    ("a secret's name", strategy(P4D), {"env_from": "HF_TOKEN"}, "WORKLOAD_NAME", "--env-from", "lower-case"),
    ("a long secret", strategy(P4D), {"env_from": "a" * 254}, "WORKLOAD_NAME", "--env-from", "253"),
    ("an image with a line", strategy(P4D), {"image": "a/b:1\n  x: y"}, "WORKLOAD_IMAGE", "--image", r"\n"),
    ("an image with a space", strategy(P4D), {"image": "a/b 1"}, "WORKLOAD_IMAGE", "--image", "REGISTRY/NAME:TAG"),
    ("no image", strategy(P4D), {"image": ""}, "WORKLOAD_IMAGE", "--image", "''"),
    ("a command with a bell", strategy(P4D), {"command": ("a\x07",)}, "WORKLOAD_COMMAND", "--command", r"\x07"),
    ("no nodes", strategy(P4D), {"nodes": 0}, "WORKLOAD_NUMBER", "--nodes", "must be from 1"),
    ("very many nodes", strategy(P4D), {"nodes": 10**30}, "WORKLOAD_NUMBER", "--nodes", "100000"),
    ("a port", strategy(P4D), {"kind": "deployment", "port": 65536}, "WORKLOAD_NUMBER", "--port", "65535"),
]


@in_one_test(
    ("of", "request_", "code", "option", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(of: Strategy, request_: dict[str, Any], code: str, option: str, says: str) -> None:
    problem = refused(of, **request_)
    assert (problem.code, problem.option) == (code, option)
    assert says in problem.message
    assert str(problem) == f"error {code} {option}: {problem.message}"
    assert problem.message.isprintable()


def test_accelerators_of_no_plugin_are_refused() -> None:
    assert refused(strategy(group("dl1.24xlarge"))).code == "WORKLOAD_HARDWARE"


def test_warnings() -> None:
    several = strategy(group("g6.12xlarge"))
    assert ["TCP" in each for each in manifest_of(several, nodes=2).warnings] == [True]
    assert manifest_of(several, nodes=2, kind="deployment", accelerators=2).warnings == ()
    assert manifest_of(several, nodes=2, kind="deployment").warnings == (
        "each replica requests 1 nvidia.com/gpu by default; set --accelerators if it needs more",
    )
    for image in ("registry.example/a:latest", "registry.example:5000/a"):
        assert ["can change" in each for each in manifest_of(several, image=image).warnings] == [True]
    assert manifest_of(several, image=f"registry.example/a@sha256:{'0' * 64}").warnings == ()


def test_a_group_that_nobody_raises_is_named() -> None:
    assert "scaling.desired to 2" in manifest_of(strategy(P4D), nodes=2).yaml.replace("\n# ", " ")
    running = {**P4D, "scaling": {"min": 2, "max": 4}}
    assert "scaling.desired" not in manifest_of(strategy(running), nodes=2).yaml


# --- queues -------------------------------------------------------------------------------------------------------


def test_a_queue_brings_its_namespace_and_the_labels_of_its_flavor() -> None:
    of = strategy(P4D, kubernetes={"kueue": True, "teams": [{"name": "research"}]})
    for kind in ("job", "pytorchjob", "deployment", "smoke-test"):
        found = manifest_of(of, kind=kind, queue="nvidia-gpu").objects[-1]
        assert found["metadata"]["namespace"] == "research"
        assert found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "nvidia-gpu"
        assert pod_of(found)["nodeSelector"] == {
            "eks.amazonaws.com/nodegroup": "gpu",
            "hardware-type": "nvidia-gpu",
            "accelerator": "a100",
            "workload-type": "training",
            "kubernetes.io/arch": "amd64",
        }
    assert manifest_of(strategy(P4D, **KUEUE), queue="nvidia-gpu").objects[0]["metadata"]["namespace"] == "default"


@pytest.mark.parametrize("request_", [{"namespace": "research"}, {"queue": "nvidia-gpu"}])
def test_a_default_limit_of_the_namespace_is_no_less_than_the_request(request_: dict[str, Any]) -> None:
    defaults = {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "16Gi"}}
    team = {"name": "research", "quota": {"nvidia.com/gpu": 8}, "container_defaults": defaults}
    of = strategy(P4D, kubernetes={"kueue": True, "teams": [team, {"name": "other"}]})
    for kind in KINDS:
        resources = container(of, kind=kind, **{"namespace": "research", **request_})["resources"]
        assert resources["limits"]["cpu"] == resources["requests"]["cpu"]
        assert "cpu" not in container(of, kind=kind, namespace="other")["resources"]["limits"]
    assert "namespace's default limit" in manifest_of(of, namespace="research").yaml


# --- as text ------------------------------------------------------------------------------------------------------


@in_one_test("kind", KINDS)
def test_comments_change_nothing(kind: str) -> None:
    hostile = ("sh", "-c", "# no: comment\n  resources: {}\n- a\n---\n'\"", "nodeSelector:", "on", "1e3", "")
    request = {} if kind == "smoke-test" else {"command": hostile}
    found = manifest_of(strategy(P4D, **KUEUE), kind=kind, nodes=2, queue="nvidia-gpu", **request)
    assert yaml_documents(found.yaml) == json.loads(json.dumps(found.objects))
    assert found.yaml.count("# ") > 5


@in_one_test("name", ["a", "9-lives", "a" * 63, "7" * 63])
def test_names_follow_from_the_group(name: str) -> None:
    of = strategy(group("m7i.4xlarge", name=name))
    for kind in ("job", "deployment", "pytorchjob"):
        found = manifest_of(of, group=name, kind=kind).objects[-1]["metadata"]["name"]
        Request(kind="job", group=name, name=found).check()
    assert (
        len({manifest_of(of, group=name, kind=kind).objects[-1]["metadata"]["name"] for kind in ("job", "pytorchjob")})
        == 2
    )


# --- golden -------------------------------------------------------------------------------------------------------

TYPICAL: dict[str, tuple[str, dict[str, Any]]] = {
    "nccl-over-efa": ("mixed-hardware", {"kind": "smoke-test", "group": "gpu-training", "nodes": 2}),
    "trainium-job": ("trainium-training", {"group": "trn1", "nodes": 4}),
    "queued-pytorchjob": ("gpu-training", {"kind": "pytorchjob", "group": "h100", "nodes": 8, "queue": "nvidia-gpu"}),
    "shared-gpu-deployment": (
        "gpu-inference",
        {"kind": "deployment", "group": "l4-shared", "image": "registry.example/serve:1.0", "port": 8080},
    ),
    "inferentia-smoke-test": ("inferentia-inference", {"kind": "smoke-test", "group": "large"}),
}


@in_one_test("name", TYPICAL)
def test_typical_manifests(name: str, golden: Callable[[str, str], None]) -> None:
    of, request = TYPICAL[name]
    golden(f"workloads/{name}.yaml", manifest_of(shipped(of), **request).yaml)


def test_strategies_are_those_shipped() -> None:
    assert {of for of, _ in TYPICAL.values()} <= set(SHIPPED)
