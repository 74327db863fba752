"""Changes to resolved values for which the strategy has no field."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from eks_hardware.resolve.parts import Route, parts
from eks_hardware.resolve.strategy import ResolvedStrategy
from eks_hardware.resolve.values import CHANGED, Resolved
from eks_hardware.suggestions import did_you_mean


def change(resolved: ResolvedStrategy, settings: Mapping[str, object], *, because: str = CHANGED) -> ResolvedStrategy:
    """Return a copy of a resolved strategy with changed values, each with the given reason.

    Values that depend on them are not derived again, and no rule checks the change. If the strategy has a field for a
    setting, use that field. Set names in the strategy, too: addresses and the names of other resources depend on them.

    Args:
        resolved: the strategy (:func:`resolve`).
        settings: values by the place that ``eks-hardware explain`` prints, such as
            ``node_groups[gpu].metadata_hop_limit``; write maps and lists as in Python.
        because: the reason, shown by ``explained`` and all commands that show reasons.

    Raises:
        ValueError: ``SETTING_UNKNOWN`` if there is no such place, ``SETTING_TYPE`` if a value has the wrong type.

    Examples:
        >>> resolved = resolve(strategy)
        >>> resolved = change(resolved, {"node_groups[system].max_unavailable": 2}, because="we drain by hand")
        >>> str(resolved.node_groups[0].why("max_unavailable"))
        'we drain by hand [caller]'
    """
    for place, value in settings.items():
        path, _, field = place.rpartition(".")
        part = next((each for each in parts(resolved) if each.path == path), None)
        if part is None:
            raise ValueError(f"SETTING_UNKNOWN {place}: {_instead(place, [each.path for each in parts(resolved)])}")
        changed = part.value.changed(because=because, place=path, **{field: value})
        resolved = _put(resolved, part.route, changed)
    return resolved


def _instead(place: str, parts: Collection[str]) -> str:
    """Return a suggestion for an unknown place."""
    if place in parts:
        return "name one of its fields; eks-hardware explain prints them"
    whole = next((part for part in parts if place.startswith(f"{part}.")), None)
    if whole:
        field = re.split(r"[.\[]", place[len(whole) + 1 :], maxsplit=1)[0]
        return f"change {whole}.{field} as a whole"
    part = place.rpartition(".")[0] or place
    return f"there is no {part!r}; {did_you_mean(part, parts)}"


def _put(value: object, route: Route, new: Resolved) -> Any:
    """Return ``value`` with the object at the end of the route replaced."""
    if not route:
        return new
    step, rest = route[0], route[1:]
    if isinstance(value, tuple):
        index = int(step)
        return (*value[:index], _put(value[index], rest, new), *value[index + 1 :])
    if isinstance(value, Mapping):
        return MappingProxyType({**value, str(step): _put(value[str(step)], rest, new)})
    return replace(cast(Any, value), **{str(step): _put(getattr(value, str(step)), rest, new)})
