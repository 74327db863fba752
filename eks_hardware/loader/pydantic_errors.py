"""Translation of pydantic's errors into findings: stable codes, paths with names of list items, and plain sentences."""

from __future__ import annotations

import ast
import doctest
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pydantic.fields import FieldInfo

from eks_hardware import field_paths
from eks_hardware.findings import Finding, Position
from eks_hardware.loader import yaml_nodes as yn
from eks_hardware.loader.model_fields import allowed, below, fields, is_model, pick, unwrap
from eks_hardware.loader.other_names import field_here, list_of, other_name
from eks_hardware.loader.yaml_scalars import OLD_BOOLEANS, resolve_plain
from eks_hardware.models.text_patterns import in_words
from eks_hardware.printable import joined, quoted, shown
from eks_hardware.suggestions import close, question, several

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


@dataclass
class _Place:
    """The place of a pydantic error: in the file (node, path) and in the model (annotation, field)."""

    path: str
    node: yn.Node | None  # None: not in the file
    parent: yn.Node | None
    nearest: yn.Node
    key: str | int | None
    annotation: object
    info: FieldInfo | None
    owner: object  # the model, if the last step was a field of a model
    on_key: bool = False
    # The first plain union on the way to the value: its path, and the alternative that the error is about.
    branch: tuple[str, str] | None = None
    parent_path: str = ""

    def is_reset(self) -> bool:
        """Return whether an overlay removed the value."""
        return isinstance(self.parent, yn.Mapping) and self.key in self.parent.removed

    def key_position(self) -> Position:
        if isinstance(self.parent, yn.Mapping) and self.key in self.parent.entries:
            return self.parent.entries[str(self.key)].key_position
        return self.nearest.position

    def position(self) -> Position:
        return self.key_position() if self.on_key else self.nearest.position


class _Translated(NamedTuple):
    kind: str  # pydantic's type of the error
    finding: Finding
    place: _Place
    need: str = ""  # "a whole number"; empty if the message does not say what is needed
    choices: Sequence[object] = ()
    known: str = ""  # the fields of the mapping, if the message does not name a similar one


def _walk(loc: Sequence[str | int], root: yn.Node, model: object) -> _Place:
    """Follow pydantic's location through file and model at once, to distinguish union labels from keys."""
    place = _Place("", root, None, root, None, model, None, None)
    for part in loc:
        if part == "[key]":
            place.on_key = True
            continue
        member, *others = unwrap(place.annotation)
        if others:
            place.branch = place.branch or (place.path, str(part))
            place.annotation = pick((member, *others), part)
            continue
        if member in (None, object) and not _is_step(place.node, part):
            continue  # the model cannot decide, and the file has no such key: a label
        _step(place, part, member)
    return place


def _is_step(node: yn.Node | None, part: str | int) -> bool:
    return yn.child_of(node, part) is not None if isinstance(node, (yn.Mapping, yn.Sequence)) else False


def _step(place: _Place, part: str | int, annotation: object) -> None:
    place.parent_path, place.path = place.path, yn.path_below(place.path, place.node, part)
    place.owner = annotation if is_model(annotation) else None
    place.annotation, place.info = below(annotation, part)
    place.parent, place.key = place.node, part
    # By key or index only: a label such as "0" must not match the item of that name.
    mapping = isinstance(place.node, yn.Mapping)
    place.node = yn.child_of(place.node, part) if mapping or isinstance(part, int) else None
    place.nearest = place.node or place.nearest


def translate(details: Sequence[ErrorDetails], root: yn.Mapping, model: object) -> list[Finding]:
    """Return the findings for pydantic's errors."""
    translated = [_translate_one(detail, root, model) for detail in details]
    items: list[_Translated] = []
    unions: dict[str, list[_Translated]] = {}
    for detail, item in zip(details, translated, strict=True):
        if isinstance(item.place.nearest, yn.Faulty):
            continue  # it already has a finding
        if item.kind == "too_short" and _is_long_enough(detail, item.place.node):
            continue  # pydantic counts only valid items; the others have findings
        if item.place.branch is None:
            items.append(item)
        else:
            unions.setdefault(item.place.branch[0], []).append(item)
    for path, alternatives in unions.items():
        items.extend(_meant(path, alternatives))
    return _together(items)


def _together(items: Sequence[_Translated]) -> list[Finding]:
    """Return the findings: one for all missing fields of a mapping, and the known fields of a mapping only once."""
    missing: dict[str, list[_Translated]] = {}
    listed: set[str] = set()
    items = [_with_known(item, listed) for item in items]
    for item in items:
        if item.kind == "missing" and not item.place.is_reset():
            missing.setdefault(item.place.parent_path, []).append(item)
    several = {path: errors for path, errors in missing.items() if len(errors) > 1}
    merged = {id(finding) for errors in several.values() for finding in errors}
    findings = [item.finding for item in items if id(item) not in merged]
    for path, errors in several.items():
        names = joined([shown(finding.place.key) for finding in errors], "and")
        message = f"required fields {names} are missing; add them"
        findings.append(replace(errors[0].finding, path=path, message=message))
    return findings


def _with_known(item: _Translated, listed: set[str]) -> _Translated:
    """Return an error with the known fields of its mapping, unless they were ``listed`` before."""
    if not item.known:
        return item
    path = item.place.parent_path
    remedy = "rename or remove it" if path in listed else f"fields here: {item.known}"
    listed.add(path)
    return item._replace(finding=replace(item.finding, message=f"{item.finding.message}; {remedy}"))


def _is_long_enough(detail: ErrorDetails, node: yn.Node | None) -> bool:
    written = len(node.items) if isinstance(node, yn.Sequence) else 0
    return written >= int(detail.get("ctx", {}).get("min_length", 0))


# 1e3 in quotes is not a valid amount either.
_DECIMAL = r"[0-9]+\.[0-9]+"


def _meant(path: str, items: list[_Translated]) -> list[_Translated]:
    """Return the errors of the alternative that was meant; pydantic reports every alternative of a union."""
    labels: dict[str, list[_Translated]] = {}
    for item in items:
        if item.place.branch:
            labels.setdefault(item.place.branch[1], []).append(item)
    if len(labels) == 1:
        return items
    deeper = [group for group in labels.values() if all(item.place.path != path for item in group)]
    if deeper:  # the value has the shape of this alternative
        return min(deeper, key=len)
    if isinstance(items[0].place.nearest, yn.Mapping):
        # Missing fields of a mapping are reported for the alternative that is a mapping.
        of_mapping = [group for group in labels.values() if not any(_is_other_shape(item) for item in group)]
        if of_mapping:
            return min(of_mapping, key=len)
    heads = sorted((group[0] for group in labels.values()), key=lambda item: item.finding.code == "FIELD_TYPE")
    best = heads[0]
    if not all(item.need for item in heads):
        return [best]
    needs = " or ".join(dict.fromkeys(item.need for item in heads))
    hint = _suggestion(best.place, [choice for item in heads for choice in item.choices])
    node = best.place.node
    if not hint and isinstance(node, yn.Scalar) and re.fullmatch(_DECIMAL, node.raw):
        hint = next(filter(None, (_quote_hint(item.kind, node, ()) for item in heads)), "")
    if not hint and (example := _example_of(best.place)):
        hint = f"; for example {best.place.key}: {example}"
    message = f"must be {needs}, got {_given(best.place.node)}{hint}"
    return [best._replace(finding=replace(best.finding, message=message))]


def _is_other_shape(item: _Translated) -> bool:
    return item.kind == "literal_error" or item.kind.endswith("_type")


# -- messages

_Template = Callable[["_Place", Mapping[str, object]], str]


def _number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _count(number: object, place: _Place) -> str:
    one, many = "character", "characters"
    if isinstance(place.node, yn.Sequence):
        one, many = "item", "items"
    elif isinstance(place.node, yn.Mapping):
        one, many = "entry", "entries"
    return f"{number} {one if number == 1 else many}"


def _at_most(place: _Place, ctx: Mapping[str, object]) -> str:
    return f"at most {_count(ctx.get('max_length'), place)}"


def _at_least(place: _Place, ctx: Mapping[str, object]) -> str:
    return f"at least {_count(ctx.get('min_length'), place)}"


def _one_of(place: _Place, ctx: Mapping[str, object]) -> str:
    values = [str(value) for value in _choices(place, ctx)]
    return f"one of {', '.join(values)}" if len(values) > 1 else values[0]


def _choices(place: _Place, ctx: Mapping[str, object]) -> list[object]:
    """Return the allowed values; never empty."""
    # At a key or below a union, this annotation does not belong to the error.
    known = [] if place.on_key or place.branch or place.annotation is None else allowed(place.annotation)
    expected = str(ctx.get("expected_tags") or ctx.get("expected") or "another")
    return known or re.findall(r"'([^']*)'", expected) or [expected]


def _fixed(text: str) -> _Template:
    return lambda _place, _ctx: text


def _bound(text: str, key: str) -> _Template:
    return lambda _place, ctx: f"{text} {_number(ctx.get(key))}"


def _pattern(_place: _Place, ctx: Mapping[str, object]) -> str:
    pattern = str(ctx.get("pattern"))
    return in_words(pattern) or f"text of the form {shown(pattern, 160)}"


_TYPE_OF_MODELS = "a mapping"
_WITH_UNIT = re.compile(r"^([1-9][0-9]*) ?(Gi|GiB)$")
_TYPE_OF_LISTS = "a list"
# Need -> pydantic's types of the error. https://docs.pydantic.dev/latest/errors/validation_errors/
_TYPES: dict[str, tuple[str, ...]] = {
    _TYPE_OF_LISTS: ("frozen_set_type", "list_type", "set_type", "tuple_type"),
    _TYPE_OF_MODELS: ("dataclass_type", "dict_type", "mapping_type", "model_attributes_type", "model_type"),
    "a number": ("float_parsing", "float_type"),
    "a whole number": ("int_from_float", "int_parsing", "int_type"),
    "no value": ("none_required",),
    "text": ("string_sub_type", "string_type"),
    "true or false": ("bool_parsing", "bool_type"),
}
# pydantic's type of the error -> (code, need).
_TEMPLATES: dict[str, tuple[str, _Template]] = {
    **{kind: ("FIELD_TYPE", _fixed(text)) for text, kinds in _TYPES.items() for kind in kinds},
    "enum": ("FIELD_VALUE", _one_of),
    "finite_number": ("FIELD_RANGE", _fixed("a finite number")),
    "greater_than": ("FIELD_RANGE", _bound("greater than", "gt")),
    "greater_than_equal": ("FIELD_RANGE", _bound("at least", "ge")),
    "int_parsing_size": ("FIELD_RANGE", _fixed("a smaller number")),
    "less_than": ("FIELD_RANGE", _bound("less than", "lt")),
    "less_than_equal": ("FIELD_RANGE", _bound("at most", "le")),
    "literal_error": ("FIELD_VALUE", _one_of),
    "multiple_of": ("FIELD_RANGE", _bound("a multiple of", "multiple_of")),
    "string_pattern_mismatch": ("FIELD_PATTERN", _pattern),
    "string_too_long": ("FIELD_LENGTH", _at_most),
    "string_too_short": ("FIELD_LENGTH", _at_least),
    "too_long": ("FIELD_LENGTH", _at_most),
    "too_short": ("FIELD_LENGTH", _at_least),
    "union_tag_invalid": ("FIELD_VALUE", _one_of),
}


_RANGES = frozenset(kind for kind, (code, _) in _TEMPLATES.items() if code == "FIELD_RANGE")

_OTHER_VERSION = (
    "; 1 is the only version of this format: write version: 1, or upgrade eks-hardware if the file needs a newer one"
)


def _translate_one(detail: ErrorDetails, root: yn.Mapping, model: object) -> _Translated:
    place = _walk(detail["loc"], root, model)
    ctx = detail.get("ctx", {})
    kind = detail["type"]
    if kind.startswith("union_tag"):
        _step(place, str(ctx.get("discriminator", "'type'")).strip("'"), None)
        kind = "missing" if place.node is None else kind
    if kind == "missing":
        return _missing(place)
    if kind == "extra_forbidden":
        return _unknown(place, root, model)
    if kind in _TEMPLATES:
        code, template = _TEMPLATES[kind]
        need = template(place, ctx)
        choices = _choices(place, ctx) if template is _one_of else ()
        message = f"{_needs(need, kind, place, choices)}{_OTHER_VERSION if place.path == 'version' else ''}"
        finding = Finding(code, place.path, message, position=place.position())
        return _Translated(kind, finding, place, need, choices)
    return _custom(detail, place)


def _missing(place: _Place) -> _Translated:
    parent = place.parent or place.nearest
    position = parent.position
    message = f"required field {shown(place.key)} is missing; add it"
    if isinstance(parent, yn.Mapping) and place.is_reset():
        position = parent.removed[str(place.key)]
        message = f"required field {shown(place.key)} is reset here and has no default; set a value"
    return _Translated("missing", Finding("FIELD_MISSING", place.path, message, position=position), place)


def _unknown(place: _Place, root: yn.Mapping, model: object) -> _Translated:
    known = sorted(fields(place.owner)) if place.owner else []
    key = str(place.key)
    hint = _too_few_spaces(place)
    if not hint and (path := field_here(place.owner, key)):
        hint = f"; use {path}"
    if not hint and (items := list_of(place.owner, key)):
        hint = f"; it belongs in each item of {items}"
    if not hint and (longer := [name for name in known if name.startswith(f"{key}_")]):
        hint = f"; {question(longer)}"
    hint = hint or _too_many_spaces(place, root, model) or _did_you_mean(key, known)
    message = f"unknown field {quoted(place.key)}{hint}"
    finding = Finding("FIELD_UNKNOWN", place.path, message, position=place.key_position())
    listed = "" if hint else shown(", ".join(known), 400)
    return _Translated("extra_forbidden", finding, place, known=listed)


def _too_few_spaces(place: _Place) -> str:
    """Return a hint for a field that belongs to the section above it; usually empty."""
    key, parent = str(place.key), place.parent
    above = ""
    for name, entry in parent.entries.items() if isinstance(parent, yn.Mapping) else ():
        if name == key:
            break
        open_ = isinstance(entry.node, yn.Sequence) or (isinstance(entry.node, yn.Scalar) and entry.node.value is None)
        if open_ and any(key in fields(inner) for inner in _models_of(below(place.owner, name)[0])):
            above = f"an item of {name}" if isinstance(entry.node, yn.Sequence) else name
    return f"; it is a field of {above}, so indent it further" if above else ""


def _too_many_spaces(place: _Place, root: yn.Mapping, model: object) -> str:
    """Return a hint for a section of the file within another section; usually empty."""
    annotation = below(model, str(place.key))[0] if is_model(model) else None
    if annotation is None or place.parent is root or typing.get_origin(annotation) is typing.Literal:
        return ""  # "version" is usually that of something else than the file
    is_section = any(map(is_model, (*unwrap(annotation), *_models_of(annotation))))
    return f"; it is a top-level {'section' if is_section else 'field'}, so remove its indentation"


def _models_of(annotation: object) -> list[object]:
    """Return the models that a field, or an item of a list in it, can have."""
    found = [inner for member in unwrap(annotation) for inner in (member, *unwrap(below(member, 0)[0]))]
    return [inner for inner in found if is_model(inner)]


# Words for names that exist but are not managed; their source is in ``config/facts/addons.json``.
_MORE = {
    "cluster.addons": "; EKS offers more add-ons, which this toolkit does not manage: install them with Helm, or in a "
    "stack of your own",
}


def _needs(need: str, kind: str, place: _Place, choices: Sequence[object]) -> str:
    must = f"must {'have' if 'too_' in kind else 'be'} {need}"
    if place.on_key:
        name = place.parent_path.rpartition(".")[2]
        hint = (
            f"; use {meant}" if (meant := other_name(name, str(place.key))) else _did_you_mean(str(place.key), choices)
        )
        return f"{must}, got key {quoted(place.key)}{hint or _MORE.get(place.parent_path, '')}"
    number = "" if kind in _RANGES else "the number "  # a limit already says that the value is a number
    given = _measured(place.node) if "too_" in kind else _given(place.node, number=number)
    hint = (
        _quote_hint(kind, place.node, choices)
        or _suggestion(place, choices)
        or _list_hint(kind, place)
        or _plain_value(kind, place)
        or _instance_types(place)
    )
    if not hint and (example := _example_of(place, need if need in (_TYPE_OF_MODELS, _TYPE_OF_LISTS) else "")):
        hint = f"; for example {place.key}: {example}" if isinstance(place.key, str) else f"; for example {example}"
    return f"{must}, got {given}{hint}"


def _example_of(place: _Place, need: str = "") -> str:
    """Return an example of a field as YAML, on one line: its own, or one in the docstring of its model."""
    text = place.node.value if isinstance(place.node, yn.Scalar) and isinstance(place.node.value, str) else ""
    if place.info and place.info.examples:
        return _flow(_nearest(place.info.examples, text))
    if need == _TYPE_OF_LISTS:
        item = _example_of_models(below(place.annotation, 0)[0], text)
        return f"[{item}]" if item and item != "{}" else ""
    return _example_of_models(place.annotation, text) if need else ""


def _example_of_models(annotation: object, text: str) -> str:
    """Return the example in a model's docstring as YAML, on one line, otherwise ``{}`` if no field is required."""
    models = [member for member in unwrap(annotation) if is_model(member)]
    found: list[dict[str, object]] = []
    for model in models:
        for example in doctest.DocTestParser().get_examples(model.__doc__ or ""):
            for call in ast.walk(ast.parse(example.source)):
                named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id
                if isinstance(call, ast.Call) and named == model.__name__:
                    found += _arguments(call.keywords)
    needed = [info for model in models for info in fields(model).values() if info.is_required()]
    return _flow(_nearest(found, text)) if found else "{}" if models and not needed else ""


def _nearest(examples: Sequence[Any], text: str) -> object:
    """Return the first example, or one with a value that starts like the given text."""
    like = [
        example
        for example in examples
        if isinstance(example, dict) and any(text and str(value)[:2] == text[:2] for value in example.values())
    ]
    return [*like, *examples][0]


def _arguments(arguments: Iterable[ast.keyword]) -> list[dict[str, object]]:
    try:
        return [{str(argument.arg): ast.literal_eval(argument.value) for argument in arguments}]
    except ValueError:  # a variable
        return []


def _flow(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False).strip().partition("\n")[0]


def _quote_hint(kind: str, node: yn.Node | None, choices: Sequence[object]) -> str:
    """Return a hint for a scalar that YAML reads as another type: ``1.30``, ``"4"``, ``yes``, ``1_000``."""
    if not isinstance(node, yn.Scalar) or node.value is None:
        return ""
    if not isinstance(node.value, str):
        is_text = kind == "string_type" or node.raw in choices
        return f"; put it in quotes: {quoted(node.raw)}" if is_text else ""
    if kind.startswith("bool"):
        meant = OLD_BOOLEANS.get(node.raw.lower(), resolve_plain(node.raw.lower()))
        quotes = "" if node.plain_style else ", without quotes"
        return f"; write {str(meant).lower()}{quotes}" if isinstance(meant, bool) else ""
    number = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", node.raw.replace("_", ""))
    is_number = kind.startswith(("int", "float")) and type(resolve_plain(number)) in (int, float)
    if is_number or any(str(choice) == node.raw and not isinstance(choice, str) for choice in choices):
        return f"; write {shown(number)}, without quotes"
    return ""


def _list_hint(kind: str, place: _Place) -> str:
    """Return a hint for a single value, or the fields of a single item, instead of a list."""
    node = place.node
    if not kind.startswith(("tuple", "list", "set", "frozen_set")):
        return ""
    items = unwrap(below(place.annotation, 0)[0])
    if isinstance(node, yn.Mapping) and node.entries:
        first = next(iter(node.entries))
        is_item = any(first in fields(item) for item in items if is_model(item))
        return f'; write "- " before {first}, which begins an item' if is_item else ""
    if any(map(is_model, items)):
        return ""  # the example of a list is of more use
    return f"; write [{shown(node.raw)}]" if isinstance(node, yn.Scalar) and node.raw else ""


def _plain_value(kind: str, place: _Place) -> str:
    """Return a hint for a switch that is written as a section, or a whole number with a unit."""
    node = place.node
    if kind.startswith("bool") and isinstance(node, yn.Mapping) and list(node.entries) == ["enabled"]:
        inner = node.entries["enabled"].node
        if isinstance(inner, yn.Scalar) and isinstance(inner.value, bool):
            return f"; write {place.key}: {str(inner.value).lower()}"
    if kind.startswith("int") and isinstance(node, yn.Scalar):
        number, unit = _WITH_UNIT.match(node.raw), str(place.key).endswith("_gib")
        return f"; write {number[1]}" if number and unit else ""
    return ""


def _instance_types(place: _Place) -> str:
    """Return a hint for a family, an accelerator or a list in one text instead of an instance type."""
    node = place.node
    if not place.parent_path.endswith("instance_types") or not isinstance(node, yn.Scalar):
        return ""
    from eks_hardware.catalogue import load  # Needed only for a wrong name.

    catalogue, words = load(), re.split(r"[,\s]+", node.raw.strip())
    if len(words) > 1 and all(word in catalogue for word in words):
        return f"; write [{', '.join(words)}]"
    if of_family := catalogue.select(family=node.raw):
        return f"; types in this family: {several([kind.name for kind in of_family])}"
    if with_it := catalogue.select(accelerator=node.raw):
        return f"; types with this accelerator: {several([kind.name for kind in with_it])}"
    return ""


def _suggestion(place: _Place, allowed: Sequence[object]) -> str:
    node = place.node
    if not isinstance(node, yn.Scalar) or not isinstance(node.value, str):
        return ""
    meant = other_name(str(place.key), node.raw)
    return f"; {question([meant])}" if meant and meant in allowed else _did_you_mean(node.raw, allowed)


def _did_you_mean(word: str, allowed: Iterable[object]) -> str:
    meant = close(word, map(str, allowed))
    return f"; {question(meant)}" if meant else ""


def _given(node: yn.Node | None, *, number: str = "the number ") -> str:
    if isinstance(node, yn.Mapping):
        return "a mapping"
    if isinstance(node, yn.Sequence):
        return "a list"
    if not isinstance(node, yn.Scalar):
        return "something else"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, str):
        return quoted(node.value)
    return f"{'' if isinstance(node.value, bool) else number}{shown(node.raw)}"


def _measured(node: yn.Node | None) -> str:
    if isinstance(node, yn.Sequence):
        return str(len(node.items)) if node.items else "an empty list"
    if isinstance(node, yn.Mapping):
        return str(len(node.entries)) if node.entries else "an empty mapping"
    if isinstance(node, yn.Scalar) and isinstance(node.value, str) and node.value:
        return f"{len(node.value)}: {quoted(node.value)}"
    return "empty text"


def _custom(detail: ErrorDetails, place: _Place) -> _Translated:
    """Translate an error that a model raised itself, or one of pydantic's rare ones."""
    kind = detail["type"]
    ctx = detail.get("ctx", {})
    fix = ctx.get("fix")
    message = _sentence(ctx["message"] if fix else detail["msg"])
    if isinstance(place.node, yn.Scalar) and not place.on_key and message.startswith("must "):
        message = f"{message}, got {_given(place.node)}"
    if fix:
        message = f"{message}; {fix}"
    code = kind.upper() if kind not in builtin_kinds() else _code_of_builtin(kind)
    path, position = place.path, place.position()
    if "field" in ctx and kind not in builtin_kinds():
        path, position = _sub_path(place, str(ctx["field"]), position)
    return _Translated(kind, Finding(code, path, message, position=position), place)


def _sentence(message: str) -> str:
    message = re.sub(r"^(Value error|Assertion failed), ", "", message)
    message = re.sub(r"^Input should be ", "must be ", message)
    if message[1:2].islower():  # not an abbreviation
        message = message[0].lower() + message[1:]
    return shown(message, 400).rstrip(".")


def _sub_path(place: _Place, sub: str, position: Position) -> tuple[str, Position]:
    path, node = place.path, place.node
    for step, label in zip(field_paths.steps(sub), field_paths.split(sub), strict=True):
        index = yn.index_of(label) if isinstance(node, yn.Sequence) else None
        part = label if index is None else index
        in_brackets = index is None and step != label
        path = field_paths.item(path, shown(label)) if in_brackets else yn.path_below(path, node, part)
        node = yn.child_of(node, part)
        position = node.position if node else position
    return path, position


@lru_cache(maxsize=1)
def builtin_kinds() -> frozenset[str]:
    """Return pydantic's own error types; models raise all others, with messages of this project."""
    from pydantic_core import core_schema

    return frozenset(typing.get_args(core_schema.ErrorType))


def _code_of_builtin(kind: str) -> str:
    if kind.endswith("_type") or kind.startswith("is_"):
        return "FIELD_TYPE"
    return "FIELD_VALUE"
