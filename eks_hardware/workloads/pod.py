"""The pods of a workload: node selection, resources, and user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware import facts
from eks_hardware.catalogue import Hardware
from eks_hardware.kubernetes.device_plugins import NEURON, NEURON_SCHEDULER, has_several_devices
from eks_hardware.kubernetes.nodes import is_neuron, nodes_with, selecting_labels, tolerations
from eks_hardware.units import mebibytes
from eks_hardware.workloads.comments import Notes, Path
from eks_hardware.workloads.queues import Placement
from eks_hardware.workloads.sizing import Size
from eks_hardware.workloads.target import Target

_USER = 1000
_SHARED_MEMORY = "shm"
_PINS_MEMORY = "IPC_LOCK"
# Python cannot look up name and home of a user without an entry in the image's /etc/passwd.
_HOME = {"HOME": "/tmp", "USER": "worker"}


def pod_spec(
    target: Target,
    size: Size,
    *,
    container: str,
    image: str,
    command: Sequence[str],
    args: Sequence[str] = (),
    env: Sequence[dict[str, object]] = (),
    env_from: str | None = None,
    restart_policy: str | None = "Never",
    port: int | None = None,
    subdomain: str | None = None,
    placed: Placement,
) -> dict[str, object]:
    """Return the spec of a pod.

    Args:
        container: name of the only container.
        env_from: Secret whose keys become environment variables.
        restart_policy: None if the kind of workload allows only one.
        port: port that it listens on.
        subdomain: headless service of the pods.
        placed: namespace, whose team may limit containers, and the Kueue queue.
    """
    main: dict[str, object] = {"name": container, "image": image}
    if command:
        main["command"] = list(command)
    if args:
        main["args"] = list(args)
    main["env"] = [*env_list(_HOME), *env_list(_environment(target, size)), *env]
    if env_from:
        main["envFrom"] = [{"secretRef": {"name": env_from}}]
    if port is not None:
        main["ports"] = [{"containerPort": port}]
        main["readinessProbe"] = {"tcpSocket": {"port": port}, "periodSeconds": 10}
    # The API refuses a limit below the request, and a LimitRange may set such a default.
    cpu = {"cpu": size.requests["cpu"]} if placed.limits_cpu else {}
    main["resources"] = {"requests": size.requests, "limits": {**cpu, **size.limits}}
    added = {"add": [_PINS_MEMORY]} if _pins_memory(target, size) else {}
    main["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], **added}}
    main["volumeMounts"] = [{"name": _SHARED_MEMORY, "mountPath": "/dev/shm"}]
    spec: dict[str, object] = {"restartPolicy": restart_policy} if restart_policy else {}
    if subdomain:
        spec["subdomain"] = subdomain
    if _needs_scheduler(target, size):
        spec["schedulerName"] = NEURON_SCHEDULER
    spec |= {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {**_user(target, size), "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": _selector(target, queue=placed.queue is not None),
    }
    if tolerated := tolerations([target.node]):
        spec["tolerations"] = tolerated
    spec["containers"] = [main]
    limit = mebibytes(size.shared_memory_mib)
    spec["volumes"] = [{"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": limit}}]
    return spec


def pod_notes(target: Target, size: Size, *, placed: Placement) -> Notes:
    """Return the reasons for fields of the spec, by their paths."""
    resources: Path = ("containers", 0, "resources")
    limits: Path = (*resources, "limits")
    part = "all CPU and memory of a node" if size.whole else f"{size.devices} {size.resource} of a node, and its share"
    smallest = ", the smallest" if len(target.kinds) > 1 else ""
    notes: Notes = {
        ("nodeSelector",): f"nodes of {target.called}"
        + ("; the other labels are those of its Kueue flavor" if placed.queue else ""),
        ("tolerations",): "tolerates every taint of these nodes",
        resources: f"{part} ({size.kind.name}{smallest}), less a part for daemonsets",
        ("volumes",): "shared memory for data loaders and collectives; it counts as the pod's memory",
        ("automountServiceAccountToken",): "the pods do not use the API server",
        ("securityContext",): "not root; if the image needs root, remove runAsNonRoot, runAsUser and runAsGroup",
    }
    if target.runs_system:
        notes[resources] = f"half of a node ({size.kind.name}): CoreDNS and the controllers run here, too"
    if _needs_scheduler(target, size):
        notes[("schedulerName",)] = "assigns neighboring Neuron devices"
    if target.node.ami_family == "bottlerocket" and target.hardware.is_neuron:
        notes[("securityContext",)] = (
            "not root; on Bottlerocket this user owns the devices (device-ownership-from-security-context)"
        )
    if _pins_memory(target, size):
        notes[("securityContext",)] = (
            f"root with only {_PINS_MEMORY}: EFA pins memory, and the capability works only for root"
        )
    if size.huge_pages_mib:
        image = "Bottlerocket" if target.node.ami_family == "bottlerocket" else "the EKS AMI"
        notes[limits] = f"huge pages for libfabric's buffers; {image} reserves them"
    if placed.limits_cpu:
        cpu: Path = (*limits, "cpu")
        notes[cpu] = "without it the namespace's default limit applies, which may be lower than the request"
    return notes


def _pins_memory(target: Target, size: Size) -> bool:
    """Return whether pods need a capability to pin memory for EFA.

    A container inherits containerd's limit of locked memory: 8 MiB unless a node changes it. A capability helps only
    root (https://github.com/NVIDIA/nvidia-container-toolkit/issues/2037). EKS's AL2023 AMIs set no limit
    (nodeadm/internal/containerd/base-runtime-spec.json in https://github.com/awslabs/amazon-eks-ami). Bottlerocket
    raises it on nodes with EFA (2.7.0 in
    https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/CHANGELOG.md).
    """
    return bool(size.efa) and target.node.ami_family == "al2023"


def _user(target: Target, size: Size) -> dict[str, object]:
    if _pins_memory(target, size):
        return {"runAsUser": 0}
    return {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER}


def env_list(values: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the environment of a container."""
    return [{"name": name, "value": value} for name, value in values.items()]


def _environment(target: Target, size: Size) -> dict[str, str]:
    variables: dict[str, str] = {}
    if target.hardware is Hardware.NVIDIA_GPU:
        variables["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
    if size.efa:
        kind = "neuron" if target.hardware.is_neuron else "nccl"
        variables |= facts.workload_images()["efa_environment"]["by_library"][kind]
    return variables


def _needs_scheduler(target: Target, size: Size) -> bool:
    """Return whether the devices must be neighbors, which EKS's default scheduler does not guarantee."""
    runs = NEURON in target.resolved.kubernetes.charts and has_several_devices(nodes_with(target.resolved, is_neuron))
    return target.hardware.is_neuron and size.devices > 1 and runs


def _selector(target: Target, *, queue: bool) -> dict[str, str]:
    selector = dict(target.label)
    if queue:
        selector |= selecting_labels(target.node)
    return selector
