"""Search for the smallest layout of a model over the devices of one instance type, by memory alone.

Simpler layouts come first: one device before several, sharding before tensor parallelism, both before a pipeline, one
node before several. The smallest layout is not always the cheapest: `others` yields more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from eks_hardware.advisor.fitting.memory_inference import InferenceMemory
from eks_hardware.advisor.fitting.memory_training import TrainingMemory
from eks_hardware.advisor.model import Parallelism
from eks_hardware.units import GIB

# Approximate number of node counts to try, from the smallest to twice the smallest.
_NODE_STEPS = 8


class Pool(NamedTuple):
    """The devices of one instance type, as the layout search uses them."""

    devices: int  # per node
    degrees: tuple[int, ...]  # tensor parallel degrees that divide the heads, in devices, ascending
    available_gib: float  # per device
    host_gib: float  # node memory per device
    most_nodes: int  # maximum number of nodes that can be joined
    pipeline: bool  # whether pipeline stages can be spread over nodes
    stages_in_node: bool  # whether one node can run several stages
    shardings: tuple[str, ...]  # sharding levels, least sharding first; training only
    # Numbers of devices that can share a mixture's experts, ascending: within a node, then over several nodes.
    expert_degrees: tuple[int, ...] = ()


class Layout(NamedTuple):
    """A layout that fits."""

    nodes: int
    parallelism: Parallelism
    batches: int = 1  # batches of the run's size that a device processes in one pass


class Short(NamedTuple):
    """How far the best layout falls short."""

    missing_gib: float  # per device
    devices: int  # devices of that layout
    of_node: bool = False  # whether the node's memory is too small, rather than that of the devices


def train(memory: TrainingMemory, pool: Pool) -> Layout | Short:
    """Return the first layout that fits on all devices of the fewest nodes, or how far the best layout falls short."""
    if not pool.shardings:
        return Short(missing_gib=float("inf"), devices=pool.devices)
    if not pool.degrees:
        least = min(sum(memory.need(layout)) for layout in _training_layouts(memory, pool, 1))
        return Short(missing_gib=least / GIB, devices=pool.devices)
    found = _first(memory, pool, pool.most_nodes)
    if found is None:
        return _short(memory, pool, pool.most_nodes)
    few, enough = 0, pool.most_nodes
    while enough - few > 1:
        middle = (few + enough) // 2
        if smaller := _first(memory, pool, middle):
            found, enough = smaller, middle
        else:
            few = middle
    return Layout(nodes=enough, parallelism=found)


def others(memory: TrainingMemory, pool: Pool, smallest: Layout, *, larger_batches: bool) -> Iterator[Layout]:
    """Yield further training layouts that fit, fewest nodes first, up to twice the nodes of the smallest one."""
    fewest = smallest.nodes
    most = min(2 * fewest, pool.most_nodes)
    for nodes in range(fewest, most + 1, max(1, fewest // _NODE_STEPS)):
        yield from on_nodes(memory, pool, smallest, nodes, larger_batches=larger_batches)


def on_nodes(
    memory: TrainingMemory, pool: Pool, smallest: Layout, nodes: int, *, larger_batches: bool
) -> Iterator[Layout]:
    """Yield training layouts that fit on a number of nodes.

    Includes every tensor parallel degree with the least sharding that fits. With ZeRO-3, where each pass gathers
    weights, a mixture's experts can also be spread over data-parallel devices. ``larger_batches`` then allows the
    largest batch, a power of two, that fits the remaining memory. There is no pipeline if ``smallest``, the layout from
    :func:`train`, needs none.
    """
    tried: set[tuple[int, int]] = set()
    for layout in _training_layouts(memory, pool, nodes):
        degrees = layout.tensor, layout.pipeline
        if degrees in tried or (layout.pipeline > 1 and smallest.parallelism.pipeline == 1):
            continue
        if not _fits(memory, pool, layout):
            continue
        tried.add(degrees)
        larger = larger_batches and layout.sharding == "zero-3"
        batches = memory.most_batches(layout, pool.available_gib * GIB, pool.host_gib * GIB) if larger else 1
        yield Layout(nodes=nodes, parallelism=layout, batches=batches)
        for expert in pool.expert_degrees if layout.sharding == "zero-3" else ():
            if layout.data % expert == 0:
                yield Layout(nodes=nodes, parallelism=layout._replace(expert=expert), batches=batches)


def _first(memory: TrainingMemory, pool: Pool, nodes: int) -> Parallelism | None:
    """Return the first layout that fits on a number of nodes."""
    return next((layout for layout in _training_layouts(memory, pool, nodes) if _fits(memory, pool, layout)), None)


def _short(memory: TrainingMemory, pool: Pool, nodes: int) -> Short:
    layouts = _training_layouts(memory, pool, nodes)
    missing, of_node = min(
        max((_on_device(memory, pool, layout), False), (_on_host(memory, pool, layout), True)) for layout in layouts
    )
    return Short(missing_gib=missing, devices=pool.devices * nodes, of_node=of_node)


def _fits(memory: TrainingMemory, pool: Pool, layout: Parallelism) -> bool:
    return _on_device(memory, pool, layout) <= 0 and _on_host(memory, pool, layout) <= 0


def _on_device(memory: TrainingMemory, pool: Pool, layout: Parallelism) -> float:
    """Return how many GiB a layout needs beyond a device's memory; at most 0 if it fits."""
    return sum(memory.need(layout)) / GIB - pool.available_gib


def _on_host(memory: TrainingMemory, pool: Pool, layout: Parallelism) -> float:
    """Return how many GiB a device's offloaded state needs beyond its share of node memory; at most 0 if it fits."""
    return memory.host_bytes(layout) / GIB - pool.host_gib if memory.run.offload else float("-inf")


def _training_layouts(memory: TrainingMemory, pool: Pool, nodes: int) -> Iterator[Parallelism]:
    devices = nodes * pool.devices
    for pipeline in _stages(pool, nodes, layers=memory.run.shape.layers):
        for tensor in pool.degrees or (1,):
            data = devices // (tensor * pipeline)
            if data * tensor * pipeline != devices:
                continue
            for sharding in pool.shardings:
                yield _layout(data, tensor, pipeline, sharding)


# The search over types and node counts creates the same layouts many times.
@lru_cache(maxsize=4096)
def _layout(data: int, tensor: int, pipeline: int, sharding: str) -> Parallelism:
    return Parallelism(data=data, tensor=tensor, pipeline=pipeline, sharding=sharding)


def _stages(pool: Pool, nodes: int, *, layers: int) -> Iterator[int]:
    """Yield stage counts: 1; one stage per node; and, if a node can run several, every count with equal stages."""
    yield 1
    if not pool.pipeline:
        return
    if not pool.stages_in_node:
        if 1 < nodes <= layers:
            yield nodes
        return
    devices = nodes * pool.devices
    for stages in range(2, min(devices, layers) + 1):
        if devices % stages == 0 and (layers % stages == 0 or stages == nodes):
            yield stages


def serve(memory: InferenceMemory, pool: Pool) -> Layout | Short:
    """Return the layout with the fewest devices that fits a replica on one node, or else on the fewest nodes.

    If none fits, return how far the best layout falls short. On the same devices, tensor parallelism comes before
    spread experts. On several nodes, pipeline stages come first.
    """
    room = pool.available_gib * GIB
    best = Short(missing_gib=float("inf"), devices=0)
    for layout in _serving_layouts(memory, pool):
        need = sum(memory.need(layout.parallelism))
        if need <= room:
            return layout
        tried = Short(missing_gib=(need - room) / GIB, devices=layout.parallelism.devices)
        best = min(best, tried, key=lambda short: short.missing_gib)
    return best


def spread(memory: InferenceMemory, pool: Pool, smallest: Layout) -> Iterator[Layout]:
    """Yield layouts that fit and spread the experts, on as many nodes and at least as many devices as ``smallest``."""
    least = smallest.parallelism.devices
    for layout in _spread(memory, pool, smallest.nodes):
        fits = sum(memory.need(layout.parallelism)) <= pool.available_gib * GIB
        if fits and layout.parallelism.devices >= least and layout.parallelism != smallest.parallelism:
            yield layout


def _serving_layouts(memory: InferenceMemory, pool: Pool) -> Iterator[Layout]:
    spread_in_node = {layout.parallelism.devices: layout for layout in _spread(memory, pool, 1)}
    for tensor in pool.degrees:
        yield Layout(nodes=1, parallelism=_layout(1, tensor, 1, "none"))
        if tensor in spread_in_node:
            yield spread_in_node[tensor]
    most = min(pool.most_nodes, memory.serving.shape.layers) if pool.pipeline else 1
    for nodes in range(2, most + 1 if pool.degrees else 2):
        yield Layout(nodes=nodes, parallelism=_layout(1, pool.degrees[-1], nodes, "none"))
        yield from _spread(memory, pool, nodes)


def _spread(memory: InferenceMemory, pool: Pool, nodes: int) -> Iterator[Layout]:
    """Yield layouts on the given number of nodes; each device has its own sequences and a part of the experts."""
    for degree in pool.expert_degrees:
        needed = -(-degree // pool.devices)
        if needed == nodes and 1 < degree <= memory.serving.sequences:
            layout = Parallelism(data=degree, tensor=1, pipeline=1, sharding="none", expert=degree)
            yield Layout(nodes=nodes, parallelism=layout)
