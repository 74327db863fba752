"""The memory that a device needs for training.

Formulas and their sources: ``config/facts/memory.json`` (training, activations, adapters). In short, AdamW in mixed
precision needs 18 bytes per parameter: 2 for weights, 4 for gradients, 12 for the optimizer (fp32 weights, 2 moments).
ZeRO-1, 2 and 3 spread optimizer, gradients and weights over the data-parallel devices. With full recomputation,
activations need 2 sbh bytes per layer, plus the working set of one layer. Offloaded state is in the node's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.fitting.memory_inference import billions, weight_bytes
from eks_hardware.advisor.model import MemoryPart, Parallelism, Shape
from eks_hardware.models.workload import Checkpointing, Offload
from eks_hardware.units import GIB


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A training run."""

    shape: Shape
    precision: str  # compute format of the weights: fp32, bf16 or fp16
    method: str  # full, lora or qlora
    optimizer: str  # adamw, adamw-8bit, sgd-momentum or sgd
    sequence_length: int  # tokens
    batch_size: int  # sequences per device
    checkpointing: Checkpointing  # whether activations are recomputed
    fused_attention: bool  # whether the attention kernel does not keep the score matrix
    chunked_loss: bool = False  # whether the loss converts scores to fp32 one chunk at a time
    rank: int | None = None  # rank of adapters; None for the default
    mixed: bool = True  # whether weights have fp32 copies, and gradients and optimizer states are in fp32
    offload: tuple[Offload, ...] = ()  # state offloaded to the node's memory


class Bytes(NamedTuple):
    """Memory of one device in bytes, by part."""

    weights: float
    gathered: float
    gradients: float
    optimizer: float
    activations: float
    overhead: float


class _Activations(NamedTuple):
    """Memory of activations in bytes, before tensor parallelism divides it."""

    kept: float  # until the backward pass
    working: float  # of the layer being computed
    output: float
    offloaded: float  # kept in the node's memory


class TrainingMemory:
    """The memory of a training run under any layout. Each layout is computed once."""

    def __init__(self, run: TrainingRun) -> None:
        self.run = run
        shape, fact = run.shape, facts.memory()["training"]
        self._shards = {name: frozenset(parts) for name, parts in fact["shards"].items()}
        self._buffers: float = fact["host_buffers"]
        self._reserve: float = facts.memory()["devices"]["training_reserve"]
        tables = shape.embedding_parameters or 0
        self._tables, self._layers_parameters = tables, shape.parameters - tables
        # The tables of input and output are not gathered together.
        self._unit = max(self._layers_parameters / shape.layers, shape.output_parameters, shape.looked_up)
        self.trained: float = shape.parameters
        numbers = fact if run.mixed else fact["all_in_16_bits"]
        self._optimizer_each: float = numbers["optimizer"][run.optimizer]
        self._gradient_each: float = numbers["gradients"]
        self._adapter_weights = 0.0
        # Full sharding keeps only fp32 weights, plus 16-bit weights of the layer being gathered.
        master = fact["master_weights"][run.precision] if run.mixed else 0
        self._gathered_only = run.method == "full" and master > 0
        if run.method == "full":
            self._weight_each: float = fact["weights"][run.precision]
            self._optimizer_each += master
            self._gathered_each: float = fact["gathered"]
        else:
            known = facts.memory()["adapters"]
            frozen = weight_bytes(shape, "nf4" if run.method == "qlora" else run.precision)
            self._weight_each = frozen / shape.parameters
            self._gathered_each = 2 * self._weight_each
            self.trained = _adapter_parameters(shape, run.rank or known["rank"])
            self._adapter_weights = known["bytes"]["weights"] * self.trained
            self._gradient_each = known["bytes"]["gradients"]
        self._activations = _activations(run)
        self._needs: dict[tuple[Parallelism, int], Bytes] = {}
        self._parts: dict[tuple[Parallelism, int], tuple[MemoryPart, ...]] = {}

    def need(self, layout: Parallelism, *, batches: int = 1) -> Bytes:
        """Return the memory of one device in bytes under a layout. One pass processes ``batches`` of the run's size."""
        key = layout, batches
        if key not in self._needs:
            self._needs[key] = self._need(layout, batches)
        return self._needs[key]

    def _need(self, layout: Parallelism, batches: int) -> Bytes:
        states, activations = self._states(layout), self._activations
        offload, over = self.run.offload, layout.data if "weights" in self._shards[layout.sharding] else 1
        gathered = self._unit * self._gathered_each / layout.tensor if over > 1 else 0.0
        weights, gradients, optimizer = states
        if over > 1 and self._gathered_only and "optimizer" not in offload:
            weights = 0.0  # the optimizer state includes fp32 weights
        if "weights" in offload:
            # Layers are copied to the device one at a time.
            gathered = gathered or min(weights, self._unit * self._gathered_each / layout.tensor)
            weights = 0.0
        if "optimizer" in offload:
            gradients = 0.0 if gathered else min(gradients, self._unit * self._gradient_each / layout.tensor)
            optimizer = 0.0
        # The first stage has one batch in flight per stage, so stages save nothing here.
        # A recomputed layer allocates its memory after the output is freed; otherwise both are in use.
        working, output = activations.working, activations.output
        both = max(working, output) if self.run.checkpointing else working + output
        active = batches * (activations.kept + both) / layout.tensor
        held_in_all = weights + gathered + gradients + optimizer + active
        return Bytes(weights, gathered, gradients, optimizer, active, self._reserve * held_in_all)

    def host_bytes(self, layout: Parallelism, *, batches: int = 1) -> float:
        """Return the bytes of node memory that one device needs: offloaded state and buffers."""
        weights, gradients, optimizer = self._states(layout)
        offload = self.run.offload
        states = (weights if "weights" in offload else 0.0) + (gradients + optimizer if "optimizer" in offload else 0.0)
        return self._buffers * states + batches * self._activations.offloaded / layout.tensor

    def host_traffic(self, layout: Parallelism, *, batches: float = 1) -> float:
        """Return the bytes that a pass copies between a device and its node's memory, in the busier direction.

        Weights are copied to the device in the forward and backward passes, and 16-bit gradients from the device.
        Activations are copied to the node in the forward pass, and back in the backward pass.
        """
        weights, gradients, _ = self._states(layout)
        offload, activations = self.run.offload, batches * self._activations.offloaded / layout.tensor
        to_device = 2 * weights if "weights" in offload else 0.0
        narrow = facts.memory()["training"]["all_in_16_bits"]["gradients"] / self._gradient_each
        from_device = gradients * narrow if "optimizer" in offload else 0.0
        return max(to_device, from_device) + activations

    def _states(self, layout: Parallelism) -> tuple[float, float, float]:
        """Return the bytes of a device's weights, gradients and optimizer state, offloaded or not."""
        sharded, shape, data, tensor = self._shards[layout.sharding], self.run.shape, layout.data, layout.tensor
        stage = -(-shape.layers // layout.pipeline) / shape.layers
        held = (self._layers_parameters * stage + self._tables) / tensor
        trained = held if self.run.method == "full" else self.trained * stage / tensor
        weights = held * self._weight_each + self._adapter_weights * stage / tensor
        return (
            weights / (data if "weights" in sharded else 1),
            trained * self._gradient_each / (data if "gradients" in sharded else 1),
            trained * self._optimizer_each / (data if "optimizer" in sharded else 1),
        )

    def most_batches(self, layout: Parallelism, room: float, host_room: float) -> int:
        """Return how many batches of the run's size fit in one pass, rounded down to a power of two.

        Args:
            layout: the layout.
            room: bytes available on a device.
            host_room: bytes of node memory available per device.
        """
        need = self.need(layout)
        left = room - sum(need)
        more = int(left / (need.activations * (1 + self._reserve)))
        if on_host := self._activations.offloaded / layout.tensor:
            more = min(more, int((host_room - self.host_bytes(layout)) / on_host))
        return 1 << (max(more, 0) + 1).bit_length() - 1

    def parts(self, layout: Parallelism, *, batches: int = 1) -> tuple[MemoryPart, ...]:
        """Return the parts with their calculations, in GiB."""
        key = layout, batches
        if key not in self._parts:
            self._parts[key] = self._parts_of(layout, batches)
        return self._parts[key]

    def _parts_of(self, layout: Parallelism, batches: int) -> tuple[MemoryPart, ...]:
        run, sharded = self.run, self._shards[layout.sharding]
        held = f"{billions(run.shape.parameters)} parameters" + _over(layout.tensor * layout.pipeline, "devices")
        trained = held if run.method == "full" else f"{billions(self.trained)} parameters of adapters"
        data = {part: _over(layout.data if part in sharded else 1, "data-parallel") for part in self._shards["zero-3"]}
        adapters = "" if run.method == "full" else ", and adapters in fp32"
        tokens = f"{run.batch_size * batches} x {run.sequence_length} tokens"
        kept = {
            True: "inputs of all layers, and one layer's activations",
            False: "all activations of all layers",
            "selective": "attention and every second product of all layers, and one layer's activations",
        }[run.checkpointing]
        if "activations" in run.offload:
            kept = "activations of the layers being computed and copied"
        scores = "" if run.fused_attention else ", with attention scores"
        how = {
            "weights": f"{held} x {self._weight_each:.3g} bytes{data['weights']}{adapters}",
            "gathered layer": f"largest unit, {billions(self._unit)} parameters x {self._gathered_each:.3g} bytes",
            "gradients": f"{trained} x {self._gradient_each:g} bytes{data['gradients']}",
            "optimizer": f"{trained} x {self._optimizer_each:g} bytes ({run.optimizer}){data['optimizer']}",
            "activations": f"{tokens}: {kept}{scores}{_over(layout.tensor, 'tensor-parallel')}",
            "overhead": f"{self._reserve:.0%} of the other parts: fragmentation, collective buffers",
        }
        return tuple(
            MemoryPart(name, value / GIB, text)
            for (name, text), value in zip(how.items(), self.need(layout, batches=batches), strict=True)
            if value
        )


def _over(devices: int, what: str) -> str:
    return f" / {devices} {what}" if devices > 1 else ""


def _activations(run: TrainingRun) -> _Activations:
    """Return the bytes of activations.

    Without checkpointing, layers keep all their activations, including their inputs. For fp32, the 16-bit sizes are
    doubled.
    """
    fact, shape = facts.memory()["activations"], run.shape
    tokens = run.sequence_length * run.batch_size
    wide = 2 if run.precision == "fp32" else 1
    inner = fact["inner_gated"] if shape.gated_mlp is not False else fact["inner_plain"]
    outer = (fact["attention_and_norms"] + fact["mlp_outer"]) * shape.hidden_size
    layer = tokens * (outer + fact["kept"] * inner * shape.mlp_width)
    if not run.fused_attention:
        layer += fact["scores"] * shape.attention_heads * run.sequence_length * tokens
    output = fact["output_in_chunks" if run.chunked_loss else "output"] * tokens * (shape.vocabulary or 0)
    working = wide * float(layer) if run.checkpointing else 0.0
    each = wide * float(tokens * _kept_of_token(run)) if run.checkpointing else wide * float(layer)
    on_device = min(shape.layers, fact["in_flight"]) if "activations" in run.offload else shape.layers
    return _Activations(each * on_device, working, float(output), each * (shape.layers - on_device))


def _kept_of_token(run: TrainingRun) -> float:
    """Return the bytes per token that a recomputed layer keeps, in a 16-bit format."""
    fact, shape = facts.memory()["activations"], run.shape
    if run.checkpointing != "selective":
        return fact["boundary"] * shape.hidden_size
    values = shape.kv_heads * shape.head_dim
    return fact["selective"] * (2 * shape.hidden_size + 2 * shape.attention_size + values + shape.mlp_width)


def _adapter_parameters(shape: Shape, rank: int) -> float:
    """Return the parameters of LoRA adapters on every matrix of the layers: rank x (inputs + outputs)."""
    hidden, keys = shape.hidden_size, shape.kv_heads * shape.head_dim
    attention = 2 * (hidden + shape.attention_size) + 2 * (hidden + keys)
    mlp = (3 if shape.gated_mlp is not False else 2) * (hidden + shape.mlp_width)
    return float(rank * shape.layers * (attention + mlp))
