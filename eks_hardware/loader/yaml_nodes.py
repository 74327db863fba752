"""The tree of a YAML file; every value has its line and column."""

from __future__ import annotations

import re
from collections import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from eks_hardware import field_paths
from eks_hardware.findings import Position
from eks_hardware.printable import shown


@dataclass(slots=True, eq=False)
class Scalar:
    """A value; ``raw`` is its text as written, and ``plain_style`` is true if it has no quotes."""

    height: ClassVar[int] = 1
    size: ClassVar[int] = 1

    value: object
    raw: str
    plain_style: bool
    position: Position

    def plain(self) -> object:
        """Return the value as Python data."""
        return self.value


@dataclass(slots=True, eq=False)
class Sequence:
    """A list; ``size`` is the number of values in it and ``height`` the number of levels, with expanded aliases."""

    items: list[Node]
    position: Position
    size: int = 1
    height: int = 1

    def plain(self) -> object:
        """Return the list as Python data."""
        return [item.plain() for item in self.items]

    def find(self, label: str) -> Node | None:
        """Return the item with the name ``label``, otherwise the one at index ``label``."""
        for item in self.items:
            if name_of(item) == label:
                return item
        index = index_of(label)
        return self.items[index] if index is not None and index < len(self.items) else None


class Entry(NamedTuple):
    """One key of a mapping: the key's position, and its value."""

    key_position: Position
    node: Node


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping; ``removed`` has the positions where an overlay reset keys with ``null``."""

    entries: dict[str, Entry]
    position: Position
    size: int = 1
    height: int = 1
    removed: dict[str, Position] = field(default_factory=dict)

    def plain(self) -> Any:
        """Return the mapping as Python data."""
        return {key: entry.node.plain() for key, entry in self.entries.items()}

    def get(self, key: str) -> Node | None:
        """Return the value of ``key``."""
        entry = self.entries.get(key)
        return entry.node if entry else None


@dataclass(slots=True, eq=False)
class Faulty:
    """A value that already has a finding; errors of a model about it are dropped."""

    height: ClassVar[int] = 1
    size: ClassVar[int] = 1

    position: Position

    def plain(self) -> object:
        """Return None."""
        return None


Node = Scalar | Sequence | Mapping | Faulty

_LABEL = re.compile(r"[^\[\]\s]{1,253}")


def name_of(node: Node | None) -> str | None:
    """Return the ``name`` of a list item, if it has one and it is text."""
    if isinstance(node, Mapping):
        name = node.get("name")
        if isinstance(name, Scalar) and isinstance(name.value, str) and name.value:
            return name.value
    return None


def index_of(label: str) -> int | None:
    """Return the index for a label in brackets; None if the label is not an index."""
    return int(label) if label.isascii() and label.isdigit() and len(label) < 7 else None


def child_of(node: Node | None, part: str | int) -> Node | None:
    """Return the value one step down; None if it does not exist."""
    if isinstance(node, Mapping):
        return node.get(str(part))
    if isinstance(node, Sequence):
        if isinstance(part, str):
            return node.find(part)
        return node.items[part] if 0 <= part < len(node.items) else None
    return None


def changed(node: Node, labels: abc.Sequence[str], change: Callable[[Node], Node]) -> Node:
    """Return a copy of the tree with the value at a path changed; the same tree if the path has no value."""
    if not labels:
        return change(node)
    label, *rest = labels
    if isinstance(node, Mapping) and label in node.entries:
        entry = node.entries[label]
        entries = {**node.entries, label: Entry(entry.key_position, changed(entry.node, rest, change))}
        return Mapping(entries, node.position, removed=node.removed)
    if isinstance(node, Sequence):
        child = node.find(label)
        return Sequence([changed(item, rest, change) if item is child else item for item in node.items], node.position)
    return node


def path_below(path: str, parent: Node | None, part: str | int) -> str:
    """Return ``path`` with one more step; a list item with a name gets the name instead of the index."""
    if isinstance(part, str):
        return field_paths.below(path, part if field_paths.is_word(part) else shown(part))
    name = name_of(child_of(parent, part)) if isinstance(parent, Sequence) else None
    return field_paths.item(path, name if name and name.isprintable() and _LABEL.fullmatch(name) else part)
