"""Training in time: the fewest nodes on which a run finishes, and the plans above the limits."""

from __future__ import annotations

import math

from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.model import Fit, Request
from eks_hardware.advisor.speed.estimate import Speed, speed

_SECONDS_PER_HOUR = 3600
_TRIES = 8
_MOST_NODES = 5000


def in_time(request: Request, fitter: Fitter, fit: Fit, *, tokens: int, longest: float) -> tuple[Fit, Speed]:
    """Return the fit on the fewest nodes that train some tokens within ``longest`` hours, with its speed.

    ``fit`` is the one on the fewest nodes. If no number of nodes is fast enough, or the nodes cannot be joined, the
    result is the widest fit that was tried. It is still too slow.
    """
    fewest, estimated = fit.nodes, speed(request, fit)
    for _ in range(_TRIES):
        if not estimated.tokens_per_second or not takes_longer(estimated, tokens, longest):
            break
        hours = tokens / estimated.tokens_per_second / _SECONDS_PER_HOUR
        wanted = max(fit.nodes + 1, math.ceil(fit.nodes * hours / longest))
        if wanted > _MOST_NODES:
            break
        wider = fitter.on_nodes(fit.kind, wanted) or fitter.on_nodes(fit.kind, -(-wanted // fewest) * fewest)
        if wider is None:
            break
        fit, estimated = wider, speed(request, wider)
    return fit, estimated


def takes_longer(estimated: Speed, tokens: int, longest: float) -> bool:
    """Return whether some tokens take more than ``longest`` hours; no if the speed is unknown."""
    per_second = estimated.tokens_per_second
    return bool(per_second) and tokens / (per_second or 1) / _SECONDS_PER_HOUR > longest
