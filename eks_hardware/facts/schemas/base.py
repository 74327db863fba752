"""What every data file has: sources and days."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import NotRequired, TypeAliasType, TypedDict

Day = Annotated[str, Field(pattern=r"^(\d{4}-\d{2}(-\d{2})?|\d{4}|undated)$")]
"""The day, month or year (ISO 8601) that a fact was read or published."""

Text = Annotated[str, Field(min_length=1)]


class About(TypedDict):
    """A file that says what it holds."""

    _about: str


class Sourced(TypedDict):
    """A section or row that says where its facts were read, and when."""

    source: Text
    as_of: Day
    note: NotRequired[Text | None]


KeyTree = TypeAliasType("KeyTree", "dict[str, KeyTree | str | None]")
"""Keys nested as settings are: a leaf is None or the type of its value, ``"*"`` is anything below."""
