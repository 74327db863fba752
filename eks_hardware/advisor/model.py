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
    """A model, as far as memory and time depend on it.

    Attributes:
        parameters: all parameters.
        active_parameters: those that one token uses; fewer than all in a mixture of experts.
        layers: transformer layers.
        hidden_size: width of a layer.
        attention_heads: query heads.
        kv_heads: heads of keys and values; 1 for latent attention (MLA), whose cache all heads share, so that no
            device can keep less than the whole of it.
        head_dim: size of a head.
        vocabulary: entries of the vocabulary, None where nobody said.
        architecture: model type as Hugging Face writes it, None where nobody said.
        max_context_length: the longest context that the model knows, None where nobody said.
        generates: whether it writes tokens one by one, so that it keeps keys and values; None where unknown.
        layers_with_cache: layers that keep keys and values over the whole context.
        quantized_to: the format that the checkpoint's weights are in already (``int4``, ``fp8``), None for plain ones.
        estimated: what was not said and had to be estimated, a sentence each: figures that follow are rough.
        source: where the shape is from, such as ``config.json`` or ``the workload``.
        layers_with_window: further layers that keep keys and values of the last ``window`` tokens only.
        window: tokens of such a window.
        latent_width: numbers that one token leaves in one layer's cache instead of keys and values: latent
            attention (MLA); None elsewhere.
        embedding_parameters: those of ``parameters`` that are the tables in front of the layers and behind them,
            which no format of quantized weights touches; None where unknown.
        intermediate_size: width of the MLP that one token goes through, experts together; None where unknown.
        gated_mlp: whether that MLP has a gate (SwiGLU, GeGLU); None where unknown.
    """

    parameters: int
    active_parameters: int
    layers: int
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int | None
    architecture: str | None
    max_context_length: int | None
    generates: bool | None
    layers_with_cache: int
    quantized_to: str | None
    estimated: tuple[str, ...]
    source: str
    layers_with_window: int = 0
    window: int | None = None
    latent_width: int | None = None
    embedding_parameters: int | None = None
    intermediate_size: int | None = None
    gated_mlp: bool | None = None

    @property
    def kv_width(self) -> int:
        """Numbers that one token leaves in the cache of one layer: keys and values of each head, or what MLA keeps."""
        return self.latent_width or 2 * self.kv_heads * self.head_dim

    def kv_values(self, tokens: int) -> int:
        """Numbers that a sequence of so many tokens leaves in the cache of all layers; 0 for one without a cache."""
        windowed = min(tokens, self.window or tokens)
        return self.kv_width * (self.layers_with_cache * tokens + self.layers_with_window * windowed)


class ShapeError(ValueError):
    """A model of which no shape can be told.

    Attributes:
        code: ``MODEL_TYPE_UNKNOWN`` or ``HF_CONFIG_...``.
        message: what is wrong and how to mend it; no full stop.
        field: field of ``model`` that it is about, such as ``hf_config``.
    """

    def __init__(self, code: str, message: str, field: str = "hf_config") -> None:
        self.code, self.message, self.field = code, message, field
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True, kw_only=True)
class MemoryPart:
    """One part of what a device has to hold.

    Attributes:
        name: ``weights``, ``gradients``, ``optimizer``, ``activations``, ``KV cache``, ``overhead``.
        gib: GiB on one device.
        how: how it is computed, with its numbers: ``8.03e9 x 2 bytes / 8 devices``.
    """

    name: str
    gib: float
    how: str


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """How one model, or one copy of it, is laid over devices.

    Attributes:
        data: copies that work on different sequences (with sharding they share what is sharded).
        tensor: devices that share every layer.
        pipeline: stages of layers.
        sharding: ``none``, ``zero-1``, ``zero-2`` or ``zero-3`` (FSDP); ``none`` for inference.
    """

    data: int
    tensor: int
    pipeline: int
    sharding: str

    @property
    def devices(self) -> int:
        """Devices in all."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A condition that hardware has to meet, whatever it costs.

    Attributes:
        code: ``BF16``, ``FP8``, ``FLASH_ATTENTION``, ``FRAMEWORK``, ``EFA``, ``OFFERED``, ``WITHDRAWN``, ``AMI``, ...
        passed: None where no source says.
        text: what was asked and what is so, in a sentence.
        source: where the fact is from.
    """

    code: str
    passed: bool | None
    text: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How a workload sits on one instance type.

    Attributes:
        kind: the instance type.
        nodes: instances that one job, or one replica, takes.
        devices: accelerators that it uses of them; 0 on CPU.
        parallelism: how it is laid over them.
        memory: parts of what one device has to hold (on CPU: one node).
        memory_gib: what one device has to hold in all.
        available_gib: what one device has for it, after what driver and framework keep.
        replicas_per_node: independent copies that one node takes (inference on few of its devices); 1 otherwise.
        notes: what a user should know, a sentence each.
    """

    kind: InstanceType
    nodes: int
    devices: int
    parallelism: Parallelism
    memory: tuple[MemoryPart, ...]
    memory_gib: float
    available_gib: float
    replicas_per_node: int
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Miss:
    """Why a workload does not sit on an instance type at all.

    Attributes:
        kind: the instance type.
        missing_gib: GiB a device by which it misses at the most devices that were tried; None where memory is not it.
        gates: gates that were not passed.
        text: the reason in a sentence.
        remedy: what to change so that it would fit, None where nothing is known.
        detail: the reason without the name of the type, None where ``text`` does not begin with it.
    """

    kind: InstanceType
    missing_gib: float | None
    gates: tuple[Gate, ...]
    text: str
    remedy: str | None
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of the advisor.

    Attributes:
        workload: what is to run.
        shape: its model.
        regions: where it may run.
        efa: whether several nodes have to be joined by EFA; None lets the advisor decide.
    """

    workload: WorkloadSpec
    shape: Shape
    regions: tuple[str, ...]
    efa: bool | None = None


Maturity = Literal["mature", "maintenance", "beta", "archived", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An instance type on which the workload fits, with what it costs and how it scores.

    Attributes:
        fit: how it sits there.
        region: where.
        zone_ids: zones of the region that offer it.
        purchase: how it is bought: ``on-demand``, ``spot``, ...
        usd_per_hour: of all nodes, None where the price is unknown.
        price_as_of: day, or month, of the price.
        price_at_most: the price is an upper bound: that of on demand, for spot of which no source has a price.
        tokens_per_second: estimate for all nodes, None where too little is known.
        hours: estimate of the whole training run, None where too little is known.
        usd_per_million_tokens: from the two.
        usd_per_run: from the two.
        assumptions: behind the estimates, a sentence each.
        policy: name of the policy's branch that names its family, None for none.
        maturity: of the software on it.
        scores: parts of the score from 0 to 1, by name: ``cost``, ``policy``, ``maturity``, ``speed``.
        score: from 0 to 100.
        reasons: why it stands where it stands, a sentence each.
    """

    fit: Fit
    region: str
    zone_ids: tuple[str, ...]
    purchase: str
    usd_per_hour: float | None
    price_as_of: str | None
    price_at_most: bool
    tokens_per_second: float | None
    hours: float | None
    usd_per_million_tokens: float | None
    usd_per_run: float | None
    assumptions: tuple[str, ...]
    policy: str | None
    maturity: Maturity
    scores: Mapping[str, float]
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A family of which nothing is left, and why.

    Attributes:
        family: ``p3``.
        accelerator: name of its accelerator, None for CPU.
        code: of the gate or cause: ``WITHDRAWN``, ``MEMORY``, ``BF16``, ``OFFERED``, ...
        text: why, in a sentence.
    """

    family: str
    accelerator: str | None
    code: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The advisor's answer.

    Attributes:
        request: what was asked.
        branch: name of the policy's branch that the workload takes, with ``branch_quote`` from its document.
        candidates: best first; empty where nothing fits.
        rejections: families without a candidate.
        nearest: for an empty answer, what comes nearest, by how much it misses and what to change, best first.
        notes: what a user should know of the whole answer, a sentence each.
    """

    request: Request
    branch: str
    branch_quote: str
    candidates: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]
    nearest: tuple[Miss, ...]
    notes: tuple[str, ...]
