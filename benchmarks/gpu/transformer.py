"""A decoder of any shape with random weights: RMSNorm, rotary positions, grouped-query attention, gated MLP.

PyTorch is not a dependency of the project, so its types are unknown here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.plan import Method
from eks_hardware.advisor.model import Shape

torch: Any = importlib.import_module("torch")
checkpoint: Any = importlib.import_module("torch.utils.checkpoint").checkpoint
functional = torch.nn.functional

Tensor = Any
Matrix = Callable[[Tensor], Tensor]

RANK = 16  # rank of the adapters, as the advisor assumes
_STD = 0.02
_BLOCK = 64  # weights that share a scale
_BASE = 10_000.0


@dataclass(kw_only=True)
class Layer:
    """A layer's matrices."""

    queries: Matrix
    keys: Matrix
    values: Matrix
    output: Matrix
    gate: Matrix
    up: Matrix
    down: Matrix
    norms: tuple[Tensor, Tensor]


@dataclass(kw_only=True)
class Cache:
    """Keys and values of all layers for a fixed number of tokens."""

    keys: list[Tensor]
    values: list[Tensor]


@dataclass(kw_only=True)
class Model:
    """A model on a device; ``trained`` has the parameters with gradients."""

    shape: Shape
    device: str
    table: Tensor
    head: Tensor
    norm: Tensor
    layers: list[Layer]
    trained: list[Tensor] = field(default_factory=list)

    def hidden(self, tokens: Tensor, *, recompute: bool = False, cache: Cache | None = None, at: int = 0) -> Tensor:
        """Return the last layer's vectors; with a cache, the tokens have positions from ``at`` on."""
        x = functional.embedding(tokens, self.table).to(torch.bfloat16)
        rotation = _rotation(self.shape.head_dim, at, tokens.shape[1], self.device)
        for index, layer in enumerate(self.layers):
            kept = None if cache is None else (cache.keys[index], cache.values[index])
            if recompute:
                x = checkpoint(_layer, x, layer, self.shape, rotation, kept, at, use_reentrant=False)
            else:
                x = _layer(x, layer, self.shape, rotation, kept, at)
        return _normed(x, self.norm)

    def loss(self, tokens: Tensor, *, recompute: bool) -> Tensor:
        """Return the loss of predicting each token's successor, with fp32 scores for every token."""
        scores = functional.linear(self.hidden(tokens, recompute=recompute), self.head)
        wanted = tokens.roll(-1, dims=1)
        return functional.cross_entropy(scores.float().flatten(0, 1), wanted.flatten())

    def next_tokens(self, tokens: Tensor, cache: Cache, at: int) -> Tensor:
        """Return the most probable next token of each sequence."""
        last = self.hidden(tokens, cache=cache, at=at)[:, -1]
        return functional.linear(last, self.head).float().argmax(-1, keepdim=True)


def new_model(shape: Shape, device: str, method: Method | None) -> Model:
    """Return a model for a training method, or for serving if ``method`` is ``None``.

    Full training keeps fp32 weights, which autocast converts. Otherwise weights are in bf16; with ``qlora``, the
    layers' weights are in 4 bits. Adapters are in fp32, on every matrix of the layers.
    """
    width, inner, size = shape.hidden_size, shape.mlp_width, shape.head_dim
    dtype = torch.float32 if method == "full" else torch.bfloat16
    trained: list[Tensor] = []

    def tensor(*dimensions: int, ones: bool = False) -> Tensor:
        made = torch.ones(dimensions, device=device, dtype=dtype)
        if not ones:
            made.normal_(std=_STD)
        if method == "full":
            trained.append(made.requires_grad_())
        return made

    def matrix(outputs: int, inputs: int) -> Matrix:
        if method in (None, "full"):
            weight = tensor(outputs, inputs)
            return lambda x: functional.linear(x, weight)
        frozen = _four_bits(outputs, inputs, device) if method == "qlora" else _frozen(tensor(outputs, inputs))
        down, up = (torch.zeros(each, device=device) for each in ((RANK, inputs), (outputs, RANK)))
        trained.extend((down.normal_(std=_STD).requires_grad_(), up.requires_grad_()))
        return lambda x: frozen(x) + functional.linear(functional.linear(x, down), up)

    queries, keys = shape.attention_heads * size, shape.kv_heads * size
    table = tensor(shape.vocabulary or 1, width)
    tied = shape.output_parameters and (shape.embedding_parameters or 0) < 2 * shape.output_parameters
    return Model(
        shape=shape,
        device=device,
        table=table,
        head=table if tied else tensor(shape.vocabulary or 1, width),
        norm=tensor(width, ones=True),
        layers=[
            Layer(
                queries=matrix(queries, width),
                keys=matrix(keys, width),
                values=matrix(keys, width),
                output=matrix(width, queries),
                gate=matrix(inner, width),
                up=matrix(inner, width),
                down=matrix(width, inner),
                norms=(tensor(width, ones=True), tensor(width, ones=True)),
            )
            for _ in range(shape.layers)
        ],
        trained=trained,
    )


def new_cache(shape: Shape, device: str, *, sequences: int, tokens: int, fp8: bool) -> Cache:
    """Return an empty cache."""
    dtype = torch.float8_e4m3fn if fp8 else torch.bfloat16
    form = (sequences, shape.kv_heads, tokens, shape.head_dim)

    def empty() -> list[Tensor]:
        return [torch.zeros(form, device=device, dtype=torch.bfloat16).to(dtype) for _ in range(shape.layers)]

    return Cache(keys=empty(), values=empty())


# --- a layer


def _layer(
    x: Tensor, layer: Layer, shape: Shape, rotation: Tensor, kept: tuple[Tensor, Tensor] | None, at: int
) -> Tensor:
    inputs = _normed(x, layer.norms[0])
    queries = _rotated(_heads(layer.queries(inputs), shape.head_dim), rotation)
    keys = _rotated(_heads(layer.keys(inputs), shape.head_dim), rotation)
    values = _heads(layer.values(inputs), shape.head_dim)
    if kept is not None:
        end = at + keys.shape[2]
        for cached, new in zip(kept, (keys, values), strict=True):
            cached[:, :, at:end] = new.to(cached.dtype)
        if at:  # at the start, a prompt attends only to itself, which needs no copy of the cache
            keys, values = (cached[:, :, :end].to(queries.dtype) for cached in kept)
    grouped = shape.attention_heads != shape.kv_heads
    mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=at == 0, enable_gqa=grouped)
    x = x + layer.output(mixed.transpose(1, 2).flatten(2))
    inputs = _normed(x, layer.norms[1])
    return x + layer.down(functional.silu(layer.gate(inputs)) * layer.up(inputs))


def _normed(x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, weight.shape, weight.to(x.dtype))


def _heads(x: Tensor, size: int) -> Tensor:
    return x.unflatten(-1, (-1, size)).transpose(1, 2)


def _rotation(size: int, at: int, tokens: int, device: str) -> Tensor:
    frequencies = _BASE ** (-torch.arange(0, size, 2, device=device) / size)
    angles = torch.arange(at, at + tokens, device=device)[:, None] * frequencies
    return torch.stack((angles.cos(), angles.sin())).to(torch.bfloat16)


def _rotated(x: Tensor, rotation: Tensor) -> Tensor:
    cosine, sine = rotation
    first, second = x.to(torch.bfloat16).chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


# --- matrices without gradients


def _frozen(weight: Tensor) -> Matrix:
    return lambda x: functional.linear(x, weight)


def _four_bits(outputs: int, inputs: int, device: str) -> Matrix:
    """Return a matrix of 4-bit numbers with an 8-bit scale per block, which each pass expands to bf16."""
    packed = torch.randint(0, 256, (outputs * inputs // 2,), device=device, dtype=torch.uint8)
    scales = torch.randint(1, 256, (outputs * inputs // _BLOCK,), device=device, dtype=torch.uint8)

    def expanded() -> Tensor:
        halves = torch.stack((packed >> 4, packed & 15), -1).to(torch.bfloat16).view(-1, _BLOCK)
        return ((halves - 7.5) * (scales.to(torch.bfloat16)[:, None] * (_STD / 1024))).view(outputs, inputs)

    def forward(_: Any, x: Tensor) -> Tensor:
        return functional.linear(x.to(torch.bfloat16), expanded())

    def backward(_: Any, gradient: Tensor) -> Tensor:
        return gradient.to(torch.bfloat16) @ expanded()

    # The expanded matrix must not be kept for the backward pass.
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function: Any = type("FourBits", (torch.autograd.Function,), methods)
    return lambda x: function.apply(x)
