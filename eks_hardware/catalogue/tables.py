"""The text of a data file with one row a line."""

from __future__ import annotations

import json
from collections.abc import Mapping


def render(head: Mapping[str, object], section: str, rows: Mapping[str, object]) -> str:
    """Write a table with one line per entry of the head and one line per row, which makes diffs readable."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return "\n".join(["{", *lines, f"{json.dumps(section)}: {{", body, "}", "}", ""])
