"""Everything that a strategy puts on its cluster, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from eks_hardware.config.resolve import ResolvedStrategy
from eks_hardware.kubernetes import (
    controllers,
    device_plugins,
    gpu_operator,
    karpenter,
    kueue,
    monitoring,
    storage,
    teams,
)
from eks_hardware.kubernetes.model import Bundle, ChartRelease, ObjectRelease

Releases = Iterable[ChartRelease | ObjectRelease]

# One entry a module, each a function that yields its releases.
_PARTS: tuple[Callable[[ResolvedStrategy], Releases], ...] = (
    karpenter.releases,
    storage.releases,
    device_plugins.releases,
    gpu_operator.releases,
    monitoring.releases,
    teams.releases,
    controllers.releases,
    kueue.releases,
)


def bundle(resolved: ResolvedStrategy) -> Bundle:
    """Derive the charts, values and objects of a strategy.

    Plain data from plain data: the same strategy gives the same bundle, whichever way it is delivered.
    """
    releases = [release for part in _PARTS for release in part(resolved)]
    names = [release.name for release in releases]
    present = [replace(each, after=tuple(name for name in _after(each, names) if name in names)) for each in releases]
    return Bundle(tuple(_in_order(present)))


def _after(release: ChartRelease | ObjectRelease, names: Iterable[str]) -> tuple[str, ...]:
    """Node pools come last and go first: device plugins outlive the nodes that they serve."""
    if release.name == karpenter.RESOURCES:
        return tuple(name for name in names if name != release.name)
    return release.after


def _in_order(releases: list[ChartRelease | ObjectRelease]) -> Iterator[ChartRelease | ObjectRelease]:
    """Each release behind those it comes after, else in the order given."""
    waiting, done = list(releases), set[str]()
    while waiting:
        ready = next((each for each in waiting if done.issuperset(each.after)), None)
        if ready is None:
            raise ValueError(f"releases wait for each other: {', '.join(each.name for each in waiting)}")
        waiting.remove(ready)
        done.add(ready.name)
        yield ready
