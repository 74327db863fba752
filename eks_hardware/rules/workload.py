"""Rules about workloads and hardware: training on inference chips, and jobs on several accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts, software
from eks_hardware.catalogue import Hardware, InstanceType
from eks_hardware.printable import joined
from eks_hardware.rules.needs import called_all, cheapest, choices
from eks_hardware.rules.registry import Breach, Context, Node, error, hardware_field, node_path, warning
from eks_hardware.software import chip_of
from eks_hardware.suggestions import several

# The catalogue's kinds for Qualcomm and media accelerators.
_INFERENCE_KINDS = ("inference", "media")


def _trains(kind: InstanceType) -> str | None:
    """Return a type's support for training: ``supported``, ``small``, ``unsupported``; None if it has no such chip."""
    if kind.accelerator and kind.accelerator.kind in _INFERENCE_KINDS:
        return "unsupported"
    support: str | None = facts.software()["neuron_chips"]["training"].get(chip_of(kind))
    return support


def _training(context: Context, verdict: str) -> Iterator[tuple[Node, str, str]]:
    """Yield groups and pools for training with chips of this verdict, with the types and the alternatives."""
    for node in context.nodes:
        kinds = context.types(node) if node.purpose == "training" else ()
        if bad := [kind for kind in kinds if _trains(kind) == verdict]:

            def has(kind: InstanceType) -> bool:
                return _trains(kind) in (None, "supported")

            yield node, called_all(bad), choices(context, node, kinds, has, (Hardware.TRAINIUM,))


@error("TRAINING_UNSUPPORTED")
def _unsupported(context: Context) -> Iterator[Breach]:
    for node, names, others in _training(context, "unsupported"):
        yield (
            node_path(node, "workload"),
            f"{names} supports inference only, and no framework can train on it{others}; choose Trainium or NVIDIA "
            "GPUs, or set workload: inference",
        )


@warning("TRAINING_INFERENTIA")
def _inferentia2(context: Context) -> Iterator[Breach]:
    for node, names, others in _training(context, "small"):
        yield (
            node_path(node, "workload"),
            f"{names} is designed for inference: without EFA a job cannot span nodes, and Neuron recommends Trainium "
            f"for training{others}; choose Trainium, or set workload: inference",
        )


@warning("INFERENTIA_ARCHIVED")
def _archived(context: Context) -> Iterator[Breach]:
    fact = facts.software()["neuron_chips"]
    for node in context.nodes:
        if bad := [kind for kind in context.types(node) if chip_of(kind) in fact["archived"]]:
            chip = chip_of(bad[0])
            yield (
                node_path(node, hardware_field(node)),
                f"the software of {several([each.name for each in bad], 3)} is archived: containers need Neuron "
                f"{fact['archived'][chip]} or older, and the EKS image installs driver {fact['driver_at_boot'][chip]} "
                "at boot; use inf2",
            )


# --- several accelerators


def _reach(node: Node) -> tuple[str | None, str]:
    """Return the reach of one job, and the field that sets it: training with EFA uses several nodes."""
    if node.needs.distributed:
        return node.needs.distributed, "needs.distributed"
    return ("multi-node" if node.purpose == "training" and node.efa else None), "efa"


@error("DISTRIBUTED_IMPOSSIBLE")
def _impossible(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        reach, field = _reach(node)
        kinds = [kind for kind in context.types(node) if kind.accelerator]
        if reach and kinds and (reason := _why_impossible(context, node, reach, kinds)):
            yield node_path(node, field), reason


def _why_impossible(context: Context, node: Node, reach: str, kinds: list[InstanceType]) -> str | None:
    if node.gpu_sharing and node.gpu_sharing.mig_profile:
        return "NCCL does not run on MIG slices, because they cannot reach each other; remove gpu_sharing for such jobs"
    # A Neuron device has several cores, and each is a rank of a job.
    gpus = [kind for kind in kinds if kind.hardware is Hardware.NVIDIA_GPU]
    alone = [kind for kind in gpus if kind.accelerator and kind.accelerator.count == 1]
    if reach == "single-node" and alone:
        names = called_all(alone)
        return f"must have several GPUs per node for this job, got {names} with one; choose larger sizes"
    without = [kind for kind in kinds if kind.hardware.is_neuron and not (node.efa and kind.supports_efa)]
    if reach == "multi-node" and without:
        names = called_all(without)
        fix = "set efa: true" if all(kind.supports_efa for kind in without) else _types_with_efa(context, node, kinds)
        return f"Neuron's collectives require EFA between nodes, which {names} does not have here; {fix}"
    return None


def _types_with_efa(context: Context, node: Node, kinds: list[InstanceType]) -> str:
    """Return the fix for Neuron types without EFA: Trainium types in the region that have it, or a job on one node."""

    def has(kind: InstanceType) -> bool:
        return kind.supports_efa

    region = context.strategy.region
    own = [kind for kind in kinds if has(kind) and context.catalogue.offered(kind.name, region)]
    names = [kind.name for kind in (*own, *cheapest(context, node, kinds, has, (Hardware.TRAINIUM,)))]
    fixes = [f"choose {joined(names, 'or')}{'' if node.efa else ' and set efa: true'}"] if names else []
    if node.needs.distributed and (not names or node.purpose != "training"):
        fixes.append("set distributed: single-node if one node has enough memory")
    if not names:
        fixes.append(f"use another region, because no Trainium type with EFA is known in {region}")
    return ", or ".join(fixes)


@warning("DISTRIBUTED_SLOW")
def _slow(context: Context) -> Iterator[Breach]:
    indirect = facts.software()["collectives"]["without_gpudirect_rdma"]
    for node in context.nodes:
        reach, field = _reach(node)
        kinds = [kind for kind in context.types(node) if kind.hardware is Hardware.NVIDIA_GPU]
        if reach != "multi-node" or not kinds:
            continue
        if small := [kind for kind in kinds if _smallness(kind)]:
            yield (
                node_path(node, field),
                f"{called_all(small)} {_smallness(small[0])}, so a distributed job needs many times as many nodes, and "
                "most of them wait; choose p4d, p5 or trn1",
            )
        elif not node.efa:
            names = called_all(kinds)
            fix = (
                "set efa: true"
                if all(kind.supports_efa for kind in kinds)
                else "choose types with EFA, and set efa: true"
            )
            yield (
                node_path(node, field),
                f"without EFA, NCCL on {names} uses TCP, and GPUs wait for the network; {fix}",
            )
        elif slow := [kind.name for kind in kinds if kind.name in indirect]:
            yield (
                node_path(node, field),
                f"{several(slow, 3)} has EFA without GPUDirect RDMA, so NCCL copies through host memory; for large "
                "jobs, choose p4d.24xlarge, p5.48xlarge or later",
            )


def _smallness(kind: InstanceType) -> str | None:
    """Return why a GPU is too small for distributed jobs: T4 and older, or a fraction of a GPU; None if it is not."""
    if kind.accelerator and kind.accelerator.fraction:
        return "has a fraction of a GPU"
    return "supports neither bf16 nor FlashAttention-2" if software.computes(kind, "bf16") is False else None


@warning("TIME_SLICING_TRAINING")
def _time_slicing(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        sliced = node.gpu_sharing and node.gpu_sharing.time_slicing
        if sliced and (node.purpose == "training" or node.needs.distributed):
            yield (
                node_path(node, "gpu_sharing.time_slicing"),
                "time slicing isolates neither memory nor faults: one pod can stop the others' training, and two ranks "
                "may share a GPU; use whole GPUs, or MIG for jobs on one slice",
            )
