"""YAML with positions: reads a file into a small tree in which every value knows its line and column.

Only what a strategy needs is accepted: one UTF-8 document whose top is a mapping, string keys, no tags, YAML
1.2 scalars. Everything else is a finding, never an exception of the parser. Aliases and merge keys (``<<``)
work within limits that are counted before anything is expanded.

:class:`Scalar`, :class:`Sequence` and :class:`Mapping` are the tree, ``plain()`` turns it into data,
:class:`SourceMap` answers "where does ``node_groups[gpu].scaling.max`` stand".

YAML 1.2 core schema: https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner

from eks_hardware.findings import Finding, Position, StrategyError

MAX_BYTES = 1 << 20
MAX_NODES = 20_000  # written or expanded from aliases; a strategy of 100 node groups has about 2,000
MAX_DEPTH = 40

_SHOWN = 80


# -- the tree


class Scalar:
    """A value; ``raw`` is its text as written, ``plain_style`` says that it was written without quotes."""

    __slots__ = ("plain_style", "position", "raw", "value")
    height = 1
    size = 1

    def __init__(self, value: object, raw: str, plain_style: bool, position: Position) -> None:
        self.value = value
        self.raw = raw
        self.plain_style = plain_style
        self.position = position

    def plain(self) -> Any:
        """The value as Python data."""
        return self.value


class Sequence:
    """A list."""

    __slots__ = ("height", "items", "position", "size")

    def __init__(self, items: list[Node], position: Position, size: int = 1, height: int = 1) -> None:
        self.items = items
        self.position = position
        self.size = size
        self.height = height

    def plain(self) -> Any:
        """The list as Python data."""
        return [item.plain() for item in self.items]

    def find(self, label: str) -> Node | None:
        """The item called ``label``, or else the one at index ``label``."""
        for item in self.items:
            if name_of(item) == label:
                return item
        if label.isascii() and label.isdigit() and len(label) < 7 and int(label) < len(self.items):
            return self.items[int(label)]
        return None


class Entry(NamedTuple):
    """One key of a mapping: where the key stands, and its value."""

    key_position: Position
    node: Node


class Mapping:
    """A mapping; ``removed`` holds where an overlay reset a key with ``null``."""

    __slots__ = ("entries", "height", "position", "removed", "size")

    def __init__(
        self,
        entries: dict[str, Entry],
        position: Position,
        size: int = 1,
        height: int = 1,
        removed: dict[str, Position] | None = None,
    ) -> None:
        self.entries = entries
        self.position = position
        self.size = size
        self.height = height
        self.removed = removed or {}

    def plain(self) -> Any:
        """The mapping as Python data."""
        return {key: entry.node.plain() for key, entry in self.entries.items()}

    def get(self, key: str) -> Node | None:
        """The value of ``key``."""
        entry = self.entries.get(key)
        return entry.node if entry else None


class Faulty:
    """Stands for a value that has a finding already; what a model says about it is dropped."""

    __slots__ = ("position",)
    height = 1
    size = 1

    def __init__(self, position: Position) -> None:
        self.position = position

    def plain(self) -> Any:
        """Nothing."""
        return None


Node = Scalar | Sequence | Mapping | Faulty


def name_of(node: Node | None) -> str | None:
    """The ``name`` of a list item, if it has one that is text."""
    if isinstance(node, Mapping):
        name = node.get("name")
        if isinstance(name, Scalar) and isinstance(name.value, str) and name.value:
            return name.value
    return None


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LABEL = re.compile(r"[^\[\]\s]{1,253}")
SEGMENT = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def split_path(path: str) -> list[str]:
    """``node_groups[gpu].scaling.max`` as ``["node_groups", "gpu", "scaling", "max"]``."""
    return [bracketed or word for bracketed, word in SEGMENT.findall(path)]


def join_path(path: str, parent: Node | None, part: str | int) -> str:
    """``path`` extended by one step; an item of a list goes by its name where it has one."""
    if isinstance(part, int):
        item = parent.items[part] if isinstance(parent, Sequence) and 0 <= part < len(parent.items) else None
        name = name_of(item)
        return f"{path}[{name if name and name.isprintable() and _LABEL.fullmatch(name) else part}]"
    if _WORD.fullmatch(part):
        return f"{path}.{part}" if path else part
    return f"{path}[{shown(part)}]"


class SourceMap:
    """Where every field of a document stands, overlays included.

    Examples:
        >>> source = load_strategy("config/strategies/gpu-training.yaml").source
        >>> position = source.locate("node_groups[system]")
        >>> position.file, position.line > 0
        ('config/strategies/gpu-training.yaml', True)
    """

    __slots__ = ("root",)

    def __init__(self, root: Node) -> None:
        self.root = root

    def locate(self, path: str) -> Position | None:
        """The position of a field's value; of its nearest parent where the field is not written down.

        A section, and a list of lines, stands where its key does.

        Args:
            path: as in a finding, ``node_groups[gpu].instance_types[0]``; empty for the document.
        """
        node = self.root
        position = node.position
        for label in split_path(path):
            child = child_of(node, label)
            if child is None:
                break
            position = child.position
            if isinstance(node, Mapping) and isinstance(child, (Mapping, Sequence)):
                key = node.entries[label].key_position
                position = key if key.file == position.file and key.line != position.line else position
            node = child
        return position


def child_of(node: Node | None, part: str | int) -> Node | None:
    """The value one step down, None where there is none."""
    if isinstance(node, Mapping):
        return node.get(str(part))
    if isinstance(node, Sequence):
        if isinstance(part, str):
            return node.find(part)
        return node.items[part] if 0 <= part < len(node.items) else None
    return None


# -- showing


def shown(value: object, limit: int = _SHOWN) -> str:
    """Text for a message: one line, printable, shortened."""
    text = str(value)
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    if cut.isprintable():
        return cut
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in cut)


def quoted(value: object) -> str:
    """Text in quotes, shortened and printable."""
    return f'"{shown(value)}"'


def display_name(file: Path | str) -> str:
    """How a file is named in findings: relative to the working directory where it lies below it."""
    text = os.fspath(file)
    if Path(text).is_absolute():
        with contextlib.suppress(ValueError, OSError):  # elsewhere, or the working directory was deleted
            text = str(Path(text).relative_to(Path.cwd()))
    return shown(text, 4096)


# -- reading

# What YAML calls non-printable, is a line break for some programs only, or turns text around on screen.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def read_text(path: Path | str, file: str) -> str:
    """The text of a regular UTF-8 file.

    Args:
        path: the file.
        file: its name in findings.

    Raises:
        StrategyError: FILE_UNREADABLE, FILE_TOO_LARGE, FILE_ENCODING.
    """
    try:
        _refuse_link(path)
        data = _read_bytes(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot be read: {shown(reason).lower()}"
        raise _failure("FILE_UNREADABLE", message, Position(file)) from None
    if len(data) > MAX_BYTES:
        limit = f"larger than {MAX_BYTES // 1024} KiB; a strategy or overlay is a few KiB"
        raise _failure("FILE_TOO_LARGE", limit, Position(file))
    return _decode(data, file)


def _refuse_link(path: Path | str) -> None:
    """Refuse a link to anything but a YAML file.

    Findings quote the line they are about. In a repository that others write to, a link to /proc/self/environ or to
    the credentials of the machine would print them into the log of a check.
    """
    if Path(path).is_symlink() and not os.path.realpath(path).lower().endswith((".yaml", ".yml")):
        raise OSError(0, "a link to a file that is not called .yaml or .yml")


def _read_bytes(path: Path | str) -> bytes:
    # O_NONBLOCK: opening a FIFO must not wait for a writer. The type is checked on the open file.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb", closefd=True) if _is_regular(handle) else _refuse(handle) as stream:
        return stream.read(MAX_BYTES + 1)


def _is_regular(handle: int) -> bool:
    return stat.S_ISREG(os.fstat(handle).st_mode)


def _refuse(handle: int) -> Any:
    kind = "is a directory" if stat.S_ISDIR(os.fstat(handle).st_mode) else "not a regular file"
    os.close(handle)
    raise OSError(0, kind)


def _decode(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        raise _failure("FILE_ENCODING", "encoded as UTF-16 or UTF-32; save it as UTF-8", Position(file, 1, 1))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        message = f"not UTF-8: byte 0x{data[error.start]:02x}; save it as UTF-8"
        raise _failure("FILE_ENCODING", message, _position_after(before, file)) from None


def _position_after(before: str, file: str) -> Position:
    lines = re.split(r"\r\n|\r|\n", before.removeprefix("\ufeff"))
    return Position(file, len(lines), len(lines[-1]) + 1)


def _failure(code: str, message: str, position: Position) -> StrategyError:
    return StrategyError([Finding(code, "", message, position=position)])


# -- scalars

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,99}")
_OCTAL = re.compile(r"0o[0-7]{1,99}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,99})(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,9})?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAY_BE_NUMBER = frozenset("0123456789+-.")

# YAML 1.1 reads these as booleans, YAML 1.2 as text; as a key they would mean two things.
OLD_BOOLEANS = {"yes": True, "on": True, "no": False, "off": False}


def resolve_plain(text: str) -> object:
    """What an unquoted scalar means in YAML 1.2; ``012`` (octal in 1.1) and ``1_000`` stay text."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    return _number(text)


def _number(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text) or _OCTAL.fullmatch(text):
        return int(text, 0)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", ""))
    return text


# -- parsing


class _Stop(Exception):  # noqa: N818  (a jump, not an error)
    """Nothing after this finding can be read."""

    def __init__(self, code: str, message: str, position: Position) -> None:
        super().__init__(code)
        self.finding = Finding(code, "", message, position=position)


class _Resolver:
    processing_version = (1, 2)


class _Mark:
    """A position; ruamel's own carries the whole text along and costs twice as much."""

    __slots__ = ("column", "index", "line", "name")

    def __init__(self, index: int, line: int, column: int) -> None:
        self.index = index
        self.line = line
        self.column = column
        self.name = ""


class _Reader(Reader):
    def get_mark(self) -> Any:
        return _Mark(self.index, self.line, self.column)

    def forward(self, length: int = 1) -> None:
        """As in the base class, but a stretch of one line is one step instead of one per character."""
        start = self.pointer
        end = start + length
        text = self.buffer[start:end]
        if "\n" in text or "\r" in text or end > len(self.buffer):
            super().forward(length)
            return
        self.pointer = end
        self.index += length
        self.column += length


_GAP = re.compile(r" *(?:#[^\r\n\0]*)?")
_FLOW_GAP = re.compile(r"[ \t]*(?:#[^\r\n\0]*)?")


class _Scanner(Scanner):
    """The base class with its hottest spots rewritten; a test compares the two on random text."""

    # A property of the base class that is asked for with every character.
    reader: Any = None
    scanner_processing_version = (1, 2)
    # True while the next token is known; the base class works that out anew with every question about it.
    ready = False

    def _prepare(self) -> list[Any]:
        while self.need_more_tokens():
            self.fetch_more_tokens()
        self.ready = True
        return self.tokens

    def check_token(self, *choices: Any) -> bool:
        tokens = self.tokens if self.ready else self._prepare()
        return bool(tokens) and (not choices or isinstance(tokens[0], choices))

    def peek_token(self) -> Any:
        tokens = self.tokens if self.ready else self._prepare()
        return tokens[0] if tokens else None

    def get_token(self) -> Any:
        tokens = self.tokens if self.ready else self._prepare()
        self.ready = False
        if not tokens:
            return None
        self.tokens_taken += 1
        return tokens.pop(0)

    def scan_directive(self) -> Any:
        # %YAML 1.1 would change what scalars mean, %TAG is for tags; there is no use for either.
        problem = "%YAML and %TAG directives are not supported; remove the line"
        raise MarkedYAMLError(problem=problem, problem_mark=self.reader.get_mark())

    def scan_to_next_token(self) -> Any:
        reader = self.reader
        gap = _FLOW_GAP if self.flow_context else _GAP
        while True:
            match = gap.match(reader.buffer, reader.pointer)
            if match and match.end() > reader.pointer:
                reader.forward(match.end() - reader.pointer)
            if not self.scan_line_break():
                return
            if not self.flow_context:
                self.allow_simple_key = True


class _ParserParts:
    """Ties ruamel's reader, scanner and parser together without its loader class."""

    processing_version = (1, 2)
    comment_handling = None  # as in ruamel's safe loader

    def __init__(self, text: str) -> None:
        self._resolver = _Resolver()
        self._reader = _Reader(text, loader=self)
        scanner = _Scanner.__new__(_Scanner)
        scanner.reader = self._reader
        scanner.__init__(loader=self)  # type: ignore[misc]
        self._scanner = scanner
        self._parser = _Parser(loader=self)
        self._parser.scanner = scanner
        self._parser.resolver = self._resolver


class _Parser(Parser):
    scanner: Any = None
    resolver: Any = None


class Parsed(NamedTuple):
    """A document and what is wrong with it; ``root`` is None where nothing could be read."""

    root: Mapping | None
    findings: tuple[Finding, ...]


def parse(text: str, file: str, *, may_be_empty: bool = False) -> Parsed:
    """Reads one YAML document.

    Args:
        text: the document; a byte order mark at its start is skipped.
        file: its name in findings.
        may_be_empty: an empty document is an empty mapping instead of FILE_EMPTY.
    """
    if len(text) > MAX_BYTES:
        limit = f"larger than {MAX_BYTES // 1024} KiB; a strategy or overlay is a few KiB"
        return Parsed(None, _failure("FILE_TOO_LARGE", limit, Position(file)).findings)
    text = text.removeprefix("\ufeff")
    bad = _FORBIDDEN.search(text)
    if bad:
        message = f"holds the character U+{ord(bad.group()):04X}, which is not allowed here; remove it"
        where = _position_after(text[: bad.start()], file)
        return Parsed(None, _failure("FILE_ENCODING", message, where).findings)
    return _Composer(text, file).document(may_be_empty)


class _Composer:
    """Turns the parser's events into the tree, collecting findings on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.findings: list[Finding] = []
        self.anchors: dict[str, Node | None] = {}  # None: still being read
        self.nodes = 0
        self.expanded = 0
        self.parts: _ParserParts | None = None

    def document(self, may_be_empty: bool) -> Parsed:
        try:
            root = self._read()
        except _Stop as stop:
            self.findings.append(stop.finding)
            return Parsed(None, tuple(self.findings))
        except MarkedYAMLError as error:
            self.findings.append(self._syntax(error))
            return Parsed(None, tuple(self.findings))
        except Exception as error:
            # The parser stumbles over some odd texts, such as "\U99999999"; here that is the text's fault.
            self._add("YAML_SYNTAX", f"cannot be read as YAML: {shown(error)}", self._here())
            return Parsed(None, tuple(self.findings))
        return self._checked(root, may_be_empty)

    def _checked(self, root: Node | None, may_be_empty: bool) -> Parsed:
        if root is None or (isinstance(root, Scalar) and root.value is None):
            if may_be_empty:
                return Parsed(Mapping({}, Position(self.file, 1, 1)), tuple(self.findings))
            message = "holds no values; see the examples in config/strategies"
            self._add("FILE_EMPTY", message, Position(self.file))
            return Parsed(None, tuple(self.findings))
        if isinstance(root, Mapping):
            return Parsed(root, tuple(self.findings))
        if not isinstance(root, Faulty):
            what = "a list" if isinstance(root, Sequence) else f"the single value {quoted(root.raw)}"
            message = f"needs a mapping (lines of field: value) at the top, got {what}"
            self._add("FILE_NOT_A_MAPPING", message, root.position)
        return Parsed(None, tuple(self.findings))

    def _read(self) -> Node | None:
        self.parts = _ParserParts(self.text)
        next_event = self.parts._parser.get_event
        next_event()  # stream start
        event = next_event()
        if isinstance(event, StreamEndEvent):
            return None
        self.next_event = next_event
        root = self._node(next_event(), 1)
        next_event()  # document end
        event = next_event()
        if not isinstance(event, StreamEndEvent):
            message = "a second document starts here; one file holds one, so remove the --- or split the file"
            raise _Stop("YAML_DOCUMENTS", message, self._position(event))
        return root

    # -- nodes

    def _node(self, event: Any, depth: int) -> Node:
        position = self._position(event)
        if depth > MAX_DEPTH:
            raise _Stop("YAML_DEPTH", f"nested deeper than {MAX_DEPTH} levels", position)
        if isinstance(event, AliasEvent):
            return self._alias(event, depth, position)
        self._count(1, position)
        self.nodes += 1
        anchor = event.anchor
        if anchor is not None:
            self.anchors[anchor] = None
        node: Node
        if isinstance(event, ScalarEvent):
            node = self._scalar(event, position)
        elif isinstance(event, MappingStartEvent):
            node = self._mapping(depth, position)
        else:
            node = self._sequence(depth, position)
        if event.ctag is not None:
            node = self._tagged(event, position)
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _count(self, size: int, position: Position) -> None:
        self.expanded += size
        if self.expanded <= MAX_NODES:
            return
        if self.nodes >= MAX_NODES:
            raise _Stop("FILE_TOO_LARGE", f"holds more than {MAX_NODES} values", position)
        message = f"aliases expand to more than {MAX_NODES} values; write fewer or no aliases"
        raise _Stop("YAML_ALIAS_LIMIT", message, position)

    def _alias(self, event: Any, depth: int, position: Position) -> Node:
        name = event.anchor
        if name not in self.anchors:
            known = shown(", ".join(f"&{anchor}" for anchor in sorted(self.anchors))) or "none"
            message = f"alias *{shown(name)} has no anchor before it; anchors so far: {known}"
            self._add("YAML_SYNTAX", message, position)
            return Faulty(position)
        node = self.anchors[name]
        if node is None:
            raise _Stop("YAML_ALIAS_LIMIT", f"alias *{shown(name)} stands inside its own anchor", position)
        if depth + node.height - 1 > MAX_DEPTH:
            raise _Stop("YAML_DEPTH", f"aliases nest deeper than {MAX_DEPTH} levels", position)
        self._count(node.size, position)
        return node

    def _tagged(self, event: Any, position: Position) -> Node:
        is_text = str(event.ctag).endswith(":str")
        hint = "put the value in quotes to make it text" if is_text else "remove the tag"
        self._add("YAML_TAG", f"tag {shown(event.ctag)} is not allowed; {hint}", position)
        return Faulty(position)

    def _scalar(self, event: Any, position: Position) -> Node:
        text = event.value
        if event.style is None:  # plain
            return Scalar(resolve_plain(text), text, True, position)
        bad = None if text.isprintable() else _FORBIDDEN.search(text)
        if bad:  # only an escape can bring one in here
            message = f"holds the escaped character U+{ord(bad.group()):04X}, which is not allowed; remove it"
            self._add("YAML_SYNTAX", message, position)
            return Faulty(position)
        return Scalar(text, text, False, position)

    def _sequence(self, depth: int, position: Position) -> Sequence:
        items: list[Node] = []
        size, height = 1, 0
        for event in self._until(SequenceEndEvent):
            item = self._node(event, depth + 1)
            items.append(item)
            size += item.size
            height = max(height, item.height)
        return Sequence(items, position, size, height + 1)

    def _mapping(self, depth: int, position: Position) -> Mapping:
        entries: dict[str, Entry] = {}
        merged: list[Node] = []
        size, height = 1, 0
        for event in self._until(MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(self.next_event(), depth + 1)
            size += key.size + value.size
            height = max(height, value.height)
            if isinstance(event, ScalarEvent) and event.style is None and event.value == "<<":
                merged.append(value)
            else:
                self._add_entry(entries, key, value, self._position(event))
        self._merge_keys(entries, merged)
        return Mapping(entries, position, size, height + 1)

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := self.next_event(), end):
            yield event

    def _add_entry(self, entries: dict[str, Entry], key: Node, value: Node, position: Position) -> None:
        if isinstance(key, Faulty):
            return
        if not isinstance(key, Scalar):
            what = "list" if isinstance(key, Sequence) else "mapping"
            self._add("YAML_KEY_TYPE", f"a {what} cannot be a key; a key is text", position)
            return
        if not isinstance(key.value, str) or (key.plain_style and key.raw.lower() in OLD_BOOLEANS):
            message = f"key {shown(key.raw) or 'missing'} is not text in YAML; put it in quotes: {quoted(key.raw)}"
            self._add("YAML_KEY_TYPE", message, position)
            return
        if key.value in entries:
            first = entries[key.value].key_position
            message = f"key {quoted(key.value)} stands here and at {first}; keep one of them"
            self._add("YAML_DUPLICATE_KEY", message, position)
            return
        entries[key.value] = Entry(position, value)

    def _merge_keys(self, entries: dict[str, Entry], merged: list[Node]) -> None:
        # The mapping's own keys win, then those of the earlier merged mapping: https://yaml.org/type/merge.html
        for source in merged:
            for part in source.items if isinstance(source, Sequence) else [source]:
                if isinstance(part, Mapping):
                    for key, entry in part.entries.items():
                        entries.setdefault(key, entry)
                elif not isinstance(part, Faulty):
                    message = "a merge key (<<) needs an alias of a mapping, or a list of such"
                    self._add("YAML_SYNTAX", message, part.position)

    # -- findings

    def _add(self, code: str, message: str, position: Position) -> None:
        self.findings.append(Finding(code, "", message, position=position))

    def _position(self, event: Any) -> Position:
        mark = event.start_mark
        return Position(self.file, mark.line + 1, mark.column + 1)

    def _here(self) -> Position:
        if self.parts is None:
            return Position(self.file)
        reader = self.parts._reader
        return Position(self.file, reader.line + 1, reader.column + 1)

    def _syntax(self, error: MarkedYAMLError) -> Finding:
        mark = error.problem_mark or error.context_mark
        where = Position(self.file, mark.line + 1, mark.column + 1) if mark else self._here()
        problem = shown(error.problem or error.context or "not YAML", 160)
        context = error.context if error.problem else None
        parts = [problem]
        if context:
            parts.append(shown(context, 160))
            if error.context_mark and error.context_mark.line != (mark.line if mark else -1):
                parts[-1] += f" that starts in line {error.context_mark.line + 1}"
        if "'\\t'" in problem:
            parts.append("indent with spaces, not tabs")
        return Finding("YAML_SYNTAX", "", ", ".join(parts), position=where)
