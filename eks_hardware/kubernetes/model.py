"""What is installed on a cluster: charts with their values, and objects, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
"""A Kubernetes object as the API takes it."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One Helm release.

    Attributes:
        name: of the release, unique in the cluster.
        namespace: that it is installed into.
        after: names of releases that have to be installed before it, and are uninstalled after it.
        timeout_seconds: how long installing and uninstalling may take.
    """

    name: str
    namespace: str
    after: tuple[str, ...] = ()
    timeout_seconds: int = 600


@dataclass(frozen=True, kw_only=True)
class ChartRelease(Release):
    """A chart of someone else's.

    Attributes:
        key: of the chart in ``config/facts/charts.json``.
        repository: ``https://...``, or ``oci://...`` without the chart's name.
        values: the whole of its values; may hold references (``eks_hardware.kubernetes.references``).
    """

    key: str
    chart: str
    repository: str
    version: str
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ObjectRelease(Release):
    """Objects of ours, which travel in the local chart ``eks_hardware/kubernetes/chart``."""

    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Bundle:
    """Everything that is installed, in an order that respects every ``after``."""

    releases: tuple[ChartRelease | ObjectRelease, ...]

    @property
    def charts(self) -> tuple[ChartRelease, ...]:
        return tuple(each for each in self.releases if isinstance(each, ChartRelease))

    @property
    def object_releases(self) -> tuple[ObjectRelease, ...]:
        return tuple(each for each in self.releases if isinstance(each, ObjectRelease))

    @property
    def objects(self) -> tuple[Object, ...]:
        """Every object of ours, in the order of installation."""
        return tuple(each for release in self.object_releases for each in release.objects)

    def release(self, name: str) -> ChartRelease | ObjectRelease:
        """Return the release of a name; ``KeyError`` for an unknown one."""
        for each in self.releases:
            if each.name == name:
                return each
        raise KeyError(name)
