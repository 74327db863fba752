"""Estimates of training time and inference speed, from peak figures and the share of them that runs reach.

Pure arithmetic over plain numbers. Results list what they leave out. These are estimates, not measurements:
docs/guides/throughput.md describes their accuracy. A pass takes as long as the slower of memory reads and
computation, the roofline model (https://arxiv.org/abs/2211.05102 §2 applies it to transformers), and the delays of its
layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eks_hardware.catalogue.performance import delay, utilization

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import UtilizationRow
    from eks_hardware.models.workload import Checkpointing

_SECONDS_PER_HOUR = 3600
_MILLION = 1e6
_GIGA = 1e9
_TERA = 1e12
_MICRO = 1e-6
_WIDE = 2  # bytes of a number that devices exchange

# FLOPs per parameter and token.
_FORWARD = 2  # one multiplication and one addition
_GRADIENT_OF_INPUTS = 2
_GRADIENT_OF_WEIGHTS = 2
# FLOPs of attention per unit of width, layer, token and attended token: scores, and the sum of the values.
_ATTENTION = 4
# Key of the share of the peak that a pass reaches. Decoding multiplies matrices as prefill does.
_COMPUTES_AS = {"prefill": "prefill", "decode": "prefill", "encoder": "encoder"}
_ATTENTION_BACKWARD = 2  # in forward passes: both factors of each product have gradients


class Estimate(NamedTuple):
    """A number with its assumptions, one sentence each; without a value, what is missing."""

    value: float | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Devices:
    """The accelerators that run one copy of a model; None is unknown."""

    count: int
    peak_tflops_each: float | None  # dense, in the compute format
    bandwidth_gb_per_second_each: float | None = None  # of the memory
    kind: str = "gpu"  # or neuron: selects the measured shares of the peaks and the delays
    name: str | None = None  # of the accelerator: selects its own shares and delays
    link_gb_per_second: float | None = None  # between the devices, both directions together
    spread_experts: bool = False  # whether experts are divided among devices (expert parallelism)
    nodes: int = 1
    network_gb_per_second: float | None = None  # each device's share of its node's network; only between nodes


class Weights(NamedTuple):
    """The weights of a model as devices read them. They exclude lookup tables."""

    active_parameters: float  # parameters that one token uses
    total_parameters: float  # more than the active ones in a mixture of experts
    bytes_per_parameter: float  # 2 for BF16, 0.5 for 4 bits
    shared_parameters: float = 0.0  # active parameters outside of the experts
    output_parameters: float = 0.0  # active parameters that turn the last token into the next one
    precision: str | None = None  # format: selects the measured share of its kernels
    layers: int = 0  # each layer delays a pass
    experts: int = 0  # per layer; 0 without experts, or if unknown
    experts_of_token: int = 0  # experts per layer that one token uses
    expert_layers: int = 0  # layers with experts
    width: int = 0  # numbers per token that devices exchange after each half of a layer
    copies: int = 1  # of the shared parameters, each read by its own device

    @property
    def has_experts(self) -> bool:
        """Whether a token uses only some of the parameters."""
        return self.active_parameters < self.total_parameters

    def bytes_read(self, tokens: float) -> float:
        """Return the bytes of the weights that a pass of some tokens reads.

        With experts chosen evenly and independently, an expert that one token uses with probability p is read with
        probability 1 - (1 - p)^tokens. Shared parameters are always read.
        """
        shared = min(self.shared_parameters, self.active_parameters)
        routed = self.total_parameters - shared
        passed = 1.0 if routed <= 0 else (self.active_parameters - shared) / routed
        share = 1.0 if passed >= 1 else -math.expm1(tokens * math.log1p(-passed))
        return (shared * self.copies + routed * share) * self.bytes_per_parameter


class _Pass(NamedTuple):
    """One pass of tokens through a model: what it computes and reads."""

    step: str  # prefill, decode or encoder: selects the share of the peak compute
    tokens: float
    flops: float
    weights_read: float  # bytes, while it computes
    cache_read: float = 0.0  # bytes, after that


def training_seconds(
    devices: Devices,
    *,
    active_parameters: float,
    tokens: float,
    precision: str,
    attention_size: float,
    attended_tokens: float,
    adapters_only: bool = False,
    recompute: Checkpointing,
    experts: bool = False,
    width: int | None = None,
    attention_tflops: float | None = None,
) -> Estimate:
    """Estimate the time of a training run in seconds.

    FLOPs per parameter and token x active_parameters x tokens / (devices x peak x share). The FLOPs are 2 forward
    and 4 backward, 2 for the gradient of the inputs and 2 for that of the weights: the 6ND of
    https://arxiv.org/abs/2001.08361 §2.1. Recomputing the activations adds a forward pass, 8 in all
    (https://arxiv.org/abs/2104.04473 §5.1). Adapters (LoRA) spare the gradient of the frozen weights: 4, a third less
    (https://thinkingmachines.ai/blog/lora/, "Compute efficiency advantage of LoRA").

    Attention adds 4 x attention_size x attended_tokens per pass, with 3 passes, or 4 with recomputation: the second
    term of the FLOPs of https://arxiv.org/abs/2104.04473 §5.1. It reaches a smaller share of the peak.

    Args:
        devices: the accelerators.
        active_parameters: parameters that a token uses, with those of the chosen experts.
        tokens: tokens of the run (data set times epochs), or of one pass.
        precision: number format of the peak: ``bf16``.
        attention_size: attention heads times size of a head.
        attended_tokens: tokens that a token attends to on average, summed over the layers.
        adapters_only: whether only adapters are trained, over frozen weights.
        recompute: whether activations are recomputed; ``selective``: every second matrix product.
        experts: whether it is a mixture of experts.
        width: size of a layer, None if unknown; narrow layers reach a smaller share of the peak.
        attention_tflops: peak of attention, if matrix products have a narrower format; default: the same peak.
    """
    peak, reached = devices.peak_tflops_each, _reached("training", devices, precision)
    attending = _reached("training attention", devices, precision)
    if peak is None or reached is None or attending is None:
        share_of = f"share of its peak that training reaches on {devices.kind}"
        return _unknown({"peak compute (TFLOPS) of this accelerator": peak, share_of: reached and attending})
    flops, passes, work = _training_work(adapters_only=adapters_only, recompute=recompute)
    routed = _reached("training experts", devices, precision) if experts else None
    share = reached["share"] * _of_width(reached, width)
    weights = flops * active_parameters / (share * (routed["share"] if routed else 1.0))
    of_attention = attending["share"] * (attention_tflops or peak) / peak
    attention = passes * _ATTENTION * attention_size * attended_tokens / of_attention
    notes = [
        f"{flops} FLOPs per parameter and token: {work}",
        f"attention within sequences, at {_share(attending)} of the peak, adds {attention / weights * 100:.3g}%",
        f"{share * 100:.3g}% of the {precision} peak of {peak:,g} TFLOPS per device{_measured(reached)}",
    ]
    notes += [f"experts reach {_share(routed)} of the speed of other layers{_measured(routed)}"] if routed else []
    notes += ["time for data loading, checkpoints and failures is not included"]
    return Estimate(value=(weights + attention) * tokens / (devices.count * peak * _TERA), assumptions=tuple(notes))


def _training_work(*, adapters_only: bool, recompute: Checkpointing) -> tuple[int, int, str]:
    """Return the FLOPs per parameter and token, the passes of attention, and what they are."""
    flops = _FORWARD + _GRADIENT_OF_INPUTS + (0 if adapters_only else _GRADIENT_OF_WEIGHTS)
    work = f"forward and backward{' through frozen weights' if adapters_only else ''}"
    if recompute == "selective":
        return flops + _FORWARD // 2, 1 + _ATTENTION_BACKWARD, f"{work}, every second matrix product recomputed"
    if recompute:
        return flops + _FORWARD, 2 + _ATTENTION_BACKWARD, f"{work}, activations recomputed"
    return flops, 1 + _ATTENTION_BACKWARD, work


def decode_tokens_per_second(
    devices: Devices,
    weights: Weights,
    *,
    kv_bytes_per_token: float,
    context_length: float,
    concurrent_sequences: float,
) -> Estimate:
    """Estimate the tokens per second of all sequences together.

    A step generates one token per sequence. It reads the weights once, and needs 2 FLOPs per parameter and sequence;
    the slower of the two counts (https://arxiv.org/abs/2211.05102 §2). Then it reads the KV cache of every sequence.
    Every layer adds the time to start its kernels and to exchange its results between the devices.

    Args:
        devices: accelerators that share one copy of the model.
        weights: weights of that copy.
        kv_bytes_per_token: KV cache of one token over all layers, in bytes, on all devices together.
        context_length: tokens of a sequence in the KV cache, on average over its generation.
        concurrent_sequences: sequences generated concurrently (batch size).
    """
    step = _pass_seconds(
        devices,
        weights,
        _Pass(
            step="decode",
            tokens=concurrent_sequences,
            flops=_FORWARD * weights.active_parameters * concurrent_sequences,
            weights_read=weights.bytes_read(concurrent_sequences),
            cache_read=kv_bytes_per_token * context_length * concurrent_sequences,
        ),
    )
    if step.value is None:
        return step
    sequences = "1 sequence" if concurrent_sequences == 1 else f"{concurrent_sequences:,g} sequences"
    return Estimate(
        value=concurrent_sequences / step.value,
        assumptions=(f"{sequences} at a time, {context_length:,g} tokens each", *step.assumptions),
    )


def prefill_seconds(
    devices: Devices,
    weights: Weights,
    *,
    prompt_tokens: float,
    attention_width: int | None = None,
    prompts: int = 1,
) -> Estimate:
    """Estimate the time in seconds to read one prompt, or each of several ``prompts`` that are read in one pass.

    Per token 2 x active_parameters + 2 x attention_width x prompt_tokens FLOPs (https://arxiv.org/abs/2001.08361
    table 1, forward pass), or one read of the weights if that takes longer. Only the last token uses the output matrix.
    ``attention_width`` is layers times attention heads times size of a head. Without it, attention is not counted.
    """
    inner, output = weights.active_parameters - weights.output_parameters, weights.output_parameters
    flops_per_token = _FORWARD * inner + 2 * (attention_width or 0) * prompt_tokens
    step = _pass_seconds(
        devices,
        weights,
        _Pass(
            step="prefill",
            tokens=prompt_tokens * prompts,
            flops=(flops_per_token * prompt_tokens + _FORWARD * output) * prompts,
            weights_read=weights.bytes_read(prompt_tokens * prompts),
        ),
    )
    if step.value is None:
        return step
    together = f", {prompts} in one pass" if prompts > 1 else ""
    notes = [f"prompts of {prompt_tokens:,g} tokens{together}, without queueing"]
    if attention_width is None:
        notes.append("attention within the prompt is not counted")
    return Estimate(value=step.value / prompts, assumptions=(*notes, *step.assumptions))


def first_token_seconds(devices: Devices, prefill: Estimate) -> Estimate:
    """Estimate the time in seconds from a request to its first token: reading the prompt, and the server's own work."""
    own = _delay("request", devices)
    if prefill.value is None or not own:
        return prefill
    return Estimate(value=prefill.value + own, assumptions=prefill.assumptions)


def encoding_seconds(
    devices: Devices, weights: Weights, *, length: float, sequences: float, attention_width: int
) -> Estimate:
    """Estimate the time in seconds of one pass over sequences of a model that generates nothing.

    Per token 2 x active_parameters + 4 x attention_width x length FLOPs: every token attends to its whole sequence.
    """
    tokens = length * sequences
    flops = (_FORWARD * weights.active_parameters + _ATTENTION * attention_width * length) * tokens
    work = _Pass(step="encoder", tokens=tokens, flops=flops, weights_read=weights.bytes_read(tokens))
    return _pass_seconds(devices, weights, work)


def layer_exchange_seconds(devices: Devices, *, width: int, tokens: float) -> float:
    """Return the seconds of the two exchanges of a layer in a forward pass (https://arxiv.org/abs/1909.08053 §3).

    In each, a ring of N devices sends 2 (N - 1) / N times the numbers of all tokens in 16 bits.
    """
    row = delay("exchange", devices.kind, devices.name)
    if row is None or devices.count == 1:
        return 0.0
    link = devices.link_gb_per_second
    speed = row["link_share"] * link / 2 if link and "link_share" in row else row.get("gb_per_second")
    sent = 2 * _WIDE * width * tokens * 2 * (devices.count - 1) / devices.count
    return row["microseconds"] * _MICRO + (sent / (speed * _GIGA) if speed else 0.0)


def expert_exchange_seconds(
    devices: Devices, *, width: int, experts_of_token: int, tokens: float, sent_bytes: float = _WIDE
) -> float:
    """Return the seconds in which the tokens of a layer are sent to the devices of their experts, and back.

    Every device sends each of its tokens once for each of the token's experts on another device, and receives the
    result in 16 bits. Between nodes, the network takes longer than the links within a node, which work at the same
    time. Source: https://github.com/perplexityai/pplx-garden/blob/main/docs/fabric-lib.md (measured on EFA).

    Args:
        devices: those that share the experts.
        width: numbers per token.
        experts_of_token: experts that one token uses.
        tokens: of all devices together.
        sent_bytes: bytes per number sent to the experts.
    """
    if devices.count == 1:
        return 0.0
    between = devices.nodes > 1
    row = delay("expert exchange between nodes" if between else "expert exchange", devices.kind, devices.name)
    if row is None:
        return 0.0
    peak = devices.network_gb_per_second if between else devices.link_gb_per_second and devices.link_gb_per_second / 2
    speed = row["link_share"] * peak if peak and "link_share" in row else row.get("gb_per_second")
    elsewhere = 1 - 1 / devices.nodes if between else 1 - 1 / devices.count
    sent = tokens / devices.count * experts_of_token * elsewhere * width * (sent_bytes + _WIDE)
    return row["microseconds"] * _MICRO + (sent / (speed * _GIGA) if speed else 0.0)


def served_tokens_per_second(*, output_tokens: float, prefill: Estimate, decode: Estimate) -> Estimate:
    """Estimate the output tokens per second of a server that reads a prompt for every answer.

    A request uses the devices for the time of its prompt, from `prefill_seconds`, and for its share of
    `decode_tokens_per_second`.
    """
    if prefill.value is None or decode.value is None:
        missing = [sentence for phase in (prefill, decode) if phase.value is None for sentence in phase.assumptions]
        return Estimate(value=None, assumptions=tuple(dict.fromkeys(missing)))
    return Estimate(
        value=output_tokens / (prefill.value + output_tokens / decode.value),
        assumptions=(
            f"outputs of {output_tokens:,g} tokens, under constant load",
            *dict.fromkeys([*prefill.assumptions, *decode.assumptions]),
        ),
    )


def usd_per_million_tokens(usd_per_hour: float | None, tokens_per_second: float | None) -> float | None:
    """Return the price of a million tokens in US dollars; None if price or speed is unknown."""
    if usd_per_hour is None or tokens_per_second is None:
        return None
    return usd_per_hour / (tokens_per_second * _SECONDS_PER_HOUR) * _MILLION


def _pass_seconds(devices: Devices, weights: Weights, work: _Pass) -> Estimate:
    """Estimate the time of one pass: reading or computing, then reading the cache, and the delays."""
    reading = _reached("decode", devices, weights.precision)
    computing = _reached(_COMPUTES_AS[work.step], devices, weights.precision)
    bandwidth, peak = devices.bandwidth_gb_per_second_each, devices.peak_tflops_each
    if bandwidth is None or peak is None or reading is None or computing is None:
        return _unknown(
            {
                "memory bandwidth (GB/s) of this accelerator": bandwidth,
                "peak compute (TFLOPS) of this accelerator": peak,
                f"share of its bandwidth that generation reaches on {devices.kind}": reading,
                f"share of its peak that reading a prompt reaches on {devices.kind}": computing,
            }
        )
    routed = _reached("experts", devices) if weights.has_experts else None
    memory = devices.count * bandwidth * _GIGA * reading["share"]
    compute = devices.count * peak * _TERA * computing["share"] * (routed["share"] if routed else 1.0)
    spread = utilization("spread experts", devices.kind, devices.name) if devices.spread_experts else None
    slower = spread["share"] if spread else 1.0
    read, computed = work.weights_read / memory / slower, work.flops / compute / slower
    cached = work.cache_read / memory
    notes = [
        f"limited by memory: {_share(reading)} of {bandwidth:,g} GB/s per device{_measured(reading)}"
        if read + cached >= computed
        else f"limited by compute: {_share(computing)} of {peak:,g} TFLOPS per device{_measured(computing)}"
    ]
    if routed and computed > read:
        notes.append(f"experts reach {_share(routed)} of the speed of other layers{_measured(routed)}")
    if spread:
        notes.append(
            f"experts spread over {devices.count} devices: {_share(spread)} of that, because devices wait for the one "
            f"with the most tokens{_measured(spread)}"
        )
    waits = tuple(_delays(devices, weights, work))
    notes += [f"{wait.seconds * 1000:,.3g} ms for {wait.what} (fitted)" for wait in waits]
    total = max(read, computed) + cached + sum(wait.seconds for wait in waits)
    return Estimate(value=total, assumptions=tuple(notes))


class _Delay(NamedTuple):
    """A part of the time of a pass that neither reading nor computing explains."""

    what: str
    seconds: float


def _delays(devices: Devices, weights: Weights, work: _Pass) -> Iterator[_Delay]:
    """Yield the delays of a pass; none if the number of layers is not given."""
    if not weights.layers:
        return
    seconds = {
        "one pass": _delay("pass", devices) if work.step == "encoder" else 0.0,
        f"starting {weights.layers} layers": weights.layers * _of_layer(devices, weights, work),
        "choosing the tokens": work.tokens / weights.copies * _delay("sequence", devices)
        if work.step == "decode"
        else 0.0,
    }
    if work.step == "prefill" and weights.experts:
        one_by_one = weights.layers * weights.experts * _delay("expert in a prompt", devices)
        seconds[f"{weights.experts} experts of each layer, one after the other"] = one_by_one
    if devices.spread_experts:
        seconds[f"sending tokens to the experts on {devices.count} devices, and back"] = (
            weights.expert_layers
            * expert_exchange_seconds(
                devices,
                width=weights.width,
                experts_of_token=weights.experts_of_token,
                tokens=work.tokens,
                sent_bytes=min(_WIDE, max(1.0, weights.bytes_per_parameter)),
            )
        )
    elif devices.count > 1:
        seconds[f"exchanges between {devices.count} devices"] = weights.layers * layer_exchange_seconds(
            devices, width=weights.width, tokens=work.tokens
        )
    for what, each in seconds.items():
        if each:
            yield _Delay(what, each)


def _of_layer(devices: Devices, weights: Weights, work: _Pass) -> float:
    own = "encoder layer" if work.step == "encoder" else "expert layer" if weights.has_experts else "layer"
    found = delay(own, devices.kind, devices.name)
    return _delay("layer", devices) if found is None else found["microseconds"] * _MICRO


def _delay(step: str, devices: Devices) -> float:
    """Return a delay in seconds; zero if nothing is known."""
    row = delay(step, devices.kind, devices.name)
    return row["microseconds"] * _MICRO if row else 0.0


def _reached(step: str, devices: Devices, precision: str | None = None) -> UtilizationRow | None:
    """Return the share of the peak that is reached: that of the format, or else the general one."""
    own = utilization(f"{step} in {precision}", devices.kind, devices.name) if precision else None
    return own or utilization(step, devices.kind, devices.name)


def _of_width(reached: UtilizationRow, width: int | None) -> float:
    """Return the fraction of a share that layers of a width reach: 0.5 at the row's ``half_width``."""
    half = reached.get("half_width", 0)
    return width / (width + half) if width else 1.0


def _share(reached: UtilizationRow) -> str:
    return f"{reached['share'] * 100:.3g}%"


def _measured(reached: UtilizationRow) -> str:
    if "measured_on" in reached and "low" in reached and "high" in reached:
        low, high = round(reached["low"] * 100), round(reached["high"] * 100)
        return f" ({reached['how']}: {low} to {high}%, {reached['measured_on']})"
    if "rows" in reached:
        rows = reached["rows"]
        return f" (fitted to {rows} published measurement{'s' if rows > 1 else ''})"
    return " (assumed)"


def _unknown(facts: dict[str, object]) -> Estimate:
    """Return an estimate without a value that lists the missing facts."""
    missing = tuple(f"unknown: the {name}" for name, fact in facts.items() if fact is None)
    return Estimate(value=None, assumptions=missing)
