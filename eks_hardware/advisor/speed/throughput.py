"""Estimates of training time and inference speed, from peak figures and the reached share of them.

Pure arithmetic over plain numbers. Results list what they leave out. These are estimates, not measurements:
docs/guides/throughput.md says what to expect of them. A pass takes as long as the slower of memory reads and
computation, the roofline model (https://arxiv.org/abs/2211.05102 §2 applies it to transformers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_hardware.catalogue.performance import utilization

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import UtilizationRow

_SECONDS_PER_HOUR = 3600
_MILLION = 1e6
_GIGA = 1e9
_TERA = 1e12

# FLOPs per parameter and token.
_FORWARD = 2  # one multiplication and one addition
_GRADIENT_OF_INPUTS = 2
_GRADIENT_OF_WEIGHTS = 2
# FLOPs of attention per unit of width, layer, token and attended token: scores, and the sum of the values.
_ATTENTION = 4
_ATTENTION_BACKWARD = 2  # in forward passes: both factors of each product have gradients


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its assumptions, one sentence each; without a value, what is missing."""

    value: float | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Devices:
    """The accelerators that run one copy of a model; None is unknown."""

    count: int
    peak_tflops_each: float | None  # dense, in the compute format
    bandwidth_gb_per_second_each: float | None = None  # of the memory
    kind: str = "gpu"  # or neuron: selects the measured shares of the peaks


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of a model as devices read them."""

    active_parameters: float  # parameters that a token passes
    total_parameters: float  # more than that in a mixture of experts
    bytes_per_parameter: float  # 2 for BF16, 0.5 for 4 bits

    def bytes_read(self, tokens: float) -> float:
        """Return the bytes of the weights that a pass of some tokens reads.

        With experts chosen evenly and independently, a parameter that one token passes with probability p is read with
        probability 1 - (1 - p)^tokens. With p = active / total for all parameters, the result is never too low: it is
        higher than for a model whose tokens share its attention.
        """
        passed = self.active_parameters / self.total_parameters
        share = 1.0 if passed == 1 else -math.expm1(tokens * math.log1p(-passed))
        return self.total_parameters * share * self.bytes_per_parameter


def training_seconds(
    devices: Devices,
    *,
    active_parameters: float,
    tokens: float,
    precision: str,
    attention_size: float,
    attended_tokens: float,
    adapters_only: bool = False,
    recompute: bool,
) -> Estimate:
    """Estimate the time of a training run in seconds.

    FLOPs per parameter and token x active_parameters x tokens / (devices x peak x share). The FLOPs are 2 forward
    and 4 backward, 2 for the gradient of the inputs and 2 for that of the weights: the 6ND of
    https://arxiv.org/abs/2001.08361 §2.1. Recomputing the activations adds a forward pass, 8 in all
    (https://arxiv.org/abs/2104.04473 §5.1). Adapters (LoRA) spare the gradient of the frozen weights: 4, a third less
    (https://thinkingmachines.ai/blog/lora/, "Compute efficiency advantage of LoRA").

    Attention adds 4 x attention_size x attended_tokens a pass, and passes are 3, or 4 with recomputation, adapters or
    not: 16 B s^2 h a layer for B sequences of s tokens that all see each other, the second term of the FLOPs of
    https://arxiv.org/abs/2104.04473 §5.1 and its appendix.

    Args:
        devices: the accelerators; their memory bandwidth is not used.
        active_parameters: parameters that a token passes; in a mixture of experts, those of the chosen experts.
        tokens: tokens of the run: data set times epochs.
        precision: number format of the peak, for the text: ``bf16``.
        attention_size: attention heads times size of a head.
        attended_tokens: tokens that a token attends to, on average over its sequence, summed over the layers: half of
            the sequence per layer if a token sees only the tokens before it.
        adapters_only: whether only adapters are trained, over frozen weights.
        recompute: whether activations are recomputed (gradient checkpointing).
    """
    peak, reached = devices.peak_tflops_each, utilization("training", devices.kind)
    if peak is None or reached is None:
        return _unknown(
            {
                "peak compute (TFLOPS) of this accelerator": peak,
                f"share of its peak that training reaches on {devices.kind}": reached,
            }
        )
    flops = _FORWARD + _GRADIENT_OF_INPUTS + (0 if adapters_only else _GRADIENT_OF_WEIGHTS)
    passes = 1 + _ATTENTION_BACKWARD
    work = f"forward and backward{' through frozen weights' if adapters_only else ''}"
    if recompute:
        flops, passes, work = flops + _FORWARD, passes + 1, f"{work}, activations recomputed"
    weights = flops * active_parameters
    attention = passes * _ATTENTION * attention_size * attended_tokens
    return Estimate(
        value=(weights + attention) * tokens / (devices.count * peak * _TERA * reached["share"]),
        assumptions=(
            f"{flops} FLOPs per parameter and token: {work}",
            f"attention within sequences adds {attention / weights * 100:.3g}%",
            f"{_share(reached)} of the {precision} peak of {peak:,g} TFLOPS per device{_measured(reached)}",
            "time for data loading, checkpoints and failures is not included",
        ),
    )


def decode_tokens_per_second(
    devices: Devices,
    weights: Weights,
    *,
    kv_bytes_per_token: float,
    context_length: float,
    concurrent_sequences: float,
) -> Estimate:
    """Estimate the tokens per second of all sequences together.

    A step generates one token per sequence. It reads the weights once and the KV cache of every sequence, and needs 2
    FLOPs per parameter and sequence. The slower of the two is its time (https://arxiv.org/abs/2211.05102 §2).

    Args:
        devices: accelerators that share one copy of the model.
        weights: weights of that copy.
        kv_bytes_per_token: KV cache of one token over all layers, in bytes.
        context_length: tokens of a sequence in the KV cache, on average over its generation.
        concurrent_sequences: sequences generated concurrently (batch size).
    """
    cache = kv_bytes_per_token * context_length * concurrent_sequences
    step = _pass_seconds(
        devices,
        flops=_FORWARD * weights.active_parameters * concurrent_sequences,
        bytes_read=weights.bytes_read(concurrent_sequences) + cache,
    )
    if step.value is None:
        return step
    sequences = "1 sequence" if concurrent_sequences == 1 else f"{concurrent_sequences:,g} sequences"
    return Estimate(
        value=concurrent_sequences / step.value,
        assumptions=(f"{sequences} at a time, {context_length:,g} tokens each", *step.assumptions),
    )


def prefill_seconds(
    devices: Devices, weights: Weights, *, prompt_tokens: float, attention_width: int | None = None
) -> Estimate:
    """Estimate the time in seconds to read one prompt.

    Per token 2 x active_parameters + 2 x attention_width x prompt_tokens FLOPs (https://arxiv.org/abs/2001.08361
    table 1, forward pass), or one read of the weights if that takes longer. ``attention_width`` is layers times
    attention heads times size of a head. Without it, attention is not counted.
    """
    flops_per_token = _FORWARD * weights.active_parameters + 2 * (attention_width or 0) * prompt_tokens
    step = _pass_seconds(devices, flops=flops_per_token * prompt_tokens, bytes_read=weights.bytes_read(prompt_tokens))
    if step.value is None:
        return step
    notes = [f"prompts of {prompt_tokens:,g} tokens, without queueing"]
    if attention_width is None:
        notes.append("attention within the prompt is not counted")
    return Estimate(value=step.value, assumptions=(*notes, *step.assumptions))


def served_tokens_per_second(*, output_tokens: float, prefill: Estimate, decode: Estimate) -> Estimate:
    """Estimate the output tokens per second of a server that reads a prompt for every answer.

    A request uses the devices for the time of its prompt, from `prefill_seconds`, and for its share of
    `decode_tokens_per_second`.
    """
    if prefill.value is None or decode.value is None:
        missing = [sentence for each in (prefill, decode) if each.value is None for sentence in each.assumptions]
        return Estimate(value=None, assumptions=tuple(dict.fromkeys(missing)))
    return Estimate(
        value=output_tokens / (prefill.value + output_tokens / decode.value),
        assumptions=(
            f"outputs of {output_tokens:,g} tokens, under constant load",
            *dict.fromkeys([*prefill.assumptions, *decode.assumptions]),
        ),
    )


def usd_per_million_tokens(usd_per_hour: float | None, tokens_per_second: float | None) -> float | None:
    """Return the price of a million tokens in US dollars; None where price or speed is unknown."""
    if usd_per_hour is None or tokens_per_second is None:
        return None
    return usd_per_hour / (tokens_per_second * _SECONDS_PER_HOUR) * _MILLION


def _pass_seconds(devices: Devices, *, flops: float, bytes_read: float) -> Estimate:
    """Estimate the time of a pass that reads ``bytes_read`` (weights and KV cache) from device memory once."""
    reading, computing = utilization("decode", devices.kind), utilization("prefill", devices.kind)
    bandwidth, peak = devices.bandwidth_gb_per_second_each, devices.peak_tflops_each
    if bandwidth is None or peak is None or reading is None or computing is None:
        return _unknown(
            {
                "memory bandwidth (GB/s) of this accelerator": bandwidth,
                "peak compute (TFLOPS) of this accelerator": peak,
                f"share of its bandwidth that generating reaches on {devices.kind}": reading,
                f"share of its peak that reading a prompt reaches on {devices.kind}": computing,
            }
        )
    memory = bytes_read / (devices.count * bandwidth * _GIGA * reading["share"])
    compute = flops / (devices.count * peak * _TERA * computing["share"])
    limit = (
        f"memory: {_share(reading)} of {bandwidth:,g} GB/s per device{_measured(reading)}"
        if memory >= compute
        else f"compute: {_share(computing)} of {peak:,g} TFLOPS per device{_measured(computing)}"
    )
    notes = [f"limited by {limit}"]
    if devices.count > 1:
        notes.append(f"time for communication between the {devices.count:,} devices is not included")
    return Estimate(value=max(memory, compute), assumptions=tuple(notes))


def _share(reached: UtilizationRow) -> str:
    return f"{reached['share'] * 100:.3g}%"


def _measured(reached: UtilizationRow) -> str:
    low, high = round(reached["low"] * 100), round(reached["high"] * 100)
    return f" ({reached['how']}: {low} to {high}%, {reached['measured_on']})"


def _unknown(facts: dict[str, object]) -> Estimate:
    """Return an estimate without a value that lists the missing facts."""
    missing = tuple(f"unknown: no source for the {name}" for name, fact in facts.items() if fact is None)
    return Estimate(value=None, assumptions=missing)
