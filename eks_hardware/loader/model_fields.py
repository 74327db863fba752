"""Reading of a model's annotations: the values that a field accepts."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def unwrap(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of an annotation except None, without ``Annotated`` and aliases."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return unwrap(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return unwrap(members[0]) if len(members) == 1 else tuple(members)
    if hasattr(annotation, "__value__"):  # type X = ...
        return unwrap(annotation.__value__)
    return (annotation,)


def is_model(annotation: object) -> bool:
    """Return whether an annotation is a pydantic model."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def pick(members: tuple[Any, ...], label: object) -> Any:
    """Return the member of a union for pydantic's label or tag; None if it is ambiguous."""
    flat = [inner for member in members for inner in unwrap(member)]
    if wrapped := _VALIDATED.fullmatch(str(label)):
        label = wrapped.group(1)
    named = [member for member in flat if getattr(member, "__name__", None) == label]
    tagged = [member for member in flat if is_model(member) and label in tags(member)]
    if not named and not tagged and str(label).startswith(_LIST_LABELS):
        named = [member for member in flat if typing.get_origin(member) in _LISTS]
    return next(iter(named or tagged), None)


_LISTS = (tuple, list, set, frozenset, Sequence)
_LIST_LABELS = ("tuple", "list", "set", "frozenset", "sequence")


# Pydantic's label of a model with its own validators: "function-after[_is_sized(), ModelShape]"; several are nested.
_VALIDATED = re.compile(r"function-(?:after|before|wrap)\[.*, (\w+)\]+")


def tags(model: Any) -> set[object]:
    """Return the values by which a union selects the model: those of its Literal fields."""
    annotations = (info.annotation for info in model.model_fields.values())
    return {value for item in annotations if typing.get_origin(item) is Literal for value in allowed(item)}


def fields(model: Any) -> dict[str, FieldInfo]:
    """Return the fields by their names in files."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def below(annotation: object, part: str | int) -> tuple[Any, FieldInfo | None]:
    """Return the annotation (and the field, if any) one step down."""
    if is_model(annotation):
        info = fields(annotation).get(str(part))
        return (info.annotation, info) if info else (None, None)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and Ellipsis not in args:
        return (args[part] if isinstance(part, int) and part < len(args) else None), None
    if origin in _LISTS and args:
        return args[0], None
    if origin in (dict, Mapping) and args:
        return args[1], None
    return None, None


def allowed(annotation: object) -> list[Any]:
    """Return the values of a Literal or an Enum, for all alternatives of a union."""
    member, *others = unwrap(annotation)
    if others:
        return [value for union_member in (member, *others) for value in allowed(union_member)]
    if typing.get_origin(member) is Literal:
        return list(typing.get_args(member))
    if isinstance(member, type) and issubclass(member, Enum):
        return [item.value for item in member]
    return []
