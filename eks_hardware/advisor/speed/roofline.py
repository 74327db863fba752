"""The time of one pass over a model's weights: the slower of reading memory and computing, at the shares reached.

The roofline model: https://arxiv.org/abs/2211.05102 §2 applies it to transformers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eks_hardware.catalogue.performance import utilization

# Numbers beyond these are mistakes of unit, and would overflow.
LEAST = 1e-6
_MOST = 1e18

PER_TERA = 1e12
_PER_GIGA = 1e9


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with what it rests on.

    Attributes:
        value: the estimate; None where not enough is known, and ``assumptions`` then says what is missing.
        assumptions: one sentence each, as a table prints them.
    """

    value: float | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of a peak, 0 to 1, and how the sentence goes on that names it."""

    value: float
    measured: str

    def __str__(self) -> str:
        return f"{self.value * 100:.3g} %"


@dataclass(frozen=True, kw_only=True)
class Devices:
    """The accelerators that share one copy of a model.

    Attributes:
        count: how many.
        bandwidth_gb_per_second_each: memory bandwidth of one in GB/s; None if unknown.
        peak_tflops_each: dense peak of one in TFLOPS; None if unknown.
        kind: ``gpu``, ``neuron``: which measured shares of the peaks are taken.

    Raises:
        ValueError: for a number that cannot be.
    """

    count: int
    bandwidth_gb_per_second_each: float | None
    peak_tflops_each: float | None
    kind: str = "gpu"

    def __post_init__(self) -> None:
        check(1, devices=self.count)
        check(
            LEAST,
            bandwidth_gb_per_second_each=self.bandwidth_gb_per_second_each,
            peak_tflops_each=self.peak_tflops_each,
        )


def pass_seconds(
    devices: Devices,
    *,
    flops: float,
    bytes_read: float,
    bandwidth_share: float | None = None,
    compute_share: float | None = None,
) -> Estimate:
    """Estimate the time of a pass in seconds.

    Args:
        devices: what it runs on.
        flops: floating point operations of the pass.
        bytes_read: weights and KV cache that it reads from device memory, once.
        bandwidth_share: share of the memory bandwidth, 0 to 1, instead of the measured one.
        compute_share: share of the peak compute, 0 to 1, instead of the measured one.
    """
    reading = reached("decode", devices.kind, bandwidth_share)
    computing = reached("prefill", devices.kind, compute_share)
    bandwidth, peak = devices.bandwidth_gb_per_second_each, devices.peak_tflops_each
    if bandwidth is None or peak is None or reading is None or computing is None:
        return unknown(
            {
                "memory bandwidth (GB/s) of this accelerator": bandwidth,
                "peak compute (TFLOPS) of this accelerator": peak,
                f"share of its bandwidth that generating reaches on {devices.kind}": reading,
                f"share of its peak that reading a prompt reaches on {devices.kind}": computing,
            }
        )
    memory = bytes_read / (devices.count * bandwidth * _PER_GIGA * reading.value)
    compute = flops / (devices.count * peak * PER_TERA * computing.value)
    limit = (
        f"memory: {reading} of {bandwidth:,g} GB/s a device{reading.measured}"
        if memory >= compute
        else f"compute: {computing} of {peak:,g} TFLOPS a device{computing.measured}"
    )
    notes = [f"limited by {limit}"]
    if devices.count > 1:
        notes.append(f"no extra time for communication between the {devices.count:,} devices")
    return Estimate(value=max(memory, compute), assumptions=tuple(notes))


def parameters_read(active: float, total: float | None, tokens: float) -> float:
    """Return how many parameters a pass of some tokens reads.

    With experts chosen evenly and independently, a parameter that one token passes with probability p is read with
    probability 1 - (1 - p)^tokens. Taking p = active / total for all parameters reads more than a model does whose
    tokens share its attention, never less.

    Args:
        active: parameters that a token passes.
        total: all parameters; None for a model without experts.
        tokens: tokens of the pass.

    Raises:
        ValueError: for numbers that cannot be.
    """
    check(LEAST, active_parameters=active, total_parameters=total)
    if total is None:
        return active
    if total < active:
        raise ValueError(f"total_parameters ({total:,g}) must not be fewer than active_parameters ({active:,g})")
    passed = active / total
    return total if passed == 1 else -total * math.expm1(tokens * math.log1p(-passed))


def reached(step: str, kind: str, given: float | None) -> Share | None:
    """Return the share of the peak that a step reaches: the given one, or else the measured one; None if unknown.

    Raises:
        ValueError: for a given share that is not more than 0 and at most 1.
    """
    if given is not None:
        check(LEAST, most=1, share=given)
        return Share(value=given, measured="")
    known = utilization(step, kind)
    if known is None:
        return None
    low, high = round(known.low * 100), round(known.high * 100)
    return Share(value=known.share, measured=f" ({known.how}: {low} to {high} %, {known.measured_on})")


def unknown(facts: dict[str, object]) -> Estimate:
    """Return an estimate without a value that names the facts that are None."""
    return Estimate(
        value=None,
        assumptions=tuple(f"unknown: no source for the {name}" for name, fact in facts.items() if fact is None),
    )


def check(least: float, most: float = _MOST, **numbers: float | None) -> None:
    """Raise a ``ValueError`` that names the first number out of bounds; None passes."""
    for name, number in numbers.items():
        if number is not None and not least <= number <= most:
            bound = "more than 0" if least == LEAST else f"at least {least:g}"
            raise ValueError(f"{name} must be {bound} and at most {most:g}, not {number!r}")
