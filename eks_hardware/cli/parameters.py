"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from eks_hardware.cli import completion

Function = TypeVar("Function", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
"""A path, which need not exist."""


def strategy(
    name: str = "strategy", text: str = "A strategy file, or the name of one that would become a stack."
) -> Callable[[Function], Function]:
    """The argument for one strategy."""
    return click.argument(name, help=text, shell_complete=completion.strategies)


def overlays(over: str) -> Callable[[Function], Function]:
    """The option ``--overlay``; ``over`` is what the overlay is laid over, such as ``the file``."""
    return click.option(
        "--overlay",
        "overlays",
        multiple=True,
        metavar="NAME",
        shell_complete=completion.overlays,
        help=f"Name of an overlay to lay over {over}; may be repeated.",
    )


def output_format(*others: str, text: str = "How to print it.") -> Callable[[Function], Function]:
    """The option ``--format``: ``text``, ``json`` and what else the command knows."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json", *others]),
        default="text",
        show_default=True,
        help=text,
    )


def force(text: str) -> Callable[[Function], Function]:
    """The option ``--force``."""
    return click.option("--force", is_flag=True, help=text)


def model_of(said: str) -> dict[str, str]:
    """The value of ``--model SIZE|FILE``, such as ``8B`` or a path, as the field ``model`` of a workload."""
    if said.endswith(".json") or Path(said).exists():
        return {"hf_config": str(Path(said).absolute())}
    return {"parameters": said}
