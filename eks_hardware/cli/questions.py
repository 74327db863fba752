"""Questions at a terminal. Each has a default, and is asked again after a rejected answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import click
from click.exceptions import Exit

from eks_hardware.cli.errors import tell
from eks_hardware.cli.streams import width, wrapped
from eks_hardware.interrupts import raise_in_block
from eks_hardware.printable import joined, quoted

Answer = TypeVar("Answer")
_SUFFIX = ": "
_INTERRUPTED = 130


class WrongAnswerError(Exception):
    """A rejected answer. The message is one line that says what is accepted."""


def at_terminal() -> bool:
    """Return whether someone can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, default: str | None, read: Callable[[str], Answer]) -> Answer:
    """Ask until ``read`` accepts the answer, and return its result.

    ``read`` also gets the empty answer to a question without a default. Click would ask again without giving a reason.
    """
    columns = width(err=True)
    shown = wrapped(f"{question} [{default}]" if default else question, columns and columns - len(_SUFFIX))
    while True:
        with raise_in_block():
            text = click.prompt(shown, default=default or "", show_default=False, prompt_suffix=_SUFFIX, err=True)
        answer = str(text).strip() or default or ""
        try:
            return read(answer)
        except WrongAnswerError as error:
            tell(f"  {error}")


def read_option(option: str, text: str, read: Callable[[str], Answer]) -> Answer:
    """Return the result of ``read`` for the value of an option; end the command if the value is rejected."""
    try:
        return read(text)
    except WrongAnswerError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def choose(question: str, choices: Sequence[str], default: str) -> str:
    """Ask for one of several words."""

    def read(answer: str) -> str:
        if answer not in choices:
            raise WrongAnswerError(f"must be {joined(choices, 'or')}, got {quoted(answer)}")
        return answer

    return ask(f"{question} ({', '.join(choices)})", default, read)


def confirmed(question: str) -> bool:
    """Ask a question with the answers yes (the default) and no."""
    answers = {"y": True, "yes": True, "n": False, "no": False}

    def read(answer: str) -> bool:
        if answer.lower() not in answers:
            raise WrongAnswerError(f"must be yes or no, got {quoted(answer)}")
        return answers[answer.lower()]

    return ask(question, "yes", read)


def interrupted(message: str) -> NoReturn:
    """End a command after an interruption or the end of the input at a question."""
    tell(f"\nInterrupted; {message}.")
    raise Exit(_INTERRUPTED) from None
