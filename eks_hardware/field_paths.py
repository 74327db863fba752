"""Paths of fields, as in findings and reasons: ``node_groups[gpu].instance_types[0]``.

A step is the name of a field, or a label in brackets: the name or the index of a list item, or a key that is not a
plain word (``tags[a/b]``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def steps(path: str) -> list[str]:
    """Return the steps of a path, with labels in brackets: ``node_groups``, ``[gpu]``, ``efa``."""
    return _STEP.findall(path)


def split(path: str) -> list[str]:
    """Return the steps of a path: ``node_groups``, ``gpu``, ``efa``."""
    return [step[1:-1] if step.startswith("[") else step for step in steps(path)]


def is_word(key: str) -> bool:
    """Return whether a key is written after a dot rather than in brackets."""
    return bool(_WORD.fullmatch(key))


def below(path: str, *keys: str) -> str:
    """Return the path of a key of the mapping at ``path``, or of a nested key: ``tags.team``, ``tags[a/b]``."""
    for key in keys:
        path = item(path, key) if not is_word(key) else f"{path}.{key}" if path else key
    return path


def item(path: str, label: str | int) -> str:
    """Return the path of an item of the list at ``path``; ``label`` is the item's name or index."""
    return f"{path}[{label}]"


def items(path: str, values: Iterable[T]) -> Iterator[tuple[str, T]]:
    """Yield the items of the list at ``path``, each with its path by index."""
    return ((item(path, index), value) for index, value in enumerate(values))


def node_group(name: str, *fields: str) -> str:
    """Return the path of a node group, or of one of its fields: ``node_groups[gpu].disk``."""
    return ".".join([item("node_groups", name), *fields])


def node_pool(name: str, *fields: str) -> str:
    """Return the path of a node pool, or of one of its fields: ``karpenter.node_pools[gpu].disk``."""
    return ".".join([item("karpenter.node_pools", name), *fields])


def list_of(path: str) -> str:
    """Return the path of the first list in a path, such as ``karpenter.node_pools``; without a list, the whole path."""
    return path.partition("[")[0]


def name_of_item(path: str) -> str:
    """Return the label of the first list item in a path, such as ``gpu``; empty if the path has no list."""
    return path.partition("[")[2].partition("]")[0]


def section(path: str) -> str:
    """Return the top-level field of a path, such as ``karpenter``."""
    return split(path)[0]
