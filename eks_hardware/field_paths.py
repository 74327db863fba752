"""Paths of fields, as findings and reasons name them: ``node_groups[gpu].instance_types[0]``.

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
    """The steps of a path, labels in their brackets: ``node_groups``, ``[gpu]``, ``efa``."""
    return _STEP.findall(path)


def split(path: str) -> list[str]:
    """The steps of a path: ``node_groups``, ``gpu``, ``efa``."""
    return [step[1:-1] if step.startswith("[") else step for step in steps(path)]


def is_word(key: str) -> bool:
    """Whether a key goes behind a dot, not in brackets."""
    return bool(_WORD.fullmatch(key))


def below(path: str, *keys: str) -> str:
    """The path of a key of the mapping at ``path``, or of a key further below: ``tags.team``, ``tags[a/b]``."""
    for key in keys:
        path = item(path, key) if not is_word(key) else f"{path}.{key}" if path else key
    return path


def item(path: str, label: str | int) -> str:
    """The path of an item of the list at ``path``; ``label`` is its name or its index."""
    return f"{path}[{label}]"


def items(path: str, values: Iterable[T]) -> Iterator[tuple[str, T]]:
    """The items of the list at ``path``, each behind its path by index."""
    return ((item(path, index), value) for index, value in enumerate(values))


def node_group(name: str, *fields: str) -> str:
    """The path of a node group, or of a field of it: ``node_groups[gpu].disk``."""
    return ".".join([item("node_groups", name), *fields])


def node_pool(name: str, *fields: str) -> str:
    """The path of a node pool, or of a field of it: ``karpenter.node_pools[gpu].disk``."""
    return ".".join([item("karpenter.node_pools", name), *fields])


def list_of(path: str) -> str:
    """The first list on the way, as ``karpenter.node_pools``; the path itself where there is none."""
    return path.partition("[")[0]


def name_of_item(path: str) -> str:
    """The label of the first list item on the way, as ``gpu``; empty where there is none."""
    return path.partition("[")[2].partition("]")[0]


def section(path: str) -> str:
    """The field at the top of the file, as ``karpenter``."""
    return split(path)[0]
