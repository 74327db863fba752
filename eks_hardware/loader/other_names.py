"""The field to use instead of an unknown one: one in a subsection, or the equivalent of another tool's field."""

from __future__ import annotations

from eks_hardware import facts
from eks_hardware.loader.model_fields import below, fields, is_model, unwrap
from eks_hardware.suggestions import plain

_GENERAL = frozenset({"enabled", "id", "key", "name", "path", "type", "value"})
"""Fields that many subsections have, so the intended one is unknown."""
_ALIKE = {"NodePoolSpec": "NodeGroupSpec"}
"""Sections that share many fields with another section, whose rows apply if the fields exist."""


def field_here(section: object, key: str) -> str | None:
    """Return the path of the field to use instead of an unknown key; None if no field has its purpose.

    Args:
        section: the model of the section with the key.
        key: the unknown key.
    """
    return _of_another_tool(section, key) or _in_a_part(section, key)


def has_path(section: object, path: str) -> bool:
    """Return whether a path exists in a section: ``scaling.min`` in a node group."""
    models: list[object] = [section]
    for name in path.split("."):
        found = [below(model, name)[0] for model in models if is_model(model) and name in fields(model)]
        if not found:
            return False
        models = [inner for annotation in found for inner in unwrap(annotation)]
    return True


def _in_a_part(section: object, key: str) -> str | None:
    if not is_model(section) or key in _GENERAL:
        return None
    parts = ((name, part) for name, info in fields(section).items() for part in unwrap(info.annotation))
    found = {f"{name}.{field}" for name, part in parts if is_model(part) for field in fields(part) if _same(field, key)}
    return found.pop() if len(found) == 1 else None


def list_of(section: object, key: str) -> str | None:
    """Return the one list of a section whose items have a field; None if there is none, or several."""
    if not is_model(section) or key in _GENERAL:
        return None
    found = [
        name
        for name, info in fields(section).items()
        if any(is_model(item) and key in fields(item) for item in unwrap(below(info.annotation, 0)[0]))
    ]
    return found[0] if len(found) == 1 else None


def _of_another_tool(section: object, key: str) -> str | None:
    name = getattr(section, "__name__", "")
    if path := other_name(name, key):
        return path
    path = other_name(_ALIKE.get(name, ""), key)
    return path if path and has_path(section, path) else None


def other_name(table: str, key: str) -> str | None:
    """Return the path for another tool's name in a table of ``facts/other_names.json``; None if it is not there."""
    rows = (row for tool in facts.other_names()["tools"].values() for row in tool["fields"].get(table, {}).items())
    return next((path for other, path in rows if _same(other, key)), None)


def _same(one: str, other: str) -> bool:
    return plain(one) == plain(other)
