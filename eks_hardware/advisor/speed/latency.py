"""Latency targets: whether they are met, and on how many devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from eks_hardware.advisor.fitting.fit import memory_of
from eks_hardware.advisor.measured.factors import measured_difference
from eks_hardware.advisor.model import Fit, Gate, Miss, Parallelism, Request
from eks_hardware.advisor.speed.estimate import Speed, speed
from eks_hardware.catalogue import Hardware

_SOURCE = "estimate: eks_hardware/advisor/speed/throughput.py"


def latency_gates(request: Request, speed: Speed) -> tuple[Gate, ...]:
    """Return a gate for each latency target of a workload. ``passed`` is None if the estimate is unknown."""
    wanted = request.workload.latency
    if wanted is None:
        return ()
    first = "the first token" if request.shape.generates is not False else "a result"
    targets = (
        (first, wanted.first_token_ms, speed.first_token_ms),
        ("each further token", wanted.per_token_ms, speed.per_token_ms),
    )
    return tuple(_gate(what, target, value) for what, target, value in targets if target is not None)


def quick_enough(request: Request, fit: Fit) -> tuple[Fit, Speed] | Miss:
    """Return the fit on the fewest devices of a node that meets the latency targets, with estimates, or a miss.

    ``fit`` is the one on the fewest devices with enough memory.
    """
    failed: tuple[Gate, ...] = ()
    for tried in (fit, *_wide_enough(request, fit)):
        estimated = speed(request, tried)
        failed = tuple(gate for gate in latency_gates(request, estimated) if gate.passed is False)
        if not failed:
            return tried, estimated
    most = fit.kind.accelerator.count if fit.kind.accelerator else 1
    over = f" on {most} devices" if most > 1 else ""
    return Miss(
        kind=fit.kind,
        gates=failed,
        text=f"{fit.kind.name}{over}: " + "; ".join(gate.text for gate in failed),
        remedy="allow more time, run fewer concurrent sequences, or use weights with fewer bits",
    )


def _wide_enough(request: Request, fit: Fit) -> Iterator[Fit]:
    if request.workload.latency:
        least = fit.parallelism.tensor
        yield from wider(
            request, fit, why=f"on {{devices}} devices to meet the latency target; {least} have enough memory"
        )


def fastest(request: Request, fit: Fit, estimated: Speed) -> tuple[Fit, Speed]:
    """Return the fit on the devices of a node that give one replica the most tokens per second, with its speed."""
    best = fit, estimated
    least = fit.parallelism.tensor
    for tried in wider(request, fit, why=f"on {{devices}} devices to be fast; {least} have enough memory"):
        estimate = speed(request, tried)
        if estimate.per_replica and estimate.per_replica > (best[1].per_replica or 0.0):
            best = tried, estimate
    return best


def wider(request: Request, fit: Fit, *, why: str) -> Iterator[Fit]:
    """Yield the same replica on more GPUs of its node: each GPU reads less. Neuron has only fixed degrees.

    ``why`` is a note on the fit, with ``{devices}`` for their number.
    """
    chip = fit.kind.accelerator
    if fit.nodes > 1 or not chip or fit.kind.hardware is not Hardware.NVIDIA_GPU:
        return
    tensor = 2 * fit.parallelism.tensor
    while tensor <= chip.count and request.shape.attention_heads % tensor == 0:
        layout = Parallelism(data=1, tensor=tensor, pipeline=1, sharding="none")
        parts = memory_of(request, fit.kind).parts(layout)
        parts = (*parts, *measured_difference(request, fit.kind, parts, training=False))
        yield replace(
            fit,
            devices=tensor,
            parallelism=layout,
            memory=parts,
            memory_gib=sum(part.gib for part in parts),
            replicas_per_node=max(1, chip.count // tensor),
            notes=(*fit.notes, why.format(devices=tensor)),
        )
        tensor *= 2


def _gate(what: str, target: float, value: float | None) -> Gate:
    if value is None:
        text = f"the time to {what} is unknown, but the target is {target:g} ms: measure it first"
        return Gate("LATENCY", None, text, _SOURCE)
    text = f"{what} takes an estimated {value:,.3g} ms; the target is {target:g} ms"
    return Gate("LATENCY", value <= target, text, _SOURCE)
