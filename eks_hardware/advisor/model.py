"""What the advisor's steps hand to each other: shape, memory, gates, fit, candidates. Frozen plain data.

``None`` always means that no source was found or that nothing was said, never "no" and never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from eks_hardware.catalogue import InstanceType
from eks_hardware.models import WorkloadSpec


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A model, as far as memory and time depend on it."""

    parameters: int
    active_parameters: int  # those that one token uses; fewer than all in a mixture of experts
    layers: int
    hidden_size: int
    attention_heads: int
    # Heads of keys and values. 1 for latent attention (MLA): all heads share its cache, so no device can hold less
    # than all of it.
    kv_heads: int
    head_dim: int
    vocabulary: int | None
    architecture: str | None  # the model type as Hugging Face writes it
    max_context_length: int | None
    generates: bool | None  # whether it writes tokens one by one, and so keeps keys and values
    layers_with_cache: int  # layers that keep keys and values of the whole context
    quantized_to: str | None  # the format of the checkpoint's weights: int4, fp8; None for plain ones
    estimated: tuple[str, ...]  # what had to be estimated, a sentence each: figures that follow are rough
    source: str  # config.json, or the workload
    layers_with_window: int = 0  # further layers, which keep keys and values of the last `window` tokens only
    window: int | None = None
    latent_width: int | None = None  # MLA: numbers that a token leaves in a layer's cache instead of keys and values
    # Those of `parameters` that are tables before and after the layers; quantized formats leave them as they are.
    embedding_parameters: int | None = None
    intermediate_size: int | None = None  # width of the MLP that one token goes through, all its experts together
    gated_mlp: bool | None = None  # whether that MLP has a gate (SwiGLU, GeGLU)

    @property
    def kv_width(self) -> int:
        """Numbers that one token leaves in the cache of one layer: keys and values of each head, or what MLA keeps."""
        return self.latent_width or 2 * self.kv_heads * self.head_dim

    def kv_values(self, tokens: int) -> int:
        """Numbers that a sequence of so many tokens leaves in the cache of all layers; 0 for one without a cache."""
        windowed = min(tokens, self.window or tokens)
        return self.kv_width * (self.layers_with_cache * tokens + self.layers_with_window * windowed)

    @property
    def mlp_width(self) -> int:
        """The width of the MLP; where it is unknown, the usual four times the width of a layer."""
        return self.intermediate_size or 4 * self.hidden_size

    @property
    def attention_size(self) -> int:
        """Attention heads times the size of a head."""
        return self.attention_heads * self.head_dim


class ShapeError(ValueError):
    """A model whose shape cannot be told.

    Attributes:
        code: ``MODEL_TYPE_UNKNOWN``, ``MODEL_SIZE`` or ``HF_CONFIG_...``.
        message: what is wrong and how to mend it; no full stop.
        field: the field of ``model`` at fault, such as ``hf_config``.
    """

    def __init__(self, code: str, message: str, field: str = "hf_config") -> None:
        self.code, self.message, self.field = code, message, field
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True)
class MemoryPart:
    """One part of what a device has to hold."""

    name: str  # weights, gradients, optimizer, activations, KV cache, overhead
    gib: float  # on one device
    how: str  # how it is computed, with its numbers: 8.03e9 x 2 bytes / 8 devices


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """How one model, or one copy of it, is laid over devices."""

    data: int  # copies that work on different sequences; with sharding they share what is sharded
    tensor: int  # devices that share every layer
    pipeline: int  # stages of layers
    sharding: str  # none, zero-1, zero-2 or zero-3 (FSDP); none for inference

    @property
    def devices(self) -> int:
        """Devices in all."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True)
class Gate:
    """A condition that hardware has to meet, whatever it costs."""

    code: str  # BF16, FP8, FLASH_ATTENTION, FRAMEWORK, EFA, OFFERED, WITHDRAWN, AMI, ...
    passed: bool | None
    text: str  # what was asked and what is so, in a sentence
    source: str


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How a workload fits on one instance type."""

    kind: InstanceType
    nodes: int  # instances that one job, or one replica, takes
    devices: int  # accelerators that it uses on them; 0 on CPU
    parallelism: Parallelism
    memory: tuple[MemoryPart, ...]  # what one device has to hold (on CPU: one node)
    memory_gib: float  # the sum of these parts
    available_gib: float  # what one device has for it, after what driver and framework keep
    replicas_per_node: int  # copies that one node takes (inference on few of its devices); 1 otherwise
    notes: tuple[str, ...]  # what a user should know, a sentence each
    batch_size: int | None = None  # training: sequences that a device works on in one pass


@dataclass(frozen=True, kw_only=True)
class Miss:
    """Why a workload does not fit on an instance type at all."""

    kind: InstanceType
    missing_gib: float | None = None  # GiB a device, at the most devices that were tried; None if memory is not it
    gates: tuple[Gate, ...] = ()  # those that were not passed
    text: str
    remedy: str | None = None  # what to change so that it would fit
    detail: str | None = None  # the text without the name of the type, None where it does not begin with it


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of the advisor."""

    workload: WorkloadSpec
    shape: Shape
    regions: tuple[str, ...]
    efa: bool | None = None  # whether EFA has to join several nodes; None lets the advisor decide


Maturity = Literal["mature", "maintenance", "beta", "archived", "unknown"]
ScorePart = Literal["cost", "policy", "maturity", "speed"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An instance type on which the workload fits, with what it costs and how it scores."""

    fit: Fit
    region: str
    zone_ids: tuple[str, ...]  # zones of the region that offer it
    purchase: str  # on-demand, spot, ...
    usd_per_hour: float | None  # all nodes together
    price_as_of: str | None  # day or month
    price_at_most: bool  # the price is the on-demand one, because no source has a spot price
    tokens_per_second: float | None  # estimate for all nodes
    hours: float | None  # estimate for the whole training run
    usd_per_million_tokens: float | None
    usd_per_run: float | None
    assumptions: tuple[str, ...]  # behind the estimates, a sentence each
    policy: str | None  # the policy's branch that names its family
    maturity: Maturity  # of the software on it
    scores: Mapping[ScorePart, float]  # 0 to 1
    score: float  # 0 to 100
    reasons: tuple[str, ...]  # why it ranks where it does, a sentence each


@dataclass(frozen=True)
class Rejection:
    """A family without a candidate."""

    family: str  # p3
    accelerator: str | None  # its name, None for CPU
    code: str  # the gate or cause: WITHDRAWN, MEMORY, BF16, OFFERED, ...
    text: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The advisor's answer."""

    request: Request
    branch: str  # the policy's branch that the workload takes
    branch_quote: str  # the words of its document
    candidates: tuple[Candidate, ...]  # best first; empty where nothing fits
    rejections: tuple[Rejection, ...]
    nearest: tuple[Miss, ...]  # for an empty answer: what misses by the least, best first
    notes: tuple[str, ...]  # on the whole answer, a sentence each
