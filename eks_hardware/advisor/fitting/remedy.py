"""Find a change that makes a workload fit on a type. Every change is tested, none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import batch_size, concurrent_sequences, context_of, sequence_length
from eks_hardware.advisor.fitting.gates import software_gates, weight_format
from eks_hardware.advisor.fitting.layout import Layout
from eks_hardware.advisor.model import Request
from eks_hardware.catalogue import InstanceType

_SHORTEST = 256
_FORMATS = ("fp8", "int8", "int4")

Fits = Callable[[Request, bool], Layout | None]
"""Fits a request on a type; True assumes that its nodes can be joined. None if the request does not fit."""

_Change = tuple[Request, str]


def find(request: Request, kind: InstanceType, fits: Fits) -> str | None:
    """Return the first change that makes a workload fit on a type, as a sentence; None if there is none."""
    for changed, words in _training(request) if request.workload.learns else _inference(request, kind):
        if any(gate.passed is False for gate in software_gates(changed, kind)):
            continue
        if layout := fits(changed, False):
            return words.format(devices=_devices(layout, kind))
    if request.workload.learns and kind.accelerator and (layout := fits(request, True)):
        sharding = layout.parallelism.sharding
        how = f" with {sharding}" if sharding != "none" else ""
        devices = layout.parallelism.devices
        return f"it would fit on {devices} x {kind.accelerator.name}{how}: choose a type with EFA to join nodes"
    return None


def _devices(layout: Layout, kind: InstanceType) -> str:
    return f"{layout.parallelism.devices} x {kind.accelerator.name}" if kind.accelerator else "the node"


def _halves(value: int, least: int) -> Iterator[int]:
    """Yield up to 12 powers of two below a value, descending."""
    power = 1 << (max(value - 1, 1).bit_length() - 1)
    for _ in range(12):
        if power < least or power >= value:
            return
        yield power
        power //= 2


def _inference(request: Request, kind: InstanceType) -> Iterator[_Change]:
    workload = request.workload
    sequences, context = concurrent_sequences(workload), context_of(request)
    for fewer in _halves(sequences, 1):
        yield (
            request.with_workload(concurrent_sequences=fewer),
            f"it fits with concurrent_sequences: {fewer} instead of {sequences}",
        )
    for shorter in _halves(context, _SHORTEST):
        yield (
            request.with_workload(context_length=shorter),
            f"it fits with context_length: {shorter} instead of {context}",
        )
    sizes = facts.memory()["formats"]["bytes"]
    now = weight_format(request, kind)
    for smaller in _FORMATS:
        if sizes[smaller] < sizes[now]:
            yield request.with_workload(precision=smaller), f"it fits on {{devices}} with {smaller} weights"


def _training(request: Request) -> Iterator[_Change]:
    workload = request.workload
    if workload.sharding not in (None, "zero-3"):
        yield request.with_workload(sharding="zero-3"), "it fits on {devices} with sharding: zero-3"
        yield request.with_workload(sharding=None), "it fits on {devices} without this sharding"
    if workload.activation_checkpointing is not True:
        yield request.with_workload(activation_checkpointing=True), "it fits with activation_checkpointing: true"
    batch = batch_size(workload)
    for fewer in _halves(batch, 1):
        yield request.with_workload(batch_size=fewer), f"it fits with batch_size: {fewer} instead of {batch}"
    if workload.optimizer in (None, "adamw"):
        yield request.with_workload(optimizer="adamw-8bit"), "it fits on {devices} with optimizer: adamw-8bit"
    if workload.task == "fine-tuning":
        methods = {"lora": ("qlora",), "qlora": ()}.get(workload.method or "full", ("lora", "qlora"))
        for method in methods:
            yield request.with_workload(method=method), f"it fits on {{devices}} with method: {method}"
    length = sequence_length(request)
    for shorter in _halves(length, _SHORTEST):
        yield (
            request.with_workload(sequence_length=shorter),
            f"it fits with sequence_length: {shorter} instead of {length}",
        )
