"""Parsing of one YAML document to a tree of values with positions.

Only the features that a strategy needs are supported: one document with a mapping at the top, string keys, no tags,
and the scalars of YAML 1.2. Everything else is a finding, never a parser exception. Aliases and merge keys (``<<``)
have limits, which are checked before expansion.

PyYAML reads the text with libyaml, which reports positions. A PyYAML built without libyaml is slower, with the same
result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from eks_hardware.findings import Finding, Position
from eks_hardware.loader.other_files import other_file
from eks_hardware.loader.yaml_files import MAX_BYTES, TOO_LARGE, position_after
from eks_hardware.loader.yaml_nodes import Entry, Faulty, Mapping, Node, Scalar, Sequence
from eks_hardware.loader.yaml_scalars import OLD_BOOLEANS, resolve_plain
from eks_hardware.loader.yaml_syntax import DIRECTIVE, explained
from eks_hardware.printable import quoted, shown

MAX_NODES = 20_000  # in the file or expanded from aliases; a strategy of 100 node groups has about 2,000
MAX_DEPTH = 40

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

# Characters that YAML calls non-printable, that end a line for some programs only, or that reverse text on screen.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


class Parsed(NamedTuple):
    """A document and its findings; ``root`` is None if nothing could be read."""

    root: Mapping | None
    findings: tuple[Finding, ...]


def parse(text: str, file: str, *, may_be_empty: bool = False, fix: str = "write the document into it") -> Parsed:
    """Parse one YAML document with the name ``file``; with ``may_be_empty``, an empty one is an empty mapping.

    ``fix`` is what to do about an empty file that may not be empty.
    """
    reader = _Reader(text.removeprefix("\ufeff"), file)
    try:
        root = reader.top(may_be_empty, fix)
    except _Stop:
        root = None
    return Parsed(root, tuple(reader.findings))


class _Stop(Exception):  # noqa: N818  (a jump, not an error)
    """Stop reading after the last finding."""


class _Reader:
    """Parser from events to the tree; it collects findings."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.findings: list[Finding] = []
        self._events = self._parsed()
        self._anchors: dict[str, Node | None] = {}  # None: still being read
        self._written = 0
        self._expanded = 0

    def top(self, may_be_empty: bool, fix: str) -> Mapping | None:
        """Return the document; None if it has a finding."""
        self._check_text()
        root = self._document()
        if root is None or (isinstance(root, Scalar) and root.value is None):
            if may_be_empty:
                return Mapping({}, Position(self.file, 1, 1))
            self._stop("FILE_EMPTY", f"the file is empty; {fix}", Position(self.file))
        if isinstance(root, (Scalar, Sequence)):
            what = "a list" if isinstance(root, Sequence) else f"the single value {quoted(root.raw)}"
            message = f"must be a mapping (lines of field: value) at the top, got {what}"
            self._stop("FILE_NOT_A_MAPPING", message, root.position)
        return root if isinstance(root, Mapping) else None

    def _check_text(self) -> None:
        if len(self.text) > MAX_BYTES:
            self._stop("FILE_TOO_LARGE", TOO_LARGE, Position(self.file))
        if bad := _FORBIDDEN.search(self.text):
            message = f"must not contain the character U+{ord(bad.group()):04X}; remove it"
            self._stop("FILE_ENCODING", message, position_after(self.text[: bad.start()], self.file))

    # -- events

    def _parsed(self) -> Iterator[Event]:
        event: Event | None = None
        try:
            for event in yaml.parse(self.text, Loader=_LOADER):
                yield event
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            # At the end of the text, libyaml reports one line too many, with or without a final line break.
            inside = mark is not None and mark.index < len(self.text)
            where = self._position(mark) if inside else position_after(self.text, self.file)
            self._stop("YAML_SYNTAX", explained(error, self.text), where)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            # PyYAML's own parser does not check some escapes, such as "\U99999999".
            where = self._position(event.end_mark) if event else Position(self.file, 1, 1)
            self._stop("YAML_SYNTAX", f"cannot be read as YAML: {shown(error)}", where)

    def _until(self, end: type[Event]) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _position(self, mark: Any) -> Position:
        return Position(self.file, mark.line + 1, mark.column + 1)

    # -- nodes

    def _document(self) -> Node | None:
        next(self._events)  # stream start
        start = next(self._events)
        if not isinstance(start, DocumentStartEvent):
            return None
        if start.version or start.tags:
            # %YAML 1.1 would change the meaning of scalars, and %TAG is for tags.
            self._stop("YAML_SYNTAX", DIRECTIVE, self._position(start.start_mark))
        root = self._node(next(self._events), 1)
        self._refuse_other(root)
        next(self._events)  # document end
        after = next(self._events)
        if not isinstance(after, StreamEndEvent):
            message = "a file must contain one document, but a second one starts here; remove the --- or split the file"
            self._stop("YAML_DOCUMENTS", message, self._position(after.start_mark))
        return root

    def _refuse_other(self, root: Node) -> None:
        """Stop at a file of another tool with one finding."""
        if other := other_file(root):
            self.findings.clear()
            self._stop("FILE_MANIFEST", *other)

    def _node(self, event: Any, depth: int) -> Node:
        position = self._position(event.start_mark)
        if depth > MAX_DEPTH:
            self._stop("YAML_DEPTH", f"must be nested at most {MAX_DEPTH} levels deep", position)
        if isinstance(event, AliasEvent):
            return self._alias(event.anchor or "", depth, position)
        self._count(1, position)
        self._written += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node: Node
        if isinstance(event, ScalarEvent):
            node = self._scalar(event, position)
        elif isinstance(event, MappingStartEvent):
            node = self._mapping(depth, position)
        else:
            node = self._sequence(depth, position)
        if event.tag is not None:
            node = self._tagged(event.tag, position)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _count(self, size: int, position: Position) -> None:
        self._expanded += size
        if self._expanded <= MAX_NODES:
            return
        if self._written >= MAX_NODES:
            self._stop("FILE_TOO_LARGE", f"must have at most {MAX_NODES} values", position)
        message = f"aliases expand to more than {MAX_NODES} values; use fewer aliases"
        self._stop("YAML_ALIAS_LIMIT", message, position)

    def _alias(self, name: str, depth: int, position: Position) -> Node:
        if name not in self._anchors:
            known = shown(", ".join(f"&{anchor}" for anchor in sorted(self._anchors))) or "none"
            message = f"alias *{shown(name)} has no anchor before it; the anchors so far are: {known}"
            return self._faulty("YAML_SYNTAX", message, position)
        node = self._anchors[name]
        if node is None:
            self._stop("YAML_ALIAS_LIMIT", f"alias *{shown(name)} is inside its own anchor; remove the alias", position)
        if depth + node.height - 1 > MAX_DEPTH:
            self._stop("YAML_DEPTH", f"aliases must be nested at most {MAX_DEPTH} levels deep", position)
        self._count(node.size, position)
        return node

    def _tagged(self, tag: str, position: Position) -> Faulty:
        written = re.sub(r"^tag:yaml\.org,2002:", "!!", tag)
        hint = "put the value in quotes to make it text" if written == "!!str" else "remove the tag"
        return self._faulty("YAML_TAG", f"tag {shown(written)} is not allowed; {hint}", position)

    def _scalar(self, event: ScalarEvent, position: Position) -> Node:
        text = event.value
        if not event.style:  # plain
            return Scalar(resolve_plain(text), text, True, position)
        bad = None if text.isprintable() else _FORBIDDEN.search(text)
        if bad:  # possible only through an escape
            message = f"must not contain the escaped character U+{ord(bad.group()):04X}; remove it"
            return self._faulty("YAML_SYNTAX", message, position)
        return Scalar(text, text, False, position)

    def _sequence(self, depth: int, position: Position) -> Sequence:
        items = [self._node(event, depth + 1) for event in self._until(SequenceEndEvent)]
        size = 1 + sum(item.size for item in items)
        return Sequence(items, position, size, 1 + max((item.height for item in items), default=0))

    def _mapping(self, depth: int, position: Position) -> Mapping:
        entries: dict[str, Entry] = {}
        merged: list[Node] = []
        size, height = 1, 0
        for event in self._until(MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            size += key.size + value.size
            height = max(height, value.height)
            if isinstance(event, ScalarEvent) and not event.style and event.value == "<<":
                merged.append(value)
            else:
                self._add_entry(entries, key, value, event)
        self._merge_keys(entries, merged)
        return Mapping(entries, position, size, height + 1)

    def _add_entry(self, entries: dict[str, Entry], key: Node, value: Node, event: NodeEvent) -> None:
        if isinstance(key, Faulty):
            return
        # The node of a key that is an alias has the position of its anchor.
        position = self._position(event.start_mark)
        if not isinstance(key, Scalar):
            what = "list" if isinstance(key, Sequence) else "mapping"
            self._add("YAML_KEY_TYPE", f"a key must be text, got a {what}", position)
        elif not isinstance(key.value, str) or (key.plain_style and key.raw.lower() in OLD_BOOLEANS):
            message = (
                f"a key must be text in YAML, got {shown(key.raw) or 'nothing'}; put it in quotes: {quoted(key.raw)}"
            )
            self._add("YAML_KEY_TYPE", message, position)
        elif key.value in entries:
            first = entries[key.value].key_position
            message = f"key {quoted(key.value)} is used here and at {first}; keep one of them"
            self._add("YAML_DUPLICATE_KEY", message, position)
        else:
            entries[key.value] = Entry(position, value)

    def _merge_keys(self, entries: dict[str, Entry], merged: list[Node]) -> None:
        # The mapping's own keys take precedence, then those of earlier merged mappings:
        # https://yaml.org/type/merge.html
        for source in merged:
            for part in source.items if isinstance(source, Sequence) else [source]:
                if isinstance(part, Mapping):
                    for key, entry in part.entries.items():
                        entries.setdefault(key, entry)
                elif not isinstance(part, Faulty):
                    message = "the value of a merge key (<<) must be an alias of a mapping, or a list of such aliases"
                    self._add("YAML_SYNTAX", message, part.position)

    # -- findings

    def _add(self, code: str, message: str, position: Position) -> None:
        self.findings.append(Finding(code, "", message, position=position))

    def _faulty(self, code: str, message: str, position: Position) -> Faulty:
        self._add(code, message, position)
        return Faulty(position)

    def _stop(self, code: str, message: str, position: Position) -> NoReturn:
        self._add(code, message, position)
        raise _Stop
