"""Load a document into a model: read, merge overlays, validate, collect every finding."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from eks_hardware.findings import Finding, Position, StrategyError
from eks_hardware.loader import overlays as ov
from eks_hardware.loader import yaml_positions as ys
from eks_hardware.loader.model_fields import below, fields, is_model, unwrap
from eks_hardware.loader.yaml_positions import SourceMap

ModelT = TypeVar("ModelT", bound=BaseModel)
Folders = Sequence[Path | str]


@dataclass(frozen=True)
class Document(Generic[ModelT]):
    """What the generic core returns: a valid model and where its fields stand.

    Examples:
        >>> from pathlib import Path
        >>> from eks_hardware.models import Strategy
        >>> document = load_document(Path("config/strategies/gpu-training.yaml"), Strategy)
        >>> document.value.name, document.file
        ('gpu-training', 'config/strategies/gpu-training.yaml')
    """

    value: ModelT
    source: SourceMap
    file: str
    path: Path | None = None


# -- strategies


@dataclass
class _Attempt(Generic[ModelT]):
    """One file on its way: what was read so far and what was found."""

    file: str
    path: Path | None = None
    root: ys.Mapping | None = None
    document: Document[ModelT] | None = None
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class Reading(Generic[ModelT]):
    """Several files, read: the documents of those without a finding, and every finding.

    ``remains`` has, for files of which a part can be judged all the same, the document without what is at fault.
    """

    documents: tuple[Document[ModelT], ...]
    remains: tuple[Remains[ModelT], ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Remains(Generic[ModelT]):
    """A document without what is at fault in it.

    Attributes:
        document: the rest; sections that are left out have their defaults.
        sections: names of the sections that are left out, in part or whole, or that a misspelt one may have meant.
        lists: paths of the lists that lack items.
    """

    document: Document[ModelT]
    sections: frozenset[str]
    lists: frozenset[str]


def load_document(
    source: Path | str,
    model: type[ModelT],
    *,
    file: str = "<string>",
    over: str = "",
    overlays: Sequence[str] = (),
    overlay_folders: Folders | None = None,
) -> Document[ModelT]:
    """Loads one document into a model.

    Args:
        source: a file (``Path``), or the text itself (``str``).
        model: the pydantic model of the whole document.
        file: name in findings, for text.
        over: text of an overlay for text, laid over it before those that are named.
        overlays: names of overlays, laid over the document in this order.
        overlay_folders: where overlays are; see :func:`load_strategy`.

    Raises:
        StrategyError: with every finding.
    """
    if isinstance(source, Path):
        attempt = _attempt(source, model, overlays, overlay_folders, {})
    else:
        attempt = _Attempt(file)
        _take(attempt, ys.parse(source, file))
        if over:
            _lay_over(attempt, ys.parse(over, file, may_be_empty=True))
        _apply_overlays(attempt, overlays, tuple(overlay_folders or (ov.PACKAGED,)), {})
        _validate(attempt, model)
    if attempt.document is None:
        raise StrategyError(_ordered(attempt))
    return attempt.document


def load_documents(
    files: Iterable[Path | str],
    model: type[ModelT],
    *,
    overlays: Sequence[str] = (),
    overlay_folders: Folders | None = None,
) -> list[Document[ModelT]]:
    """Loads several documents that have a ``name`` each; see :func:`load_strategies`."""
    reading = read_documents(files, model, overlays=overlays, overlay_folders=overlay_folders)
    if reading.findings:
        raise StrategyError(reading.findings)
    return list(reading.documents)


def read_documents(
    files: Iterable[Path | str],
    model: type[ModelT],
    *,
    overlays: Sequence[str] = (),
    overlay_folders: Folders | None = None,
    separate: Sequence[str] = (),
) -> Reading[ModelT]:
    """Reads several documents that have a ``name`` each, whatever is wrong with some of them.

    Args:
        files: the files.
        model: the pydantic model of a document.
        overlays: names of overlays, laid over each document in this order.
        overlay_folders: where overlays are; see :func:`load_strategy`.
        separate: paths of the lists whose items can be left out one by one: see :class:`Reading`.
    """
    read: dict[str, ys.Parsed] = {}
    attempts = [_attempt(Path(file), model, overlays, overlay_folders, read) for file in files]
    findings = [finding for attempt in attempts for finding in _ordered(attempt)]
    findings.extend(_duplicate_strategies(attempts))
    remains = (_remains(attempt, model, separate) for attempt in attempts if attempt.document is None)
    return Reading(
        tuple(attempt.document for attempt in attempts if attempt.document is not None),
        tuple(each for each in remains if each is not None),
        # One overlay under many strategies would say the same thing many times.
        tuple({str(finding): finding for finding in findings}.values()),
    )


def _remains(attempt: _Attempt[ModelT], model: type[ModelT], separate: Sequence[str]) -> Remains[ModelT] | None:
    """The document without the items of lists, and the sections, that have a finding; None where too little is left."""
    root: ys.Node | None = attempt.root
    if not isinstance(root, ys.Mapping):
        return None
    items: dict[str, set[str]] = {}
    sections: set[str] = set()
    for path in {finding.path for finding in attempt.findings}:
        place = next((each for each in separate if path.startswith(f"{each}[")), None)
        if place:
            items.setdefault(place, set()).add(ys.split_path(path[len(place) :])[0])
        elif path:
            sections.add(ys.split_path(path)[0])
        else:
            return None  # about the text as a whole
    kept = _without_sections(root, sections, separate)
    for place, labels in items.items():
        kept = _without(kept, place.split("."), labels)
    try:
        value = model.model_validate_json(json.dumps(kept.plain()), strict=True)
    except ValidationError:
        return None
    known = fields(model)
    if sections - set(known):
        # A misspelt section may have meant any that is not there.
        sections |= {name for name in known if name not in root.entries}
    document = Document(value, SourceMap(kept), attempt.file, attempt.path)
    return Remains(document, frozenset(sections), frozenset(items))


def _without_sections(root: ys.Mapping, sections: Container[str], separate: Sequence[str]) -> ys.Node:
    """A copy of the tree without some sections, apart from the lists in them that are judged item by item."""
    entries: dict[str, ys.Entry] = {}
    for key, entry in root.entries.items():
        if key not in sections:
            entries[key] = entry
            continue
        inside = [each.partition(".")[2] for each in separate if each.partition(".")[0] == key]
        if isinstance(entry.node, ys.Mapping) and inside:
            lists = {name: each for name, each in entry.node.entries.items() if name in inside}
            entries[key] = ys.Entry(entry.key_position, ys.Mapping(lists, entry.node.position))
    return ys.Mapping(entries, root.position, removed=root.removed)


def _without(node: ys.Node, keys: Sequence[str], labels: Container[str]) -> ys.Node:
    """A copy of the tree in which the list at ``keys`` lacks the items with these names or, unnamed, indexes."""
    if keys and isinstance(node, ys.Mapping) and keys[0] in node.entries:
        entry = node.entries[keys[0]]
        entries = {**node.entries, keys[0]: ys.Entry(entry.key_position, _without(entry.node, keys[1:], labels))}
        return ys.Mapping(entries, node.position, removed=node.removed)
    if not keys and isinstance(node, ys.Sequence):
        kept = [
            item for index, item in enumerate(node.items) if ys.name_of(item) not in labels and str(index) not in labels
        ]
        return ys.Sequence(kept, node.position)
    return node


def _attempt(
    path: Path,
    model: type[ModelT],
    overlays: Sequence[str],
    overlay_folders: Folders | None,
    read: dict[str, ys.Parsed],
) -> _Attempt[ModelT]:
    attempt: _Attempt[ModelT] = _Attempt(ys.display_name(path), path)
    _take(attempt, _read(path))
    folders = tuple(overlay_folders) if overlay_folders is not None else ov.overlay_folders(path)
    _apply_overlays(attempt, overlays, folders, read)
    _validate(attempt, model)
    return attempt


def _read(path: Path, *, may_be_empty: bool = False) -> ys.Parsed:
    file = ys.display_name(path)
    try:
        return ys.parse(ys.read_text(path, file), file, may_be_empty=may_be_empty)
    except StrategyError as error:
        return ys.Parsed(None, error.findings)


def _take(attempt: _Attempt[ModelT], parsed: ys.Parsed) -> None:
    attempt.root = parsed.root
    attempt.findings.extend(parsed.findings)


def _apply_overlays(
    attempt: _Attempt[ModelT], names: Sequence[str], folders: Folders, read: dict[str, ys.Parsed]
) -> None:
    if not names:
        return
    try:
        files = ov.find_overlays(names, folders)
    except StrategyError as error:
        attempt.findings.extend(error.findings)
        attempt.root = None  # without its overlays the document is not the one that was asked for
        return
    for file in files:
        parsed = read.setdefault(str(file), _UNREAD)
        if parsed is _UNREAD:
            parsed = read[str(file)] = _read(file, may_be_empty=True)
        _lay_over(attempt, parsed)


def _lay_over(attempt: _Attempt[ModelT], parsed: ys.Parsed) -> None:
    attempt.findings.extend(parsed.findings)
    if parsed.root is None or attempt.root is None:
        attempt.root = None
        return
    try:
        overlay = ov.scoped(parsed.root, attempt.root)
    except StrategyError as error:
        attempt.findings.extend(error.findings)
        return
    if overlay is not None:
        merged = ov.merge(attempt.root, overlay)
        attempt.root = merged if isinstance(merged, ys.Mapping) else None


_UNREAD = ys.Parsed(None, ())


def _validate(attempt: _Attempt[ModelT], model: type[ModelT]) -> None:
    root = attempt.root
    if root is None:
        return
    attempt.findings.extend(_duplicate_names("", root, model))
    try:
        # As JSON: strict about scalars ("4" is no number, yes is no boolean), but lists and text may become
        # tuples, enums, addresses.
        value = model.model_validate_json(json.dumps(root.plain()), strict=True)
    except ValidationError as error:
        # Only a wrong file needs it.
        from eks_hardware.loader.pydantic_errors import translate

        details = error.errors(include_url=False, include_input=False)
        known = {(finding.code, finding.position) for finding in attempt.findings}
        for finding in translate(details, root, model):
            if (finding.code, finding.position) not in known:
                attempt.findings.append(finding)
        if not attempt.findings:  # never silent, whatever was dropped above
            attempt.findings.append(Finding("FIELD_VALUE", "", ys.shown(error), position=root.position))
        return
    if not attempt.findings:
        attempt.document = Document(value, SourceMap(root), attempt.file, attempt.path)


def _ordered(attempt: _Attempt[ModelT]) -> list[Finding]:
    """By file (the strategy first, then its overlays), then position; each once."""
    unique = list({str(finding): finding for finding in attempt.findings}.values())
    files = {attempt.file: 0}
    for finding in unique:
        files.setdefault(finding.position.file if finding.position else "", len(files))

    def key(finding: Finding) -> tuple[int, int, int]:
        position = finding.position or Position("")
        return files[position.file], position.line, position.column

    return sorted(unique, key=key)


def _duplicate_strategies(attempts: Iterable[_Attempt[ModelT]]) -> Iterator[Finding]:
    first: dict[str, Position] = {}
    for attempt in attempts:
        node = attempt.root.get("name") if attempt.root else None
        if not isinstance(node, ys.Scalar) or not isinstance(node.value, str):
            continue
        if node.value in first:
            message = (
                f"the strategy in {attempt.file} has the name {ys.quoted(node.value)}, "
                f"as has {first[node.value]}; names are stack ids and cluster names, so give it another"
            )
            yield Finding("STRATEGY_NAME_DUPLICATE", "name", message, position=node.position)
        first.setdefault(node.value, node.position)


def _duplicate_names(path: str, node: ys.Node, annotation: Any) -> Iterator[Finding]:
    """Items with one name, in lists whose items are models with a ``name``; free-form values may repeat."""
    for member in unwrap(annotation):
        if isinstance(node, ys.Sequence):
            held = below(member, 0)[0]
            if any(is_model(item) and "name" in fields(item) for item in unwrap(held)):
                yield from _same_names(path, node)
        for part, child in _collections_in(node):
            inner = below(member, part)[0]
            if inner is not None:
                yield from _duplicate_names(ys.join_path(path, node, part), child, inner)


def _collections_in(node: ys.Node) -> Iterator[tuple[str | int, ys.Node]]:
    parts: Iterable[tuple[str | int, ys.Node]] = ()
    if isinstance(node, ys.Sequence):
        parts = enumerate(node.items)
    elif isinstance(node, ys.Mapping):
        parts = ((key, entry.node) for key, entry in node.entries.items())
    return ((part, child) for part, child in parts if isinstance(child, (ys.Sequence, ys.Mapping)))


def _same_names(path: str, node: ys.Sequence) -> Iterator[Finding]:
    first: dict[str, Position] = {}
    for index, item in enumerate(node.items):
        name = ys.name_of(item)
        node_of_name = ys.child_of(item, "name")
        if name is None or node_of_name is None:
            continue
        position = node_of_name.position
        if name in first:
            message = f"two items have the name {ys.quoted(name)}, here and at {first[name]}; rename one"
            yield Finding("NAME_DUPLICATE", ys.join_path(path, node, index), message, position=position)
        first.setdefault(name, position)
