"""Choose the cheapest training layout: the one with the fewest device hours per token."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.estimate import TrainingPass, training_pass

# More nodes must save at least this share of device hours: estimates are not more exact.
_WORTH = 0.02


def cheapest(request: Request, fits: Iterator[Fit]) -> Fit:
    """Return the training fit with the fewest device hours per token, and of those the one on the fewest nodes.

    ``fits`` has at least one fit on one instance type, fewest nodes first. The first is returned for anything but
    training, and if no device waits for weights: computation alone needs at least as many device hours.
    """
    best = next(fits)
    if not request.workload.learns or best.kind.accelerator is None:
        return best
    one = training_pass(request, best)
    least = _device_seconds(one, best)
    while least is not None and one.waits:
        other = next(fits, None)
        if other is None:
            break
        tried = training_pass(request, other)
        seconds = _device_seconds(tried, other)
        if seconds is not None and seconds < least * (1 - _WORTH):
            best, one, least = other, tried, seconds
    return best


def _device_seconds(one: TrainingPass, fit: Fit) -> float | None:
    """Return device seconds per token."""
    per_second = one.tokens_per_second
    return None if per_second is None else fit.devices / per_second
