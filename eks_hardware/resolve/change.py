"""Change what was resolved, where no field of the strategy does."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from eks_hardware.resolve.model import CHANGED, Resolved
from eks_hardware.resolve.parts import Route, parts
from eks_hardware.resolve.strategy import ResolvedStrategy
from eks_hardware.suggestions import did_you_mean


def change(resolved: ResolvedStrategy, settings: Mapping[str, Any], *, because: str = CHANGED) -> ResolvedStrategy:
    """Return a copy of a resolved strategy with other values in it, each with the reason for it.

    Nothing else is derived again and no rule looks at the change: a setting that the strategy has a field for is better
    changed there. So is a name: addresses and the names of other things are made of it, and stay or move with it.

    Args:
        resolved: the strategy (:func:`resolve`).
        settings: values by the place that ``eks-hardware explain`` prints, such as
            ``node_groups[gpu].metadata_hop_limit``; maps and lists are taken as they are written in Python.
        because: why, for ``explained`` and everything that shows reasons.

    Raises:
        ValueError: ``SETTING_UNKNOWN`` when there is no such place, ``SETTING_TYPE`` when a value is not of its type.

    Examples:
        >>> resolved = resolve(strategy)
        >>> resolved = change(resolved, {"node_groups[system].max_unavailable": 2}, because="we drain by hand")
        >>> str(resolved.node_groups[0].why("max_unavailable"))
        'we drain by hand [caller]'
    """
    for place, value in settings.items():
        by_path = {part.path: part for part in parts(resolved)}
        path, _, field = place.rpartition(".")
        if path not in by_path:
            raise ValueError(f"SETTING_UNKNOWN {place}: {_instead(place, by_path)}")
        part = by_path[path]
        changed = part.value.changed(because=because, place=path, **{field: value})
        resolved = _put(resolved, part.route, changed)
    return resolved


def _instead(place: str, parts: Collection[str]) -> str:
    """What to write instead of an unknown place."""
    if place in parts:
        return "name one of its fields; eks-hardware explain prints them"
    whole = next((part for part in parts if place.startswith(f"{part}.")), None)
    if whole:
        field = re.split(r"[.\[]", place[len(whole) + 1 :], maxsplit=1)[0]
        return f"change the whole of {whole}.{field}"
    part = place.rpartition(".")[0] or place
    return f"there is no {part!r}; {did_you_mean(part, parts)}"


def _put(value: Any, route: Route, new: Resolved) -> Any:
    """``value`` with another object at the end of the route."""
    if not route:
        return new
    step, rest = route[0], route[1:]
    if isinstance(value, tuple):
        index = int(step)
        return (*value[:index], _put(value[index], rest, new), *value[index + 1 :])
    if isinstance(value, Mapping):
        return MappingProxyType({**value, str(step): _put(value[str(step)], rest, new)})
    return replace(cast(Any, value), **{str(step): _put(getattr(value, str(step)), rest, new)})
