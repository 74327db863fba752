"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from eks_hardware.cli import completers

Function = TypeVar("Function", bound=Callable[..., object])

# Anything that looks like a parameter count: the message about an invalid one describes the valid forms.
_SIZE = re.compile(r"[-+]?[0-9.,]+ ?[A-Za-z]{0,2}")

FILE = click.Path(path_type=Path)
"""A path that may not exist yet."""


def strategy(
    name: str = "strategy", text: str = "Strategy file, or the name of a strategy that becomes a stack."
) -> Callable[[Function], Function]:
    """Return the argument for one strategy."""
    return click.argument(name, help=text, shell_complete=completers.strategies)


def overlays(over: str) -> Callable[[Function], Function]:
    """Return the option ``--overlay``. ``over`` names the files that it applies to, such as ``the file``."""
    return click.option(
        "--overlay",
        "overlays",
        multiple=True,
        metavar="NAME",
        shell_complete=completers.overlays,
        help=f"Name of an overlay to apply to {over}; can be repeated.",
    )


def all_overlays(text: str) -> Callable[[Function], Function]:
    """Return the option ``--all-overlays``."""
    return click.option("--all-overlays", is_flag=True, help=text)


def refuse_both(overlays: tuple[str, ...], all_overlays: bool) -> None:
    """Refuse ``--overlay`` together with ``--all-overlays``."""
    if overlays and all_overlays:
        raise click.UsageError("--overlay and --all-overlays cannot be combined; remove one of them")


def refuse_pick_above(count: int, pick: int) -> None:
    """Raise click.BadParameter if ``--pick`` is above the number of choices."""
    if pick > count:
        limits = f"from 1 to {count}" if count > 1 else "1"
        raise click.BadParameter(f"must be {limits}, got {pick}", param_hint="--pick")


def output_format(*others: str, text: str = "Output format.") -> Callable[[Function], Function]:
    """Return the options ``--format``: ``text``, ``json``, and the command's other formats; and ``--json``."""
    choice = click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json", *others]),
        default="text",
        show_default=True,
        help=text,
    )
    short = click.option("--json", "format_", flag_value="json", help="Same as --format json.")
    return lambda function: choice(short(function))


def output(metavar: str, text: str, **more: Any) -> Callable[[Function], Function]:
    """Return the option ``--output``, the file or folder that a command writes."""
    return click.option("-o", "--output", type=FILE, metavar=metavar, help=text, **more)


def force(text: str) -> Callable[[Function], Function]:
    """Return the option ``--force``."""
    return click.option("--force", is_flag=True, help=text)


def model_of(text: str) -> dict[str, str]:
    """Return the value of ``--model``, such as ``8B``, ``qwen3-8b`` or a path, as the field ``model`` of a workload.

    An existing file takes precedence over a public model of the same name.
    """
    if text.endswith(".json") or Path(text).exists():
        return {"hf_config": str(Path(text).absolute())}
    return {"parameters" if _SIZE.fullmatch(text) else "name": text}
