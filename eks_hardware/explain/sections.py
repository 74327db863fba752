"""The parts of a resolved strategy, in the order of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware.explain.values import EMPTY, lines
from eks_hardware.resolve import Origin, Reason, Resolved, ResolvedStrategy

KINDS = (
    "strategy",
    "network",
    "cluster",
    "addons",
    "groups",
    "karpenter",
    "pools",
    "charts",
    "storage",
    "provider",
)
"""The parts, as ``--section`` names them."""


@dataclass(frozen=True)
class Row:
    """One value.

    Attributes:
        field: its name; of a value within another one with a dot: ``disruption.expire_after``.
        value: the value.
        reason: why it is what it is.
    """

    field: str
    value: Any
    reason: Reason

    @property
    def lines(self) -> tuple[str, ...]:
        """The value for people."""
        return lines(self.value)

    @property
    def is_set(self) -> bool:
        """Whether there is a value at all."""
        return not (self.value is None or self.value == "" or self.lines == (EMPTY,))

    @property
    def derived(self) -> bool:
        """Whether it is not what the file says."""
        return self.reason.origin is not Origin.STRATEGY


@dataclass(frozen=True)
class Section:
    """One resolved object.

    Attributes:
        kind: one of ``KINDS``.
        path: its place in the strategy: ``node_groups[gpu]``.
        name: of the group, pool, add-on or chart; empty where there is one of its kind.
        rows: its values.
    """

    kind: str
    path: str
    name: str
    rows: tuple[Row, ...]


def sections(resolved: ResolvedStrategy) -> tuple[Section, ...]:
    """Every value of a resolved strategy, each once."""
    return tuple(_sections(resolved))


def _sections(resolved: ResolvedStrategy) -> Iterator[Section]:
    yield _section("strategy", "strategy", resolved)
    yield _section("network", "network", resolved.network)
    yield _section("cluster", "cluster", resolved.cluster)
    for addon in resolved.cluster.addons:
        yield _section("addons", f"cluster.addons.{addon.name}", addon, addon.name)
    for group in resolved.node_groups:
        yield _section("groups", f"node_groups[{group.name}]", group, group.name)
    if resolved.karpenter:
        yield _section("karpenter", "karpenter", resolved.karpenter)
    for pool in resolved.node_pools:
        yield _section("pools", f"karpenter.node_pools[{pool.name}]", pool, pool.name)
    yield _section("charts", "kubernetes", resolved.kubernetes)
    for key, chart in resolved.kubernetes.charts.items():
        yield _section("charts", f"kubernetes.charts.{key}", chart, key)
    for role in resolved.kubernetes.service_roles:
        yield _section("charts", f"kubernetes.service_roles[{role.key}]", role, role.key)
    yield _section("storage", "storage", resolved.storage)
    for name in ("fsx_lustre", "efs"):
        if system := getattr(resolved.storage, name):
            yield _section("storage", f"storage.{name}", system, name)
    yield _section("provider", "aws", resolved.provider)


_WITHIN = ("disruption",)
"""Resolved objects that are shown within the one that has them."""


def _section(kind: str, path: str, part: Resolved, name: str = "") -> Section:
    return Section(kind, path, name, tuple(_rows(part)))


def _rows(part: Resolved, prefix: str = "") -> Iterator[Row]:
    for field, value, reason in part.explained():
        if field in _WITHIN:
            yield from _rows(value, f"{prefix}{field}.")
        elif not _has_section(value):
            yield Row(f"{prefix}{field}", value, reason)


def _has_section(value: Any) -> bool:
    """Whether a value is shown on its own: what is resolved within another."""
    if isinstance(value, Resolved):
        return True
    items = list(value.values()) if isinstance(value, Mapping) else value
    return isinstance(items, tuple | list) and bool(items) and all(isinstance(each, Resolved) for each in items)
