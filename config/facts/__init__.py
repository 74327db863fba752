"""Facts about AWS that change over time, read from the JSON files beside this module.

Each section of a file names its source and the day it was read; code never repeats a fact.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["addons", "eks", "partition"]

_FOLDER = Path(__file__).parent


@cache
def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / name).read_text(encoding="utf-8"))
    return content


def eks(section: str) -> dict[str, Any]:
    """Return a section of ``eks.json``."""
    found: dict[str, Any] = _read("eks.json")[section]
    return found


def addons() -> dict[str, dict[str, Any]]:
    """Return the add-ons of ``addons.json`` by name, in the order they stand there."""
    found: dict[str, dict[str, Any]] = _read("addons.json")["addons"]
    return found


def partition(region: str) -> str:
    """Return the AWS partition of a region: ``aws``, ``aws-cn`` or ``aws-us-gov``.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
    """
    for prefix, name in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return name
    return "aws"
