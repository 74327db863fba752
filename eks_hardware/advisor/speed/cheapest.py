"""Which of the layouts that fit trains at the least price: that of the fewest device hours for a token."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.advisor.fitting.gates import learns
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.estimate import TrainingPass, training_pass

# More nodes are not worth it for a smaller saving of device hours than this share: estimates are not that exact.
_WORTH = 0.02


def cheapest(request: Request, fits: Iterator[Fit]) -> Fit:
    """The fit of training with the fewest device hours for a token, and of those the one on the fewest nodes.

    ``fits`` are those on one instance type, fewest nodes first; at least one. The first is taken for anything but
    training, and where no device waits for weights: no layout needs fewer device hours than computing does.
    """
    best = next(fits)
    if not learns(request.workload) or best.kind.accelerator is None:
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
    """Device seconds for a token."""
    per_second = one.tokens_per_second
    return None if per_second is None else fit.devices / per_second
