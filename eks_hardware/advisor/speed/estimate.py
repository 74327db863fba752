"""The speed of a workload on a fit: the formulas of ``throughput`` with the numbers of a request and a fit."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_length, sequence_length
from eks_hardware.advisor.fitting.gates import compute_format, learns, weight_format
from eks_hardware.advisor.fitting.memory_inference import kv_value_bytes, weight_bytes
from eks_hardware.advisor.model import Fit, Request, Shape
from eks_hardware.advisor.speed import throughput
from eks_hardware.advisor.speed.exchange import Exchange, exchange
from eks_hardware.advisor.speed.throughput import Devices, Estimate, Weights
from eks_hardware.catalogue import Accelerator
from eks_hardware.catalogue.performance import performance
from eks_hardware.models.workload import count

_SECONDS_PER_HOUR = 3600
_MS_PER_SECOND = 1000


@dataclass(frozen=True, kw_only=True)
class Speed:
    """The speed of a workload on one fit; None is unknown."""

    tokens_per_second: float | None = None  # of all nodes, with every replica in use
    per_replica: float | None = None  # tokens per second of one replica, or of the job
    hours: float | None = None  # of the whole run, if its tokens are given
    first_token_ms: float | None = None  # to the first token, or to the result of a model that does not generate
    per_token_ms: float | None = None  # between two tokens of one sequence
    assumptions: tuple[str, ...] = ()  # assumptions and unknown facts, one sentence each


def speed(request: Request, fit: Fit) -> Speed:
    """Return the speed of a workload on a fit."""
    accelerator = fit.kind.accelerator
    if accelerator is None:
        return Speed(assumptions=("unknown: no source for the speed of models on CPUs",))
    return _training(request, fit) if learns(request.workload) else _serving(request, fit, accelerator)


# --- training


@dataclass(frozen=True, kw_only=True)
class TrainingPass:
    """One pass of all devices over one batch each."""

    tokens: float  # of all devices together
    computing: Estimate  # seconds
    exchanged: Exchange  # of weights, at the same time

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens per second of all devices, limited by computation or exchange; None if unknown."""
        computing = self.computing.value
        return None if computing is None else self.tokens / max(computing, self.exchanged.seconds)

    @property
    def waits(self) -> bool:
        """Whether devices wait for weights: the exchange takes longer than the computation."""
        return self.computing.value is not None and self.exchanged.seconds > self.computing.value


def training_pass(request: Request, fit: Fit) -> TrainingPass:
    """Return the time of one training pass."""
    workload, shape, length = request.workload, request.shape, sequence_length(request)
    tokens = (fit.batch_size or batch_size(workload)) * length * fit.parallelism.data
    chip = fit.kind.accelerator
    known = performance(chip) if chip else None
    precision = compute_format(request, fit.kind)
    computing = throughput.training_seconds(
        Devices(
            count=max(1, fit.parallelism.devices),
            peak_tflops_each=known.peak_tflops(precision) if known else None,
            kind=chip.kind if chip else "cpu",
        ),
        active_parameters=shape.active_parameters,
        tokens=tokens,
        precision=(known.compute_format(precision) if known else None) or precision,
        attention_size=shape.attention_size,
        attended_tokens=attended_tokens(shape, length),
        adapters_only=workload.method in ("lora", "qlora"),
        recompute=workload.activation_checkpointing,
    )
    return TrainingPass(tokens=tokens, computing=computing, exchanged=exchange(request, fit))


def attended_tokens(shape: Shape, length: int) -> float:
    """Return the tokens that a token attends to, on average over a sequence, summed over the layers.

    In a generating model a token attends to the tokens before it: half of the sequence, and fewer with a window at the
    start of the sequence. In other models it attends to all tokens. Layers without a cache (linear attention) count
    nothing.
    """
    if shape.generates is False:
        return float(shape.layers * length)
    window = min(length, shape.window or length)
    return shape.layers_with_cache * length / 2 + shape.layers_with_window * window * (1 - window / length / 2)


def _training(request: Request, fit: Fit) -> Speed:
    one = training_pass(request, fit)
    per_second = one.tokens_per_second
    if per_second is None:
        return Speed(assumptions=one.computing.assumptions)
    workload, exchanged = request.workload, one.exchanged
    notes = [*one.computing.assumptions, *exchanged.unknown]
    if fit.batch_size and fit.batch_size > 1 and workload.batch_size is None:
        notes.append(f"{fit.batch_size} sequences per device in one pass (batch_size), the most that fit")
    if one.waits:
        notes.append(f"limited by the exchange of weights over {exchanged.over}; a larger batch_size hides it")
    hours = count(workload.training_tokens) / per_second / _SECONDS_PER_HOUR if workload.training_tokens else None
    return Speed(tokens_per_second=per_second, per_replica=per_second, hours=hours, assumptions=tuple(notes))


# --- inference


def _serving(request: Request, fit: Fit, accelerator: Accelerator) -> Speed:
    """Return the speed of inference. Pipeline stages work on different sequences: one group per stage at a time."""
    shape, known = request.shape, performance(accelerator)
    precision = weight_format(request, fit.kind)
    sequences = concurrent_sequences(request.workload)
    groups = min(fit.parallelism.pipeline, sequences)
    devices = Devices(
        count=fit.parallelism.tensor,
        peak_tflops_each=known.peak_tflops(precision),
        bandwidth_gb_per_second_each=known.bandwidth_gb_per_second,
        kind=accelerator.kind,
    )
    weights = Weights(
        active_parameters=shape.active_parameters,
        total_parameters=shape.parameters,
        bytes_per_parameter=weight_bytes(shape, precision) / shape.parameters,
    )
    if shape.generates is False:
        one, first, further = *_answering(request, devices, weights), None
    else:
        one, first, further = _generating(request, devices, weights, kv_value_bytes(precision), sequences / groups)
    per_replica = None if one.value is None else one.value * groups
    notes = list(one.assumptions)
    if per_replica is not None and fit.replicas_per_node > 1:
        notes.insert(0, f"all {fit.replicas_per_node} replicas of a node in use")
    return Speed(
        tokens_per_second=None if per_replica is None else per_replica * fit.replicas_per_node,
        per_replica=per_replica,
        first_token_ms=None if first.value is None else _MS_PER_SECOND * first.value,
        per_token_ms=further,
        assumptions=tuple(notes),
    )


def _generating(
    request: Request, devices: Devices, weights: Weights, value_bytes: int, at_once: float
) -> tuple[Estimate, Estimate, float | None]:
    """Return tokens per second, seconds to the first token, and milliseconds per further token.

    Half of the context is prompt and half output. On average, a sequence has half of its output.
    """
    shape, context = request.shape, context_length(request.workload)
    prompt = max(context // 2, 1)
    answer = max(context - prompt, 1)
    decode = throughput.decode_tokens_per_second(
        devices,
        weights,
        kv_bytes_per_token=value_bytes * shape.kv_values(context) / context,
        context_length=prompt + answer / 2,
        concurrent_sequences=at_once,
    )
    width = shape.layers * shape.attention_size
    prefill = throughput.prefill_seconds(devices, weights, prompt_tokens=prompt, attention_width=width)
    served = throughput.served_tokens_per_second(output_tokens=answer, prefill=prefill, decode=decode)
    return served, prefill, None if decode.value is None else _MS_PER_SECOND * at_once / decode.value


def _answering(request: Request, devices: Devices, weights: Weights) -> tuple[Estimate, Estimate]:
    """Return tokens per second and seconds of a model that does not generate: one pass over all sequences."""
    tokens = context_length(request.workload) * concurrent_sequences(request.workload)
    read = throughput.prefill_seconds(devices, weights, prompt_tokens=tokens)
    per_second = None if read.value is None else tokens / read.value
    return Estimate(value=per_second, assumptions=read.assumptions), read
