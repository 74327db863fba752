"""Loading of strategy files: typed strategies, or every finding of every file with line and column.

    loaded = read_strategy("config/strategies/mixed-hardware.yaml", overlays=["private"])
    loaded.strategy.region                              # the typed model
    loaded.source.locate("node_groups[gpu].efa")        # its position

A file passes through these modules:

- :mod:`discovery` finds the files.
- :mod:`yaml_files` reads their text.
- :mod:`yaml_document` parses it to a tree with positions.
- :mod:`overlays` merges overlays.
- :mod:`pydantic_errors` translates the errors of a model.
- :mod:`documents` combines these steps for any model.
- :mod:`strategies` does so for one or several strategies.
"""

from __future__ import annotations

from eks_hardware.loader.discovery import discover
from eks_hardware.loader.documents import Document, load_document
from eks_hardware.loader.source_map import SourceMap
from eks_hardware.loader.strategies import (
    LoadedStrategy,
    Reading,
    Remains,
    is_adoption,
    parse_strategy,
    read_strategies,
    read_strategy,
)

__all__ = [
    "Document",
    "LoadedStrategy",
    "Reading",
    "Remains",
    "SourceMap",
    "discover",
    "is_adoption",
    "load_document",
    "parse_strategy",
    "read_strategies",
    "read_strategy",
]
