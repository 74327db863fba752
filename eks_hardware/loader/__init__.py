"""Strategy files in, typed strategies out; or every finding of every file, each with its line and column.

    loaded = read_strategy("config/strategies/mixed-hardware.yaml", overlays=["private"])
    loaded.strategy.region                              # the typed model
    loaded.source.locate("node_groups[gpu].efa")        # where it stands

:mod:`yaml_source` reads YAML with positions, :mod:`overlays` merges, :mod:`documents` puts the steps together for
any model, :mod:`translate` turns pydantic's errors into findings, :mod:`discovery` says which files there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_hardware.findings import Finding
from eks_hardware.loader.discovery import discover
from eks_hardware.loader.documents import Document, Folders, load_document, load_documents, read_documents
from eks_hardware.loader.yaml_positions import SourceMap

if TYPE_CHECKING:
    from eks_hardware.models import Strategy

__all__ = [
    "Document",
    "LoadedStrategy",
    "Reading",
    "Remains",
    "SourceMap",
    "discover",
    "load_document",
    "load_documents",
    "parse_strategy",
    "read_strategies",
    "read_strategy",
]


@dataclass(frozen=True)
class LoadedStrategy:
    """A valid strategy.

    Attributes:
        strategy: the typed model.
        source: where every field stands, overlays included.
        file: the strategy file as findings name it.
        path: the strategy file; None for one from memory.

    Examples:
        >>> loaded = read_strategy("config/strategies/gpu-training.yaml")
        >>> loaded.strategy.name
        'gpu-training'
    """

    strategy: Strategy
    source: SourceMap
    file: str
    path: Path | None = None


def read_strategy(
    file: Path | str, *, overlays: Sequence[str] = (), overlay_folders: Folders | None = None
) -> LoadedStrategy:
    """Read one strategy file, without the hardware that a lock file names.

    Args:
        file: the YAML file.
        overlays: names of overlays, laid over the file in this order.
        overlay_folders: where overlays are; by default ``../overlays`` and ``overlays`` as seen from the
            file's folder, then those that ship with the package.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(Path(file), _model(), overlays=overlays, overlay_folders=overlay_folders))


def parse_strategy(text: str, *, file: str = "<string>", over: str = "") -> LoadedStrategy:
    """Loads a strategy from memory.

    Args:
        text: the YAML document.
        file: its name in findings.
        over: the text of an overlay, laid over the document.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(text, _model(), file=file, over=over))


@dataclass(frozen=True)
class Reading:
    """Strategy files, read, whatever is wrong with some of them.

    Attributes:
        strategies: those of the files that have no finding.
        remains: what is left of files in which only groups, pools or sections are at fault.
        findings: of all files.

    Examples:
        >>> reading = read_strategies(["config/strategies/gpu-training.yaml"])
        >>> len(reading.strategies), reading.findings
        (1, ())
    """

    strategies: tuple[LoadedStrategy, ...]
    remains: tuple[Remains, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Remains:
    """A strategy without what is at fault in its file; good for finding what else is wrong there, and for nothing else.

    Attributes:
        loaded: the rest; sections that are left out have their defaults.
        sections: names of these sections; a misspelt one may have meant any that the file does not have.
        lists: those of :data:`eks_hardware.models.node_lists.NODE_LISTS` that lack groups or pools.

    Examples:
        >>> reading = read_strategies(["config/strategies/gpu-training.yaml"])
        >>> reading.remains  # of files with something wrong
        ()
    """

    loaded: LoadedStrategy
    sections: frozenset[str]
    lists: frozenset[str]


def read_strategies(
    files: Iterable[Path | str], overlays: Sequence[str] = (), overlay_folders: Folders | None = None
) -> Reading:
    """Reads several strategy files; raises nothing for what is in them."""
    from eks_hardware.models.node_lists import NODE_LISTS

    read = read_documents(files, _model(), overlays=overlays, overlay_folders=overlay_folders, separate=NODE_LISTS)
    loaded = tuple(_loaded(document) for document in read.documents)
    remains = tuple(Remains(_loaded(each.document), each.sections, each.lists) for each in read.remains)
    return Reading(loaded, remains, (*read.findings, *_same_stacks(loaded)))


def _same_stacks(loaded: Sequence[LoadedStrategy]) -> Iterator[Finding]:
    """A strategy whose second stack, for its charts, would have the name of another strategy."""
    files = {each.strategy.name: each.file for each in loaded}
    for each in loaded:
        kubernetes = each.strategy.kubernetes
        second = f"{each.strategy.name}-kubernetes"
        if kubernetes.stack == "separate" and kubernetes.delivery == "helm" and second in files:
            yield Finding(
                "STRATEGY_NAME_DUPLICATE",
                "kubernetes.stack",
                f"the stack of its charts is called {second!r}, as is the strategy in {files[second]}; give one of the "
                "two strategies another name",
                position=each.source.locate("kubernetes.stack"),
            )


def _model() -> type[Strategy]:
    # Here and not at the top: the core is used, and tested, without the strategy's models.
    from eks_hardware.models import Strategy

    return Strategy


def _loaded(document: Document[Strategy]) -> LoadedStrategy:
    return LoadedStrategy(document.value, document.source, document.file, document.path)
