"""Training in time: the fewest nodes on which a run finishes, and the plans above the limits."""

from __future__ import annotations

import math

from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.estimate import Speed, speed

_TRIES = 8
_MOST_NODES = 5000


def in_time(request: Request, fitter: Fitter, fit: Fit, *, tokens: int, longest: float) -> tuple[Fit, Speed]:
    """Return the smallest fit that trains the given tokens within ``longest`` hours, with its speed.

    ``fit`` is the one on the fewest nodes. If no number of nodes is fast enough, or the nodes cannot be joined, the
    result is the widest fit that was tried. It is still too slow.
    """
    fewest, estimated = fit.nodes, speed(request, fit)
    for _ in range(_TRIES):
        hours = estimated.hours_of(tokens)
        if hours is None or hours <= longest:
            break
        wanted = max(fit.nodes + 1, math.ceil(fit.nodes * hours / longest))
        if wanted > _MOST_NODES:
            break
        wider = fitter.on_nodes(fit.kind, wanted) or fitter.on_nodes(fit.kind, -(-wanted // fewest) * fewest)
        if wider is None:
            break
        fit, estimated = wider, speed(request, wider)
    # The layout on more nodes can be faster per node, so fewer nodes can be enough.
    for _ in range(_TRIES):
        hours = estimated.hours_of(tokens)
        wanted = fit.nodes if hours is None else math.ceil(fit.nodes * hours / longest)
        narrower = fitter.on_nodes(fit.kind, wanted) if fewest < wanted < fit.nodes else None
        if narrower is None or takes_longer(found := speed(request, narrower), tokens, longest):
            break
        fit, estimated = narrower, found
    return fit, estimated


def takes_longer(estimated: Speed, tokens: int, longest: float) -> bool:
    """Return whether some tokens take more than ``longest`` hours; no if the speed is unknown."""
    hours = estimated.hours_of(tokens)
    return hours is not None and hours > longest
