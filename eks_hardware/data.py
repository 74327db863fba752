"""The data files of ``config/``: strategies, overlays, and every table of facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

Content = TypeVar("Content")
T_co = TypeVar("T_co", covariant=True)

FOLDER = Path(__file__).parent / "config"
"""``config/`` of a checkout, reached through a link, or the copy of it in an installed package."""


@cache
def read(name: str, folder: Path = FOLDER) -> Any:
    """Parse a JSON file, by its path below ``config/`` or below another folder with the same layout, once."""
    return json.loads((folder / name).read_bytes())


@dataclass(frozen=True)
class DataFile(Generic[Content]):
    """A JSON file of ``config/``. Calling it returns its content, which is parsed once and must not be changed.

    Examples:
        >>> table: DataFile[dict[str, str]] = DataFile("policy/ranking.json")
        >>> table()["as_of"]
        '2026-11-21'
    """

    name: str

    def __call__(self, folder: Path | None = None) -> Content:
        """The content of the file, or of the file of that name in another folder that is laid out alike."""
        # Facts are read in inner loops, where a name alone is the faster key.
        content: Content = read(self.name) if folder is None else read(self.name, folder)
        return content


@dataclass(frozen=True)
class Cited(Generic[T_co]):
    """A value of a data file with its source: the file, the place in it, who says so, and the day that it was read.

    As text it is its source.
    """

    value: T_co
    source: str

    def __str__(self) -> str:
        return self.source

    def __getitem__(self: Cited[Mapping[str, Any]], key: str) -> Cited[Any]:
        """A value of a row, with the row's place."""
        return Cited(self.value[key], self.source)


@cache
def cite(name: str, *keys: str) -> Cited[Any]:
    """Read a value of a data file with its place: code that reads it this way cannot name another row.

    The deepest ``source`` and ``as_of`` on the way to the value count. ``KeyError`` for a value that the file lacks.

    Examples:
        >>> cite("facts/eks.json", "subnet_addresses", "reserved_by_aws").source.split(", ")[0]
        'facts/eks.json subnet_addresses.reserved_by_aws'
    """
    found: Any = read(name)
    said: dict[str, str] = {}
    for key in (*keys, None):
        if isinstance(found, dict):
            said |= {each: found[each] for each in ("source", "as_of") if isinstance(found.get(each), str)}
        found = found if key is None else found[key]
    # In this order, wherever each of the two was found.
    words = [f"{name} {'.'.join(keys)}", *(said[each] for each in ("source", "as_of") if each in said)]
    return Cited(found, ", ".join(words))
