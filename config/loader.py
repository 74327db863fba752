"""Strategy files in, typed strategies out; or every finding of every file, each with its line and column.

    loaded = load_strategy("config/strategies/mixed-hardware.yaml", overlays=["private"])
    loaded.strategy.region                              # the typed model
    loaded.source.locate("node_groups[gpu].efa")        # where it stands

The YAML part is :mod:`yaml_source`; this module validates with pydantic and translates its errors: codes that
stay, paths that name list items, sentences instead of jargon. The core (:func:`load_document`) works with any
model.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo

from eks_hardware.config import overlays as ov
from eks_hardware.config import yaml_source as ys
from eks_hardware.config.discovery import DEFAULT_FOLDER, discover, read_environment
from eks_hardware.config.errors import Finding, Position, StrategyError
from eks_hardware.config.yaml_source import SourceMap

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from eks_hardware.config.models import Strategy

__all__ = [
    "Document",
    "LoadedStrategy",
    "SourceMap",
    "discover",
    "from_environment",
    "load_document",
    "load_documents",
    "load_strategies",
    "load_strategy",
    "parse_strategy",
]

ModelT = TypeVar("ModelT", bound=BaseModel)
Folders = Sequence[Path | str]


@dataclass(frozen=True)
class LoadedStrategy:
    """A valid strategy.

    Attributes:
        strategy: the typed model.
        source: where every field stands, overlays included.
        file: the strategy file as findings name it.
    """

    strategy: Strategy
    source: SourceMap
    file: str


@dataclass(frozen=True)
class Document(Generic[ModelT]):
    """What the generic core returns: a valid model and where its fields stand."""

    value: ModelT
    source: SourceMap
    file: str


# -- strategies


def load_strategy(
    file: Path | str, *, overlays: Sequence[str] = (), overlay_folders: Folders | None = None
) -> LoadedStrategy:
    """Loads one strategy file.

    Args:
        file: the YAML file.
        overlays: names of overlays, laid over the file in this order.
        overlay_folders: where overlays are; by default ``../overlays`` and ``overlays`` as seen from the
            file's folder, then those that ship with the package.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(Path(file), _model(), overlays=overlays, overlay_folders=overlay_folders))


def parse_strategy(text: str, *, file: str = "<string>") -> LoadedStrategy:
    """Loads a strategy from memory.

    Args:
        text: the YAML document.
        file: its name in findings.

    Raises:
        StrategyError: with every finding.
    """
    return _loaded(load_document(text, _model(), file=file))


def load_strategies(
    files: Iterable[Path | str], overlays: Sequence[str] = (), overlay_folders: Folders | None = None
) -> list[LoadedStrategy]:
    """Loads several strategy files.

    Raises:
        StrategyError: with every finding of every file; STRATEGY_NAME_DUPLICATE where two have one name.
    """
    documents = load_documents(files, _model(), overlays=overlays, overlay_folders=overlay_folders)
    return [_loaded(document) for document in documents]


def from_environment(
    environ: Mapping[str, str] = os.environ, default_folder: Path | str = DEFAULT_FOLDER
) -> list[LoadedStrategy]:
    """Loads the strategies that ``EKS_HARDWARE_STRATEGIES`` and ``EKS_HARDWARE_OVERLAY`` ask for.

    Args:
        environ: the environment.
        default_folder: folder of the strategies when the environment names none.

    Raises:
        StrategyError: with every finding.
    """
    selection = read_environment(environ)
    return load_strategies(discover(selection.paths, default_folder), selection.overlays)


def _model() -> type[Strategy]:
    # Here and not at the top: the core is used, and tested, without the strategy's models.
    from eks_hardware.config.models import Strategy

    return Strategy


def _loaded(document: Document[Strategy]) -> LoadedStrategy:
    return LoadedStrategy(document.value, document.source, document.file)


# -- generic core


@dataclass
class _Attempt(Generic[ModelT]):
    """One file on its way: what was read so far and what was found."""

    file: str
    root: ys.Mapping | None = None
    document: Document[ModelT] | None = None
    findings: list[Finding] = field(default_factory=list)


def load_document(
    source: Path | str,
    model: type[ModelT],
    *,
    file: str = "<string>",
    overlays: Sequence[str] = (),
    overlay_folders: Folders | None = None,
) -> Document[ModelT]:
    """Loads one document into a model.

    Args:
        source: a file (``Path``), or the text itself (``str``).
        model: the pydantic model of the whole document.
        file: name in findings, for text.
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
    read: dict[str, ys.Parsed] = {}
    attempts = [_attempt(Path(file), model, overlays, overlay_folders, read) for file in files]
    findings = [finding for attempt in attempts for finding in _ordered(attempt)]
    findings.extend(_duplicate_strategies(attempts))
    documents = [attempt.document for attempt in attempts if attempt.document is not None]
    if findings:
        # One overlay under many strategies would say the same thing many times.
        raise StrategyError({str(finding): finding for finding in findings}.values())
    return documents


def _attempt(
    path: Path,
    model: type[ModelT],
    overlays: Sequence[str],
    overlay_folders: Folders | None,
    read: dict[str, ys.Parsed],
) -> _Attempt[ModelT]:
    attempt: _Attempt[ModelT] = _Attempt(ys.display_name(path))
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
        attempt.findings.extend(parsed.findings)
        if parsed.root is None or attempt.root is None:
            attempt.root = None
        else:
            merged = ov.merge(attempt.root, parsed.root)
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
        details = error.errors(include_url=False, include_input=False)
        known = {(finding.code, finding.position) for finding in attempt.findings}
        for finding in _translate(details, root, model):
            if (finding.code, finding.position) not in known:
                attempt.findings.append(finding)
        if not attempt.findings:  # never silent, whatever was dropped above
            attempt.findings.append(Finding("FIELD_VALUE", "", ys.shown(error), position=root.position))
        return
    if not attempt.findings:
        attempt.document = Document(value, SourceMap(root), attempt.file)


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


# -- reading annotations


def _unwrap(annotation: Any) -> tuple[Any, ...]:
    """The alternatives an annotation allows besides None, without ``Annotated`` and aliases around them."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _unwrap(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return _unwrap(members[0]) if len(members) == 1 else tuple(members)
    if hasattr(annotation, "__value__"):  # type X = ...
        return _unwrap(annotation.__value__)
    if _is_model(annotation) and issubclass(annotation, RootModel):
        return _unwrap(annotation.model_fields["root"].annotation)
    return (annotation,)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _pick(members: tuple[Any, ...], label: object) -> Any:
    """The member of a union that pydantic's label or tag stands for; None where that cannot be told."""
    flat = [inner for member in members for inner in _unwrap(member)]
    named = [member for member in flat if getattr(member, "__name__", None) == label]
    tagged = [member for member in flat if _is_model(member) and label in _tags(member)]
    if not named and not tagged and str(label).startswith(_LIST_LABELS):
        named = [member for member in flat if typing.get_origin(member) in _LISTS]
    return next(iter(named or tagged), None)


_LISTS = (tuple, list, set, frozenset, Sequence)
_LIST_LABELS = ("tuple", "list", "set", "frozenset", "sequence")


def _tags(model: Any) -> set[object]:
    annotations = (info.annotation for info in model.model_fields.values())
    return {value for item in annotations if typing.get_origin(item) is Literal for value in _allowed(item)}


def _fields(model: Any) -> dict[str, FieldInfo]:
    """Fields by the name that a file uses."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _below(annotation: Any, part: str | int) -> tuple[Any, FieldInfo | None]:
    """The annotation (and the field, if it is one) one step down."""
    if _is_model(annotation):
        info = _fields(annotation).get(str(part))
        return (info.annotation, info) if info else (None, None)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and Ellipsis not in args:
        return (args[part] if isinstance(part, int) and part < len(args) else None), None
    if origin in _LISTS and args:
        return args[0], None
    if origin in (dict, Mapping) and args:
        return args[1], None
    return None, None


def _allowed(annotation: Any) -> list[Any]:
    """The values of a Literal or an Enum, of all alternatives together."""
    members = _unwrap(annotation)
    if len(members) > 1:
        return [value for member in members for value in _allowed(member)]
    member = members[0]
    if typing.get_origin(member) is Literal:
        return list(typing.get_args(member))
    if isinstance(member, type) and issubclass(member, Enum):
        return [item.value for item in member]
    return []


def _duplicate_names(path: str, node: ys.Node, annotation: Any) -> Iterator[Finding]:
    """Items with one name, in lists whose items are models with a ``name``; free-form values may repeat."""
    for member in _unwrap(annotation):
        if isinstance(node, ys.Sequence):
            below = _below(member, 0)[0]
            if any(_is_model(item) and "name" in _fields(item) for item in _unwrap(below)):
                yield from _same_names(path, node)
        for part, child in _collections_in(node):
            below = _below(member, part)[0]
            if below is not None:
                yield from _duplicate_names(ys.join_path(path, node, part), child, below)


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


# -- from pydantic to findings


@dataclass
class _Place:
    """Where a pydantic error points: in the file (node, path) and in the model (annotation, field)."""

    path: str
    node: ys.Node | None  # None: not written down
    parent: ys.Node | None
    nearest: ys.Node
    key: str | int | None
    annotation: Any
    info: FieldInfo | None
    owner: Any  # the model, where the last step was a field of one
    on_key: bool = False
    # The first plain union on the way: path there, and which alternative the error is about.
    branch: tuple[str, str] | None = None

    def key_position(self) -> Position:
        if isinstance(self.parent, ys.Mapping) and self.key in self.parent.entries:
            return self.parent.entries[str(self.key)].key_position
        return self.nearest.position


class _Translated(NamedTuple):
    kind: str  # pydantic's type of the error
    code: str
    need: str  # "a whole number"; empty where `message` says it all
    message: str
    place: _Place
    position: Position
    path: str
    choices: Sequence[Any] = ()


def _walk(loc: Sequence[str | int], root: ys.Node, model: Any) -> _Place:
    """Follows pydantic's location through file and model at once, so that union labels are told from keys."""
    place = _Place("", root, None, root, None, model, None, None)
    for part in loc:
        members = _unwrap(place.annotation)
        if len(members) > 1:
            place.branch = place.branch or (place.path, str(part))
            place.annotation = _pick(members, part)
            continue
        if part == "[key]":
            place.on_key = True
            continue
        if members[0] in (None, Any) and not _is_step(place.node, part):
            continue  # the model cannot say, and the file has no such key: a label
        _step(place, part, members[0])
    return place


def _is_step(node: ys.Node | None, part: str | int) -> bool:
    return ys.child_of(node, part) is not None if isinstance(node, (ys.Mapping, ys.Sequence)) else False


def _step(place: _Place, part: str | int, annotation: Any) -> None:
    place.path = ys.join_path(place.path, place.node, part)
    place.owner = annotation if _is_model(annotation) else None
    place.annotation, place.info = _below(annotation, part)
    place.parent, place.key = place.node, part
    # By key or index only: a label such as "0" must not find the item of that name.
    mapping = isinstance(place.node, ys.Mapping)
    place.node = ys.child_of(place.node, part) if mapping or isinstance(part, int) else None
    place.nearest = place.node or place.nearest


def _translate(details: Sequence[ErrorDetails], root: ys.Mapping, model: Any) -> list[Finding]:
    translated = [_translate_one(detail, root, model) for detail in details]
    findings: list[Finding] = []
    unions: dict[str, list[_Translated]] = {}
    for detail, item in zip(details, translated, strict=True):
        if isinstance(item.place.nearest, ys.Faulty):
            continue  # has a finding already
        if item.kind == "too_short" and _is_long_enough(detail, item.place.node):
            continue  # pydantic counts valid items only; the others have findings
        if item.place.branch is None:
            findings.append(_finding(item))
        else:
            unions.setdefault(item.place.branch[0], []).append(item)
    for path, items in unions.items():
        findings.extend(_union_findings(path, items))
    return findings


def _is_long_enough(detail: ErrorDetails, node: ys.Node | None) -> bool:
    written = len(node.items) if isinstance(node, ys.Sequence) else 0
    return written >= int(detail.get("ctx", {}).get("min_length", 0))


def _finding(item: _Translated) -> Finding:
    return Finding(item.code, item.path, item.message, position=item.position)


def _union_findings(path: str, items: list[_Translated]) -> list[Finding]:
    """pydantic reports every alternative of a union; what is wanted is the one that was meant."""
    labels: dict[str, list[_Translated]] = {}
    for item in items:
        if item.place.branch:
            labels.setdefault(item.place.branch[1], []).append(item)
    if len(labels) == 1:
        return [_finding(item) for item in items]
    deeper = [group for group in labels.values() if all(item.place.path != path for item in group)]
    if deeper:  # the shape fits this one
        return [_finding(item) for item in min(deeper, key=len)]
    heads = sorted((group[0] for group in labels.values()), key=lambda item: item.code == "FIELD_TYPE")
    best = heads[0]
    if not all(item.need for item in heads):
        return [_finding(best)]
    needs = " or ".join(dict.fromkeys(item.need for item in heads))
    hint = _suggestion(best.place.node, [choice for item in heads for choice in item.choices])
    message = f"needs {needs}, got {_given(best.place.node)}{hint}"
    return [Finding(best.code, best.path, message, position=best.position)]


# -- messages

_Template = Callable[["_Place", Mapping[str, Any]], str]


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _count(number: Any, place: _Place) -> str:
    one, many = "character", "characters"
    if isinstance(place.node, ys.Sequence):
        one, many = "item", "items"
    elif isinstance(place.node, ys.Mapping):
        one, many = "entry", "entries"
    return f"{number} {one if number == 1 else many}"


def _one_of(place: _Place, ctx: Mapping[str, Any]) -> str:
    values = [str(value) for value in _choices(place, ctx)]
    return f"one of {', '.join(values)}" if len(values) > 1 else f"the value {values[0]}"


def _choices(place: _Place, ctx: Mapping[str, Any]) -> list[Any]:
    """The allowed values; never empty."""
    # At a key or below a union, the annotation at hand is another one than the error is about.
    known = [] if place.on_key or place.branch or place.annotation is None else _allowed(place.annotation)
    expected = str(ctx.get("expected_tags") or ctx.get("expected") or "another")
    return known or re.findall(r"'([^']*)'", expected) or [expected]


def _fixed(text: str) -> _Template:
    return lambda _place, _ctx: text


def _bound(text: str, key: str) -> _Template:
    return lambda _place, ctx: f"{text} {_number(ctx.get(key))}"


def _pattern(_place: _Place, ctx: Mapping[str, Any]) -> str:
    return f"text of the form {ys.shown(ctx.get('pattern'), 160)}"


_TEXT = _fixed("text")
_MAPPING = _fixed("a mapping")
_LIST = _fixed("a list")
_WHOLE = _fixed("a whole number")
_TRUTH = _fixed("true or false")

# pydantic's error type -> (code, what is needed). https://docs.pydantic.dev/latest/errors/validation_errors/
_TEMPLATES: dict[str, tuple[str, _Template]] = {
    "bool_parsing": ("FIELD_TYPE", _TRUTH),
    "bool_type": ("FIELD_TYPE", _TRUTH),
    "dataclass_type": ("FIELD_TYPE", _MAPPING),
    "dict_type": ("FIELD_TYPE", _MAPPING),
    "enum": ("FIELD_VALUE", _one_of),
    "finite_number": ("FIELD_RANGE", _fixed("a finite number")),
    "float_parsing": ("FIELD_TYPE", _fixed("a number")),
    "float_type": ("FIELD_TYPE", _fixed("a number")),
    "frozen_set_type": ("FIELD_TYPE", _LIST),
    "greater_than": ("FIELD_RANGE", _bound("a number greater than", "gt")),
    "greater_than_equal": ("FIELD_RANGE", _bound("a number of at least", "ge")),
    "int_from_float": ("FIELD_TYPE", _WHOLE),
    "int_parsing": ("FIELD_TYPE", _WHOLE),
    "int_parsing_size": ("FIELD_RANGE", _fixed("a smaller number")),
    "int_type": ("FIELD_TYPE", _WHOLE),
    "less_than": ("FIELD_RANGE", _bound("a number less than", "lt")),
    "less_than_equal": ("FIELD_RANGE", _bound("a number of at most", "le")),
    "list_type": ("FIELD_TYPE", _LIST),
    "literal_error": ("FIELD_VALUE", _one_of),
    "mapping_type": ("FIELD_TYPE", _MAPPING),
    "model_attributes_type": ("FIELD_TYPE", _MAPPING),
    "model_type": ("FIELD_TYPE", _MAPPING),
    "multiple_of": ("FIELD_RANGE", _bound("a multiple of", "multiple_of")),
    "none_required": ("FIELD_TYPE", _fixed("no value")),
    "set_type": ("FIELD_TYPE", _LIST),
    "string_pattern_mismatch": ("FIELD_PATTERN", _pattern),
    "string_sub_type": ("FIELD_TYPE", _TEXT),
    "string_too_long": ("FIELD_LENGTH", lambda p, c: f"at most {_count(c.get('max_length'), p)}"),
    "string_too_short": ("FIELD_LENGTH", lambda p, c: f"at least {_count(c.get('min_length'), p)}"),
    "string_type": ("FIELD_TYPE", _TEXT),
    "too_long": ("FIELD_LENGTH", lambda p, c: f"at most {_count(c.get('max_length'), p)}"),
    "too_short": ("FIELD_LENGTH", lambda p, c: f"at least {_count(c.get('min_length'), p)}"),
    "tuple_type": ("FIELD_TYPE", _LIST),
    "union_tag_invalid": ("FIELD_VALUE", _one_of),
}


def _translate_one(detail: ErrorDetails, root: ys.Mapping, model: Any) -> _Translated:
    place = _walk(detail["loc"], root, model)
    ctx = detail.get("ctx", {})
    kind = detail["type"]
    if kind.startswith("union_tag"):
        _step(place, str(ctx.get("discriminator", "'type'")).strip("'"), None)
        kind = "missing" if place.node is None else kind
    position = (place.node or place.nearest).position
    if kind == "missing":
        return _missing(place)
    if kind == "extra_forbidden":
        return _unknown(place)
    if kind in _TEMPLATES:
        code, template = _TEMPLATES[kind]
        need = template(place, ctx)
        position = place.key_position() if place.on_key else position
        choices = _choices(place, ctx) if template is _one_of else ()
        message = _needs(need, kind, place, choices)
        return _Translated(kind, code, need, message, place, position, place.path, choices)
    return _custom(detail, place, position)


def _missing(place: _Place) -> _Translated:
    parent = place.parent or place.nearest
    position = parent.position
    message = f"required field {ys.shown(place.key)} is missing; add it"
    if isinstance(parent, ys.Mapping) and place.key in parent.removed:
        position = parent.removed[str(place.key)]
        message = f"required field {ys.shown(place.key)} is reset here and has no default; give it a value"
    return _Translated("missing", "FIELD_MISSING", "", message, place, position, place.path)


def _unknown(place: _Place) -> _Translated:
    allowed = sorted(_fields(place.owner)) if place.owner else []
    hint = _did_you_mean(str(place.key), allowed)
    fields = f" (fields here: {ys.shown(', '.join(allowed), 400)})" if allowed else ""
    message = f"unknown field {ys.quoted(place.key)}{hint}{fields}"
    position = place.key_position()
    return _Translated("extra_forbidden", "FIELD_UNKNOWN", "", message, place, position, place.path)


def _needs(need: str, kind: str, place: _Place, choices: Sequence[Any]) -> str:
    if place.on_key:
        return f"needs {need}, got key {ys.quoted(place.key)}{_did_you_mean(str(place.key), choices)}"
    given = _measured(place.node) if "too_" in kind else _given(place.node)
    hint = _quote_hint(kind, place.node, choices) or _suggestion(place.node, choices)
    if not hint and place.info and place.info.examples:
        hint = f"; for example {ys.shown(place.info.examples[0])}"
    return f"needs {need}, got {given}{hint}"


def _quote_hint(kind: str, node: ys.Node | None, choices: Sequence[Any]) -> str:
    """What to do about a scalar that YAML took for something else: ``1.30``, ``"4"``, ``yes``, ``1_000``."""
    if not isinstance(node, ys.Scalar) or node.value is None:
        return ""
    if not isinstance(node.value, str):
        is_text = kind == "string_type" or node.raw in choices
        return f"; put it in quotes: {ys.quoted(node.raw)}" if is_text else ""
    if kind.startswith("bool"):
        meant = ys.OLD_BOOLEANS.get(node.raw.lower(), ys.resolve_plain(node.raw.lower()))
        return f"; write {str(meant).lower()}, without quotes" if isinstance(meant, bool) else ""
    number = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", node.raw.replace("_", ""))
    is_number = kind.startswith(("int", "float")) and type(ys.resolve_plain(number)) in (int, float)
    if is_number or any(str(choice) == node.raw and not isinstance(choice, str) for choice in choices):
        return f"; write {ys.shown(number)}, without quotes"
    return ""


def _suggestion(node: ys.Node | None, allowed: Iterable[Any]) -> str:
    if not isinstance(node, ys.Scalar) or not isinstance(node.value, str):
        return ""
    return _did_you_mean(node.raw, allowed)


def _did_you_mean(word: str, allowed: Iterable[Any]) -> str:
    # Without case and separators: instanceTypes, Instance-Types -> instance_types.
    plain = {re.sub(r"[-_ .]", "", str(item)).lower(): str(item) for item in allowed}
    found = difflib.get_close_matches(re.sub(r"[-_ .]", "", word[:200]).lower(), plain, n=1)
    return f'; did you mean "{plain[found[0]]}"?' if found else ""


def _given(node: ys.Node | None) -> str:
    if isinstance(node, ys.Mapping):
        return "a mapping"
    if isinstance(node, ys.Sequence):
        return "a list"
    if not isinstance(node, ys.Scalar):
        return "something else"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, str):
        return ys.quoted(node.value)
    return f"{'the number ' if not isinstance(node.value, bool) else ''}{ys.shown(node.raw)}"


def _measured(node: ys.Node | None) -> str:
    if isinstance(node, ys.Sequence):
        return str(len(node.items)) if node.items else "an empty list"
    if isinstance(node, ys.Mapping):
        return str(len(node.entries)) if node.entries else "an empty mapping"
    if isinstance(node, ys.Scalar) and isinstance(node.value, str) and node.value:
        return f"{len(node.value)}: {ys.quoted(node.value)}"
    return "empty text"


def _custom(detail: ErrorDetails, place: _Place, position: Position) -> _Translated:
    """An error that a model raised itself, or one of pydantic's rare ones."""
    kind = detail["type"]
    ctx = detail.get("ctx", {})
    message = _sentence(detail["msg"])
    if isinstance(place.node, ys.Scalar) and not place.on_key:
        given = _given(place.node)
        if message.startswith(("is ", "contains ")):
            message = f"{given} {message}"
        elif message.startswith("needs "):
            message = f"{message}, got {given}"
    code = kind.upper() if kind not in _builtin_kinds() else _code_of_builtin(kind)
    position = place.key_position() if place.on_key else position
    path = place.path
    if "field" in ctx and kind not in _builtin_kinds():
        path, position = _sub_path(place, str(ctx["field"]), position)
    return _Translated(kind, code, "", message, place, position, path)


def _sentence(message: str) -> str:
    message = re.sub(r"^(Value error|Assertion failed), ", "", message)
    message = re.sub(r"^Input should be ", "needs ", message)
    if message[1:2].islower():  # not an abbreviation
        message = message[0].lower() + message[1:]
    return ys.shown(message, 400).rstrip(".")


def _sub_path(place: _Place, sub: str, position: Position) -> tuple[str, Position]:
    path, node = place.path, place.node
    for bracketed, word in ys.SEGMENT.findall(sub):
        label: str = bracketed or word
        is_index = isinstance(node, ys.Sequence) and label.isascii() and label.isdigit() and len(label) < 7
        part: str | int = int(label) if is_index else label
        path = f"{path}[{ys.shown(label)}]" if bracketed and not is_index else ys.join_path(path, node, part)
        node = ys.child_of(node, part)
        position = node.position if node else position
    return path, position


@lru_cache(maxsize=1)
def _builtin_kinds() -> frozenset[str]:
    from pydantic_core import core_schema

    return frozenset(typing.get_args(core_schema.ErrorType))


def _code_of_builtin(kind: str) -> str:
    if kind.endswith("_type") or kind.startswith("is_"):
        return "FIELD_TYPE"
    return "FIELD_VALUE"
