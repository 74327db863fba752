"""The data files of ``config/``: strategies, overlays, and every table of facts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "config"
"""``config/`` of a checkout, reached through a link, or the copy of it in an installed package."""


@cache
def read(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Parse a JSON file of ``config/``, or of a folder laid out like it, once.

    Args:
        name: its path below ``config/``, such as ``facts/eks.json``.
        folder: another folder with the same layout.
    """
    content: dict[str, Any] = json.loads((folder / name).read_bytes())
    return content
