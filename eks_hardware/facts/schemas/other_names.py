"""``facts/other_names.json``."""

from __future__ import annotations

from eks_hardware.facts.schemas.base import About, Sourced


class Tool(Sourced):
    """Fields of a tool, for each section of a strategy: the name there, and the path here."""

    fields: dict[str, dict[str, str]]


class OtherNames(About):
    tools: dict[str, Tool]
