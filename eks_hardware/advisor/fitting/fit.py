"""How a workload fits on an instance type: the smallest number of nodes and devices that works, or why none does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from eks_hardware import software
from eks_hardware.advisor.fitting import remedy
from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_of, sequence_length
from eks_hardware.advisor.fitting.devices import available, cores_of, host_gib, pool_of, ways
from eks_hardware.advisor.fitting.gates import (
    compute_format,
    joins,
    software_gates,
    type_gates,
    weight_format,
)
from eks_hardware.advisor.fitting.layout import Layout, Pool, Short, on_nodes, others, serve, spread, train
from eks_hardware.advisor.fitting.memory_inference import InferenceMemory, Serving
from eks_hardware.advisor.fitting.memory_training import TrainingMemory, TrainingRun
from eks_hardware.advisor.measured.factors import measured_difference
from eks_hardware.advisor.model import Fit, Gate, Miss, Parallelism, Request
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load
from eks_hardware.units import GIB

Memory = TrainingMemory | InferenceMemory

Choose = Callable[[Request, Iterator[Fit]], Fit]
"""Chooses one of the fits of a request on one type. There is at least one; the first has the fewest nodes."""


class _Found(NamedTuple):
    """The smallest layout. It is the same for all types with the same devices."""

    layout: Layout
    memory: Memory
    pool: Pool
    cores: int
    available_gib: float


@dataclass(frozen=True, kw_only=True)
class _Software:
    """The software's support for a request. It is the same for all types of a family and accelerator."""

    refusing: tuple[Gate, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Missed:
    """How far the best layout falls short. It is the same for all types with the same devices."""

    missing_gib: float | None
    text: str


class Fitter:
    """Fits one request on many types, and computes results that types share only once.

    ``choose`` selects one of the layouts that fit; the default is the one on the fewest nodes.
    """

    def __init__(
        self, request: Request, catalogue: Catalogue | None = None, *, choose: Choose = lambda _, fits: next(fits)
    ) -> None:
        self.request = request
        self._catalogue = catalogue or load()
        self._learns = request.workload.learns
        self._software: dict[tuple[str | None, ...], _Software] = {}
        self._pools: dict[tuple[object, ...], tuple[tuple[int, Pool], ...]] = {}
        self._memories: dict[tuple[object, ...], Memory] = {}
        self._choose = choose
        self._found: dict[tuple[object, ...], _Found | _Missed] = {}
        self._fits: dict[str, Fit | Miss] = {}
        self._notes_on_model = tuple(_notes_on_model(request))

    def at(self, request: Request) -> Fitter:
        """Return a fitter for a request that differs only in its sequences and latency targets."""
        other = Fitter(request, self._catalogue, choose=self._choose)
        other._software, other._pools = self._software, self._pools
        return other

    def fit(self, kind: InstanceType, region: str) -> Fit | Miss:
        """Return how the request fits on a type in a region, see :func:`fit`; a miss has no remedy yet."""
        if not self._catalogue.offered(kind.name, region):
            return _refused(kind, Gate("OFFERED", False, f"{kind.name} is not offered in {region}", "offerings.json"))
        return self.on(kind)

    def on(self, kind: InstanceType) -> Fit | Miss:
        """Return how the request fits on a type in any region; a miss has no remedy yet."""
        if kind.name not in self._fits:
            self._fits[kind.name] = self._fit(kind)
        return self._fits[kind.name]

    def fewest_nodes(self, kind: InstanceType) -> int | None:
        """Return the fewest nodes of a type that the request fits on; None if it does not fit."""
        found = self._found.get(self._key(kind))
        return found.layout.nodes if isinstance(found, _Found) else None

    def on_nodes(self, kind: InstanceType, nodes: int) -> Fit | None:
        """Return a training fit on exactly ``nodes`` nodes of a type that the request fits on; None if there is none.

        If only a layout for fewer nodes fits, as with a pipeline, several copies of that layout train together.
        """
        found = self._found.get(self._key(kind))
        if not isinstance(found, _Found) or not isinstance(found.memory, TrainingMemory):
            return None
        if nodes > 1 and not _may_be_several(self.request, kind):
            return None
        larger = self.request.workload.batch_size is None
        layouts = on_nodes(found.memory, found.pool, found.layout, nodes, larger_batches=larger)
        fits = [self._fit_of(kind, found, each) for each in layouts]
        if not fits and nodes % found.layout.nodes == 0:
            copies, one = nodes // found.layout.nodes, found.layout.parallelism
            layout = found.layout._replace(nodes=nodes, parallelism=one._replace(data=one.data * copies))
            fits = [self._fit_of(kind, found, layout)]
        return self._choose(self.request, iter(fits)) if fits else None

    def wider(self, fit: Fit, why: str) -> Iterator[Fit]:
        """Yield the same replica on more devices of its node, and with its experts spread, fewest devices first.

        ``why`` is the middle of a note on the fit: ``on 8 devices to be fast; 4 have enough memory``. If ``fit`` is
        already wider, to meet a latency target, the note says so.
        """
        found = self._found.get(self._key(fit.kind))
        if not isinstance(found, _Found) or isinstance(found.memory, TrainingMemory):
            return
        now, smallest = fit.parallelism.devices, found.layout.parallelism.devices
        enough = f"{smallest} {'has' if smallest == 1 else 'have'} enough memory"
        if now > smallest:
            enough += f", and {now} meet the latency target"
        degrees = found.pool.degrees if fit.nodes == 1 else ()
        layouts = [Layout(nodes=1, parallelism=_tensor_parallel(tensor)) for tensor in degrees if tensor > now]
        layouts += spread(found.memory, found.pool, Layout(nodes=fit.nodes, parallelism=fit.parallelism))
        for layout in sorted(layouts, key=lambda each: each.parallelism.devices):
            devices = layout.parallelism.devices
            more = (f"on {devices} devices {why}; {enough}",) if devices > now else ()
            yield self._fit_of(fit.kind, found, layout, more)

    def remedied(self, miss: Miss) -> Miss:
        """Return the miss with a tested remedy, or unchanged if a gate refuses the type."""
        if miss.gates:
            return miss
        kind, several = miss.kind, _may_be_several(self.request, miss.kind)

        def fits(changed: Request, joined: bool) -> Layout | None:
            found = Fitter(changed)._find(kind, several or joined)
            return found.layout if isinstance(found, _Found) else None

        return replace(miss, remedy=remedy.find(self.request, kind, fits))

    # --- one type

    def _fit(self, kind: InstanceType) -> Fit | Miss:
        refusing = (*type_gates(kind, self.request.workload.purchase, self._learns), *self._software_of(kind).refusing)
        if refusing:
            return _refused(kind, *refusing)
        key = self._key(kind)
        if key not in self._found:
            self._found[key] = self._find(kind, _may_be_several(self.request, kind))
        found = self._found[key]
        if isinstance(found, _Missed):
            text = f"{kind.name}: {found.text}"
            return Miss(kind=kind, missing_gib=found.missing_gib, text=text, detail=found.text)
        return self._choose(self.request, self._fits_of(kind, found))

    def _software_of(self, kind: InstanceType) -> _Software:
        family = _family(kind)
        if family not in self._software:
            gates = tuple(software_gates(self.request, kind))
            said = (gate.text for gate in gates if gate.passed and gate.notable)
            unknown = (f"unknown: {gate.text}" for gate in gates if gate.passed is None)
            refusing = tuple(gate for gate in gates if gate.passed is False)
            self._software[family] = _Software(refusing=refusing, notes=(*said, *unknown))
        return self._software[family]

    def _key(self, kind: InstanceType) -> tuple[object, ...]:
        """Return the key of types with the same devices."""
        chip = kind.accelerator
        devices = (chip.count, chip.memory_gib_each) if chip else (host_gib(kind),)
        if self.request.workload.offload:
            devices = (*devices, host_gib(kind))
        return (*_family(kind), *devices, _may_be_several(self.request, kind))

    def _find(self, kind: InstanceType, many: bool) -> _Found | _Missed:
        """Return the smallest layout on a type's devices."""
        room = available(kind, training=self._learns)
        if room is None:
            return _Missed(missing_gib=None, text="the memory of its accelerators is unknown")
        short: Short | None = None
        best: _Found | None = None
        for cores, pool in self._pools_of(kind, room, many):
            memory = self._memory(kind, cores)
            tried = train(memory, pool) if isinstance(memory, TrainingMemory) else serve(memory, pool)
            if isinstance(tried, Layout):
                if best is None or tried.nodes < best.layout.nodes:
                    best = _Found(layout=tried, memory=memory, pool=pool, cores=cores, available_gib=room)
                if tried.nodes == 1:
                    break
            elif short is None or tried.missing_gib < short.missing_gib:
                short = tried
        if best is not None:
            return best
        text = _short_text(self.request, kind, short, many) if short else ""
        missing = short.missing_gib if short and short.missing_gib != float("inf") else None
        return _Missed(missing_gib=missing, text=text)

    def _pools_of(self, kind: InstanceType, room: float, many: bool) -> tuple[tuple[int, Pool], ...]:
        """Return pairs: a number of cores that share a copy, and the type's devices for the layout search."""
        key = (*self._key(kind), many)
        if key not in self._pools:
            request = self.request
            measured = request.measured and request.measured.memory(request, kind, training=self._learns)
            usable = room / measured.value if measured else room
            self._pools[key] = tuple(
                (cores, pool_of(request, kind, available_gib=usable, cores=cores, many=many))
                for cores in ways(request, kind)
            )
        return self._pools[key]

    def _memory(self, kind: InstanceType, cores: int) -> Memory:
        key = (*_family(kind), cores)
        if key not in self._memories:
            self._memories[key] = memory_of(self.request, kind, cores=cores)
        return self._memories[key]

    def _fits_of(self, kind: InstanceType, found: _Found) -> Iterator[Fit]:
        """Yield the fit with the smallest layout and, for training, fits that can be faster."""
        memory = found.memory
        yield self._fit_of(kind, found, found.layout)
        if isinstance(memory, TrainingMemory):
            larger = self.request.workload.batch_size is None
            for layout in others(memory, found.pool, found.layout, larger_batches=larger):
                yield self._fit_of(kind, found, layout)

    def _fit_of(self, kind: InstanceType, found: _Found, layout: Layout, more: tuple[str, ...] = ()) -> Fit:
        chip, parallelism, memory = kind.accelerator, layout.parallelism, found.memory
        alone = chip is not None and not self._learns and layout.nodes == 1
        batch: int | None = None
        if isinstance(memory, TrainingMemory):
            parts, batch = memory.parts(parallelism, batches=layout.batches), memory.run.batch_size * layout.batches
        else:
            parts = memory.parts(parallelism)
        copies = cores_of(kind) // found.cores
        if copies > 1:
            parts = tuple(part._replace(gib=part.gib * copies) for part in parts)
        parts = (*parts, *measured_difference(self.request, kind, parts, training=self._learns))
        return Fit(
            kind=kind,
            nodes=layout.nodes,
            devices=0 if chip is None else parallelism.devices,
            parallelism=parallelism,
            memory=parts,
            memory_gib=sum(part.gib for part in parts),
            available_gib=found.available_gib,
            replicas_per_node=max(1, chip.count // parallelism.devices) if chip and alone else 1,
            notes=(
                *self._layout_notes(kind, layout, found.cores),
                *self._software_of(kind).notes,
                *self._notes_on_model,
                *self._host_note(kind, layout),
                *more,
            ),
            batch_size=batch,
        )

    # --- notes on a layout that fits

    def _layout_notes(self, kind: InstanceType, layout: Layout, cores: int) -> Iterator[str]:
        """Yield notes on a layout in which ``cores`` cores of a device share a copy."""
        yield from _experts_note(self.request, layout.parallelism)
        if not kind.hardware.is_neuron:
            return
        shares, heads = layout.parallelism.tensor * cores, self.request.shape.attention_heads
        if cores < cores_of(kind):
            yield f"each of a device's {cores_of(kind)} NeuronCores runs its own copy"
        else:
            yield f"tensor parallel over {shares} NeuronCores"
        if heads % shares:
            yield f"{heads} attention heads are padded to {-(-heads // shares) * shares} for {shares} NeuronCores"
        fixed = "sequence length" if self._learns else "context length and number of sequences"
        yield f"Neuron compiles for a fixed {fixed}: choose it when you compile the model"

    def _host_note(self, kind: InstanceType, layout: Layout) -> Iterator[str]:
        if kind.accelerator and not self._learns:
            memory = self._memory(kind, cores_of(kind))
            if isinstance(memory, InferenceMemory) and memory.weights / layout.nodes / GIB > kind.memory_gib:
                yield f"the node has {kind.memory_gib:g} GiB of memory, less than the weights: load them in parts"


def fit(request: Request, kind: InstanceType, region: str) -> Fit | Miss:
    """Return how a workload fits on an instance type of a region, with a remedy if it does not.

    Training uses all devices of the fewest nodes that fit it. Inference uses the fewest devices of one node that fit a
    replica, or else the fewest nodes. Nodes are joined only with EFA, unless the request allows TCP. Memory is
    estimated: ``config/facts/memory.json`` has each figure with its source and the assumptions. To fit many types,
    reuse a :class:`Fitter`.
    """
    fitter = Fitter(request)
    fitted = fitter.fit(kind, region)
    return fitter.remedied(fitted) if isinstance(fitted, Miss) else fitted


def beyond_context(request: Request) -> str | None:
    """Return a sentence if a request's context exceeds its model's maximum; None if not, or if that is unknown."""
    workload, longest = request.workload, request.shape.max_context_length
    asked = workload.sequence_length if workload.learns else workload.context_length
    if not asked or not longest or asked <= longest:
        return None
    return f"the request has {asked} tokens of context, but the model supports {longest}"


def _notes_on_model(request: Request) -> Iterator[str]:
    """Yield notes on the model that are the same on all types."""
    if beyond := beyond_context(request):
        yield beyond
    if request.workload.learns and request.shape.quantized_to:
        yield f"the checkpoint has {request.shape.quantized_to} weights; training needs weights with more bits"


def memory_of(request: Request, kind: InstanceType, *, cores: int = 1) -> Memory:
    """Return the memory per device that a request needs, for any layout in which ``cores`` cores share a copy."""
    return _memory_for(_work_of(request, kind, cores))


# Most accelerators need the same memory for the same work.
@lru_cache(maxsize=256)
def _memory_for(work: TrainingRun | Serving) -> Memory:
    return TrainingMemory(work) if isinstance(work, TrainingRun) else InferenceMemory(work)


def _work_of(request: Request, kind: InstanceType, cores: int) -> TrainingRun | Serving:
    workload, shape = request.workload, request.shape
    if workload.learns:
        return TrainingRun(
            shape=shape,
            precision=compute_format(request, kind),
            method=workload.method or "full",
            optimizer=workload.optimizer or "adamw",
            sequence_length=sequence_length(request),
            batch_size=batch_size(workload),
            checkpointing=workload.activation_checkpointing,
            chunked_loss=bool(workload.chunked_loss),
            rank=workload.lora_rank,
            mixed=workload.mixed_precision is not False,
            offload=(workload.offload or ()) if kind.accelerator else (),
            fused_attention=kind.hardware is not Hardware.NVIDIA_GPU
            or software.attends(kind, "flash-attention-2") is True,
        )
    return Serving(
        shape=shape,
        weight_format=weight_format(request, kind),
        context_length=context_of(request),
        sequences=concurrent_sequences(workload),
        cores=cores,
        kv_format=workload.kv_cache_precision,
        graphs=kind.hardware is Hardware.NVIDIA_GPU,
    )


def _experts_note(request: Request, layout: Parallelism) -> Iterator[str]:
    """Yield a note on how a mixture's experts are divided, if the model is on several devices."""
    shape = request.shape
    if layout.devices == 1 or shape.active_parameters >= shape.parameters:
        return
    if layout.expert > 1:
        own = "batch" if request.workload.learns else "sequences and attention"
        vllm = f" (vLLM: --data-parallel-size {layout.expert} --enable-expert-parallel)"
        options = "" if request.workload.learns else vllm
        yield f"experts spread over {layout.expert} devices, each with its own {own}{options}"
    elif layout.sharding == "zero-3":
        yield "experts are sharded like all weights, and every device gathers them (no expert parallelism)"
    elif layout.tensor > 1:
        yield f"each expert is split over {layout.tensor} devices (tensor parallelism, no expert parallelism)"


def _tensor_parallel(devices: int) -> Parallelism:
    return Parallelism(data=1, tensor=devices, pipeline=1, sharding="none")


def _family(kind: InstanceType) -> tuple[str | None, ...]:
    """Return the key of types with the same software and memory."""
    if kind.accelerator is None:
        return None, kind.architecture
    return kind.family, kind.accelerator.name


def _may_be_several(request: Request, kind: InstanceType) -> bool:
    """Return whether several nodes of a type can work on one job or replica."""
    if kind.accelerator is None or kind.accelerator.fraction or request.workload.task == "development":
        return False
    return joins(request, kind)


def _refused(kind: InstanceType, *gates: Gate) -> Miss:
    return Miss(kind=kind, gates=gates, text="; ".join(gate.text for gate in gates))


def _short_text(request: Request, kind: InstanceType, short: Short, many: bool) -> str:
    """Return why the best layout does not fit. ``many`` is whether nodes can be joined."""
    trains, chip, heads = request.workload.learns, kind.accelerator, request.shape.attention_heads
    if short.missing_gib == float("inf"):
        if trains and request.workload.sharding:
            return f"its training software does not support sharding {request.workload.sharding}"
        return f"none of its tensor parallel degrees divides {heads} attention heads"
    missing = f"{'training' if trains else 'a replica'} needs {short.missing_gib:.1f} GiB more"
    if chip is None:
        return f"{missing} than a pod can use on the node"
    if short.of_node:
        return f"{missing} of the node's memory for each {chip.name}, because of 'offload'"
    why = ", and its nodes cannot be joined without EFA" if trains and not many else ""
    if not trains and short.devices < chip.count:
        why = f" of {chip.count}, the maximum for {heads} attention heads"
    return f"{missing} per device on {short.devices} x {chip.name}{why}"
