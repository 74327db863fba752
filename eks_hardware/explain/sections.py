"""The parts of a resolved strategy, in the order of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eks_hardware.explain.values import EMPTY, lines
from eks_hardware.resolve import Origin, Reason, Resolved, ResolvedStrategy
from eks_hardware.resolve.parts import parts

KINDS = ("strategy", "network", "cluster", "addons", "groups", "karpenter", "pools", "charts", "storage", "provider")
"""The kinds of parts, by their names for ``--section``."""


@dataclass(frozen=True)
class Row:
    """One value with its reason. The ``field`` of a nested value contains a dot: ``disruption.expire_after``."""

    field: str
    value: object
    reason: Reason

    @property
    def lines(self) -> tuple[str, ...]:
        """The value as text."""
        return lines(self.value)

    @property
    def is_set(self) -> bool:
        """Whether the value is set."""
        return not (self.value is None or self.value == "" or self.lines == (EMPTY,))

    @property
    def derived(self) -> bool:
        """Whether the value is derived, not set in the file."""
        return self.reason.origin is not Origin.STRATEGY


@dataclass(frozen=True)
class Section:
    """One resolved object: kind, path and name as in :class:`eks_hardware.resolve.parts.Part`, and its values."""

    kind: str
    path: str
    name: str
    rows: tuple[Row, ...]


def sections(resolved: ResolvedStrategy) -> tuple[Section, ...]:
    """Return every value of a resolved strategy, each once."""
    return tuple(
        Section(part.kind, part.path, part.name, tuple(_rows(part.value)))
        for part in parts(resolved)
        if part.kind in KINDS
    )


_WITHIN = ("disruption",)
"""Resolved objects that are shown within their parent."""


def _rows(part: Resolved, prefix: str = "") -> Iterator[Row]:
    for field, value, reason in part.explained():
        if field in _WITHIN:
            yield from _rows(value, f"{prefix}{field}.")
        elif not _has_section(value):
            yield Row(f"{prefix}{field}", value, reason)


def _has_section(value: object) -> bool:
    """Return whether a value has its own section, because it is a resolved object."""
    if isinstance(value, Resolved):
        return True
    items = list(value.values()) if isinstance(value, Mapping) else value
    return isinstance(items, tuple | list) and bool(items) and all(isinstance(item, Resolved) for item in items)
