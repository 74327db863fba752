"""Writes the pages of the reference that are committed, for readers in the repository as for those of the site.

``docs/reference/strategy.md`` comes from the JSON Schema of strategy files, ``docs/reference/cli.md`` from the command
line itself. ``pytest tests/docs/test_generated.py --update-golden`` writes both; without that option it fails when one
is stale.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from eks_hardware.cli import app
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

_VALUES = {"integer": "N", "choice": "VALUE", "path": "PATH", "filename": "FILE"}

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
        values: Any = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), True)
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
    found = commands()
    rows = [f"| [`{name}`](#{_slug(name)}) | {_text(_first(command))} |" for name, command in found.items()]
    contents = ["| command | |", "|---|---|", *rows, ""]
    return "\n".join([_CLI_HEAD, *contents, *(line for item in found.items() for line in _command(*item))])


def commands() -> dict[str, click.Command]:
    """Every command by its name, in the order of the help: ``instances refresh`` after ``instances``."""
    return dict(_commands(app, click.Context(app, info_name="")))


def _commands(group: click.Group, context: click.Context, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, context, f"{before}{name} ")


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    options = [each for each in command.params if isinstance(each, click.Option)]
    yield f"## {name}\n"
    words = [_usage(each) for each in arguments] + ["[OPTIONS]"] * bool(options)
    yield f"```text\neks-hardware {' '.join([name, *words])}\n```\n"
    yield f"{_help(command)}\n"
    if arguments:
        yield "| argument | |\n|---|---|"
        yield from (f"| `{_name(each)}` | {_text(each.help or '')} |" for each in arguments)
        yield ""
    if options:
        yield "| option | |\n|---|---|"
        yield from (f"| {_option(each)} | {_text(each.help or '')}{_meaning(each)} |" for each in options)
        yield ""


def _name(argument: click.Argument) -> str:
    return str(argument.name).upper()


def _usage(argument: click.Argument) -> str:
    word = _name(argument) + ("..." if argument.nargs < 0 else "")
    return word if argument.required else f"[{word}]"


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or _VALUES.get(option.type.name, 'TEXT')}"
    return "<br>".join(f"`{name}{value}`".replace("|", r"\|") for name in (*option.opts, *option.secondary_opts))


def _meaning(option: click.Option) -> str:
    """What the help adds to the text: the values that are allowed, and the default."""
    said = []
    if isinstance(option.type, click.Choice):
        said.append("One of " + ", ".join(f"`{each}`" for each in option.type.choices) + ".")
    if option.required:
        said.append("**Required.**")
    elif option.show_default and not option.is_flag:
        said.append(f"Default: `{option.default}`.")
    return "".join(f" {each}" for each in said)


def _help(command: click.Command) -> str:
    """The help in Markdown: what Click is not to wrap is a block of code."""
    text = inspect.cleandoc(command.help or "")
    return re.sub(r"\x08\n(.*?:)\n((?:  .*\n?)+)", r"\1\n\n```sh\n\2\n```", text).replace("\n\n```\n", "\n```\n")


def _first(command: click.Command) -> str:
    return " ".join(_help(command).split("\n\n", 1)[0].split())
