"""Charts with their values, and objects, in the order of installation."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from eks_hardware.suggestions import did_you_mean

Object = Mapping[str, Any]
"""A Kubernetes object as the API accepts it."""

# https://github.com/helm/helm/blob/v3.18.5/pkg/chartutil/validate_name.go
_RELEASE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 53


@dataclass(frozen=True, kw_only=True)
class Release:
    """Base class of everything that is installed under one name: :class:`ChartRelease` and :class:`ObjectRelease`.

    Attributes:
        name: name of the release, unique in the cluster.
        namespace: namespace of the release.
        after: names of releases that are installed before it and uninstalled after it.
        last: install it after all other releases, except those that come after it.
        waits_for_addons: install it after the add-ons that need nodes. A release that uses neither the cluster's DNS
            nor a volume need not wait for CoreDNS and storage drivers.
        timeout_seconds: timeout of installing and uninstalling, in seconds.

    Examples:
        >>> releases: tuple[Release, ...] = bundle(resolved).releases
        >>> {each.name: each.after for each in releases}["karpenter"]
        ('karpenter-crd',)
    """

    name: str
    namespace: str
    after: tuple[str, ...] = ()
    last: bool = False
    waits_for_addons: bool = True
    timeout_seconds: int = 600


@dataclass(frozen=True, kw_only=True)
class ChartRelease(Release):
    """A third-party chart, as a release.

    Attributes:
        key: key of the chart in ``config/facts/charts.json``; empty for a chart that a program adds.
        chart: name of the chart in its repository.
        repository: ``https://...``, or ``oci://...`` without the chart's name.
        version: version of the chart.
        values: all values of the chart; may contain references (:class:`Reference`).

    Examples:
        >>> keda = ChartRelease(
        ...     name="keda",
        ...     namespace="keda",
        ...     chart="keda",
        ...     repository="https://kedacore.github.io/charts",
        ...     version="2.21.1",
        ...     values={"operator": {"replicaCount": 2}},
        ... )
        >>> keda.after
        ()
    """

    chart: str
    repository: str
    version: str
    values: Mapping[str, Any]
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class ObjectRelease(Release):
    """Objects as a release, delivered in the local chart ``eks_hardware/kubernetes/chart``.

    Attributes:
        objects: objects as the Kubernetes API accepts them; may contain references (:class:`Reference`).

    Examples:
        >>> namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
        >>> ObjectRelease(name="research", namespace="kube-system", objects=(namespace,)).objects[0]["kind"]
        'Namespace'
    """

    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Bundle:
    """All releases, in an order that respects every ``after``.

    Attributes:
        releases: the releases, in the order of installation.

    Examples:
        >>> releases = bundle(resolved).plus(ObjectRelease(name="research", namespace="kube-system", objects=()))
        >>> "research" in releases.release("karpenter-resources").after
        True
    """

    releases: tuple[ChartRelease | ObjectRelease, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the releases, in order."""
        return tuple(release.name for release in self.releases)

    @property
    def charts(self) -> tuple[ChartRelease, ...]:
        """The charts, in order."""
        return tuple(release for release in self.releases if isinstance(release, ChartRelease))

    @property
    def object_releases(self) -> tuple[ObjectRelease, ...]:
        """The releases of objects, in order."""
        return tuple(release for release in self.releases if isinstance(release, ObjectRelease))

    @property
    def objects(self) -> tuple[Object, ...]:
        """Every object, in the order of installation."""
        return tuple(manifest for release in self.object_releases for manifest in release.objects)

    def release(self, name: str) -> ChartRelease | ObjectRelease:
        """Return the release with a name.

        Args:
            name: name of the release.

        Raises:
            KeyError: there is no such release.
        """
        for each in self.releases:
            if each.name == name:
                return each
        raise KeyError(name)

    def plus(self, *added: ChartRelease | ObjectRelease) -> Bundle:
        """Return a bundle with more releases, each after those that it lists in ``after``.

        Karpenter's node pools stay last, so your daemonsets run on their nodes before the first pod does. A chart whose
        pods need such nodes must set ``after=("karpenter-resources",)``.

        Args:
            added: releases in any order; one may come after another.

        Raises:
            ValueError: ``RELEASE_NAME`` for a name that Helm does not accept or that is in use, ``RELEASE_AFTER`` if a
                release comes after one that does not exist, ``RELEASE_CYCLE`` if releases wait for each other.
        """
        names = list(self.names)
        for release in added:
            if len(release.name) > _LONGEST_NAME or not _RELEASE_NAME.fullmatch(release.name):
                raise ValueError(
                    f"RELEASE_NAME {release.name!r}: a name must have only lower-case letters, digits, - and ., and at "
                    f"most {_LONGEST_NAME} characters"
                )
            if release.name in names:
                raise ValueError(f"RELEASE_NAME {release.name!r} is in use; choose another name, or use changed()")
            names.append(release.name)
        for release in added:
            for name in release.after:
                if name not in names:
                    raise ValueError(
                        f"RELEASE_AFTER {release.name}: there is no release {name!r}; {did_you_mean(name, names)}"
                    )
        return in_order((*self.releases, *added))

    def changed(self, name: str, /, **fields: Any) -> Bundle:
        """Return a bundle with changed fields of one release: ``changed("karpenter", timeout_seconds=1800)``.

        Args:
            name: name of the release.
            fields: changed fields of the :class:`ChartRelease` or :class:`ObjectRelease`.

        Raises:
            ValueError: ``RELEASE_NAME`` if there is no such release, ``RELEASE_FIELD`` if it has no such field,
                ``RELEASE_CYCLE`` if some releases now wait for each other.
        """
        if name not in self.names:
            raise ValueError(f"RELEASE_NAME {name!r}: there is no such release; {did_you_mean(name, self.names)}")
        release = self.release(name)
        known = {each.name for each in dataclasses.fields(release)}
        for field in fields:
            if field not in known:
                raise ValueError(f"RELEASE_FIELD {name}.{field}: there is no such field; {did_you_mean(field, known)}")
        other = replace(release, **fields)
        return in_order(tuple(other if each.name == name else each for each in self.releases))


def in_order(releases: Iterable[ChartRelease | ObjectRelease]) -> Bundle:
    """Sort releases after those that they depend on, otherwise in the given order.

    A release with ``last`` comes after all others, except releases that come after it, and other ``last`` ones.
    """
    given = list(releases)
    last = {release.name for release in given if release.last}
    behind = _behind(given, last)
    first = tuple(release.name for release in given if release.name not in last | behind)
    return Bundle(tuple(_sorted([replace(release, after=first) if release.last else release for release in given])))


def among_themselves(releases: Iterable[ChartRelease | ObjectRelease]) -> Bundle:
    """Sort releases; names in ``after`` that are not installed are ignored."""
    given = list(releases)
    names = {release.name for release in given}
    return in_order(replace(release, after=tuple(name for name in release.after if name in names)) for release in given)


def _behind(releases: Sequence[ChartRelease | ObjectRelease], names: AbstractSet[str]) -> AbstractSet[str]:
    """Return the releases that come after any of the names, directly or indirectly, without the names themselves."""
    behind: AbstractSet[str] = frozenset()
    while (
        more := {release.name for release in releases if not (names | behind).isdisjoint(release.after)}
        - names
        - behind
    ):
        behind |= more
    return behind


def _sorted(releases: list[ChartRelease | ObjectRelease]) -> Iterator[ChartRelease | ObjectRelease]:
    waiting, done = list(releases), set[str]()
    while waiting:
        ready = next((release for release in waiting if done.issuperset(release.after)), None)
        if ready is None:
            raise ValueError(f"RELEASE_CYCLE releases wait for each other: {', '.join(_in_cycle(waiting))}")
        waiting.remove(ready)
        done.add(ready.name)
        yield ready


def _in_cycle(waiting: Iterable[ChartRelease | ObjectRelease]) -> list[str]:
    """Return the names of releases that wait for each other, without those that only wait for them."""
    after = {release.name: release.after for release in waiting}
    while ends := [name for name in after if not any(name in names for names in after.values())]:
        after = {name: names for name, names in after.items() if name not in ends}
    return list(after)
