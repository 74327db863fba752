"""``performance/measurements/*.json``: published measurements, with which estimates are compared."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, Text

Kind = Literal[
    "memory-training",
    "memory-inference",
    "fits",
    "serving-throughput",
    "serving-latency",
    "decode",
    "encoder-throughput",
    "training-speed",
]

Unit = Literal[
    "GB",  # 10^9 bytes on one device
    "GiB",  # on one device
    "fits",  # whether it ran; false: out of memory
    "ms per answer",  # of the whole batch
    "ms per batch",
    "ms per token",
    "ms to the first token",
    "output tokens/s",  # of all sequences together
    "output tokens/s per device",
    "sequences/s",
    "tokens/s",
    "tokens/s per device",
]


class MeasurementRow(TypedDict):
    """One published figure, with the setup that produced it."""

    id: Text  # the ID's hash determines whether the row is reserved
    kind: Kind
    model: Text  # a key of models.json
    instance_type: Text
    devices: int  # accelerators in use, on as few nodes as possible; 0 for CPU
    tensor: NotRequired[int]  # devices that share every layer; default 1
    pipeline: NotRequired[int]  # stages of layers; default 1
    expert: NotRequired[int]  # devices that share the experts, each with its own sequences; default 1
    sharding: NotRequired[Literal["none", "zero-1", "zero-2", "zero-3"]]
    precision: Literal["fp32", "fp16", "bf16", "fp8", "nvfp4", "mxfp4", "int8", "int4"]  # of the weights
    kv_cache: NotRequired[Literal["fp8"]]  # format of the KV cache; default 16 bits
    method: NotRequired[Literal["full", "lora", "qlora"]]
    optimizer: NotRequired[Literal["adamw", "adamw-8bit", "sgd", "sgd-momentum"]]
    checkpointing: NotRequired[bool | Literal["selective"]]  # whether training recomputes activations; default false
    mixed_precision: NotRequired[bool]  # false: gradients and optimizer states are in 16 bits too; default true
    offload: NotRequired[list[Literal["optimizer", "weights", "activations"]]]  # to the node's memory
    gradient_accumulation: NotRequired[int]  # batches per device in an optimizer step
    lora_rank: NotRequired[int]  # rank of the adapters; default: the advisor's
    counted: NotRequired[
        Literal["allocated", "reserved", "process"]
    ]  # memory of training: with gaps, with CUDA context
    chunked_loss: NotRequired[bool]  # whether training computes the loss in chunks of tokens; default false
    sequences: int | None  # per device in one training pass, or concurrent per replica; None: as many as fit
    requests: NotRequired[int]  # if `sequences` is None: sent at once, so at most as many run at once
    input_tokens: int  # of a prompt; of a sequence in training and for encoders
    output_tokens: NotRequired[int]  # of an answer; missing for training and encoders
    figure: float | bool
    unit: Unit
    not_expressed: NotRequired[Text]  # what a request to the advisor cannot express, or what the source leaves out
    note: NotRequired[Text]


class Measurements(About):
    """The rows of one source."""

    source: Text
    published: Day
    as_of: Day  # when the source was read
    software: Text
    note: NotRequired[Text]
    rows: list[MeasurementRow]


class MeasuredModel(TypedDict):
    """A measured model: a public model, its config.json, or the fields of a workload's model."""

    source: Text
    public: NotRequired[str]
    config: NotRequired[dict[str, object]]
    shape: NotRequired[dict[str, object]]


class MeasuredModels(About):
    as_of: Day
    models: dict[str, MeasuredModel]
