"""The objects of a workload, as text to apply and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, Hardware, load
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedNodeGroup, ResolvedStrategy
from eks_hardware.workloads.comments import commented
from eks_hardware.workloads.objects import Part, parts
from eks_hardware.workloads.queues import placement
from eks_hardware.workloads.request import Request
from eks_hardware.workloads.sizing import Size, size
from eks_hardware.workloads.target import Target, find_target


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The objects, comments and warnings to print."""

    parts: tuple[Part, ...]  # in the order in which they are applied
    head: tuple[str, ...]  # comments above the first object
    warnings: tuple[str, ...]  # probable mistakes

    @property
    def objects(self) -> tuple[Mapping[str, Any], ...]:
        """The objects as data."""
        return tuple(part.object for part in self.parts)

    @property
    def yaml(self) -> str:
        """The objects as one YAML text with comments."""
        texts = (commented(part.object, part.notes, head=() if at else self.head) for at, part in enumerate(self.parts))
        return "---\n".join(texts)


def manifest(
    strategy: Strategy, resolved: ResolvedStrategy, request: Request, catalogue: Catalogue | None = None
) -> Manifest:
    """Return the manifest of a workload for a strategy that passed the rules.

    Raises:
        WorkloadError: with the code and the option at fault.
    """
    request.check()
    target = find_target(strategy, resolved, request.group, catalogue or load())
    pod_size = size(target, request)
    return Manifest(
        parts=parts(target, pod_size, request, placement(target, pod_size, request)),
        head=tuple(_head(target, pod_size, request)),
        warnings=tuple(_warnings(target, pod_size, request)),
    )


def _head(target: Target, pod_size: Size, request: Request) -> Iterator[str]:
    pods = "1 pod" if request.nodes == 1 else f"{request.nodes} pods"
    what = f"{pod_size.devices} {pod_size.resource}" if pod_size.resource else f"{pod_size.requests['cpu']} CPUs"
    yield f"{request.kind} on {target.called} of {target.resolved.name}: {pods} with {what}."
    if request.kind == "pytorchjob":
        yield f"Requires Kubeflow's Training Operator ({facts.workload_images()['training_operator']['version']})."
    node = target.node
    if isinstance(node, ResolvedNodeGroup) and node.desired_size < request.nodes and not node.autoscaled:
        yield (
            f"The group starts with {node.desired_size} nodes and has no autoscaler: set its scaling.desired to "
            f"{request.nodes} and deploy, and set it back afterwards."
        )


def _warnings(target: Target, pod_size: Size, request: Request) -> Iterator[str]:
    if request.is_distributed and target.hardware is Hardware.NVIDIA_GPU and not pod_size.efa:
        yield "these pods have no EFA: NCCL uses TCP between nodes, and GPUs wait for the network"
    if request.kind == "deployment" and request.accelerators is None and pod_size.resource and not pod_size.whole:
        devices = f"{pod_size.devices} {pod_size.resource}"
        yield f"each replica requests {devices} by default; set --accelerators if it needs more"
    image = request.image
    if image and (image.endswith(":latest") or ":" not in image.rpartition("/")[2]):
        yield f"the content of {image} can change; use a version tag or a digest"
    if request.kind == "pytorchjob":
        operator = facts.workload_images()["training_operator"]
        yield (
            "PyTorchJobs require Kubeflow's Training Operator, which strategies do not install; for "
            f"{operator['version']}: {operator['install']}"
        )
