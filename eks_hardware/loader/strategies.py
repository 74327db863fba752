"""Strategy files: one, several, or the valid parts of a faulty one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from eks_hardware import field_paths
from eks_hardware.findings import Finding, Position, StrategyError
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.documents import Attempt, Document, load_document, read_file, validated
from eks_hardware.loader.model_fields import fields
from eks_hardware.loader.source_map import SourceMap
from eks_hardware.loader.yaml_document import Parsed, parse
from eks_hardware.loader.yaml_files import read_text
from eks_hardware.printable import quoted

if TYPE_CHECKING:
    from eks_hardware.models import Strategy

_STRATEGY_ONLY = ("version", "node_groups")
_OF_A_STRATEGY = re.compile(rf"^({'|'.join(_STRATEGY_ONLY)})[ \t]*:", re.MULTILINE)


class LoadedStrategy(NamedTuple):
    """A valid strategy.

    Attributes:
        strategy: the typed model.
        source: the position of every field, overlays included.
        file: the strategy file's name in findings.
        path: the strategy file; None for text.

    Examples:
        >>> loaded = read_strategy("config/strategies/gpu-training.yaml")
        >>> loaded.strategy.name
        'gpu-training'
    """

    strategy: Strategy
    source: SourceMap
    file: str
    path: Path | None = None


class Reading(NamedTuple):
    """The result of reading strategy files, even if some have faults.

    Attributes:
        strategies: strategies of the files without findings.
        remains: the valid parts of files in which only groups, pools or sections are faulty.
        findings: the findings of all files.

    Examples:
        >>> reading = read_strategies(["config/strategies/gpu-training.yaml"])
        >>> len(reading.strategies), reading.findings
        (1, ())
    """

    strategies: tuple[LoadedStrategy, ...]
    remains: tuple[Remains, ...]
    findings: tuple[Finding, ...]


class Remains(NamedTuple):
    """A strategy without the faulty parts of its file, used only to check the remaining parts.

    Attributes:
        loaded: the remaining strategy; missing sections have their defaults.
        sections: names of the missing sections; a misspelled name may mean any section that the file does not have.
        lists: lists of :data:`eks_hardware.models.node_lists.NODE_LISTS` without some of their groups or pools.

    Examples:
        >>> reading = read_strategies(["config/strategies/gpu-training.yaml"])
        >>> reading.remains  # only for faulty files
        ()
    """

    loaded: LoadedStrategy
    sections: frozenset[str]
    lists: frozenset[str]


def read_strategy(file: Path | str, *, overlays: Sequence[str] = ()) -> LoadedStrategy:
    """Read one strategy file, without the hardware from a lock file.

    Args:
        file: the YAML file.
        overlays: names of overlays, applied in this order. They are searched in ``../overlays`` and ``overlays``
            relative to the file's folder, then among the shipped overlays.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(Path(file), _model(), overlays=overlays))


def parse_strategy(text: str, *, file: str = "<string>", over: str = "") -> LoadedStrategy:
    """Read a strategy from memory.

    Args:
        text: the YAML document.
        file: its name in findings.
        over: the text of an overlay for the document.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(text, _model(), file=file, over=over))


def read_strategies(files: Iterable[Path | str], overlays: Sequence[str] = ()) -> Reading:
    """Read several strategy files, each with the same overlays; faults in files raise nothing."""
    model = _model()
    read: dict[Path, Parsed] = {}
    attempts = [read_file(Path(file), model, overlays, read) for file in files]
    loaded = tuple(_loaded(attempt.document) for attempt in attempts if attempt.document is not None)
    remains = tuple(_remains(attempt) for attempt in attempts if attempt.document is None)
    findings = [finding for attempt in attempts for finding in attempt.ordered()]
    findings += [*_same_names(attempts), *_same_stacks(loaded)]
    return Reading(
        loaded,
        tuple(each for each in remains if each is not None),
        # An overlay shared by several strategies would repeat its findings.
        tuple({str(finding): finding for finding in findings}.values()),
    )


def _model() -> type[Strategy]:
    # Not at the top: the loader of other files does not need the strategy models.
    from eks_hardware.models import Strategy

    return Strategy


def _loaded(document: Document[Strategy]) -> LoadedStrategy:
    return LoadedStrategy(document.value, document.source, document.file, document.path)


# -- other files


def is_adoption(file: Path) -> bool:
    """Return whether a file has the fields of an adoption: Karpenter, but no version and no node groups."""
    try:
        text = read_text(file, str(file))
    except StrategyError:
        return False
    # Most files are strategies. Their text is searched first, because parsing is slower.
    if _OF_A_STRATEGY.search(text):
        return False
    root = parse(text, str(file)).root
    return root is not None and "karpenter" in root.entries and root.entries.keys().isdisjoint(_STRATEGY_ONLY)


# -- several strategies


def _same_names(attempts: Iterable[Attempt[Strategy]]) -> Iterator[Finding]:
    first: dict[str, Position] = {}
    for attempt in attempts:
        node = attempt.root.get("name") if attempt.root else None
        if not isinstance(node, yn.Scalar) or not isinstance(node.value, str):
            continue
        if node.value in first:
            message = (
                f"the strategies in {attempt.file} and {first[node.value]} are both called {quoted(node.value)}, but "
                "names must be unique, because they are stack IDs and cluster names; rename one of them"
            )
            yield Finding("STRATEGY_NAME_DUPLICATE", "name", message, position=node.position)
        first.setdefault(node.value, node.position)


def _same_stacks(loaded: Sequence[LoadedStrategy]) -> Iterator[Finding]:
    """Yield strategies with a second stack, for charts, that would have the name of another strategy."""
    files = {entry.strategy.name: entry.file for entry in loaded}
    for entry in loaded:
        kubernetes = entry.strategy.kubernetes
        second = f"{entry.strategy.name}-kubernetes"
        if kubernetes.stack == "separate" and kubernetes.delivery == "helm" and second in files:
            yield Finding(
                "STRATEGY_NAME_DUPLICATE",
                "kubernetes.stack",
                f"the chart stack is called {second!r}, which is also the name of the strategy in {files[second]}; "
                "rename one of the two strategies",
                position=entry.source.locate("kubernetes.stack"),
            )


# -- valid parts of a strategy


def _remains(attempt: Attempt[Strategy]) -> Remains | None:
    """Return the strategy without groups, pools and sections that have a finding; None if too little is left."""
    from eks_hardware.models.node_lists import NODE_LISTS

    if attempt.root is None:
        return None
    items: dict[str, set[str]] = {}
    sections: set[str] = set()
    for path in {finding.path for finding in attempt.findings}:
        if not path:
            return None  # the finding is about the whole text
        if (nodes := field_paths.list_of(path)) != path and nodes in NODE_LISTS:
            items.setdefault(nodes, set()).add(field_paths.name_of_item(path))
        else:
            sections.add(field_paths.section(path))
    kept = _without_sections(attempt.root, sections, NODE_LISTS)
    for nodes, labels in items.items():
        kept = yn.changed(kept, field_paths.split(nodes), partial(_without_items, labels=labels))
    try:
        strategy = validated(kept, _model())
    except ValidationError:
        return None
    known = fields(_model())
    if sections - set(known):
        # A misspelled section may be any of the missing ones.
        sections |= {name for name in known if name not in attempt.root.entries}
    loaded = LoadedStrategy(strategy, SourceMap(kept), attempt.file, attempt.path)
    return Remains(loaded, frozenset(sections), frozenset(items))


def _without_sections(root: yn.Mapping, sections: Container[str], separate: Sequence[str]) -> yn.Node:
    """Return a copy of the tree without some sections, but with lists in them that are checked item by item."""
    entries: dict[str, yn.Entry] = {}
    for key, entry in root.entries.items():
        if key not in sections:
            entries[key] = entry
            continue
        inside = [below for section, *below in map(field_paths.split, separate) if section == key]
        if isinstance(entry.node, yn.Mapping) and inside:
            lists = {name: each for name, each in entry.node.entries.items() if [name] in inside}
            entries[key] = yn.Entry(entry.key_position, yn.Mapping(lists, entry.node.position))
    return yn.Mapping(entries, root.position, removed=root.removed)


def _without_items(node: yn.Node, labels: Container[str]) -> yn.Node:
    """Return a list without the items that have these names, or these indexes if they have no name."""
    if not isinstance(node, yn.Sequence):
        return node
    kept = [
        item
        for index, item in enumerate(node.items)
        if (yn.name_of(item) or "") not in labels and str(index) not in labels
    ]
    return yn.Sequence(kept, node.position)
