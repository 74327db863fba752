"""What to change so that a workload fits on a type: every change is tried out, none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_length, sequence_length
from eks_hardware.advisor.fitting.gates import learns, software_gates, weight_format
from eks_hardware.advisor.fitting.layout import Layout
from eks_hardware.advisor.model import Request
from eks_hardware.catalogue import InstanceType

_SHORTEST = 256
_FORMATS = ("fp8", "int8", "int4")

Fits = Callable[[Request, bool], Layout | None]
"""Tries a request on a type; with True as if its nodes could be joined. None where it does not fit."""

_Change = tuple[Request, str]


def find(request: Request, kind: InstanceType, fits: Fits) -> str | None:
    """The first change after which a workload fits on a type, in a sentence; None where none is known."""
    for changed, words in _training(request) if learns(request.workload) else _inference(request, kind):
        if any(gate.passed is False for gate in software_gates(changed, kind)):
            continue
        if layout := fits(changed, False):
            return words.format(devices=_devices(layout, kind))
    if learns(request.workload) and kind.accelerator and (layout := fits(request, True)):
        sharding = layout.parallelism.sharding
        how = f" with {sharding}" if sharding != "none" else ""
        devices = layout.parallelism.devices
        return f"{devices} x {kind.accelerator.name}{how} would hold it: take a type with EFA, which joins nodes"
    return None


def _devices(layout: Layout, kind: InstanceType) -> str:
    return f"{layout.parallelism.devices} x {kind.accelerator.name}" if kind.accelerator else "the node"


def _with(request: Request, **said: Any) -> Request:
    return replace(request, workload=request.workload.model_copy(update=said))


def _halves(value: int, least: int) -> Iterator[int]:
    """The powers of two below a value, descending: at most a dozen of them."""
    power = 1 << (max(value - 1, 1).bit_length() - 1)
    for _ in range(12):
        if power < least or power >= value:
            return
        yield power
        power //= 2


def _inference(request: Request, kind: InstanceType) -> Iterator[_Change]:
    workload = request.workload
    sequences, context = concurrent_sequences(workload), context_length(workload)
    for fewer in _halves(sequences, 1):
        yield _with(request, concurrent_sequences=fewer), f"concurrent_sequences {fewer} instead of {sequences} fits"
    for shorter in _halves(context, _SHORTEST):
        yield _with(request, context_length=shorter), f"context_length {shorter} instead of {context} fits"
    sizes = facts.memory()["formats"]["bytes"]
    now = weight_format(request, kind)
    for smaller in _FORMATS:
        if sizes[smaller] < sizes[now]:
            yield _with(request, precision=smaller), f"{smaller} weights fit on {{devices}}"


def _training(request: Request) -> Iterator[_Change]:
    workload = request.workload
    if workload.sharding not in (None, "zero-3"):
        yield _with(request, sharding="zero-3"), "sharding: zero-3 fits on {devices}"
        yield _with(request, sharding=None), "without that sharding it fits on {devices}"
    if not workload.activation_checkpointing:
        yield _with(request, activation_checkpointing=True), "activation_checkpointing: true fits"
    batch = batch_size(workload)
    for fewer in _halves(batch, 1):
        yield _with(request, batch_size=fewer), f"batch_size {fewer} instead of {batch} fits"
    if workload.optimizer in (None, "adamw"):
        yield _with(request, optimizer="adamw-8bit"), "optimizer: adamw-8bit fits on {devices}"
    if workload.task == "fine-tuning":
        methods = {"lora": ("qlora",), "qlora": ()}.get(workload.method or "full", ("lora", "qlora"))
        for method in methods:
            yield _with(request, method=method), f"method: {method} fits on {{devices}}"
    length = sequence_length(request)
    for shorter in _halves(length, _SHORTEST):
        yield _with(request, sequence_length=shorter), f"sequence_length {shorter} instead of {length} fits"
