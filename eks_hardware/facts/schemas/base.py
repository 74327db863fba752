"""Common parts of all data files: sources and dates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import NotRequired, TypeAliasType, TypedDict

Day = Annotated[str, Field(pattern=r"^(\d{4}-\d{2}(-\d{2})?|\d{4}|undated)$")]
"""The day, month or year (ISO 8601) on which a fact was read or published."""

Text = Annotated[str, Field(min_length=1)]


class About(TypedDict):
    """A file with a description of its contents."""

    _about: str


class Sourced(TypedDict):
    """A section or row with the source and date of its facts."""

    source: Text
    as_of: Day
    note: NotRequired[Text | None]


KeyTree = TypeAliasType("KeyTree", "dict[str, KeyTree | str | None]")
"""Keys nested like the settings. A leaf is None or the type of the value; ``"*"`` allows any keys below it."""
