"""The speed of a workload on a fit: the formulas of ``throughput`` with the numbers of a request and a fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import (
    answer_tokens,
    batch_size,
    concurrent_sequences,
    context_of,
    prompt_tokens,
    sequence_length,
)
from eks_hardware.advisor.fitting.devices import cores_of
from eks_hardware.advisor.fitting.gates import compute_format, product_format, weight_format
from eks_hardware.advisor.fitting.memory_inference import (
    cache_share,
    kv_value_bytes,
    weight_bytes,
    weight_bytes_of_tables,
)
from eks_hardware.advisor.measured.factors import Factor, Work, said
from eks_hardware.advisor.model import Fit, Parallelism, Request, Shape
from eks_hardware.advisor.speed import throughput
from eks_hardware.advisor.speed.exchange import Exchange, exchange, network_of_device
from eks_hardware.advisor.speed.throughput import Devices, Estimate, Weights
from eks_hardware.catalogue import Accelerator
from eks_hardware.catalogue.performance import performance
from eks_hardware.models.workload import count

_SECONDS_PER_HOUR = 3600
MS_PER_SECOND = 1000


class Speed(NamedTuple):
    """The speed of a workload on one fit; None is unknown."""

    tokens_per_second: float | None = None  # of all nodes, with every replica in use
    per_replica: float | None = None  # tokens per second of one replica, or of the job
    hours: float | None = None  # of the whole run, if its tokens are given
    prompt_ms: float | None = None  # milliseconds that a server under load spends per prompt
    first_token_ms: float | None = None  # to the first token, or to the result of a model that does not generate
    per_token_ms: float | None = None  # between two tokens of one sequence
    assumptions: tuple[str, ...] = ()  # assumptions and unknown facts, one sentence each

    def hours_of(self, tokens: float) -> float | None:
        """Return the hours that some tokens take on all nodes; None if the speed is unknown."""
        return tokens / self.tokens_per_second / _SECONDS_PER_HOUR if self.tokens_per_second else None


def speed(request: Request, fit: Fit) -> Speed:
    """Return the speed of a workload on a fit."""
    accelerator = fit.kind.accelerator
    if accelerator is None:
        return Speed(assumptions=("unknown: the speed of models on CPUs",))
    if request.shape.architecture in facts.ranking()["kinds"]["tabular"]:
        return Speed(assumptions=("unknown: estimates are for matrix products, which decision trees do not use",))
    return _training(request, fit) if request.workload.learns else _serving(_replica(request, fit, accelerator))


# --- training


@dataclass(frozen=True, kw_only=True)
class TrainingPass:
    """One pass of all devices over one batch each."""

    tokens: float  # of all devices together
    computing: Estimate  # seconds
    exchanged: Exchange  # of weights, in parallel with computing

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
    layout, chip = fit.parallelism, fit.kind.accelerator
    batch = (fit.batch_size or batch_size(workload)) * length  # tokens
    known = performance(chip) if chip else None
    precision, own = product_format(request, fit.kind), compute_format(request, fit.kind)
    devices = Devices(
        count=max(1, layout.devices),
        peak_tflops_each=known.peak_tflops(precision) if known else None,
        kind=chip.kind if chip else "cpu",
        name=chip.name if chip else None,
        link_gb_per_second=known.link_gb_per_second if known else None,
    )
    computing = throughput.training_seconds(
        devices,
        active_parameters=max(1, shape.active_parameters - shape.looked_up),
        tokens=batch * layout.data,
        precision=(known.compute_format(precision) if known else None) or precision,
        attention_size=shape.attention_size,
        attended_tokens=attended_tokens(shape, length),
        adapters_only=workload.method in ("lora", "qlora"),
        recompute=workload.activation_checkpointing,
        experts=shape.active_parameters < shape.parameters,
        width=shape.hidden_size,
        attention_tflops=known.peak_tflops(own) if known else None,
    )
    one = throughput.layer_exchange_seconds(
        replace(devices, count=layout.tensor), width=shape.hidden_size, tokens=batch
    )
    # Forward and backward passes exchange the same amount. Selective checkpointing keeps the results of exchanges.
    passes = 3 if workload.activation_checkpointing is True else 2
    computing = _with_exchanges(computing, one * passes * shape.layers / layout.pipeline, layout.tensor)
    return TrainingPass(
        tokens=batch * layout.data,
        computing=_with_bubble(computing, layout.pipeline, workload.gradient_accumulation),
        exchanged=exchange(request, fit),
    )


def _with_exchanges(computing: Estimate, seconds: float, tensor: int) -> Estimate:
    """Return the time of a pass with the exchanges of tensor-parallel devices, which wait for them."""
    if computing.value is None or not seconds:
        return computing
    share = seconds / computing.value
    note = f"exchanges between {tensor} tensor-parallel devices add {share * 100:.3g}% (fitted)"
    return Estimate(value=computing.value + seconds, assumptions=(*computing.assumptions, note))


def _with_bubble(computing: Estimate, stages: int, batches: int | None) -> Estimate:
    """Return the time of a pass with the time in which the stages of a pipeline wait for the first and last batch.

    With p stages and m batches per optimizer step, it is (p - 1) / m of the time that they compute
    (https://arxiv.org/abs/2104.04473 §2.2.1). Interleaved stages wait less. ``batches`` of None: 4 per stage
    (``config/facts/memory.json``, training).
    """
    if computing.value is None or stages == 1:
        return computing
    count = batches or stages * facts.memory()["training"]["batches_per_stage"]
    share = (stages - 1) / count
    note = f"idle pipeline stages add {share * 100:.3g}%: {stages} stages, {count} batches per optimizer step"
    assumed = "" if batches else " (assumed; set gradient_accumulation)"
    return Estimate(value=computing.value * (1 + share), assumptions=(*computing.assumptions, note + assumed))


def attended_tokens(shape: Shape, length: int) -> float:
    """Return the tokens that a token attends to, on average over a sequence, summed over the layers.

    In a generating model a token attends to the tokens before it: half of the sequence, and fewer with a window at the
    start of the sequence. In other models it attends to all tokens. Layers without a cache (linear attention) are not
    counted.
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
        hides = "" if workload.offload else "; a larger batch_size hides it"
        notes.append(f"limited by the exchange of weights over {exchanged.over}{hides}")
    if "optimizer" in (workload.offload or ()):
        notes.append("the update of the offloaded optimizer on the CPU is not included")
    factor = _measured(request, fit, "training")
    if factor:
        per_second *= factor.value
        notes.append(f"speed: {said(factor)}")
    hours = count(workload.training_tokens) / per_second / _SECONDS_PER_HOUR if workload.training_tokens else None
    return Speed(tokens_per_second=per_second, per_replica=per_second, hours=hours, assumptions=tuple(notes))


# --- inference


class _Replica(NamedTuple):
    """Everything that a replica's speed depends on. Many types with the same accelerator have the same values."""

    shape: Shape
    accelerator: Accelerator
    layout: Parallelism
    cores: int  # cores per device
    precision: str  # format of the weights
    kv_format: str | None
    context_length: int
    prompt: int  # tokens
    answer: int  # tokens
    sequences: int  # concurrent
    of_a_node: int  # replicas per node
    nodes: int  # nodes per replica
    network_gb_per_second: float | None  # of each device, between nodes
    of_prompts: Factor | None  # of the user's measurements, like the following
    of_tokens: Factor | None
    of_passes: Factor | None


def _replica(request: Request, fit: Fit, accelerator: Accelerator) -> _Replica:
    return _Replica(
        shape=request.shape,
        accelerator=accelerator,
        layout=fit.parallelism,
        cores=cores_of(fit.kind),
        precision=weight_format(request, fit.kind),
        kv_format=request.workload.kv_cache_precision,
        context_length=context_of(request),
        prompt=prompt_tokens(request),
        answer=answer_tokens(request),
        sequences=concurrent_sequences(request.workload),
        of_a_node=fit.replicas_per_node,
        nodes=fit.nodes,
        network_gb_per_second=network_of_device(fit.kind) if fit.nodes > 1 else None,
        of_prompts=_measured(request, fit, "prompt"),
        of_tokens=_measured(request, fit, "generation"),
        of_passes=_measured(request, fit, "encoder"),
    )


@lru_cache(maxsize=1024)
def _serving(replica: _Replica) -> Speed:
    """Return the speed of inference. Pipeline stages work on different sequences: one group per stage at a time."""
    accelerator, shape, precision = replica.accelerator, replica.shape, replica.precision
    known = performance(accelerator)
    layout = replica.layout
    groups = min(layout.pipeline, replica.sequences)
    encodes = shape.generates is False and accelerator.kind == "gpu"
    devices = Devices(
        count=layout.tensor * layout.data,
        peak_tflops_each=known.peak_of_encoder(precision) if encodes else known.peak_tflops(precision),
        bandwidth_gb_per_second_each=known.bandwidth_gb_per_second,
        kind=accelerator.kind,
        name=accelerator.name,
        link_gb_per_second=known.link_gb_per_second,
        spread_experts=layout.expert > 1,
        nodes=replica.nodes if layout.expert > 1 else 1,
        network_gb_per_second=replica.network_gb_per_second,
    )
    weights = weights_of(shape, precision, copies=layout.data)
    prompt = further = None
    if shape.generates is False:
        one, first = _answering(replica, devices, weights)
    else:
        one, first, prompt, further = _generating(replica, devices, weights, replica.sequences / groups)
    per_replica = None if one.value is None else one.value * groups
    notes = list(one.assumptions)
    if per_replica is not None and replica.of_a_node > 1:
        notes.insert(0, f"all {replica.of_a_node} replicas of a node in use")
    return Speed(
        tokens_per_second=None if per_replica is None else per_replica * replica.of_a_node,
        per_replica=per_replica,
        prompt_ms=prompt,
        first_token_ms=None if first.value is None else MS_PER_SECOND * first.value,
        per_token_ms=further,
        assumptions=tuple(notes),
    )


def forget() -> None:
    """Clear the cached speeds, after a change to the fitted constants."""
    _serving.cache_clear()


def weights_of(shape: Shape, precision: str, *, copies: int = 1) -> Weights:
    """Return the weights of a model in a format, as devices read them."""
    table_bytes = shape.looked_up * weight_bytes_of_tables(precision)
    read = shape.parameters - shape.looked_up
    attention = 2 * shape.layers * shape.hidden_size * shape.head_dim * (shape.attention_heads + shape.kv_heads)
    shared = read - shape.routed_parameters if shape.routed_parameters else attention + shape.output_parameters
    return Weights(
        active_parameters=max(1, shape.active_parameters - shape.looked_up),
        total_parameters=max(1, read),
        bytes_per_parameter=(weight_bytes(shape, precision) - table_bytes) / max(1, read),
        shared_parameters=shared,
        output_parameters=min(shape.output_parameters, shape.active_parameters - shape.looked_up),
        precision=precision,
        layers=shape.layers,
        experts=shape.experts or 0,
        experts_of_token=shape.experts_of_token or 0,
        expert_layers=shape.expert_layers,
        width=shape.hidden_size,
        copies=copies,
    )


def _generating(
    replica: _Replica, devices: Devices, weights: Weights, at_once: float
) -> tuple[Estimate, Estimate, float | None, float | None]:
    """Return tokens per second, seconds to the first token, and milliseconds per prompt and per further token.

    On average, the cache of a sequence contains its prompt and half of its output. Neuron reads the cache of the whole
    context, for which the model is compiled, and processes one prompt at a time. GPUs process several short prompts in
    one pass. With experts spread over devices, each device has its own prompts and sequences, and the busiest device
    sets the pace.
    """
    shape, context = replica.shape, replica.context_length
    prompt, answer = replica.prompt, replica.answer
    value_bytes = kv_value_bytes(replica.precision, replica.kv_format)
    own = replica.layout.data
    most = math.ceil(at_once / own)  # sequences of a device or a group of devices
    repeated = devices.count * cache_share(shape, devices.count, replica.cores) if own == 1 else own * most / at_once
    decode = throughput.decode_tokens_per_second(
        devices,
        weights,
        kv_bytes_per_token=value_bytes * shape.kv_values(context) / context * repeated,
        context_length=context if devices.kind == "neuron" else prompt + answer / 2,
        concurrent_sequences=at_once,
    )
    decode = _faster(decode, replica.of_tokens, "tokens")
    width = shape.layers * shape.attention_size
    prefill = throughput.prefill_seconds(devices, weights, prompt_tokens=prompt, attention_width=width, prompts=own)
    together = min(max(1, int(at_once) // own), max(1, facts.memory()["inference"]["batched_tokens"] // prompt))
    each = prefill
    if devices.kind != "neuron" and together > 1:
        each = throughput.prefill_seconds(
            devices, weights, prompt_tokens=prompt, attention_width=width, prompts=together * own
        )
    if prefill.value is not None:
        prefill = prefill._replace(value=prefill.value * own)  # of one pass, in which every device reads a prompt
    prefill, each = (_shorter(one, replica.of_prompts, "prompts") for one in (prefill, each))
    served = throughput.served_tokens_per_second(output_tokens=answer, prefill=each, decode=decode)
    first = throughput.first_token_seconds(devices, prefill)
    if decode.value is None or each.value is None:
        return served, first, None, None
    return served, first, MS_PER_SECOND * each.value, MS_PER_SECOND * at_once / decode.value


def _measured(request: Request, fit: Fit, work: Work) -> Factor | None:
    return request.measured.speed(work, request, fit.kind) if request.measured else None


def _faster(rate: Estimate, factor: Factor | None, what: str) -> Estimate:
    """Return a rate with the factor of the user's measurements."""
    if factor is None or rate.value is None:
        return rate
    return Estimate(
        value=rate.value * factor.value, assumptions=(f"speed of {what}: {said(factor)}", *rate.assumptions)
    )


def _shorter(seconds: Estimate, factor: Factor | None, what: str) -> Estimate:
    """Return a time with the factor of the user's measurements of speed."""
    if factor is None or seconds.value is None:
        return seconds
    notes = (f"speed of {what}: {said(factor)}", *seconds.assumptions)
    return Estimate(value=seconds.value / factor.value, assumptions=notes)


def _answering(replica: _Replica, devices: Devices, weights: Weights) -> tuple[Estimate, Estimate]:
    """Return tokens per second and seconds of a model that does not generate: one pass over all sequences."""
    length, sequences, shape = replica.context_length, replica.sequences, replica.shape
    peak = devices.peak_tflops_each
    used = min(1.0, sequences / replica.cores)  # each core of a Neuron device reads its own sequences
    read = throughput.encoding_seconds(
        replace(devices, peak_tflops_each=None if peak is None else peak * used),
        weights,
        length=length,
        sequences=sequences,
        attention_width=shape.layers * shape.attention_size,
    )
    read = _shorter(read, replica.of_passes, "passes")
    per_second = None if read.value is None else length * sequences / read.value
    return Estimate(value=per_second, assumptions=read.assumptions), read
