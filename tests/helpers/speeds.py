"""The speed functions, with the numbers of a run as named arguments."""

from __future__ import annotations

from typing import Any

from eks_hardware.advisor.speed import throughput
from eks_hardware.advisor.speed.throughput import (
    Devices,
    Estimate,
    Weights,
)
from eks_hardware.catalogue.performance import delay, utilization

TRAINING: Any = {
    "active_parameters": 8e9,
    "tokens": 1e9,
    "count": 8,
    "peak_tflops_each": 1000,
    "precision": "bf16",
    "attention_size": 4096,
    "attended_tokens": 0,
    "recompute": False,
}


PREFILL: Any = {
    "active_parameters": 10e9,
    "bytes_per_parameter": 2,
    "prompt_tokens": 1000,
    "count": 1,
    "bandwidth_gb_per_second_each": 1000,
    "peak_tflops_each": 1000,
}


def _devices(numbers: dict[str, Any]) -> Devices:
    """Remove the devices from the numbers of a run, and return them."""
    names = ("count", "bandwidth_gb_per_second_each", "peak_tflops_each", "kind", "name", "link_gb_per_second")
    return Devices(**{name: numbers.pop(name) for name in names if name in numbers})


def _weights(numbers: dict[str, Any]) -> Weights:
    """Remove the weights and return them; all are active by default."""
    active, total = numbers.pop("active_parameters"), numbers.pop("total_parameters", None)
    each = numbers.pop("bytes_per_parameter")
    more = {name: numbers.pop(name) for name in _OF_WEIGHTS & numbers.keys()}
    return Weights(active_parameters=active, total_parameters=total or active, bytes_per_parameter=each, **more)


_OF_WEIGHTS = {"shared_parameters", "output_parameters", "precision", "layers", "experts", "width"}


def training_seconds(**run: Any) -> Estimate:
    return throughput.training_seconds(_devices(run), **run)


def decode_tokens_per_second(**run: Any) -> Estimate:
    return throughput.decode_tokens_per_second(_devices(run), _weights(run), **run)


def prefill_seconds(**run: Any) -> Estimate:
    return throughput.prefill_seconds(_devices(run), _weights(run), **run)


def encoding_seconds(**run: Any) -> Estimate:
    return throughput.encoding_seconds(_devices(run), _weights(run), **run)


def share_of(step: str, kind: str = "gpu", name: str | None = None) -> float:
    """Return the share of a peak that a step reaches."""
    row = utilization(step, kind, name)
    assert row is not None
    return row["share"]


def delay_of(step: str, kind: str = "gpu", name: str | None = None) -> float:
    """Return a delay."""
    row = delay(step, kind, name)
    assert row is not None
    return row["microseconds"] / 1e6


def value(estimate: Estimate) -> float:
    assert estimate.value is not None, estimate.assumptions
    return estimate.value
