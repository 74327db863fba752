"""The memory and cores that an instance type's devices provide for a model, and ways to share a copy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.advisor.fitting.layout import Pool
from eks_hardware.advisor.model import Request
from eks_hardware.catalogue import Accelerator, Hardware, InstanceType
from eks_hardware.catalogue.performance import performance
from eks_hardware.resolve.max_pods import pod_addresses, recommended_pods
from eks_hardware.units import MIB_PER_GIB

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.models import NeuronChip

_DEGREES = (1, 2, 4, 8, 16)


def available(kind: InstanceType, *, training: bool) -> float | None:
    """Return the GiB of a device's memory that a model can use; None if unknown.

    The driver, the framework and the node reserve part of the memory. On GPUs, that is the CUDA context or, for
    inference, the share that vLLM leaves free if it is larger. On CPUs, the model can use what a pod can.
    """
    if kind.accelerator is None:
        return host_gib(kind)
    usable = usable_gib(kind.accelerator)
    if usable is None:
        return None
    if kind.hardware.is_neuron:
        return usable * (1 - facts.memory()["neuron"]["reserve"])
    left_out = 0.0 if training else usable * (1 - facts.memory()["inference"]["utilization"])
    return usable - max(facts.memory()["devices"]["context_gib"], left_out)


def usable_gib(chip: Accelerator) -> float | None:
    """Return the GiB of an accelerator's memory that software sees; None if its memory is unknown."""
    each = chip.memory_gib_each
    if each is None or chip.kind == "neuron":
        return each
    fact = facts.memory()["devices"]
    gib = fact["usable_gib"].get(chip.name, {}).get(str(int(each)))
    return each * fact["share"] if gib is None else gib


@cache
def host_gib(kind: InstanceType) -> float:
    """Return the GiB of a node's memory that a process in a pod can use."""
    fact = facts.memory()["host"]
    addresses = pod_addresses(kind, efa=False, custom_networking=False)
    pods = recommended_pods(kind) if addresses is None else min(addresses, recommended_pods(kind))
    kept_mib = fact["reserved_mib_per_pod"] * pods + fact["reserved_mib"] + fact["eviction_mib"]
    left = kind.memory_gib - kept_mib / MIB_PER_GIB - fact["system_gib"]
    return max(0.0, left) * fact["share"]


@cache
def cores_of(kind: InstanceType) -> int:
    """Return the number of cores per device that software sees, each with its own memory; 1 for GPUs and CPUs."""
    chip = _neuron_chip(kind)
    return 1 if chip is None else chip["cores"]


def _neuron_chip(kind: InstanceType) -> NeuronChip | None:
    if not kind.hardware.is_neuron or kind.accelerator is None:
        return None
    return facts.memory()["neuron"]["chips"].get(kind.accelerator.name)


def ways(request: Request, kind: InstanceType) -> tuple[int, ...]:
    """Return the numbers of cores per model copy to try, in order. A NeuronCore can have its own copy."""
    cores = cores_of(kind)
    if cores == 1:
        return (1,)
    alone_first = request.workload.learns or request.shape.generates is False
    return (1, cores) if alone_first else (cores, 1)


def pool_of(request: Request, kind: InstanceType, *, available_gib: float, cores: int, many: bool) -> Pool:
    """Return the devices of a type as the layout search uses them.

    Args:
        request: the request.
        kind: the instance type.
        available_gib: GiB of a device's memory that a model can use.
        cores: cores of a device that share a copy; with fewer than all, a copy has only their share of its memory.
        many: whether nodes can be joined.
    """
    training, neuron, fact = request.workload.learns, kind.hardware.is_neuron, facts.memory()
    shardings, pipeline = tuple(fact["training"]["shards"]), not neuron
    if neuron and training:
        known = fact["neuron"]["training"]
        way = known.get(request.workload.framework or "", known[fact["neuron"]["default_framework"]])
        shardings, pipeline = tuple(way["sharding"]), way["pipeline"]
    most_nodes = fact["training" if training else "inference"]["most_nodes"]
    wanted = request.workload.sharding if training else "none"
    if wanted is not None:
        shardings = (wanted,) if wanted in shardings else ()
    return Pool(
        devices=kind.accelerator.count if kind.accelerator else 1,
        degrees=degrees(kind, request.shape.attention_heads, cores=cores, padded=pads_heads(request)),
        available_gib=available_gib * cores / cores_of(kind),
        host_gib=host_gib(kind) / (kind.accelerator.count * cores_of(kind) / cores if kind.accelerator else 1),
        most_nodes=most_nodes if many and (training or pipeline) else 1,
        pipeline=pipeline,
        stages_in_node=neuron and training and cores == cores_of(kind),
        shardings=shardings,
        expert_degrees=_expert_degrees(request, kind, most_nodes if many else 1),
    )


def _expert_degrees(request: Request, kind: InstanceType, most_nodes: int) -> tuple[int, ...]:
    """Return how many devices can share the experts of a mixture, ascending: numbers that divide the experts.

    Nodes are joined only if NVLink connects their GPUs: the exchange between nodes was measured on such nodes, and its
    libraries require NVLink (https://github.com/deepseek-ai/DeepEP, requirements).

    Neuron divides experts among its tensor-parallel devices, which exchange as much data as without expert parallelism
    (https://awsdocs-neuron.readthedocs-hosted.com/en/latest/_sources/vllm-neuron/docs/design/parallelism/expert_parallelism.md).
    """
    count, experts = kind.accelerator.count if kind.accelerator else 1, request.shape.experts
    framework, known = request.workload.framework, facts.memory()["inference"]["spreads_experts"]
    if not request.workload.learns and framework is not None and framework not in known:
        return ()
    if not request.shape.routed_parameters or experts is None or kind.hardware is not Hardware.NVIDIA_GPU:
        return ()
    degrees = [degree for degree in _DEGREES if degree <= count] if not request.workload.learns else [count]
    if kind.accelerator and performance(kind.accelerator).link == "NVLink":
        degrees += [count * nodes for nodes in range(2, most_nodes + 1)]
    return tuple(degree for degree in degrees if degree > 1 and experts % degree == 0)


def pads_heads(request: Request) -> bool:
    """Return whether Neuron's libraries pad attention heads for a workload: those for text generation do."""
    return not request.workload.learns and request.shape.generates is not False


def degrees(kind: InstanceType, heads: int, *, cores: int, padded: bool = False) -> tuple[int, ...]:
    """Return the tensor parallel degrees, in devices, that fit in a node and divide the attention heads.

    Source for Neuron: ``config/facts/memory.json`` (neuron). Other hardware only requires a divisor of the heads
    (https://docs.vllm.ai/en/latest/serving/parallelism_scaling/).

    With ``padded``, Neuron adds empty heads until all
    cores have the same number, but no core gets only empty heads.
    """
    count = kind.accelerator.count if kind.accelerator else 1
    chip = _neuron_chip(kind)
    if chip is None:
        return tuple(degree for degree in _DEGREES if degree <= count and heads % degree == 0)
    if cores < chip["cores"]:
        return (1,)
    in_cores = (
        degree
        for degree in chip["degrees"]
        if degree % cores == 0 and (heads % degree == 0 or (padded and degree <= heads))
    )
    return tuple(core // cores for core in in_cores if core // cores <= count)
