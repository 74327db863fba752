"""How a workload sits on an instance type: the smallest number of nodes and devices that works, or why none does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eks_hardware.advisor.fitting import remedy
from eks_hardware.advisor.fitting.devices import available, cores_of, host_gib, pool_of
from eks_hardware.advisor.fitting.gates import (
    compute_format,
    efa_gate,
    learns,
    software_gates,
    type_gates,
    weight_format,
)
from eks_hardware.advisor.fitting.layout import Layout, Short, serve, train
from eks_hardware.advisor.fitting.memory_inference import GIB, InferenceMemory, Serving
from eks_hardware.advisor.fitting.memory_training import TrainingMemory, TrainingRun
from eks_hardware.advisor.model import Fit, Gate, MemoryPart, Miss, Request
from eks_hardware.config import facts, software
from eks_hardware.config.catalogue import Catalogue, Hardware, InstanceType, load

Memory = TrainingMemory | InferenceMemory

# Gates that say something nobody asked for although they are passed.
_SAID = {"FP16": "without bf16", "FP8": "16 bits", "INT8": "16 bits", "INT4": "16 bits", "NEURON_TRAINING": "no EFA"}


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What is the same for all types with the same devices: a layout, or by how much the best one misses."""

    layout: Layout | None = None
    parts: tuple[MemoryPart, ...] = ()
    memory_gib: float = 0.0
    available_gib: float = 0.0
    notes: tuple[str, ...] = ()
    missing_gib: float | None = None
    text: str = ""


class Fitter:
    """Fits one request on many types: what types share is worked out once.

    Args:
        request: what is asked.
        catalogue: where types are looked up; default: the one that ships.
    """

    def __init__(self, request: Request, catalogue: Catalogue | None = None) -> None:
        self.request = request
        self._catalogue = catalogue or load()
        self._learns = learns(request.workload)
        self._gates: dict[tuple[str | None, ...], tuple[Gate, ...]] = {}
        self._memories: dict[tuple[object, ...], Memory] = {}
        self._found: dict[tuple[object, ...], _Found] = {}
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
            return Fitter(changed)._find(kind, several or joined).layout

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
        return self._answer(kind, found, of_software)

    def _find(self, kind: InstanceType, many: bool) -> _Found:
        """The layout on a type's devices."""
        room = available(kind, training=self._learns)
        if room is None:
            return _Found(text="how much memory its accelerators have is not known")
        short: Short | None = None
        for cores in _ways(self.request, kind):
            memory = self._memory(kind, cores)
            pool = pool_of(self.request, kind, training=self._learns, available_gib=room, cores=cores, many=many)
            tried = train(memory, pool) if isinstance(memory, TrainingMemory) else serve(memory, pool)
            if isinstance(tried, Layout):
                copies = cores_of(kind) // cores
                parts = tuple(replace(part, gib=part.gib * copies) for part in memory.parts(tried.parallelism))
                return _Found(
                    layout=tried,
                    parts=parts,
                    memory_gib=sum(part.gib for part in parts),
                    available_gib=room,
                    notes=_layout_notes(kind, tried, cores=cores, training=self._learns),
                )
            if short is None or tried.missing_gib < short.missing_gib:
                short = tried
        text = _short_text(self.request, kind, short, many) if short else ""
        missing = short.missing_gib if short and short.missing_gib != float("inf") else None
        return _Found(available_gib=room, missing_gib=missing, text=text)

    def _memory(self, kind: InstanceType, cores: int) -> Memory:
        key = (*_family(kind), cores)
        memory = self._memories.get(key)
        if memory is None:
            memory = self._memories[key] = memory_of(self.request, kind, cores=cores)
        return memory

    def _answer(self, kind: InstanceType, found: _Found, of_software: tuple[Gate, ...]) -> Fit | Miss:
        layout, chip = found.layout, kind.accelerator
        if layout is None:
            missing = found.missing_gib
            return Miss(kind=kind, missing_gib=missing, gates=(), text=f"{kind.name}: {found.text}", remedy=None)
        parallelism = layout.parallelism
        alone = chip is not None and not self._learns and layout.nodes == 1
        said = tuple(each.text for each in of_software if each.passed and _SAID.get(each.code, "\n") in each.text)
        unknown = tuple(f"unknown: {each.text}" for each in of_software if each.passed is None)
        return Fit(
            kind=kind,
            nodes=layout.nodes,
            devices=0 if chip is None else parallelism.devices,
            parallelism=parallelism,
            memory=found.parts,
            memory_gib=found.memory_gib,
            available_gib=found.available_gib,
            replicas_per_node=max(1, chip.count // parallelism.tensor) if chip and alone else 1,
            notes=(*found.notes, *said, *unknown, *self._more_notes(kind, layout)),
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
    defaults = facts.memory("inference")["defaults"]
    longest = shape.max_context_length
    if learns(workload):
        length = defaults["sequence_length"]
        run = TrainingRun(
            shape=shape,
            precision=compute_format(request, kind),
            method=workload.method or "full",
            optimizer=workload.optimizer or "adamw",
            sequence_length=workload.sequence_length or min(length, longest or length),
            batch_size=workload.batch_size or defaults["batch_size"],
            checkpointing=workload.activation_checkpointing,
            fused_attention=kind.hardware is not Hardware.NVIDIA_GPU
            or software.attends(kind, "flash-attention-2") is True,
        )
        return TrainingMemory(run)
    length = workload.context_length or defaults["context_length"]
    # What reads a whole text at once takes no more than it knows; what writes may be stretched on purpose.
    stretched = workload.context_length is not None and shape.generates is not False
    batch = "sequences_batch" if workload.serving == "batch" else "sequences_real_time"
    serving = Serving(
        shape=shape,
        weight_format=weight_format(request, kind),
        context_length=length if stretched else min(length, longest or length),
        sequences=workload.concurrent_sequences or defaults[batch],
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


def _ways(request: Request, kind: InstanceType) -> tuple[int, ...]:
    """How many cores of a device share one copy, in the order to try: a NeuronCore may have a copy of its own."""
    cores = cores_of(kind)
    if cores == 1:
        return (1,)
    alone_first = learns(request.workload) or request.shape.generates is False
    return (1, cores) if alone_first else (cores, 1)


def _refused(kind: InstanceType, refusing: tuple[Gate, ...]) -> Miss:
    text = "; ".join(each.text for each in refusing)
    return Miss(kind=kind, missing_gib=None, gates=refusing, text=text, remedy=None)


def _short_text(request: Request, kind: InstanceType, short: Short, many: bool) -> str:
    """Why the best layout misses."""
    what, chip = "training" if learns(request.workload) else "a replica", kind.accelerator
    if short.missing_gib == float("inf"):
        asked = request.workload.sharding
        if what == "training" and asked:
            return f"the software for training on it has no sharding {asked}"
        return f"no way to share {request.shape.attention_heads} attention heads goes with it"
    if chip is None:
        return f"{what} misses {short.missing_gib:.1f} GiB of what a pod can have of the node's memory"
    why = ", and nodes cannot be joined without EFA" if learns(request.workload) and not many else ""
    if not learns(request.workload) and short.devices < chip.count:
        why = f" of {chip.count}, the most that share {request.shape.attention_heads} attention heads"
    return f"{what} misses {short.missing_gib:.1f} GiB a device on {short.devices} x {chip.name}{why}"


def _layout_notes(kind: InstanceType, layout: Layout, *, cores: int, training: bool) -> tuple[str, ...]:
    if not kind.hardware.is_neuron:
        return ()
    fixed = "sequence length" if training else "context length and number of sequences"
    shared = (
        f"each of a device's {cores_of(kind)} NeuronCores holds a copy of its own"
        if cores < cores_of(kind)
        else f"tensor parallel over {layout.parallelism.tensor * cores} NeuronCores"
    )
    return shared, f"Neuron compiles for a fixed {fixed}: choose it when the model is compiled"
