"""Questions at a terminal. Each has a default, and is asked again after a wrong answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from eks_hardware.cli.errors import tell
from eks_hardware.printable import joined

Answer = TypeVar("Answer")


class WrongAnswerError(Exception):
    """An answer that is not accepted. The text is one line that says what is."""


def at_terminal() -> bool:
    """Return whether someone can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, default: str | None, read: Callable[[str], Answer]) -> Answer:
    """Ask until ``read`` accepts the answer, and return its result."""
    while True:
        said = str(click.prompt(question, default=default, err=True)).strip()
        try:
            return read(said)
        except WrongAnswerError as error:
            tell(f"  {error}")


def choose(question: str, choices: Sequence[str]) -> str:
    """Ask for one of several words; the first is the default."""

    def read(said: str) -> str:
        if said not in choices:
            raise WrongAnswerError(f"choose {joined(choices, 'or')}")
        return said

    return choices[0] if len(choices) == 1 else ask(f"{question} ({', '.join(choices)})", choices[0], read)
