"""Usage errors, in the format of all other messages instead of Click's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
from click.exceptions import BadOptionUsage, BadParameter, MissingParameter, NoSuchCommand, NoSuchOption

from eks_hardware.cli.failures import as_typed
from eks_hardware.printable import quoted
from eks_hardware.suggestions import question

if TYPE_CHECKING:
    from collections.abc import Callable

_NEXT_SENTENCE = re.compile(r"\.\s+([A-Z])")
# Click's messages contain the given value, but no attribute does.
_NOT_A_CHOICE = re.compile(r"'(?P<given>.*)' is not one of .*")
_NOT_A_NUMBER = re.compile(r"'(?P<given>.*)' is not a valid integer( range)?")
_OUT_OF_RANGE = re.compile(r"(?P<given>\S+) is not in the range .*")
_NO_FILE = re.compile(r"'(?P<given>.*)': (?P<why>.*)")
_EXTRA = re.compile(r"Got unexpected extra arguments? \((?P<given>.*)\)")


def usage_message(error: click.ClickException) -> str:
    """Return Click's error as one lower-case line. If options are unclear, it names the command that lists them."""
    text = next((translate(error) for kind, translate in _TRANSLATIONS if isinstance(error, kind)), None)
    context = error.ctx if isinstance(error, _UNCLEAR) else None
    hint = f" (`{context.command_path} -h` shows the options)" if context else ""
    return f"{text or _in_lower_case(error.format_message())}{hint}"


def _in_lower_case(message: str) -> str:
    if match := _EXTRA.fullmatch(message.rstrip(".")):
        return f"unexpected argument {quoted(match['given'])}; remove it"
    sentence = " ".join(message.split()).removesuffix(".")
    sentence = _NEXT_SENTENCE.sub(lambda match: f"; {match[1].lower()}", sentence)
    return f"{sentence[0].lower()}{sentence[1:]}"


def _missing(error: MissingParameter) -> str:
    choices = error.param.type.choices if error.param and isinstance(error.param.type, click.Choice) else ()
    fix = f"choose one of {', '.join(map(str, choices))}" if choices else "add it"
    return f"{_name(error)} is missing; {fix}"


def _unknown_option(error: NoSuchOption) -> str:
    hint = f"; {question(sorted(error.possibilities))}" if error.possibilities else ""
    return f"unknown option {error.option_name}{hint}"


def _unknown_command(error: NoSuchCommand) -> str:
    hint, context = "", error.ctx
    if error.possibilities:
        hint = f"; {question(error.possibilities)}"
    elif context and isinstance(context.command, click.Group):
        known = ", ".join(context.command.list_commands(context))
        hint = f"; known: {known} (`{context.command_path} -h` shows the options)"
    return f"unknown command {quoted(error.command_name)}{hint}"


def _wrong_value(error: BadParameter) -> str:
    name, message = _name(error), error.message.rstrip(".")
    type_ = error.param.type if error.param else None
    if (match := _NOT_A_CHOICE.fullmatch(message)) and isinstance(type_, click.Choice):
        return f"{name} must be one of {', '.join(map(str, type_.choices))}, got {quoted(match['given'])}"
    if (match := _OUT_OF_RANGE.fullmatch(message)) and isinstance(type_, click.IntRange):
        least, most = type_.min, type_.max
        limits = f"from {least} to {most}" if most is not None else f"at least {least}"
        return f"{name} must be {limits}, got {match['given']}"
    if match := _NOT_A_NUMBER.fullmatch(message):
        return f"{name} must be a whole number, got {quoted(match['given'])}"
    if match := _NO_FILE.fullmatch(message):
        return f"{name} {quoted(match['given'])}: {match['why'].lower()}"
    return f"{name}{' ' if message.startswith('must ') else ': '}{message}"


def _wrong_number_of_values(error: BadOptionUsage) -> str:
    if "does not take a value" in error.message:
        return f"{error.option_name} must not have a value; remove it"
    return f"{error.option_name} must have a value, got none; add one"


def _name(error: BadParameter) -> str:
    """Return the name of an option, or of an argument in capitals as in the help."""
    if error.param is None:
        return str(error.param_hint or "an argument").strip("'")
    if isinstance(error.param, click.Option):
        return as_typed(sorted(error.param.opts, key=len, reverse=True))
    return (error.param.name or "").upper()


_UNCLEAR = (MissingParameter, NoSuchOption, BadOptionUsage)
_TRANSLATIONS: tuple[tuple[type[click.ClickException], Callable[..., str]], ...] = (
    (MissingParameter, _missing),
    (BadParameter, _wrong_value),
    (NoSuchOption, _unknown_option),
    (NoSuchCommand, _unknown_command),
    (BadOptionUsage, _wrong_number_of_values),
)
"""Error classes, each subclass before its base class."""
