"""Data model of the advisor: shape, memory, gates, fit, candidates. Frozen plain data.

``None`` means unknown or not given, unless a comment gives it another meaning. It never means zero. Types that a search
creates by the thousand are named tuples, because a frozen dataclass takes several times as long to create.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from eks_hardware.catalogue import InstanceType
from eks_hardware.models import WorkloadSpec

if TYPE_CHECKING:
    from eks_hardware.advisor.measured.factors import Measured
    from eks_hardware.advisor.ranking.policy import Policy
    from eks_hardware.quotas import QuotaNeed


class Prominent(str):
    """A reason or note that the short answer shows too: a reason to hesitate, a probable mistake, a missing option."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The dimensions of a model that memory and time depend on."""

    parameters: int
    active_parameters: int  # parameters that one token uses; fewer than all in a mixture of experts
    layers: int
    hidden_size: int
    attention_heads: int
    # Key-value heads. 1 for latent attention (MLA): all heads share one cache, so every device needs the whole cache.
    kv_heads: int
    head_dim: int
    vocabulary: int | None
    architecture: str | None  # Hugging Face model_type
    max_context_length: int | None
    generates: bool | None  # whether it generates tokens one by one, with a KV cache
    layers_with_cache: int  # layers that cache keys and values of the whole context
    quantized_to: str | None  # format of the checkpoint's weights: int4, fp8; None if not quantized
    estimated: tuple[str, ...]  # estimated dimensions, one sentence each: derived figures are rough
    source: str  # config.json, the repository of a public model, or the workload
    layers_with_window: int = 0  # further layers, which cache only the last `window` tokens
    window: int | None = None
    latent_width: int | None = None  # MLA: numbers per token in a layer's cache, instead of keys and values
    # Parameters in tables before and after the layers. Quantized formats do not quantize them.
    embedding_parameters: int | None = None
    intermediate_size: int | None = None  # width of the MLP for one token, all its experts together
    experts: int | None = None  # per layer; None without experts, or if unknown
    experts_of_token: int | None = None  # experts per layer that one token uses
    expert_layers: int = 0  # layers with experts
    gated_mlp: bool | None = None  # whether that MLP has a gate (SwiGLU, GeGLU)

    @property
    def kv_width(self) -> int:
        """Numbers per token in the KV cache of one layer: keys and values of each head, or the latent vector of MLA."""
        return self.latent_width or 2 * self.kv_heads * self.head_dim

    def kv_values(self, tokens: int) -> int:
        """Return how many numbers the KV cache of all layers has for a sequence of ``tokens``; 0 without a cache."""
        windowed = min(tokens, self.window or tokens)
        return self.kv_width * (self.layers_with_cache * tokens + self.layers_with_window * windowed)

    @property
    def mlp_width(self) -> int:
        """Width of the MLP; if unknown, the usual four times the width of a layer."""
        return self.intermediate_size or 4 * self.hidden_size

    @property
    def output_parameters(self) -> int:
        """Parameters of a generating model's output matrix, which turns the last layer's vector into a token."""
        made = (self.vocabulary or 0) * self.hidden_size if self.generates is not False else 0
        return min(made, self.embedding_parameters or 0)

    @property
    def looked_up(self) -> int:
        """Parameters of lookup tables: a token reads one row, and no computation uses the other rows."""
        return (self.embedding_parameters or 0) - self.output_parameters

    @property
    def attention_size(self) -> int:
        """Attention heads times the size of a head."""
        return self.attention_heads * self.head_dim

    @property
    def routed_parameters(self) -> float:
        """Parameters of the experts that only some tokens use; 0 without such experts, or if unknown."""
        if not self.experts or not self.experts_of_token or self.experts_of_token >= self.experts:
            return 0.0
        return (self.parameters - self.active_parameters) / (1 - self.experts_of_token / self.experts)


class ShapeError(ValueError):
    """Raised when a model's shape is unknown or contradictory.

    Attributes:
        code: ``MODEL_NAME``, ``MODEL_TYPE_UNKNOWN``, ``MODEL_SIZE`` or ``HF_CONFIG_...``.
        message: the problem and its fix; no full stop.
        field: the field of ``model`` at fault, such as ``hf_config``.
    """

    def __init__(self, code: str, message: str, field: str = "hf_config") -> None:
        self.code, self.message, self.field = code, message, field
        super().__init__(f"{code}: {message}")


class MemoryPart(NamedTuple):
    """One part of the memory that a device needs."""

    name: str  # weights, gradients, optimizer, activations, KV cache, overhead
    gib: float  # per device
    how: str  # calculation: 8.03e9 x 2 bytes / 8 devices


class Parallelism(NamedTuple):
    """How one model or replica is spread over devices."""

    data: int  # copies that process different sequences; with sharding, copies split the state
    tensor: int  # devices that share every layer
    pipeline: int  # stages of layers
    sharding: str  # none, zero-1, zero-2 or zero-3 (FSDP); none for inference
    # Devices that divide a mixture's experts and exchange tokens, each with its own sequences. 1: not divided.
    expert: int = 1

    @property
    def devices(self) -> int:
        """Total number of devices."""
        return self.data * self.tensor * self.pipeline

    @property
    def ways(self) -> tuple[str, ...]:
        """Return each kind of parallelism in use, with its number of devices or stages: ``tensor 8``."""
        sizes = {"data": self.data, "expert": self.expert, "tensor": self.tensor, "pipeline": self.pipeline}
        return tuple(f"{name} {size}" for name, size in sizes.items() if size > 1)


@dataclass(frozen=True)
class Gate:
    """A condition that hardware must meet regardless of cost."""

    code: str  # BF16, FP8, FLASH_ATTENTION, FRAMEWORK, EFA, OFFERED, WITHDRAWN, AMI, ...
    passed: bool | None
    text: str  # the requirement and the fact, in one sentence
    source: str
    notable: bool = False  # whether users should know it even if the hardware passes


class Fit(NamedTuple):
    """How a workload fits on one instance type."""

    kind: InstanceType
    nodes: int  # instances for one job or one replica
    devices: int  # accelerators in use on all of these nodes; 0 for CPU
    parallelism: Parallelism
    memory: tuple[MemoryPart, ...]  # memory on one device (for CPU: on one node)
    memory_gib: float  # sum of these parts
    available_gib: float  # one device's memory, less the memory of driver and framework
    replicas_per_node: int  # replicas that fit on one node (inference on few of its devices); otherwise 1
    notes: tuple[str, ...]  # notes for the user, one sentence each
    batch_size: int | None = None  # training: sequences that a device processes in one pass

    @property
    def used(self) -> float:
        """The share of a device's available memory that the workload uses."""
        return self.memory_gib / self.available_gib

    def nodes_for(self, replicas: int) -> int:
        """Return the nodes for a number of replicas."""
        return self.nodes * math.ceil(replicas / (self.replicas_per_node if self.nodes == 1 else 1))


@dataclass(frozen=True, kw_only=True)
class Miss:
    """Why a workload does not fit on an instance type."""

    kind: InstanceType
    missing_gib: float | None = None  # GiB per device in the best layout tried; None if memory is not the cause
    gates: tuple[Gate, ...] = ()  # failed gates
    text: str
    remedy: str | None = None  # change that would make it fit
    detail: str | None = None  # the text without the type's name; None if the text does not start with the name


@dataclass(frozen=True, kw_only=True)
class AccountQuotas:
    """An account's vCPU quotas for EC2 instances.

    Attributes:
        by_region: vCPUs by region and quota code; values with the region None apply in every region.
    """

    by_region: Mapping[str | None, Mapping[str, float]]

    def value(self, code: str | None, region: str) -> float | None:
        """Return the vCPUs that a quota allows in a region; None if its value is not known."""
        found = (self.by_region.get(place, {}).get(code or "") for place in (region, None))
        return next((value for value in found if value is not None), None)

    def knows(self, region: str) -> bool:
        """Return whether any quota of a region is known."""
        return region in self.by_region or None in self.by_region


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to the advisor."""

    workload: WorkloadSpec
    shape: Shape
    regions: tuple[str, ...]
    efa: bool | None = None  # whether several nodes need EFA; None: the advisor decides
    measured: Measured | None = None  # the user's measurements, which correct the estimates
    policy: Policy | None = None  # decision trees; None: the shipped ones
    quotas: AccountQuotas | None = None  # the account's quotas, which limit the plans; None: no limits

    def with_workload(self, **fields: object) -> Request:
        """Return a request that differs in fields of its workload."""
        return replace(self, workload=self.workload.model_copy(update=fields))

    def account_quota(self, code: str | None, region: str) -> float | None:
        """Return the vCPUs that a quota of the user's account allows; None if its value is not known."""
        return self.quotas.value(code, region) if self.quotas else None


Maturity = Literal["mature", "maintenance", "beta", "archived", "unknown"]
ScorePart = Literal["cost", "policy", "maturity", "speed"]


@dataclass(frozen=True, kw_only=True)
class AboutCost:
    """The cost at an estimated price, which ranks a candidate whose price is unknown."""

    usd_per_hour: float  # of all nodes
    usd_per_million_tokens: float | None
    usd_per_run: float | None
    how: str  # the calculation in words


class Candidate(NamedTuple):
    """An instance type on which the workload fits, with its cost and score."""

    fit: Fit
    region: str
    zone_ids: tuple[str, ...]  # zones of the region that offer the type
    purchase: str  # on-demand, spot, ...
    usd_per_hour: float | None  # of all nodes
    price_as_of: str | None  # day or month
    price_at_most: bool  # whether the On-Demand price replaces an unknown price of the purchasing option
    tokens_per_second: float | None  # estimate for all nodes
    hours: float | None  # estimate for the whole run
    usd_per_million_tokens: float | None
    usd_per_run: float | None  # for at least one hour
    assumptions: tuple[str, ...]  # assumptions of the estimates, one sentence each
    policy: str | None  # branch of the policy that names its family
    maturity: Maturity  # of the software on the type
    scores: Mapping[ScorePart, float]  # 0 to 1
    score: float  # 0 to 100
    reasons: tuple[str, ...]  # reasons for its rank, one sentence each
    replicas: int | None = None  # replicas that the users need; None if the request has no users
    about: AboutCost | None = None  # None if the price is known, or has no estimate

    @property
    def nodes(self) -> int:
        """Nodes of the job, of the replica, or of all replicas."""
        return self.fit.nodes_for(self.replicas or 1)

    @property
    def hardware(self) -> str:
        """The nodes and their type, such as ``2 x p5.48xlarge``; the type alone for one node."""
        return f"{self.nodes} x {self.fit.kind.name}" if self.nodes > 1 else self.fit.kind.name


@dataclass(frozen=True)
class Rejection:
    """A family without a candidate."""

    family: str  # p3
    accelerator: str | None  # its name, None for CPU
    code: str  # failed gate or other cause: WITHDRAWN, MEMORY, BF16, OFFERED, ...
    text: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan to show if none is within the limits of time, nodes, cost or the account's quotas."""

    fit: Fit
    nodes: int  # of the job, of the replica, or of all replicas
    region: str
    hours: float | None  # None for work that is not a run
    usd_per_run: float | None
    text: str  # what the plan takes, and which limit it exceeds
    remedy: str  # option that accepts the plan, or quota that allows it
    quota: QuotaNeed | None = None  # the exceeded quota; None if another limit is


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The result of the recommender."""

    request: Request
    branch: str  # branch of the policy for the workload
    branch_quote: str  # quote from its document
    candidates: tuple[Candidate, ...]  # best first; empty if nothing fits
    rejections: tuple[Rejection, ...]
    nearest: tuple[Miss, ...]  # if nothing fits: the closest misses, best first
    notes: tuple[str, ...]  # notes on the whole result, one sentence each
    unreasonable: Plan | None = None  # if nothing is within the limits: the plan to show
