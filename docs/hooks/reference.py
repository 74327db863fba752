"""Writes the pages of the reference that are committed, for readers in the repository as for those of the site.

``docs/reference/strategy.md`` comes from the JSON Schema of strategy files, ``docs/reference/cli.md`` from the command
line itself. ``pytest tests/docs/test_generated.py --update-golden`` writes both; without that option it fails when one
is stale.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import typer

from eks_hardware.cli import application
from eks_hardware.models import Strategy

Schema = Mapping[str, Any]

_WRITTEN_BY = "This page is written by `pytest tests/docs/test_generated.py --update-golden`."

_STRATEGY_HEAD = f"""\
# Strategy file

Every field of a strategy, from [`config/strategy.schema.json`](../../config/strategy.schema.json). A field that says
neither **required** nor a default may be left out: its value is derived, or there is none. Unknown fields are refused.
What holds between fields is checked by [rules](rules.md); how to write a file is in [the guide](../guides/strategy.md).

Paths are those that `eks-hardware validate` and `eks-hardware explain` print; `[]` stands for an item of a list.

{_WRITTEN_BY}
"""

_CLI_HEAD = f"""\
# Command line

What `eks-hardware COMMAND --help` says of every command. Exit codes hold for all: 0 is success, 1 something wrong in
the files or the account, 2 wrong usage; where a command has others, or means more by one, it says so.

{_WRITTEN_BY}
"""

_VALUES = {int: "N", float: "X", str: "TEXT", Path: "PATH"}

_Value = TypeVar("_Value")

_CELL = str.maketrans({"|": r"\|", "\n": " ", "<": "&lt;"})


def strategy_page() -> str:
    """The reference of strategy files: a section for each map, a row for each field."""
    page = _StrategyPage(Strategy.model_json_schema())
    return "\n".join([_STRATEGY_HEAD, *page.sections()])


class _StrategyPage:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._definitions: Schema = schema["$defs"]
        # Where each definition is shown: where the file has it first.
        self._places: dict[str, str] = {}

    def sections(self) -> Iterator[str]:
        order: list[tuple[str, Schema]] = []
        self._find("", self._schema, order)
        for path, definition in order:
            yield from self._section(path, definition)

    def _find(self, path: str, definition: Schema, order: list[tuple[str, Schema]]) -> None:
        order.append((path, definition))
        for name, field in definition.get("properties", {}).items():
            for suffix, reference in _references(field):
                if reference in self._places:
                    continue
                alternatives = [each for _, each in _references(field)]
                choice = f" ({_constant(self._definitions[reference])})" if len(alternatives) > 1 else ""
                place = f"{path}.{name}{suffix}{choice}" if path else f"{name}{suffix}{choice}"
                self._places[reference] = place
                self._find(place, self._definitions[reference], order)

    def _section(self, path: str, definition: Schema) -> Iterator[str]:
        depth = path.count(".")
        yield f"{'##' if depth == 0 else '###'} {f'`{path}`' if path else 'The file'}"
        yield ""
        if path:
            yield f"{_text(definition.get('description', ''))}\n"
        yield "| field | |"
        yield "|---|---|"
        required = definition.get("required", ())
        for name, field in definition["properties"].items():
            value = "**required**" if name in required else _default(field)
            facts = " · ".join(each for each in (self._type(field), value) if each)
            anchor = f'<a id="{field_anchor(path, name)}"></a>'
            yield f"| {anchor}`{name}` | {self._described(field)}<br>{facts} |"
        yield ""

    def _described(self, field: Schema) -> str:
        """The field's text, or what its map is for."""
        own = [self._definitions[name].get("description", "") for _, name in _references(field)]
        return _text(field.get("description") or next(iter(own), ""))

    def _type(self, field: Schema) -> str:
        if "$ref" in field:
            place = self._places[field["$ref"].rsplit("/", 1)[1]]
            return f"[map](#{_slug(place)})"
        alternatives = field.get("anyOf") or field.get("oneOf")
        if alternatives:
            return " or ".join(dict.fromkeys(self._type(each) for each in alternatives if each.get("type") != "null"))
        if "const" in field:
            return _code(field["const"])
        if "enum" in field:
            return "one of " + ", ".join(_code(each) for each in field["enum"])
        kind = field.get("type")
        if kind == "array":
            return f"list of {self._type(field['items'])}{_bounds(field, 'Items', 'item')}"
        if kind == "object":
            return self._map(field)
        if kind == "string":
            return f"text{_bounds(field, 'Length', 'character')}{_pattern(field)}"
        if kind in ("integer", "number"):
            return f"{'whole number' if kind == 'integer' else 'number'}{_range(field)}"
        return {"boolean": "`true`, `false`", None: "anything"}[kind]

    def _map(self, field: Schema) -> str:
        values = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), True)
        inner = "anything" if values is True else self._type(values)
        return f"map of text to {inner}{_bounds(field, 'Properties', 'entry')}"


def _references(field: Schema) -> list[tuple[str, str]]:
    """The definitions that a field is made of, with what stands behind the field's name in a path."""
    if "$ref" in field:
        return [("", field["$ref"].rsplit("/", 1)[1])]
    found: list[tuple[str, str]] = []
    for each in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        found += _references(each)
    if isinstance(field.get("items"), Mapping):
        found += [(f"[]{suffix}", name) for suffix, name in _references(field["items"])]
    if isinstance(field.get("additionalProperties"), Mapping):
        found += [(f".*{suffix}", name) for suffix, name in _references(field["additionalProperties"])]
    return found


def _constant(definition: Schema) -> str:
    """What tells one alternative of a field from the others: the value of its first constant."""
    return next(str(field["const"]) for field in definition["properties"].values() if "const" in field)


def _default(field: Schema) -> str:
    value = field.get("default")
    if value in (None, {}, [], "") or _references(field):
        return ""
    return f"default {_code(value)}"


def _code(value: object) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _bounds(field: Schema, what: str, unit: str) -> str:
    low, high = field.get(f"min{what}"), field.get(f"max{what}")
    plural = {"entry": "entries"}.get(unit, f"{unit}s")
    if low and high:
        return f", {low} to {high} {plural}"
    if high:
        return f", at most {high} {plural if high > 1 else unit}"
    return f", at least {low} {plural if low > 1 else unit}" if low else ""


def _range(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", at least {low}"
    above = field.get("exclusiveMinimum")
    return f", above {above}" if above is not None else ""


def _pattern(field: Schema) -> str:
    # In an HTML element: a bar in a code span of a table would end the cell.
    if "pattern" not in field:
        return ""
    shown = field["pattern"].replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;").replace("*", "&#42;")
    return f", <code>{shown.replace('_', '&#95;').replace('[', '&#91;').replace('`', '&#96;')}</code>"


def _text(text: str) -> str:
    return text.translate(_CELL)


def field_anchor(path: str, name: str) -> str:
    """The anchor of a field: ``field-`` and its path without brackets."""
    return "field-" + ".".join(re.findall(r"[A-Za-z0-9_-]+", f"{path}.{name}"))


def _slug(path: str) -> str:
    """The anchor that GitHub and MkDocs give to a heading."""
    return "".join(each for each in path.lower().replace(" ", "-") if each.isalnum() or each in "-_")


def cli_page() -> str:
    """The reference of the command line: usage, explanation, arguments and options of each command."""
    found = dict(commands())
    rows = [f"| [`{name}`](#{_slug(name)}) | {_text(_first(function))} |" for name, function in found.items()]
    contents = ["| command | |", "|---|---|", *rows, ""]
    return "\n".join([_CLI_HEAD, *contents, *(line for item in found.items() for line in _command(*item))])


def commands() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every command by its name, in the order of the help: ``instances refresh`` after ``instances``."""
    app = application()
    for command in app.registered_commands:
        yield str(command.name), _not_none(command.callback)
    for group in app.registered_groups:
        within = _not_none(group.typer_instance)
        if within.registered_callback:
            yield str(group.name), _not_none(within.registered_callback.callback)
        for command in within.registered_commands:
            function = _not_none(command.callback)
            yield f"{group.name} {command.name or function.__name__}", function


class Parameter(NamedTuple):
    """An argument or an option of a command.

    Attributes:
        names: As they are written, an argument's in capitals.
        info: What Typer is told of it.
        kind: The type of its value.
        default: Its value when it is left out; ``...`` where it may not be.
    """

    names: tuple[str, ...]
    info: Any
    kind: Any
    default: object

    @property
    def is_option(self) -> bool:
        return self.names[0].startswith("-")


def parameters(function: Callable[..., object]) -> list[Parameter]:
    """The arguments and options of a command, in order."""
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if get_origin(hints[name]) is not Annotated:
            continue  # Typer's context
        kind, info = get_args(hints[name])
        required = parameter.default is inspect.Parameter.empty
        if isinstance(info, typer.models.OptionInfo):
            # In Annotated the first name of an option stands where its default would be.
            first = (info.default,) if isinstance(info.default, str) else ()
            names = (*first, *(info.param_decls or ())) or ("--" + name.replace("_", "-"),)
            names = tuple(part for each in names for part in each.split("/"))
        else:
            names = (info.metavar or name.upper(),)
        found.append(Parameter(names, info, _bare(kind), ... if required else parameter.default))
    return found


def _command(name: str, function: Callable[..., object]) -> Iterator[str]:
    found = [each for each in parameters(function) if not each.info.hidden]
    arguments = [each for each in found if not each.is_option]
    options = [each for each in found if each.is_option]
    yield f"## {name}\n"
    words = [_usage(each) for each in arguments] + ["[OPTIONS]"] * bool(options)
    yield f"```text\neks-hardware {' '.join([name, *words])}\n```\n"
    yield f"{_help(function)}\n"
    if arguments:
        yield "| argument | |\n|---|---|"
        yield from (f"| `{each.names[0]}` | {_text(each.info.help or '')} |" for each in arguments)
        yield ""
    if options:
        yield "| option | |\n|---|---|"
        yield from (f"| {_option(each)} | {_text(each.info.help or '')}{_meaning(each)} |" for each in options)
        yield ""


def _usage(argument: Parameter) -> str:
    word = argument.names[0] + ("..." if argument.kind[1] else "")
    return word if argument.default is ... else f"[{word}]"


def _option(option: Parameter) -> str:
    kind, _ = option.kind
    value = "" if kind is bool else f" {option.info.metavar or _VALUES.get(kind, 'VALUE')}"
    return "<br>".join(f"`{name}{value}`" for name in option.names)


def _meaning(option: Parameter) -> str:
    """What the help adds to the text: the values that are allowed, and the default."""
    kind, several = option.kind
    said = []
    if isinstance(kind, type) and issubclass(kind, Enum):
        said.append("One of " + ", ".join(f"`{each.value}`" for each in kind) + ".")
    if several and "repeated" not in (option.info.help or ""):
        said.append("May be repeated.")
    if option.default is ...:
        said.append("**Required.**")
    elif option.default not in (None, False, "", ()) and option.info.show_default is not False:
        value = option.default.value if isinstance(option.default, Enum) else option.default
        said.append(f"Default: `{value}`.")
    return "".join(f" {each}" for each in said)


def _bare(kind: Any) -> tuple[Any, bool]:
    """A type without ``None`` and without its list, and whether there was a list."""
    inner = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) in (list, tuple):
        return inner[0], True
    return _bare(inner[0]) if inner and type(None) in get_args(kind) else (kind, False)


def _help(function: Callable[..., object]) -> str:
    return inspect.cleandoc(function.__doc__ or "").replace("\b\n", "")


def _first(function: Callable[..., object]) -> str:
    return " ".join(_help(function).split("\n\n", 1)[0].split())


def _not_none(value: _Value | None) -> _Value:
    assert value is not None
    return value
