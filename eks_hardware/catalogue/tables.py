"""Tables of the catalogue: the row of a family, and files of one row per line, so that a diff reads as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import OfFamilies

Row = TypeVar("Row", bound="OfFamilies")


def render(head: Mapping[str, Any], section: str, rows: Mapping[str, Any]) -> str:
    """Write a table: one line per entry of the head, then one line per row."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return "\n".join(["{", *lines, f"{json.dumps(section)}: {{", body, "}", "}", ""])


def matching(rows: Iterable[Row], family: str) -> Row | None:
    """Return the first row with a pattern for ``family``."""
    for row in rows:
        if any(fnmatchcase(family, pattern) for pattern in row["families"]):
            return row
    return None
