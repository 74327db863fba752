"""All charts and objects of a strategy, in order."""

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

# One entry per module: the function that yields the module's releases.
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

    The bundle is plain data and depends only on the strategy, not on the delivery.

    Args:
        resolved: the strategy (``eks_hardware.resolve.resolve``).

    Examples:
        >>> bundle(resolved).names[:2]
        ('karpenter-crd', 'karpenter')
    """
    return among_themselves(release for part in _PARTS for release in part(resolved))
