"""Everything that a strategy puts on its cluster, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
from eks_hardware.kubernetes.model import Bundle, ChartRelease, ObjectRelease, among_themselves
from eks_hardware.resolve import ResolvedStrategy

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

    Args:
        resolved: the strategy (``eks_hardware.resolve.resolve``).

    Examples:
        >>> bundle(resolved).names[:2]
        ('karpenter-crd', 'karpenter')
    """
    return among_themselves(release for part in _PARTS for release in part(resolved))
