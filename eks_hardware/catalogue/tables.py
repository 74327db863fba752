"""Reading and writing tables of ``config/``: JSON, one row per line, so that a diff reads as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from eks_hardware import data

DATA = data.FOLDER
Row = dict[str, Any]


def read(name: str, folder: Path = DATA) -> Row:
    """Parse ``<name>.json`` of a folder laid out as ``config/``."""
    return data.read(f"{name}.json", folder)


def render(head: Mapping[str, Any], section: str, rows: Mapping[str, Any]) -> str:
    """Write a table: one line per entry of the head, then one line per row."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return "\n".join(["{", *lines, f"{json.dumps(section)}: {{", body, "}", "}", ""])


def matching(rows: Iterable[Row], family: str, **equal: str) -> Row | None:
    """Return the first row with a pattern for ``family`` and the given values."""
    for row in rows:
        if all(row[key] == value for key, value in equal.items()) and any(
            fnmatchcase(family, pattern) for pattern in row["families"]
        ):
            return row
    return None
