"""Latency targets: whether they are met, and on how many devices."""

from __future__ import annotations

from itertools import chain

from eks_hardware import facts
from eks_hardware.advisor.fitting.defaults import answer_tokens, concurrent_sequences
from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.model import Fit, Gate, Miss, Request
from eks_hardware.advisor.speed.estimate import MS_PER_SECOND, Speed, speed
from eks_hardware.models.workload import Latency

_SOURCE = "estimate: eks_hardware/advisor/speed/throughput.py"
_WHOLE = 100  # milliseconds that are shown without decimals


def latency_gates(request: Request, speed: Speed) -> tuple[Gate, ...]:
    """Return a gate for each latency target of a workload. ``passed`` is None if the estimate is unknown."""
    wanted = request.workload.latency
    if wanted is None:
        return ()
    first = "the first token" if request.shape.generates is not False else "a result"
    targets = (
        (first, wanted.first_token_ms, speed.first_token_ms),
        ("each further token", wanted.per_token_ms, speed.per_token_ms),
        ("an answer under load from other users", *_answers(request, wanted, speed)),
    )
    return tuple(_gate(what, target, value) for what, target, value in targets if target is not None)


def _answers(request: Request, wanted: Latency, speed: Speed) -> tuple[float | None, float | None]:
    """Return the target and the estimated time of an answer, in milliseconds; (None, None) without users.

    While a server reads the prompt of one user, it generates nothing for the others.
    """
    answer = answer_tokens(request)
    if not request.workload.users or not answer or wanted.first_token_ms is None or wanted.per_token_ms is None:
        return None, None
    target = wanted.first_token_ms + answer * wanted.per_token_ms
    if not speed.per_replica:
        return target, None
    return target, MS_PER_SECOND * concurrent_sequences(request.workload) * answer / speed.per_replica


def quick_enough(fitter: Fitter, fit: Fit) -> tuple[Fit, Speed] | Miss:
    """Return the fit on the fewest devices of a node that meets the latency targets, with its estimated speed.

    Without such a fit, or if the speed is unknown, return a miss. ``fit`` is the fitter's own, on the fewest devices
    with enough memory.
    """
    request = fitter.request
    wider = fitter.wider(fit, "to meet the latency target") if request.workload.latency else ()
    failed: tuple[Gate, ...] = ()
    for tried in chain([fit], wider):
        estimated = speed(request, tried)
        gates = latency_gates(request, estimated)
        failed = tuple(gate for gate in gates if gate.passed is False)
        if failed:
            continue
        unsure = tuple(gate for gate in gates if gate.passed is None)
        # With a latency target, hardware of unknown speed is not recommended.
        return Miss(kind=fit.kind, gates=unsure, text=unsure[0].text) if unsure else (tried, estimated)
    most = fit.kind.accelerator.count if fit.kind.accelerator else 1
    over = f" on {most} devices" if most > 1 else ""
    fewer = ", run fewer concurrent sequences," if concurrent_sequences(request.workload) > 1 else ""
    return Miss(
        kind=fit.kind,
        gates=failed,
        text=f"{fit.kind.name}{over}: " + "; ".join(gate.text for gate in failed),
        remedy=f"allow more time{fewer} or use weights with fewer bits",
    )


def fastest(fitter: Fitter, fit: Fit, estimated: Speed) -> tuple[Fit, Speed]:
    """Return the fit on the devices of a node that make one replica clearly faster, with its speed."""
    best, gain = (fit, estimated), facts.ranking()["more_devices"]["least_times_the_speed"]
    for tried in fitter.wider(fit, "to be fast"):
        estimate = speed(fitter.request, tried)
        if estimate.per_replica and estimate.per_replica >= gain * (best[1].per_replica or 0.0):
            best = tried, estimate
    return best


def _gate(what: str, target: float, value: float | None) -> Gate:
    if value is None:
        text = f"the time to {what} is unknown, but the target is {target:g} ms: measure it first"
        return Gate("LATENCY", None, text, _SOURCE)
    shown = f"{value:,.0f}" if value >= _WHOLE else f"{value:.3g}"
    text = f"{what} takes an estimated {shown} ms; the target is {target:,g} ms"
    return Gate("LATENCY", value <= target, text, _SOURCE)
