"""How fast a workload runs where it fits: the sums of ``throughput`` with the numbers of a request and a fit."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_length, sequence_length
from eks_hardware.advisor.fitting.fit import TrainingFit
from eks_hardware.advisor.fitting.gates import compute_format, learns, weight_format
from eks_hardware.advisor.fitting.memory_inference import kv_value_bytes, weight_bytes
from eks_hardware.advisor.model import Fit, Request, Shape
from eks_hardware.advisor.speed import throughput
from eks_hardware.advisor.speed.exchange import Exchange, exchange
from eks_hardware.advisor.speed.throughput import Devices, Estimate
from eks_hardware.catalogue import Accelerator
from eks_hardware.catalogue.performance import performance
from eks_hardware.models.workload import count

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast a workload runs on one fit.

    Attributes:
        tokens_per_second: of all nodes, with every replica that they take at work; None where unknown.
        per_replica: tokens per second of one replica, or of the job.
        hours: of the whole run, where its tokens are said.
        first_token_ms: milliseconds to the first token, or to the answer of a model that generates none.
        per_token_ms: milliseconds between two tokens of one sequence.
        assumptions: behind the figures, or what is unknown, a sentence each.
    """

    tokens_per_second: float | None = None
    per_replica: float | None = None
    hours: float | None = None
    first_token_ms: float | None = None
    per_token_ms: float | None = None
    assumptions: tuple[str, ...] = ()


def speed(request: Request, fit: Fit) -> Speed:
    """How fast a workload runs where it fits.

    Args:
        request: what is asked.
        fit: how it sits on an instance type.
    """
    accelerator = fit.kind.accelerator
    if accelerator is None:
        return Speed(assumptions=("unknown: no source for the speed of models on CPUs",))
    if learns(request.workload):
        return _training(request, fit)
    if request.shape.generates is False:
        return _answering(request, fit, accelerator)
    return _generating(request, fit, accelerator)


@dataclass(frozen=True, kw_only=True)
class TrainingPass:
    """One pass of all devices over one batch each.

    Attributes:
        tokens: of all devices together.
        computing: seconds, with what they rest on; None where unknown.
        exchanged: what it takes to exchange weights meanwhile.
    """

    tokens: float
    computing: Estimate
    exchanged: Exchange

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of all devices by the slower of computing and exchanging; None where unknown."""
        computing = self.computing.value
        return None if computing is None else self.tokens / max(computing, self.exchanged.seconds)


def training_pass(request: Request, fit: Fit) -> TrainingPass:
    """What one pass of training takes.

    Args:
        request: what is asked.
        fit: how it sits on an instance type with accelerators.
    """
    workload, shape, length = request.workload, request.shape, sequence_length(request)
    batch = fit.batch_size if isinstance(fit, TrainingFit) else batch_size(workload)
    tokens = batch * length * fit.parallelism.data
    chip = fit.kind.accelerator
    known = performance(chip) if chip else None
    precision = compute_format(request, fit.kind)
    computing = throughput.training_seconds(
        active_parameters=shape.active_parameters,
        tokens=tokens,
        devices=max(1, fit.parallelism.devices),
        peak_tflops=known.peak_tflops(precision) if known else None,
        precision=(known.compute_format(precision) if known else None) or precision,
        attention_size=shape.attention_heads * shape.head_dim,
        attended_tokens=attended_tokens(shape, length),
        adapters_only=workload.method in ("lora", "qlora"),
        recompute=workload.activation_checkpointing,
        kind=chip.kind if chip else "cpu",
    )
    return TrainingPass(tokens=tokens, computing=computing, exchanged=exchange(request, fit))


def attended_tokens(shape: Shape, length: int) -> float:
    """Tokens that a token of a sequence attends to, on average, summed over the layers.

    What writes sees the tokens before: half of the sequence, and of a window less where the sequence begins. What
    does not sees all of it. Layers that keep neither (linear attention) count nothing.

    Args:
        shape: the model.
        length: tokens of the sequence.
    """
    if shape.generates is False:
        return float(shape.layers * length)
    window = min(length, shape.window or length)
    return shape.layers_with_cache * length / 2 + shape.layers_with_window * window * (1 - window / length / 2)


def _training(request: Request, fit: Fit) -> Speed:
    one = training_pass(request, fit)
    per_second = one.tokens_per_second
    if one.computing.value is None or per_second is None:
        return Speed(assumptions=one.computing.assumptions)
    workload, exchanged = request.workload, one.exchanged
    notes = [*one.computing.assumptions, *exchanged.unknown]
    if isinstance(fit, TrainingFit) and fit.batch_size > 1 and workload.batch_size is None:
        notes.append(f"{fit.batch_size} sequences a device in one pass (batch_size), the most that fit")
    if exchanged.seconds > one.computing.value:
        notes.append(f"limited by {exchanged.over}, over which weights are exchanged; a larger batch_size hides it")
    hours = count(workload.training_tokens) / per_second / _SECONDS_PER_HOUR if workload.training_tokens else None
    return Speed(tokens_per_second=per_second, per_replica=per_second, hours=hours, assumptions=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class _Serving:
    """The numbers of one replica that both ways to serve need.

    Stages of a pipeline work on different sequences: `groups` of them are on their way at once, and each passes the
    devices of one stage after those of the other.
    """

    context: int
    sequences: int
    bytes_per_parameter: float
    cache_bytes_per_token: float
    devices: Devices
    groups: int


def _serving(request: Request, fit: Fit, accelerator: Accelerator) -> _Serving:
    shape, known = request.shape, performance(accelerator)
    precision = weight_format(request, fit.kind)
    context, sequences = context_length(request.workload), concurrent_sequences(request.workload)
    return _Serving(
        context=context,
        sequences=sequences,
        bytes_per_parameter=weight_bytes(shape, precision) / shape.parameters,
        cache_bytes_per_token=kv_value_bytes(precision) * shape.kv_values(context) / context,
        devices=Devices(
            count=fit.parallelism.tensor,
            bandwidth_gb_per_second_each=known.bandwidth_gb_per_second,
            peak_tflops_each=known.peak_tflops(precision),
            kind=accelerator.kind,
        ),
        groups=min(fit.parallelism.pipeline, sequences),
    )


def _generating(request: Request, fit: Fit, accelerator: Accelerator) -> Speed:
    """Half of the context is the question and half the answer, of which a sequence holds half on average."""
    shape, serving = request.shape, _serving(request, fit, accelerator)
    prompt = max(serving.context // 2, 1)
    answer = max(serving.context - prompt, 1)
    at_once = serving.sequences / serving.groups
    decode = throughput.decode_tokens_per_second(
        serving.devices,
        active_parameters=shape.active_parameters,
        total_parameters=shape.parameters,
        weight_bytes_per_parameter=serving.bytes_per_parameter,
        kv_bytes_per_token=serving.cache_bytes_per_token,
        context_length=prompt + answer / 2,
        concurrent_sequences=at_once,
    )
    prefill = throughput.prefill_seconds(
        serving.devices,
        active_parameters=shape.active_parameters,
        total_parameters=shape.parameters,
        weight_bytes_per_parameter=serving.bytes_per_parameter,
        prompt_tokens=prompt,
        layers=shape.layers,
        attention_size=shape.attention_heads * shape.head_dim,
    )
    return _of_replicas(
        throughput.served_tokens_per_second(output_tokens=answer, prefill=prefill, decode=decode),
        serving.groups,
        fit,
        first_token_ms=throughput.time_to_first_token_ms(prefill).value,
        per_token_ms=throughput.time_per_output_token_ms(decode, concurrent_sequences=at_once).value,
    )


def _answering(request: Request, fit: Fit, accelerator: Accelerator) -> Speed:
    """A model that generates nothing reads all of its sequences in one pass, and then has every answer."""
    shape, serving = request.shape, _serving(request, fit, accelerator)
    tokens = serving.context * serving.sequences
    read = throughput.prefill_seconds(
        serving.devices,
        active_parameters=shape.active_parameters,
        total_parameters=shape.parameters,
        weight_bytes_per_parameter=serving.bytes_per_parameter,
        prompt_tokens=tokens,
    )
    return _of_replicas(
        Estimate(value=None if read.value is None else tokens / read.value, assumptions=read.assumptions),
        serving.groups,
        fit,
        first_token_ms=throughput.time_to_first_token_ms(read).value,
        per_token_ms=None,
    )


def _of_replicas(
    one: Estimate, groups: int, fit: Fit, *, first_token_ms: float | None, per_token_ms: float | None
) -> Speed:
    per_replica = None if one.value is None else one.value * groups
    notes = list(one.assumptions)
    if per_replica is not None and fit.replicas_per_node > 1:
        notes.insert(0, f"all {fit.replicas_per_node} replicas of a node at work")
    return Speed(
        tokens_per_second=None if per_replica is None else per_replica * fit.replicas_per_node,
        per_replica=per_replica,
        first_token_ms=first_token_ms,
        per_token_ms=per_token_ms,
        assumptions=tuple(notes),
    )
