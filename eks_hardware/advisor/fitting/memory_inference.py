"""The memory that a device needs for inference.

Formulas and their sources: ``config/facts/memory.json`` (formats, inference). In short, it is the sum of the
weights in their format, the KV cache and the activations. The KV cache is 2 x layers x key-value heads x head size x
bytes x tokens x sequences, or less with sliding-window or latent attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.model import MemoryPart, Parallelism, Shape
from eks_hardware.units import GIB


def billions(count: float) -> str:
    """Return ``8.03e9`` for 8030261248."""
    power = 9 if count >= 1e8 else 6
    return f"{count / 10**power:.3g}e{power}" if count < 10 ** (power + 3) else f"{count / 10**power:.0f}e{power}"


def weight_bytes(shape: Shape, weight_format: str) -> float:
    """Return the bytes of all weights in a format. In quantized formats the token tables stay at 16 bits."""
    fact = facts.memory()["formats"]
    each = fact["bytes"][weight_format]
    if weight_format not in fact["quantized"]:
        return each * shape.parameters
    tables = shape.embedding_parameters or 0
    return each * (shape.parameters - tables) + weight_bytes_of_tables(weight_format) * tables


def weight_bytes_of_tables(weight_format: str) -> float:
    """Return the bytes per value in the token tables."""
    fact = facts.memory()["formats"]
    return fact["bytes"]["bf16" if weight_format in fact["quantized"] else weight_format]


def kv_value_bytes(weight_format: str, kv_format: str | None = None) -> int:
    """Return the bytes per value in the KV cache, by default in the compute format: 16 bits for quantized weights."""
    if kv_format == "fp8":
        return 1
    return 4 if weight_format == "fp32" else 2


def cache_share(shape: Shape, tensor: int, cores: int = 1) -> float:
    """Return the share of the KV cache on one of ``tensor`` devices. No head is split between cores."""
    return cores * _heads_held(shape, tensor * cores)[1] / (tensor * cores * shape.kv_heads)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The work of a replica."""

    shape: Shape
    weight_format: str  # bf16, fp8, int4, ...
    context_length: int  # tokens of prompt and output of one sequence
    sequences: int  # concurrent
    cores: int = 1  # cores of a device that share its copy, each with its own memory; 1 for GPUs and CPUs
    kv_format: str | None = None  # format of the KV cache: fp8; None for the compute format
    graphs: bool = True  # whether CUDA graphs use memory


class Bytes(NamedTuple):
    """Memory of one device in bytes, by part."""

    weights: float
    cache: float
    activations: float
    overhead: float


class InferenceMemory:
    """The memory of a serving model under any layout. Each layout is computed once."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        shape, fact = serving.shape, facts.memory()["inference"]
        formats = facts.memory()["formats"]["bytes"]
        self.weights = weight_bytes(shape, serving.weight_format)
        quantized = serving.weight_format in facts.memory()["formats"]["quantized"]
        each = formats["bf16"] if quantized else formats[serving.weight_format]
        self._tables = each * (shape.embedding_parameters or 0)
        self._routed = formats[serving.weight_format] * shape.routed_parameters
        computed = kv_value_bytes(serving.weight_format)
        self.value_bytes = kv_value_bytes(serving.weight_format, serving.kv_format)
        self._caches = shape.generates is not False
        values = shape.kv_values(serving.context_length) if self._caches else 0
        self.cache = float(self.value_bytes * values * serving.sequences)
        self._attention_head = float(each * shape.layers * shape.hidden_size * shape.head_dim)
        inner = facts.memory()["activations"]["inner_gated" if shape.gated_mlp is not False else "inner_plain"]
        self._outer_of_token = computed * fact["width_of_token"] * shape.hidden_size * serving.cores
        self._inner_of_token = computed * inner * shape.mlp_width
        self._batched: int = fact["batched_tokens"]
        if not self._caches:
            self._batched = max(fact["encoder_batch_tokens"], serving.context_length)
        self._graphs = fact["graphs_gib"] * GIB if serving.graphs else 0.0
        self._needs: dict[Parallelism, Bytes] = {}
        self._parts: dict[Parallelism, tuple[MemoryPart, ...]] = {}

    def cache_share(self, tensor: int) -> float:
        """Return the share of the KV cache on one of ``tensor`` devices."""
        return cache_share(self.serving.shape, tensor, self.serving.cores)

    def padding(self, tensor: int) -> float:
        """Return the bytes of padded or repeated heads on all devices together.

        Padded query heads enlarge two matrices per layer: queries and output. Repeated key-value heads enlarge two
        others: keys and values. Latent attention has other matrices, whose padding is not counted.
        """
        shape = self.serving.shape
        if shape.latent_width:
            return 0.0
        queries, keys = _heads_held(shape, tensor * self.serving.cores)
        return self._attention_head * 2 * (queries - shape.attention_heads + keys - shape.kv_heads)

    def need(self, layout: Parallelism) -> Bytes:
        """Return the memory of one device in bytes, under a layout."""
        if layout not in self._needs:
            self._needs[layout] = self._need(layout)
        return self._needs[layout]

    def _need(self, layout: Parallelism) -> Bytes:
        layers, tensor = self.serving.shape.layers, layout.tensor
        stage = -(-layers // layout.pipeline) / layers
        spread = self._routed * stage * (1 - 1 / layout.expert)  # experts that are on other devices
        weights = ((self.weights - self._tables + self.padding(tensor)) * stage + self._tables - spread) / tensor
        cache = self.cache * stage * self._share_of_cache(layout)
        tokens, sequences = self.tokens(layout), self._sequences(layout)
        scores = 4.0 * sequences * (self.serving.shape.vocabulary or 0) if self._caches else 0.0
        active = tokens * (self._outer_of_token + self._inner_of_token / tensor) + scores
        return Bytes(weights, cache, active, self._graphs)

    def tokens(self, layout: Parallelism) -> int:
        """Return the maximum number of tokens per device in one pass."""
        tokens = self.serving.context_length * self._sequences(layout)
        # Neuron compiles an encoder for all sequences.
        return min(tokens, self._batched) if self._caches or self.serving.graphs else tokens

    def _sequences(self, layout: Parallelism) -> int:
        """Return the number of sequences per device: with spread experts, each device has its own."""
        return -(-self.serving.sequences // layout.data)

    def _share_of_cache(self, layout: Parallelism) -> float:
        return self.cache_share(layout.tensor) * self._sequences(layout) / self.serving.sequences

    def parts(self, layout: Parallelism) -> tuple[MemoryPart, ...]:
        """Return the parts with their calculations, in GiB."""
        if layout not in self._parts:
            self._parts[layout] = self._parts_of(layout)
        return self._parts[layout]

    def _parts_of(self, layout: Parallelism) -> tuple[MemoryPart, ...]:
        serving, shape = self.serving, self.serving.shape
        devices = layout.devices
        each = f" / {devices} devices" if devices > 1 else ""
        if layout.expert > 1:
            each = f", {billions(int(shape.routed_parameters))} of them in experts / {layout.expert} devices"
        share = self._share_of_cache(layout) / layout.pipeline
        per_token = self.value_bytes * shape.kv_values(1)
        more = self.padding(layout.tensor)
        padded = f" and {more / GIB:.3g} GiB of repeated or empty heads" if more else ""
        how = {
            "weights": f"{billions(shape.parameters)} parameters in {serving.weight_format}{padded}{each}",
            "KV cache": f"{serving.sequences} x {serving.context_length} tokens x {per_token} bytes{_window(shape)}"
            + (f" x {share:.3g} per device" if devices > 1 else ""),
            "activations": f"{self.tokens(layout)} tokens in one pass",
            "overhead": "CUDA graphs and libraries",
        }
        return tuple(
            MemoryPart(name, value / GIB, text)
            for (name, text), value in zip(how.items(), self.need(layout), strict=True)
            if value
        )


def _heads_held(shape: Shape, shares: int) -> tuple[int, int]:
    """Return the total query heads and key-value heads in all shares of a tensor parallel model.

    Query heads are padded until every share has the same number. A key-value head is never split. If the number of
    shares is a multiple of the key-value heads, every share has one of them. If neither number is a multiple of the
    other, there is one key-value head per query head.

    Source: https://github.com/huggingface/optimum-neuron/blob/main/optimum/neuron/models/inference/backend/modules/attention/gqa.py
    """
    queries = -(-shape.attention_heads // shares) * shares
    keys = shape.kv_heads
    if keys % shares == 0:
        return queries, keys
    return queries, shares if shares % keys == 0 else queries


def _window(shape: Shape) -> str:
    return f", {shape.layers_with_window} layers with only {shape.window} tokens" if shape.layers_with_window else ""
