"""Paths of fields, as findings and reasons name them: ``node_groups[gpu].instance_types[0]``.

A step is the name of a field, or a label in brackets: the name or the index of a list item, or a key that is not a
plain word (``tags[a/b]``).
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def steps(path: str) -> list[str]:
    """The steps of a path, labels in their brackets.

    >>> steps("node_groups[gpu].scaling.max")
    ['node_groups', '[gpu]', 'scaling', 'max']
    """
    return _STEP.findall(path)


def split(path: str) -> list[str]:
    """The steps of a path, without dots and brackets.

    >>> split("node_groups[gpu].scaling.max")
    ['node_groups', 'gpu', 'scaling', 'max']
    """
    return [step[1:-1] if step.startswith("[") else step for step in steps(path)]


def is_word(key: str) -> bool:
    """Whether a key goes behind a dot, not in brackets."""
    return bool(_WORD.fullmatch(key))


def below(path: str, key: str) -> str:
    """The path of the key of a mapping that stands at ``path``.

    >>> below("node_groups[gpu]", "efa"), below("", "region"), below("tags", "a/b")
    ('node_groups[gpu].efa', 'region', 'tags[a/b]')
    """
    if not is_word(key):
        return item(path, key)
    return f"{path}.{key}" if path else key


def item(path: str, label: str | int) -> str:
    """The path of an item of the list at ``path``; ``label`` is its name or its index.

    >>> item("karpenter.node_pools", "gpu")
    'karpenter.node_pools[gpu]'
    """
    return f"{path}[{label}]"


def list_of(path: str) -> str:
    """The path of the first list on the way; the path itself where there is none.

    >>> list_of("karpenter.node_pools[gpu].taints[0]"), list_of("region")
    ('karpenter.node_pools', 'region')
    """
    return path.partition("[")[0]


def name_of_item(path: str) -> str:
    """The label of the first list item on the way; empty where there is none.

    >>> name_of_item("node_groups[gpu].taints[0]"), name_of_item("region")
    ('gpu', '')
    """
    return path.partition("[")[2].partition("]")[0]


def section(path: str) -> str:
    """The field at the top of the file.

    >>> section("karpenter.node_pools[gpu]"), section("node_groups[gpu].efa")
    ('karpenter', 'node_groups')
    """
    return split(path)[0]


def last(path: str) -> str:
    """The last step.

    >>> last("node_groups[gpu].scaling.max")
    'max'
    """
    return split(path)[-1]
