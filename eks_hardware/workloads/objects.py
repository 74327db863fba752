"""Jobs, deployments and PyTorchJobs for the pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware import facts
from eks_hardware.aws_names import limited
from eks_hardware.workloads.comments import Notes, Path, below
from eks_hardware.workloads.images import framework_image
from eks_hardware.workloads.pod import env_list, pod_notes, pod_spec
from eks_hardware.workloads.queues import QUEUE_LABEL, Placement
from eks_hardware.workloads.request import NAME_LENGTH, Check, Request
from eks_hardware.workloads.sizing import Size
from eks_hardware.workloads.smoke import chosen, environment, script
from eks_hardware.workloads.target import Target

_NAME_LABEL = "app.kubernetes.io/name"
_JOB_LABEL = "batch.kubernetes.io/job-name"
_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
_KEEP = {"karpenter.sh/do-not-disrupt": "true"}

_MASTER_PORT = 29500
_DEFAULT_PORT = 8000
_KEPT_SECONDS = 86_400
_SMOKE_SECONDS = 3_600

# Placeholders that only run. The user replaces them.
_SHOWS_ITSELF = ("torchrun", "-m", "torch.utils.collect_env")
_LISTENS = ("python3", "-m", "http.server", str(_DEFAULT_PORT))


@dataclass(frozen=True)
class Part:
    """An object, and the comments above its fields."""

    object: Mapping[str, object]
    notes: Notes


def parts(target: Target, size: Size, request: Request, placed: Placement) -> tuple[Part, ...]:
    """Return the objects of a workload, in the order in which they are applied.

    Raises:
        WorkloadError: WORKLOAD_CHECK, WORKLOAD_IMAGE_UNKNOWN.
    """
    if request.kind == "deployment":
        deployment = _deployment(target, size, request, placed)
        port = _port(request)
        return (_endpoint(deployment.object, port), deployment) if port else (deployment,)
    if request.kind == "pytorchjob":
        return (_pytorch_job(target, size, request, placed),)
    job = _job(target, size, request, placed)
    return (_names_of_pods(job.object), job) if request.is_distributed else (job,)


def name_of(target: Target, request: Request) -> str:
    """Return the name of the objects: the user's, or one from the group and the kind."""
    if request.name:
        return request.name
    group = target.name if target.name[0].isalpha() else f"n-{target.name}"
    return limited(group, request.kind, limit=NAME_LENGTH)


# --- job and smoke test -------------------------------------------------------------------------------------------


def _job(target: Target, size: Size, request: Request, placed: Placement) -> Part:
    name, several, smoke = name_of(target, request), request.is_distributed, request.kind == "smoke-test"
    master = f"{name}-0.{name}" if several else "localhost"
    env = _torchrun(master, request.nodes if several else 1, size.ranks)
    checks = chosen(target, size, request) if smoke else ()
    env += env_list(environment(target, size, checks, nodes=request.nodes))
    spec = pod_spec(
        target,
        size,
        container="smoke-test" if smoke else "worker",
        image=_image(target, size, request, checks),
        command=("/bin/bash", "-c") if smoke else _command(request),
        args=(script(checks, nodes=request.nodes),) if smoke else (),
        env=env,
        env_from=request.env_from,
        subdomain=name if several else None,
        placed=placed,
    )
    # The job's limit counts the pods of all indices.
    limit = "backoffLimitPerIndex" if request.independent else "backoffLimit"
    job: dict[str, object] = {limit: 0, "ttlSecondsAfterFinished": _KEPT_SECONDS}
    if smoke:
        job["activeDeadlineSeconds"] = _SMOKE_SECONDS
    if request.nodes > 1 or request.independent:
        job |= {"completions": request.nodes, "parallelism": request.nodes, "completionMode": "Indexed"}
    job["template"] = {"metadata": _pod_metadata(target, name), "spec": spec}
    job_object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(name, placed), "spec": job}
    notes: Notes = {
        ("spec", "backoffLimit"): "a failed pod ends the job: idle nodes cost as much as busy ones",
        ("spec", "activeDeadlineSeconds"): "counts from the start, including the time to launch nodes",
        ("spec", "backoffLimitPerIndex"): "a failed pod does not affect the others",
        ("spec", "completionMode"): "each pod has an index"
        + (", and the first is the master" if several else ": JOB_COMPLETION_INDEX selects its part of the work"),
        **_pod_level(target, size, placed),
    }
    at = ("spec", "template", "spec", "containers", 0)
    if not smoke:
        notes |= _yours(request, at, "torchrun train.py; torchrun reads the variables with the prefix PET_")
    return Part(job_object, notes)


def _names_of_pods(job: Mapping[str, Any]) -> Part:
    """Return a headless service with names for an Indexed Job's pods, even before they are ready: ``train-0.train``."""
    name = job["metadata"]["name"]
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {_JOB_LABEL: name}}
    note = f"DNS names for the pods: {name}-0.{name} is the master"
    return Part(_service(job, spec), {("spec", "clusterIP"): note})


def _service(workload: Mapping[str, Any], spec: Mapping[str, object]) -> dict[str, object]:
    """Return a service with the name and namespace of a workload."""
    metadata = {key: value for key, value in workload["metadata"].items() if key in ("name", "namespace")}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _torchrun(master: str, nodes: int, ranks: int) -> list[dict[str, object]]:
    """Return the rendezvous variables, by the names that scripts use and the names of torchrun's options.

    Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/argparse_util.py (PET_)
    """
    rank: dict[str, object] = {"valueFrom": {"fieldRef": {"fieldPath": _INDEX}}} if nodes > 1 else {"value": "0"}
    address = {"MASTER_ADDR": master, "MASTER_PORT": str(_MASTER_PORT)}
    counts = {"PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": str(ranks)}
    torch = {f"PET_{name}": value for name, value in address.items()}
    return [*env_list(address | counts), {"name": "PET_NODE_RANK", **rank}, *env_list(torch)]


# --- deployment ---------------------------------------------------------------------------------------------------


def _deployment(target: Target, size: Size, request: Request, placed: Placement) -> Part:
    name = name_of(target, request)
    env = env_list({"NEURON_RT_NUM_CORES": str(size.ranks)}) if target.hardware.is_neuron else []
    spec = pod_spec(
        target,
        size,
        container="server",
        image=_image(target, size, request),
        command=request.command if _has_own_server(request) else _LISTENS,
        env=env,
        env_from=request.env_from,
        restart_policy=None,
        port=_port(request),
        placed=placed,
    )
    labels = {_NAME_LABEL: name}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(name, placed),
        "spec": {
            "replicas": request.nodes,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    notes: Notes = {
        ("spec", "strategy"): "old pods stop before new ones start: there may be no hardware for an additional pod",
        **_pod_level(target, size, placed),
        **_yours(
            request,
            ("spec", "template", "spec", "containers", 0),
            "vllm serve MODEL; set --port for its Service and probe",
        ),
    }
    return Part(deployment, notes)


def _has_own_server(request: Request) -> bool:
    return bool(request.image or request.command)


def _port(request: Request) -> int | None:
    """Return the port of a deployment's pods; None if the user's own server has no known port."""
    return request.port or (None if _has_own_server(request) else _DEFAULT_PORT)


def _endpoint(deployment: Mapping[str, Any], port: int) -> Part:
    """Return a service with one address inside the cluster for a deployment's ready pods."""
    spec = {"selector": deployment["spec"]["selector"]["matchLabels"], "ports": [{"port": port}]}
    name = deployment["metadata"]["name"]
    return Part(_service(deployment, spec), {("spec", "ports"): f"in the same namespace: http://{name}:{port}"})


# --- PyTorchJob ---------------------------------------------------------------------------------------------------


def _pytorch_job(target: Target, size: Size, request: Request, placed: Placement) -> Part:
    """Return a PyTorchJob of workers with the first as rendezvous. The operator sets torchrun's environment.

    API: https://github.com/kubeflow/training-operator/tree/v1.9.0/pkg/apis/kubeflow.org/v1
    """
    name = name_of(target, request)
    spec = pod_spec(
        target,
        size,
        container="pytorch",
        image=_image(target, size, request),
        command=_command(request),
        env_from=request.env_from,
        restart_policy=None,
        placed=placed,
    )
    worker = {
        "replicas": request.nodes,
        "restartPolicy": "Never",
        "template": {"metadata": _pod_metadata(target, name), "spec": spec},
    }
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": _metadata(name, placed),
        "spec": {
            "nprocPerNode": str(size.ranks),
            "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "Running", "ttlSecondsAfterFinished": _KEPT_SECONDS},
            "elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": request.nodes, "maxReplicas": request.nodes},
            "pytorchReplicaSpecs": {"Worker": worker},
        },
    }
    at = ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec")
    notes: Notes = {
        ("spec", "elasticPolicy"): "makes the first worker the rendezvous, because the job has no master",
        ("spec", "runPolicy"): "if a pod fails, the running pods are terminated",
        **below(at, pod_notes(target, size, placed=placed)),
        **_yours(request, (*at, "containers", 0), "torchrun train.py; the operator sets torchrun's options"),
    }
    return Part(job, notes)


# --- shared -------------------------------------------------------------------------------------------------------


def _image(target: Target, size: Size, request: Request, checks: tuple[Check, ...] = ()) -> str:
    """Return the user's image, or one with the software that the pods need, such as for EFA."""
    if request.image:
        return request.image
    if checks == ("nvidia-smi",):
        # The node provides nvidia-smi.
        return facts.workload_images()["nvidia_smi"]["image"]
    local = checks and "efa" not in checks and not request.is_distributed
    return framework_image(target, request.kind, efa=bool(size.efa) and not local)


def _command(request: Request) -> tuple[str, ...]:
    """Return the user's command. The user's image has its own command."""
    return request.command or (() if request.image else _SHOWS_ITSELF)


def _yours(request: Request, container: Path, what: str) -> Notes:
    """Return comments on placeholders that the user should replace."""
    if request.image:
        return {}
    command: Notes = {} if request.command else {("command",): f"placeholder: set --command, such as {what}"}
    return below(container, {("image",): "placeholder: set --image", **command})


def _pod_level(target: Target, size: Size, placed: Placement) -> Notes:
    notes = below(("spec", "template", "spec"), pod_notes(target, size, placed=placed))
    if target.is_pool:
        notes[("spec", "template", "metadata", "annotations")] = (
            "Karpenter does not disrupt the node while the pod runs"
        )
    return notes


def _metadata(name: str, placed: Placement) -> dict[str, object]:
    namespace = {"namespace": placed.namespace} if placed.namespace else {}
    queue = {QUEUE_LABEL: placed.queue} if placed.queue else {}
    return {"name": name, **namespace, "labels": {_NAME_LABEL: name, **queue}}


def _pod_metadata(target: Target, name: str) -> dict[str, object]:
    keep = {"annotations": dict(_KEEP)} if target.is_pool else {}
    return {"labels": {_NAME_LABEL: name}, **keep}
