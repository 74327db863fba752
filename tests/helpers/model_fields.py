"""The contents of the annotations of models' fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Return the models in a field's annotation, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from models_in(each)


def choices_in(annotation: Any) -> Iterator[object]:
    """Return the allowed values of a field, at any depth."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for each in get_args(annotation):
            yield from choices_in(each)
