"""``workload: {...}``: the model to train or serve, for which the recommender chooses the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from eks_hardware import facts
from eks_hardware.models.base import StrategyModel, Text, invalid
from eks_hardware.models.needs import Attention, Framework
from eks_hardware.models.text_patterns import pattern
from eks_hardware.printable import joined
from eks_hardware.spellings import (
    DEFAULT_PRIORITY,
    TRAINED_FORMATS,
    Capacity,
    Method,
    Priority,
    Software,
    Task,
    WeightFormat,
)
from eks_hardware.units import COUNTS

Purpose = Literal["system", "general", "training", "inference", "development"]
Serving = Literal["real-time", "batch"]
Focus = Literal["throughput", "latency"]
Optimizer = Literal["adamw", "adamw-8bit", "sgd", "sgd-momentum"]
Sharding = Literal["none", "zero-1", "zero-2", "zero-3"]
Checkpointing = bool | Literal["selective"]
Offload = Literal["optimizer", "weights", "activations"]

# Up to 1,000 T: a thousand times the largest known model and data set.
_COUNT = r"^([1-9][0-9]{0,15}|[0-9]{1,7}(\.[0-9]{1,6})?[KMBTkmbt])$"
Count = Annotated[
    str,
    pattern(_COUNT, "a number such as 8B, 350M, 1.5T or 8030261248", max_length=24),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _COUNT}, {"type": "integer", "minimum": 1}]}),
]

_MOST = 10**15
# The unit of a smaller number is probably missing.
_FEWEST_PARAMETERS = 1000


def count(value: str) -> int:
    """Convert a count to a number: ``"8B"`` -> 8000000000.

    >>> count("1.5T"), count("8030261248")
    (1500000000000, 8030261248)
    """
    return int(Decimal(value.rstrip("KMBTkmbt")) * COUNTS.get(value[-1:].upper(), 1))


def _refuse_uncountable(value: str | None, field: str, of: str) -> None:
    if value is not None and not 1 <= count(value) <= _MOST:
        raise invalid("model_size", f'"{value}" is not a valid number of {of}; write it like 8B', field)


_DURATION = r"^[1-9][0-9]{0,4}[hdw]$"
Duration = Annotated[str, pattern(_DURATION, "hours, days or weeks such as 12h, 30d or 8w", max_length=8)]
_HOURS = {"h": 1, "d": 24, "w": 168}


def hours(value: str) -> int:
    """Convert a duration to hours.

    >>> hours("12h"), hours("30d")
    (12, 720)
    """
    return int(value[:-1]) * _HOURS[value[-1]]


class ModelShape(StrategyModel):
    """The model: a public model's name, or its size and shape. Missing values are estimated, and the result lists them.

    Examples:
        >>> ModelShape(name="llama-3.1-70b").name
        'llama-3.1-70b'
        >>> ModelShape(parameters="8B").parameters
        '8B'
    """

    name: Annotated[Text, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="Name of a public model, such as llama-3.1-70b or Qwen/Qwen3-32B; other fields of `model` override "
        "its values.",
    )
    hf_config: Annotated[Text, Field(min_length=1, max_length=1024)] | None = Field(
        default=None,
        description="Path of a Hugging Face config.json, relative to this file; other fields of `model` override its "
        "values.",
    )
    parameters: Count | None = Field(
        default=None, description="Number of parameters: 8B, 350M, 8030261248; required without `name` and `hf_config`."
    )
    active_parameters: Count | None = Field(
        default=None, description="Parameters used per token in a mixture of experts; default: all."
    )
    architecture: (
        Annotated[str, pattern(r"^[a-z0-9][a-z0-9_-]{0,60}$", "a model type such as llama or bert")] | None
    ) = Field(default=None, description="Hugging Face model_type: llama, qwen2, bert, t5.")
    layers: Annotated[int, Field(ge=1, le=10_000)] | None = Field(default=None, description="Transformer layers.")
    hidden_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(default=None, description="Hidden size.")
    attention_heads: Annotated[int, Field(ge=1, le=10_000)] | None = Field(default=None, description="Attention heads.")
    kv_heads: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="Key-value heads; fewer than `attention_heads` with grouped-query attention."
    )
    head_dim: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="Size of each attention head; default: hidden size divided by attention heads."
    )

    @model_validator(mode="after")
    def _is_sized(self) -> ModelShape:
        if self.parameters is None and self.hf_config is None and self.name is None:
            message = (
                "must have 'name' (such as llama-3.1-8b), 'parameters' (such as 8B) or 'hf_config' (a config.json), "
                "got none; add one"
            )
            raise invalid("model_size", message)
        if self.name is not None and self.hf_config is not None:
            raise invalid("model_name", "must not be set together with 'hf_config', got both; remove one", "name")
        for name in ("parameters", "active_parameters"):
            given = getattr(self, name)
            _refuse_uncountable(given, name, "parameters")
            if given and count(given) < _FEWEST_PARAMETERS:
                message = f"must be at least {_FEWEST_PARAMETERS} parameters, got {given}; write it like 8B"
                raise invalid("model_size", message, name)
        if self.parameters and self.active_parameters and count(self.active_parameters) > count(self.parameters):
            message = (
                f"must be at most the number of parameters ({self.parameters}), got {self.active_parameters}; lower it"
            )
            raise invalid("model_size", message, "active_parameters")
        if self.attention_heads and self.kv_heads and self.attention_heads % self.kv_heads:
            heads = f"attention_heads ({self.attention_heads}) must be a multiple of kv_heads ({self.kv_heads})"
            raise invalid("model_heads", f"{heads}; correct one of them", "kv_heads")
        return self


class Latency(StrategyModel):
    """The required response time.

    Examples:
        >>> Latency(first_token_ms=500, per_token_ms=30).per_token_ms
        30.0
    """

    first_token_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = Field(
        default=None,
        description="Maximum milliseconds to the first token, or to the answer of a model that generates no tokens.",
    )
    per_token_ms: Annotated[float, Field(gt=0, le=3_600_000)] | None = Field(
        default=None, description="Maximum milliseconds between two tokens of an answer."
    )


_DESCRIBED = facts.choices()["described_workload"]

_TRAINING_FIELDS = (
    "sequence_length",
    "batch_size",
    "optimizer",
    "sharding",
    "mixed_precision",
    "offload",
    "gradient_accumulation",
    "chunked_loss",
    "training_tokens",
)
OF_USERS = ("think_seconds", "prompt_tokens", "answer_tokens")
"""Fields that describe the people counted in `users`."""
_INFERENCE_FIELDS = ("context_length", "concurrent_sequences", "kv_cache_precision")
_WITH_TRAINING = ("training", "fine-tuning", "development")
# ``activation_checkpointing`` has a default of its own.
_TASKS_OF_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("method", "lora_rank"), ("fine-tuning",)),
    **dict.fromkeys(_TRAINING_FIELDS, _WITH_TRAINING),
    **dict.fromkeys(("within", "nodes"), ("training", "fine-tuning")),
    **dict.fromkeys(("serving", "latency", "focus", "users", *OF_USERS), ("inference",)),
    **dict.fromkeys(_INFERENCE_FIELDS, ("inference", "development")),
}


def _not_for(task: str, field: str, allowed: Sequence[str]) -> PydanticCustomError:
    message = f"is only for task {' or '.join(allowed)}, got task {task}; remove it"
    return invalid("workload_field", message, field)


class WorkloadSpec(StrategyModel):
    """A workload, described by its model and requests; the hardware is derived from it and from `budget`.

    Examples:
        >>> model = {"parameters": "8B"}
        >>> chat = WorkloadSpec(task="inference", model=model, context_length=8192, concurrent_sequences=16)
        >>> chat.budget
        'balanced'
    """

    task: Task = Field(description="Training from scratch, fine-tuning, inference, or development.")
    method: Method | None = Field(
        default=None,
        description="Fine-tuning: train all weights (full, the default), adapters (lora), or adapters on 4-bit "
        "weights (qlora).",
    )
    lora_rank: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        default=None, description="Fine-tuning with lora or qlora: rank of the adapters; default 16."
    )
    serving: Serving | None = Field(
        default=None,
        description="Inference: whether users wait for answers (real-time, the default) or not (batch).",
    )
    model: ModelShape = Field(description="The model.")
    precision: WeightFormat | None = Field(
        default=None,
        description="Format of the weights; default bf16. Inference only: nvfp4, mxfp4, int8 and int4. Training with "
        "fp8 multiplies 16-bit weights in FP8.",
    )
    sequence_length: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None, description="Training: tokens per sequence; default 2048."
    )
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Training: sequences that one device processes at once; default 1."
    )
    optimizer: Optimizer | None = Field(default=None, description="Training: optimizer; default adamw.")
    sharding: Sharding | None = Field(
        default=None,
        description="Training: state to shard over the devices (zero-3 is full sharding in FSDP); default: the least "
        "that fits.",
    )
    mixed_precision: bool | None = Field(
        default=None,
        description="Training: false for gradients and optimizer states in the 16-bit format of the weights, without "
        "fp32 copies (pure bf16); default: true.",
    )
    offload: tuple[Offload, ...] | None = Field(
        default=None,
        min_length=1,
        description="Training: state offloaded from the devices to the node's memory: optimizer (with the gradients), "
        "weights and activations; default: nothing.",
    )
    gradient_accumulation: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="Training: batches per device in one optimizer step; default 1, or 4 per pipeline stage.",
    )
    activation_checkpointing: Checkpointing = Field(
        default=_DESCRIBED["activation_checkpointing"],
        description="Training: recompute activations instead of storing them: true for all; selective, as in "
        "torchtitan, for every second matrix product and cheap operations; or false.",
    )
    chunked_loss: bool | None = Field(
        default=None,
        description="Training: compute the loss in chunks of tokens, as torchtune and LitGPT do; default: false.",
    )
    training_tokens: Count | None = Field(
        default=None,
        description="Training: total number of tokens in the run, such as 15B, for its duration and cost.",
    )
    context_length: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None, description="Inference: total tokens in prompt and answer; default 4096."
    )
    concurrent_sequences: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="Inference: requests that one replica processes at once; default 1, or 32 with serving: batch.",
    )
    kv_cache_precision: Literal["fp8"] | None = Field(
        default=None, description="Inference: format of the KV cache; default: the computation's 16-bit format."
    )
    users: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        default=None,
        description="Inference: people who use the model at the same time, instead of `concurrent_sequences`; the "
        "number of replicas follows.",
    )
    think_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = Field(
        default=None, description="Inference: seconds between an answer and the user's next request; default 30."
    )
    prompt_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None,
        description="Inference: average tokens in a user's prompt, including its documents; default 1155, but at most "
        "the context length minus the answer.",
    )
    answer_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None,
        description="Inference: average tokens in an answer to a user; default 211, but at most half of the context "
        "length.",
    )
    within: Duration | None = Field(
        default=None, description="Training: maximum duration of the run, such as 12h or 30d; default 90d."
    )
    nodes: Annotated[int, Field(ge=1, le=5000)] | None = Field(
        default=None, description="Training: number of nodes for the run; default: the fewest that finish in time."
    )
    latency: Latency | None = Field(default=None, description="Inference: the required response time.")
    focus: Focus | None = Field(
        default=None, description="Inference: main goal; default latency for real-time, throughput for batch."
    )
    framework: Framework | None = Field(
        default=None, description="Framework or server; default: any that the hardware supports."
    )
    software: Software | None = Field(
        default=None,
        description="Hardware to consider, by the state of its software: mature, supported (the default: not "
        "discontinued), or any.",
    )
    attention: Attention | None = Field(default=None, description="Attention kernel that the code uses.")
    budget: Priority = Field(
        default=DEFAULT_PRIORITY, description="Goal: the lowest cost, the highest performance, or a balance."
    )
    purchase: tuple[Capacity, ...] = Field(
        default=tuple(_DESCRIBED["purchase"]), min_length=1, description="Allowed purchase options."
    )
    interruptible: bool = Field(
        default=False,
        description="Whether the workload survives the loss of a node at two minutes' notice; required for spot.",
    )

    @property
    def purpose(self) -> Purpose:
        """The purpose of the nodes, as in their label."""
        if self.task == "fine-tuning":
            return "training"
        return self.task

    @property
    def trains(self) -> bool:
        """Whether the task changes weights."""
        return self.purpose == "training"

    @property
    def learns(self) -> bool:
        """Whether weights change: in training, and in development with training fields."""
        return self.trains or (self.task == "development" and self._training_field is not None)

    @property
    def _training_field(self) -> str | None:
        """The first training-only field that is set; None without one."""
        return next((name for name in _TRAINING_FIELDS if getattr(self, name) is not None), None)

    @model_validator(mode="after")
    def _fields_go_with_task(self) -> WorkloadSpec:
        for name, allowed in _TASKS_OF_FIELDS.items():
            if getattr(self, name) is not None and self.task not in allowed:
                raise _not_for(self.task, name, allowed)
        if "activation_checkpointing" in self.model_fields_set and self.task == "inference":
            raise _not_for(self.task, "activation_checkpointing", _WITH_TRAINING)
        if self.task == "development" and self.learns:
            both = next((name for name in _INFERENCE_FIELDS if getattr(self, name) is not None), None)
            if both:
                message = f"is for inference, but '{self._training_field}' is for training; remove one of them"
                raise invalid("workload_field", message, both)
        elif self.task == "development" and "activation_checkpointing" in self.model_fields_set:
            message = "is for training; add a training field such as batch_size, or remove this one"
            raise invalid("workload_field", message, "activation_checkpointing")
        return self

    @model_validator(mode="after")
    def _fields_go_together(self) -> WorkloadSpec:
        if self.users and self.concurrent_sequences:
            message = "must not be set together with 'users', got both; remove one"
            raise invalid("workload_field", message, "concurrent_sequences")
        if self.users and self.serving == "batch":
            raise invalid("workload_field", "must be for serving: real-time, got batch; remove it", "users")
        for name in OF_USERS:
            if getattr(self, name) is not None and not self.users:
                raise invalid("workload_field", f"requires 'users'; set it, or remove {name}", name)
        for name in ("within", "nodes"):
            if getattr(self, name) and self.task == "fine-tuning" and not self.training_tokens:
                raise invalid("workload_field", f"requires 'training_tokens'; set it, or remove {name}", name)
        if "spot" in self.purchase and not self.interruptible:
            message = (
                "requires interruptible: true, because Spot nodes have two minutes' notice; set it, or remove spot"
            )
            raise invalid("workload_spot", message, "purchase")
        _refuse_uncountable(self.training_tokens, "training_tokens", "tokens")
        return self

    @model_validator(mode="after")
    def _formats_go_with_method(self) -> WorkloadSpec:
        if self.trains and self.precision and self.precision not in TRAINED_FORMATS:
            message = (
                f"must be {joined(TRAINED_FORMATS, 'or')} for training, got {self.precision}; for adapters on 4-bit "
                "weights set method: qlora"
            )
            raise invalid("workload_precision", message, "precision")
        if self.mixed_precision is False and (self.precision == "fp32" or self.method in ("lora", "qlora")):
            other = "precision: fp32" if self.precision == "fp32" else f"method: {self.method}"
            message = f"must be true with {other}, got false; remove it"
            raise invalid("workload_field", message, "mixed_precision")
        if self.lora_rank and self.method not in ("lora", "qlora"):
            message = f"requires method: lora or qlora, got {self.method or 'full'}; remove it"
            raise invalid("workload_field", message, "lora_rank")
        return self
