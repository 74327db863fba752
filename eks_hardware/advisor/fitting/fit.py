"""How a workload sits on an instance type: the smallest number of nodes and devices that works, or why none does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from eks_hardware import software
from eks_hardware.advisor.fitting import remedy
from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_length, sequence_length
from eks_hardware.advisor.fitting.devices import available, cores_of, host_gib, pool_of, ways
from eks_hardware.advisor.fitting.gates import (
    compute_format,
    efa_gate,
    learns,
    software_gates,
    type_gates,
    weight_format,
)
from eks_hardware.advisor.fitting.layout import Layout, Pool, Short, others, serve, train
from eks_hardware.advisor.fitting.layout_notes import layout_notes, short_text
from eks_hardware.advisor.fitting.memory_inference import InferenceMemory, Serving
from eks_hardware.advisor.fitting.memory_training import TrainingMemory, TrainingRun
from eks_hardware.advisor.model import Fit, Gate, Miss, Request
from eks_hardware.catalogue import Catalogue, Hardware, InstanceType, load
from eks_hardware.units import GIB

Memory = TrainingMemory | InferenceMemory

Choose = Callable[[Request, Iterator[Fit]], Fit]
"""Takes one of the fits of a request on one type; the first is that on the fewest nodes, and there is always one."""

# Gates that say something nobody asked for although they are passed.
_SAID = {"FP16": "without bf16", "FP8": "16 bits", "INT8": "16 bits", "INT4": "16 bits", "NEURON_TRAINING": "no EFA"}


@dataclass(frozen=True, kw_only=True)
class TrainingFit(Fit):
    """How training sits on one instance type.

    Attributes:
        batch_size: sequences that a device works on in one pass.
    """

    batch_size: int


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The smallest layout, which is the same for all types with the same devices."""

    layout: Layout
    memory: Memory
    pool: Pool
    cores: int
    available_gib: float


@dataclass(frozen=True, kw_only=True)
class _Missed:
    """By how much the best layout misses, for the same types."""

    missing_gib: float | None
    text: str


def _smallest(_: Request, fits: Iterator[Fit]) -> Fit:
    return next(fits)


class Fitter:
    """Fits one request on many types: what types share is worked out once.

    Args:
        request: what is asked.
        catalogue: where types are looked up; default: the one that ships.
        choose: which layout is taken of those that fit; default: that on the fewest nodes.
    """

    def __init__(self, request: Request, catalogue: Catalogue | None = None, *, choose: Choose = _smallest) -> None:
        self.request = request
        self._catalogue = catalogue or load()
        self._learns = learns(request.workload)
        self._gates: dict[tuple[str | None, ...], tuple[Gate, ...]] = {}
        self._memories: dict[tuple[object, ...], Memory] = {}
        self._choose = choose
        self._found: dict[tuple[object, ...], _Found | _Missed] = {}
        self._fits: dict[str, Fit | Miss] = {}

    def fit(self, kind: InstanceType, region: str) -> Fit | Miss:
        """How the request sits on a type in a region, see :func:`fit`; without the remedy of a miss."""
        if not self._catalogue.offered(kind.name, region):
            text = f"{kind.name} is not offered in {region}"
            return _refused(kind, (Gate(code="OFFERED", passed=False, text=text, source="offerings.json"),))
        return self.on(kind)

    def on(self, kind: InstanceType) -> Fit | Miss:
        """How the request sits on a type, wherever it is offered; without the remedy of a miss."""
        fitted = self._fits.get(kind.name)
        if fitted is None:
            fitted = self._fits[kind.name] = self._fit(kind)
        return fitted

    def remedied(self, miss: Miss) -> Miss:
        """The same miss with what would make it fit, tried out; as it is where a gate refuses it."""
        if miss.gates:
            return miss
        kind, several = miss.kind, _may_be_several(self.request, miss.kind)

        def fits(changed: Request, joined: bool) -> Layout | None:
            found = Fitter(changed)._find(kind, several or joined)
            return found.layout if isinstance(found, _Found) else None

        return replace(miss, remedy=remedy.find(self.request, kind, fits))

    # --- one type

    def _fit(self, kind: InstanceType) -> Fit | Miss:
        family = _family(kind)
        of_software = self._gates.get(family)
        if of_software is None:
            of_software = self._gates[family] = tuple(software_gates(self.request, kind))
        refusing = tuple(each for each in (*type_gates(self.request, kind), *of_software) if each.passed is False)
        if refusing:
            return _refused(kind, refusing)
        chip, many = kind.accelerator, _may_be_several(self.request, kind)
        devices = (chip.count, chip.memory_gib_each) if chip else (host_gib(kind),)
        key = (*family, *devices, many)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(kind, many)
        if isinstance(found, _Missed):
            text = f"{kind.name}: {found.text}"
            return Miss(kind=kind, missing_gib=found.missing_gib, gates=(), text=text, remedy=None, detail=found.text)
        return self._choose(self.request, self._fits_of(kind, found, of_software))

    def _find(self, kind: InstanceType, many: bool) -> _Found | _Missed:
        """The smallest layout on a type's devices."""
        room = available(kind, training=self._learns)
        if room is None:
            return _Missed(missing_gib=None, text="how much memory its accelerators have is not known")
        short: Short | None = None
        best: _Found | None = None
        for cores in ways(self.request, kind):
            memory = self._memory(kind, cores)
            pool = pool_of(self.request, kind, training=self._learns, available_gib=room, cores=cores, many=many)
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
        text = short_text(self.request, kind, short, many) if short else ""
        missing = short.missing_gib if short and short.missing_gib != float("inf") else None
        return _Missed(missing_gib=missing, text=text)

    def _memory(self, kind: InstanceType, cores: int) -> Memory:
        key = (*_family(kind), cores)
        memory = self._memories.get(key)
        if memory is None:
            memory = self._memories[key] = memory_of(self.request, kind, cores=cores)
        return memory

    def _fits_of(self, kind: InstanceType, found: _Found, of_software: tuple[Gate, ...]) -> Iterator[Fit]:
        """The smallest layout, and of training others that may be quicker."""
        memory = found.memory
        yield self._fit_of(kind, found, found.layout, of_software)
        if isinstance(memory, TrainingMemory):
            larger = self.request.workload.batch_size is None
            for layout in others(memory, found.pool, found.layout, larger_batches=larger):
                yield self._fit_of(kind, found, layout, of_software)

    def _fit_of(self, kind: InstanceType, found: _Found, layout: Layout, of_software: tuple[Gate, ...]) -> Fit:
        chip, parallelism, memory = kind.accelerator, layout.parallelism, found.memory
        alone = chip is not None and not self._learns and layout.nodes == 1
        said = tuple(each.text for each in of_software if each.passed and _SAID.get(each.code, "\n") in each.text)
        unknown = tuple(f"unknown: {each.text}" for each in of_software if each.passed is None)
        if isinstance(memory, TrainingMemory):
            kept = memory.parts(parallelism, batches=layout.batches)
            make: Callable[..., Fit] = partial(TrainingFit, batch_size=memory.run.batch_size * layout.batches)
        else:
            kept, make = memory.parts(parallelism), Fit
        copies = cores_of(kind) // found.cores
        parts = tuple(replace(part, gib=part.gib * copies) for part in kept) if copies > 1 else kept
        return make(
            kind=kind,
            nodes=layout.nodes,
            devices=0 if chip is None else parallelism.devices,
            parallelism=parallelism,
            memory=parts,
            memory_gib=sum(part.gib for part in parts),
            available_gib=found.available_gib,
            replicas_per_node=max(1, chip.count // parallelism.tensor) if chip and alone else 1,
            notes=(
                *layout_notes(self.request, kind, layout, cores=found.cores),
                *said,
                *unknown,
                *self._more_notes(kind, layout),
            ),
        )

    def _more_notes(self, kind: InstanceType, layout: Layout) -> tuple[str, ...]:
        request, notes = self.request, list[str]()
        longest, asked = request.shape.max_context_length, request.workload.context_length
        if asked and longest and asked > longest:
            notes.append(f"the model knows {longest} tokens of context, and {asked} are asked for")
        if self._learns and request.shape.quantized_to:
            notes.append(f"the checkpoint has {request.shape.quantized_to} weights; training starts from wider ones")
        if kind.accelerator and not self._learns:
            memory = self._memory(kind, cores_of(kind))
            if isinstance(memory, InferenceMemory) and memory.weights / layout.nodes / GIB > kind.memory_gib:
                notes.append(f"its host has {kind.memory_gib:g} GiB, less than the weights: load them piece by piece")
        return tuple(notes)


def fit(request: Request, kind: InstanceType, region: str) -> Fit | Miss:
    """How a workload sits on an instance type of a region.

    Training uses every device of as few nodes as hold it; inference as few devices of one node as hold a replica.
    Several nodes take EFA. For many types keep a :class:`Fitter`: it works out once what types share.

    Memory is estimated: ``config/facts/memory.json`` has each figure with its source, and what is assumed.

    Args:
        request: what is asked.
        kind: the type.
        region: where.
    """
    fitter = Fitter(request)
    fitted = fitter.fit(kind, region)
    return fitter.remedied(fitted) if isinstance(fitted, Miss) else fitted


def memory_of(request: Request, kind: InstanceType, *, cores: int = 1) -> Memory:
    """What a device of a type has to hold for a request, under any layout.

    Args:
        request: what is asked.
        kind: the type.
        cores: cores of a device that share a copy.
    """
    workload, shape = request.workload, request.shape
    if learns(workload):
        run = TrainingRun(
            shape=shape,
            precision=compute_format(request, kind),
            method=workload.method or "full",
            optimizer=workload.optimizer or "adamw",
            sequence_length=sequence_length(request),
            batch_size=batch_size(workload),
            checkpointing=workload.activation_checkpointing,
            fused_attention=kind.hardware is not Hardware.NVIDIA_GPU
            or software.attends(kind, "flash-attention-2") is True,
        )
        return TrainingMemory(run)
    length = context_length(workload)
    # What reads a whole text at once takes no more than it knows; what writes may be stretched on purpose.
    stretched = workload.context_length is not None and shape.generates is not False
    serving = Serving(
        shape=shape,
        weight_format=weight_format(request, kind),
        context_length=length if stretched else min(length, shape.max_context_length or length),
        sequences=concurrent_sequences(workload),
        cores=cores,
        graphs=kind.hardware is Hardware.NVIDIA_GPU,
    )
    return InferenceMemory(serving)


def _family(kind: InstanceType) -> tuple[str | None, ...]:
    """What types have in common for whom the same software and memory are in question."""
    if kind.accelerator is None:
        return None, kind.architecture
    return kind.family, kind.accelerator.name


def _may_be_several(request: Request, kind: InstanceType) -> bool:
    """Whether several nodes of a type may work on one thing."""
    if kind.accelerator is None or kind.accelerator.fraction or request.workload.task == "development":
        return False
    return efa_gate(request, kind, 2).passed is True


def _refused(kind: InstanceType, refusing: tuple[Gate, ...]) -> Miss:
    text = "; ".join(each.text for each in refusing)
    return Miss(kind=kind, missing_gib=None, gates=refusing, text=text, remedy=None)
