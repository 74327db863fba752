"""How long training takes and how fast a model answers, from peak figures and the share of them that is reached.

Pure arithmetic over plain numbers. What is left out is named in the answer. These are estimates, not measurements:
docs/guides/throughput.md says what to expect of them.
"""

from __future__ import annotations

from eks_hardware.advisor.speed.roofline import (
    LEAST,
    PER_TERA,
    Devices,
    Estimate,
    check,
    parameters_read,
    pass_seconds,
    reached,
    unknown,
)

__all__ = [
    "Devices",
    "Estimate",
    "decode_tokens_per_second",
    "prefill_seconds",
    "served_tokens_per_second",
    "time_per_output_token_ms",
    "time_to_first_token_ms",
    "training_seconds",
    "usd_per_million_tokens",
]

_MS_PER_SECOND = 1000
_SECONDS_PER_HOUR = 3600
_MILLION = 1e6

# FLOPs per parameter and token.
_FORWARD = 2  # one multiplication and one addition
_GRADIENT_OF_INPUTS = 2
_GRADIENT_OF_WEIGHTS = 2
# FLOPs of attention per number of its width, layer, token and token attended to: scores, and the sum of the values.
_ATTENTION = 4
_ATTENTION_BACKWARD = 2  # in forward passes: both factors of each product have gradients


def training_seconds(
    *,
    active_parameters: float,
    tokens: float,
    devices: int,
    peak_tflops: float | None,
    precision: str,
    attention_size: float | None = None,
    attended_tokens: float | None = None,
    adapters_only: bool = False,
    recompute: bool,
    kind: str = "gpu",
    share: float | None = None,
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
        active_parameters: parameters that a token passes; of a mixture of experts those of the chosen ones.
        tokens: tokens of the run: data set times epochs.
        devices: accelerators.
        peak_tflops: dense peak of one accelerator in the number format of the run, in TFLOPS; None if unknown.
        precision: that number format, for the text: ``bf16``.
        attention_size: attention heads times size of a head; without it and ``attended_tokens``, attention is not
            counted.
        attended_tokens: tokens that a token attends to, on average over its sequence, summed over the layers: half of
            the sequence in each where a token sees those before it only.
        adapters_only: whether only adapters are trained, over frozen weights.
        recompute: whether activations are recomputed (gradient checkpointing).
        kind: kind of accelerator, ``gpu`` or ``neuron``: which measured share of the peak is taken.
        share: share of the peak, 0 to 1, instead of the measured one.

    Raises:
        ValueError: for a number that cannot be.
    """
    check(LEAST, active_parameters=active_parameters, tokens=tokens, peak_tflops=peak_tflops)
    check(1, devices=devices, attention_size=attention_size)
    check(0, attended_tokens=attended_tokens)
    computing = reached("training", kind, share)
    if peak_tflops is None or computing is None:
        return unknown(
            {
                "peak compute (TFLOPS) of this accelerator": peak_tflops,
                f"share of its peak that training reaches on {kind}": computing,
            }
        )
    flops = _FORWARD + _GRADIENT_OF_INPUTS
    work = "forward and backward"
    if adapters_only:
        work += " through frozen weights"
    else:
        flops += _GRADIENT_OF_WEIGHTS
    passes = 1 + _ATTENTION_BACKWARD
    if recompute:
        flops += _FORWARD
        passes += 1
        work += ", activations recomputed"
    per_token = flops * active_parameters
    if attention_size is None or attended_tokens is None:
        attending = "attention within the sequences not counted"
    else:
        more = passes * _ATTENTION * attention_size * attended_tokens
        attending = f"attention within the sequences adds {more / per_token * 100:.3g} %"
        per_token += more
    return Estimate(
        value=per_token * tokens / (devices * peak_tflops * PER_TERA * computing.value),
        assumptions=(
            f"{flops} FLOPs per parameter and token: {work}",
            attending,
            f"{computing} of the {precision} peak of {peak_tflops:,g} TFLOPS a device{computing.measured}",
            "no time for loading data, checkpoints and failures",
        ),
    )


def decode_tokens_per_second(
    devices: Devices,
    *,
    active_parameters: float,
    total_parameters: float | None = None,
    weight_bytes_per_parameter: float,
    kv_bytes_per_token: float,
    context_length: float,
    concurrent_sequences: float,
    share: float | None = None,
) -> Estimate:
    """Estimate how many tokens all sequences together get per second.

    A step gives every sequence one token. It reads the weights once and the KV cache of every sequence, and does 2
    FLOPs per parameter and sequence; the slower of the two is its time (https://arxiv.org/abs/2211.05102 §2).

    Args:
        devices: accelerators that share one copy of the model.
        active_parameters: parameters that a token passes.
        total_parameters: all parameters of a mixture of experts, of which more are read the more sequences there
            are; default: the active ones.
        weight_bytes_per_parameter: 2 for BF16, 0.5 for 4 bits.
        kv_bytes_per_token: KV cache of one token over all layers, in bytes.
        context_length: tokens that a sequence holds in the KV cache, on average over its generation.
        concurrent_sequences: sequences generated at once (batch size).
        share: share of the memory bandwidth, 0 to 1, instead of the measured one.

    Raises:
        ValueError: for a number that cannot be.
    """
    check(1, concurrent_sequences=concurrent_sequences)
    check(0, kv_bytes_per_token=kv_bytes_per_token, context_length=context_length)
    check(LEAST, weight_bytes_per_parameter=weight_bytes_per_parameter)
    weights = parameters_read(active_parameters, total_parameters, concurrent_sequences) * weight_bytes_per_parameter
    step = pass_seconds(
        devices,
        flops=_FORWARD * active_parameters * concurrent_sequences,
        bytes_read=weights + kv_bytes_per_token * context_length * concurrent_sequences,
        bandwidth_share=share,
    )
    if step.value is None:
        return step
    sequences = "1 sequence" if concurrent_sequences == 1 else f"{concurrent_sequences:,g} sequences"
    return Estimate(
        value=concurrent_sequences / step.value,
        assumptions=(f"{sequences} at once, {context_length:,g} tokens in each", *step.assumptions),
    )


def time_per_output_token_ms(decode: Estimate, *, concurrent_sequences: float) -> Estimate:
    """Return the time in milliseconds that one sequence waits for its next token.

    Args:
        decode: from `decode_tokens_per_second`.
        concurrent_sequences: the same as there.
    """
    check(1, concurrent_sequences=concurrent_sequences)
    if decode.value is None:
        return decode
    return Estimate(value=_MS_PER_SECOND * concurrent_sequences / decode.value, assumptions=decode.assumptions)


def prefill_seconds(
    devices: Devices,
    *,
    active_parameters: float,
    total_parameters: float | None = None,
    weight_bytes_per_parameter: float,
    prompt_tokens: float,
    layers: int | None = None,
    attention_size: int | None = None,
    share: float | None = None,
) -> Estimate:
    """Estimate the time in seconds to read one prompt.

    Per token 2 x active_parameters + 2 x layers x attention_size x prompt_tokens FLOPs
    (https://arxiv.org/abs/2001.08361 table 1, forward pass), or reading the weights once if that takes longer.

    Args:
        devices: accelerators that share one copy of the model.
        active_parameters: parameters that a token passes.
        total_parameters: all parameters of a mixture of experts; default: the active ones.
        weight_bytes_per_parameter: 2 for BF16, 0.5 for 4 bits.
        prompt_tokens: length of the prompt.
        layers: transformer layers; without them and ``attention_size``, attention is not counted.
        attention_size: attention heads times size of a head.
        share: share of the peak compute, 0 to 1, instead of the measured one.

    Raises:
        ValueError: for a number that cannot be.
    """
    check(1, prompt_tokens=prompt_tokens, layers=layers, attention_size=attention_size)
    check(LEAST, weight_bytes_per_parameter=weight_bytes_per_parameter)
    weights = parameters_read(active_parameters, total_parameters, prompt_tokens) * weight_bytes_per_parameter
    notes = [f"a prompt of {prompt_tokens:,g} tokens that waits for no other"]
    flops_per_token = _FORWARD * active_parameters
    if layers is None or attention_size is None:
        notes.append("attention within the prompt not counted")
    else:
        flops_per_token += 2 * layers * attention_size * prompt_tokens
    step = pass_seconds(
        devices,
        flops=flops_per_token * prompt_tokens,
        bytes_read=weights,
        compute_share=share,
    )
    return step if step.value is None else Estimate(value=step.value, assumptions=(*notes, *step.assumptions))


def time_to_first_token_ms(prefill: Estimate) -> Estimate:
    """Return the time in milliseconds to the first token: that of reading the prompt, from `prefill_seconds`."""
    if prefill.value is None:
        return prefill
    return Estimate(value=_MS_PER_SECOND * prefill.value, assumptions=prefill.assumptions)


def served_tokens_per_second(*, output_tokens: float, prefill: Estimate, decode: Estimate) -> Estimate:
    """Estimate the output tokens per second of a server that reads a prompt for every answer.

    A request takes the devices for the time of its prompt, and for its tokens' part of what `decode` gives.

    Args:
        output_tokens: length of an answer in tokens.
        prefill: from `prefill_seconds`.
        decode: from `decode_tokens_per_second`.
    """
    check(1, output_tokens=output_tokens)
    if prefill.value is None or decode.value is None:
        missing = [sentence for each in (prefill, decode) if each.value is None for sentence in each.assumptions]
        return Estimate(value=None, assumptions=tuple(dict.fromkeys(missing)))
    return Estimate(
        value=output_tokens / (prefill.value + output_tokens / decode.value),
        assumptions=(
            f"answers of {output_tokens:,g} tokens, without a pause",
            *dict.fromkeys([*prefill.assumptions, *decode.assumptions]),
        ),
    )


def usd_per_million_tokens(usd_per_hour: float | None, tokens_per_second: float | None) -> float | None:
    """Return the price of a million tokens in US dollars; None where price or speed is unknown.

    Args:
        usd_per_hour: price per hour of the devices that give the tokens.
        tokens_per_second: what they give together, all the time.

    Raises:
        ValueError: for a negative price, or a speed that is not more than 0.
    """
    check(0, usd_per_hour=usd_per_hour)
    check(LEAST, tokens_per_second=tokens_per_second)
    if usd_per_hour is None or tokens_per_second is None:
        return None
    return usd_per_hour / (tokens_per_second * _SECONDS_PER_HOUR) * _MILLION
