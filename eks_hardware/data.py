"""The data files of ``config/``: strategies, overlays, and all tables of facts."""

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
"""``config/`` of a checkout, through a symbolic link, or its copy in an installed package."""


@cache
def read(name: str, folder: Path = FOLDER) -> Any:
    """Parse a JSON file once, by its path below ``config/`` or another folder with the same layout."""
    return json.loads((folder / name).read_bytes())


@dataclass(frozen=True)
class DataFile(Generic[Content]):
    """A JSON file of ``config/``. Call it for its content, which is parsed once and must not be changed.

    Examples:
        >>> table: DataFile[dict[str, str]] = DataFile("policy/ranking.json")
        >>> table()["as_of"]
        '2026-11-21'
    """

    name: str

    def __call__(self, folder: Path | None = None) -> Content:
        """Return the content of the file, or of the same file in another folder with the same layout."""
        # Inner loops read facts, and a name alone is the faster cache key.
        content: Content = read(self.name) if folder is None else read(self.name, folder)
        return content


@dataclass(frozen=True)
class Cited(Generic[T_co]):
    """A value of a data file with its source: file, place in the file, origin and date.

    ``str()`` returns the source.
    """

    value: T_co
    source: str

    def __str__(self) -> str:
        return self.source

    def __getitem__(self: Cited[Mapping[str, Any]], key: str) -> Cited[Any]:
        """Return a value of a row, with the row's source."""
        return Cited(self.value[key], self.source)


@cache
def cite(name: str, *keys: str) -> Cited[Any]:
    """Read a value of a data file with its place, so the cited row is always the row that is read.

    The innermost ``source`` and ``as_of`` on the way to the value apply. Raises ``KeyError`` if the file lacks the
    value.

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
