"""Replicas for the users of a model: the number and size that need the fewest nodes, each on one node if possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eks_hardware.advisor.fitting.fit import Fitter
from eks_hardware.advisor.model import Fit, Miss
from eks_hardware.advisor.speed.estimate import Speed
from eks_hardware.advisor.speed.latency import quick_enough
from eks_hardware.catalogue import InstanceType

_STEP = 1.25


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Replicas of one size."""

    fit: Fit  # of one replica
    speed: Speed
    count: int
    sequences: int  # of one replica
    nodes: int  # of all replicas

    @property
    def spreads(self) -> bool:
        """Whether each replica spreads the experts of a mixture over devices that exchange tokens."""
        return self.fit.parallelism.expert > 1

    @property
    def joins(self) -> bool:
        """Whether each replica needs several nodes."""
        return self.fit.nodes > 1

    @property
    def effort(self) -> tuple[bool, int, bool]:
        """Whether replicas join nodes, the number of nodes, and whether replicas spread their experts."""
        return self.joins, self.nodes, self.spreads


def replicas(fitter_for: Callable[[int], Fitter], kind: InstanceType, sequences: int) -> Replicas | Miss:
    """Return the replicas on a type for some concurrent sequences, or the miss of the smallest replica.

    ``fitter_for`` returns the fitter for a replica with a number of sequences and the latency targets of the users.
    """
    one = fitter_for(1)
    least = one.on(kind)
    # More sequences need more memory on the same devices. Only experts can be spread over more devices.
    if isinstance(least, Miss) and (least.gates or not one.request.shape.routed_parameters):
        return least
    best: Replicas | None = None
    missed: Miss | None = None
    for count in _counts(sequences):
        each = math.ceil(sequences / count)
        found = _one(fitter_for(each), kind)
        if isinstance(found, Miss):
            missed = found
            continue
        fit, estimated = found
        tried = Replicas(fit=fit, speed=estimated, count=count, sequences=each, nodes=fit.nodes_for(count))
        if best is None or tried.effort < best.effort:
            best = tried
        elif not best.joins and not best.spreads:
            break  # smaller replicas repeat the weights more often
        if best.effort == (False, 1, False):
            break
    if best is None and missed is None:
        raise AssertionError("there is at least one replica")
    return best or missed  # type: ignore[return-value]


def _one(fitter: Fitter, kind: InstanceType) -> tuple[Fit, Speed] | Miss:
    fitted = fitter.on(kind)
    return fitted if isinstance(fitted, Miss) else quick_enough(fitter, fitted)


def _counts(sequences: int) -> Iterator[int]:
    """Yield numbers of replicas, from one to one for each sequence."""
    count = 1
    while count < sequences:
        yield count
        count = max(count + 1, int(count * _STEP))
    yield sequences
