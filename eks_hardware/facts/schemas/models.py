"""Properties of models: ``model_types.json``, ``public_models.json``, ``neuron_models.json`` and ``memory.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, Sourced, Text
from eks_hardware.facts.schemas.software import Gate

Bias = bool | tuple[str, bool]
"""Whether the model has this part, or the config field that sets it with its default."""


class ModelType(TypedDict, total=False):
    kind: str
    norm: str
    norms: int
    gated: bool
    qkv_bias: Bias
    output_bias: Bias
    mlp_bias: Bias
    head_bias: bool
    router_bias: bool
    expert_bias: bool
    qk_norm: str
    tied: bool
    window: str
    pattern: int
    experts: bool
    shared_experts: int
    shared_gate: bool
    sinks: bool
    positions: str
    position_offset: int
    embedding_norm: bool
    token_types: int
    pooler: bool


class ModelTypesTable(Sourced):
    rows: dict[str, ModelType]


class VisionType(TypedDict):
    patch: int
    gated: NotRequired[bool]
    norm: NotRequired[str]
    attention_bias: NotRequired[bool]
    mlp_bias: NotRequired[bool]
    frames: NotRequired[int]
    patch_bias: NotRequired[bool]
    image: NotRequired[int]
    position_rows: NotRequired[int]
    class_token: NotRequired[bool]
    outer_norms: NotRequired[int]
    global_layers: NotRequired[int]
    tiles: NotRequired[int]
    tables_of_tiles: NotRequired[int]


class VisionTypes(Sourced):
    projectors: dict[str, str]
    rows: dict[str, VisionType]


class PublicModel(TypedDict):
    name: str
    parameters: int
    layers: int
    hidden_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    intermediate_size: int
    tied: bool


class PublicModels(Sourced):
    rows: list[PublicModel]


class ModelTypes(About):
    types: ModelTypesTable
    vision: VisionTypes
    public: PublicModels


class ModelSource(TypedDict):
    text: Text
    url: Text
    as_of: Day


class NamedModel(TypedDict):
    repository: str
    also: NotRequired[list[str]]
    parameters: int | None
    sources: list[str]
    note: NotRequired[Text]
    vision_is_rest: NotRequired[bool]  # the config has only the text part; the vision part has the other `parameters`
    embeds: NotRequired[bool]  # a decoder that returns one vector per text and generates no tokens
    config: dict[str, object]


class NotEstimated(TypedDict):
    what: Text
    names: list[str]
    source: str
    as_of: str


class NamedModels(About):
    note: Text
    sources: dict[str, ModelSource]
    not_estimated: list[NotEstimated]
    models: dict[str, NamedModel]


class NeuronLibrary(TypedDict):
    name: str
    framework: str
    chips: list[str]
    last_sdk: str | None
    status: str | None
    types: list[str]
    note: str


class NeuronLibraries(Sourced):
    libraries: list[NeuronLibrary]


class NeuronChanges(Sourced):
    by_framework: dict[str, dict[str, list[str]]]
    all: list[str]


class NeuronModels(About):
    inference: NeuronLibraries
    training: NeuronLibraries
    changes: NeuronChanges


class Formats(Sourced):
    bytes: dict[str, float]
    quantized: list[str]


class WeightOnly(Sourced):
    nvidia: dict[str, Gate]
    others: dict[str, dict[str, bool | None]]
    widened: dict[str, list[str]]


class PureBytes(TypedDict):
    gradients: float
    optimizer: dict[str, float]


class Training(Sourced):
    weights: dict[str, float]
    gradients: float
    master_weights: dict[str, float]
    optimizer: dict[str, float]
    gathered: float
    all_in_16_bits: PureBytes
    host_buffers: float
    shards: dict[str, list[str]]
    batches_per_stage: int
    most_nodes: int


class Activations(Sourced):
    attention_and_norms: float
    mlp_outer: float
    kept: float
    inner_plain: float
    inner_gated: float
    boundary: float
    selective: float
    in_flight: int
    scores: float
    output: float
    output_in_chunks: float


class AdapterBytes(TypedDict):
    weights: float
    gradients: float


class Adapters(Sourced):
    rank: int
    bytes: AdapterBytes


class InferenceDefaults(TypedDict):
    context_length: int
    sequences_real_time: int
    sequences_batch: int
    sequence_length: int
    batch_size: int


class Inference(Sourced):
    utilization: float
    batched_tokens: int
    encoder_batch_tokens: int
    spreads_experts: list[str]  # frameworks that spread the experts of a mixture over data-parallel devices
    graphs_gib: float
    width_of_token: float
    most_nodes: int
    serving_only: list[str]
    defaults: InferenceDefaults


class Devices(Sourced):
    usable_gib: dict[str, dict[str, float]]
    share: float
    context_gib: float
    training_reserve: float


class NeuronChip(TypedDict):
    cores: int
    degrees: list[int]


class NeuronTraining(TypedDict):
    sharding: list[str]
    pipeline: bool


class Neuron(Sourced):
    reserve: float
    chips: dict[str, NeuronChip]
    training: dict[str, NeuronTraining]
    default_framework: str


class Host(Sourced):
    reserved_mib_per_pod: int
    reserved_mib: int
    eviction_mib: int
    system_gib: float
    share: float


class Memory(About):
    formats: Formats
    weight_only: WeightOnly
    training: Training
    activations: Activations
    adapters: Adapters
    inference: Inference
    devices: Devices
    neuron: Neuron
    host: Host
