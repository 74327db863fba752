"""Strategy files in, typed strategies out; or every finding of every file, each with its line and column.

    loaded = read_strategy("config/strategies/mixed-hardware.yaml", overlays=["private"])
    loaded.strategy.region                              # the typed model
    loaded.source.locate("node_groups[gpu].efa")        # its position

The way of a file: :mod:`discovery` says which there are, :mod:`yaml_files` reads their text, :mod:`yaml_document` makes
a tree with positions of it, :mod:`overlays` merges, :mod:`documents` puts these steps together for any model, with
:mod:`pydantic_errors` for what the model refuses, and :mod:`strategies` does so for one strategy or several.
"""

from __future__ import annotations

from eks_hardware.loader.discovery import discover
from eks_hardware.loader.documents import Document, load_document
from eks_hardware.loader.source_map import SourceMap
from eks_hardware.loader.strategies import (
    LoadedStrategy,
    Reading,
    Remains,
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
    "load_document",
    "parse_strategy",
    "read_strategies",
    "read_strategy",
]
