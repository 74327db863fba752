"""``facts/other_names.json``."""

from __future__ import annotations

from eks_hardware.facts.schemas.base import About, Sourced


class Tool(Sourced):
    """Another tool's field names for each section of a strategy, mapped to the path in a strategy."""

    fields: dict[str, dict[str, str]]


class OtherNames(About):
    tools: dict[str, Tool]
