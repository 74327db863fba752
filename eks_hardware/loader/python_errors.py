"""Pydantic's errors for models created in Python, with the same messages as for files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from eks_hardware.loader.pydantic_errors import builtin_kinds, translate
from eks_hardware.loader.yaml_document import parse


def translated(error: ValidationError, model: type[BaseModel], given: Mapping[str, Any]) -> ValidationError:
    """Return an error with the codes, paths and messages that the same values in a file get.

    The error is returned unchanged if all of it comes from the models, or if no file can contain the values, such as
    other Python objects.
    """
    details = error.errors(include_url=False)
    if not any(detail["type"] in builtin_kinds() for detail in details):
        return error
    try:
        root = parse(json.dumps(dict(given), default=_plain), "").root
    except (TypeError, ValueError):
        return error
    if root is None:
        return error
    lines: list[InitErrorDetails] = [
        {
            # The types of pydantic require literals.
            "type": PydanticCustomError(finding.code, "{message}", {"message": finding.message}),  # type: ignore[arg-type, unused-ignore]
            "loc": (finding.path,),
            "input": given,
        }
        for finding in translate(details, root, model)
    ]
    return ValidationError.from_exception_data(error.title, lines, hide_input=True) if lines else error


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    raise TypeError(type(value).__name__)
