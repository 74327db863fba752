"""Change what was resolved, where no field of the strategy does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from eks_hardware.resolve.model import CHANGED, Resolved
from eks_hardware.resolve.model_strategy import ResolvedStrategy
from eks_hardware.suggestions import did_you_mean

Route = tuple[str | int, ...]
"""Attributes, keys and indices that lead from the strategy to one of its parts."""


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
        parts = dict(_parts(resolved))
        part, _, field = place.rpartition(".")
        if part not in parts:
            raise ValueError(f"SETTING_UNKNOWN {place}: {_instead(place, parts)}")
        _at(resolved, parts[part]).checked(field, value, place=place)  # with the place in its message
        resolved = _put(resolved, parts[part], field, value, because)
    return resolved


def _instead(place: str, parts: Mapping[str, Route]) -> str:
    """What to write in place of a place that there is not."""
    if place in parts:
        return "name one of its fields; eks-hardware explain prints them"
    whole = next((part for part in parts if place.startswith(f"{part}.")), None)
    if whole:
        field = re.split(r"[.\[]", place[len(whole) + 1 :], maxsplit=1)[0]
        return f"change the whole of {whole}.{field}"
    part = place.rpartition(".")[0] or place
    return f"there is no {part!r}; {did_you_mean(part, parts)}"


def _at(value: Any, route: Route) -> Any:
    """The part at the end of a route."""
    for step in route:
        held: Any = value
        value = held[step] if isinstance(value, tuple | Mapping) else getattr(held, str(step))
    return value


def _parts(resolved: ResolvedStrategy) -> Iterator[tuple[str, Route]]:
    """Every resolved object, by its place as ``explain`` prints it."""
    yield "strategy", ()
    yield "network", ("network",)
    yield "cluster", ("cluster",)
    for index, addon in enumerate(resolved.cluster.addons):
        yield f"cluster.addons.{addon.name}", ("cluster", "addons", index)
    for index, group in enumerate(resolved.node_groups):
        yield f"node_groups[{group.name}]", ("node_groups", index)
    if resolved.karpenter:
        yield "karpenter", ("karpenter",)
    for index, pool in enumerate(resolved.node_pools):
        yield f"karpenter.node_pools[{pool.name}]", ("node_pools", index)
        yield f"karpenter.node_pools[{pool.name}].disruption", ("node_pools", index, "disruption")
    yield "kubernetes", ("kubernetes",)
    for key in resolved.kubernetes.charts:
        yield f"kubernetes.charts.{key}", ("kubernetes", "charts", key)
    for index, role in enumerate(resolved.kubernetes.service_roles):
        yield f"kubernetes.service_roles[{role.key}]", ("kubernetes", "service_roles", index)
    yield "storage", ("storage",)
    for name in ("fsx_lustre", "efs"):
        if getattr(resolved.storage, name):
            yield f"storage.{name}", ("storage", name)
    yield "aws", ("provider",)


def _put(value: Any, route: Route, field: str, new: Any, because: str) -> Any:
    """``value`` with a field of the object at the end of the route changed; nothing on the way is."""
    if not route:
        changed: Resolved = value.changed(because=because, **{field: new})
        return changed
    step, rest = route[0], route[1:]
    if isinstance(value, tuple) and isinstance(step, int):
        return (*value[:step], _put(value[step], rest, field, new, because), *value[step + 1 :])
    if isinstance(value, Mapping):
        return MappingProxyType({**value, str(step): _put(value[str(step)], rest, field, new, because)})
    return replace(value, **{str(step): _put(getattr(value, str(step)), rest, field, new, because)})
