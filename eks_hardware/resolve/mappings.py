"""Nested mappings: merge two of them, or freeze one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Return ``below`` with ``above`` merged over it: maps are merged, other values replaced.

    >>> merged({"env": {"A": "1", "B": "2"}}, {"env": {"B": "3"}})
    {'env': {'A': '1', 'B': '3'}}
    """
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        both_maps = isinstance(under, Mapping) and isinstance(value, Mapping)
        result[key] = merged(under, value) if both_maps else value  # type: ignore[arg-type]
    return result


def frozen(value: object) -> Any:
    """Return ``value`` with all mappings read-only and all lists as tuples, at any depth.

    >>> frozen({"env": ["A"]})["env"]
    ('A',)
    """
    if value is None or isinstance(value, (str, int)):  # most values: checking for a mapping first takes longer
        return value
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value
