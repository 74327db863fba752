"""Print results as text for a terminal or as JSON.

Rich is imported on first use: JSON output does not need it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, cast

import click

from eks_hardware.cli.failures import record_document
from eks_hardware.cli.streams import width

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table


_LINES = 24
_GAP = 2
"""Spaces between two columns of a table."""
_JSON_VERSION = 1
"""Version of every JSON document: raised if a key is removed or changes its meaning."""
_MONEY = "usd"
_RATES = ("usd_per_hour", "usd_per_hour_at_most", "usd_per_million_tokens")
"""Keys of prices, which are multiplied by hours or tokens. All other amounts are in whole cents."""
_RATE_DIGITS, _AMOUNT_DIGITS = 4, 2
_PADDING = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)
"""Spaces at the end of a line, with the styles among them."""


def print_json(content: Mapping[str, object]) -> None:
    """Print a document as JSON on stdout, with ``version`` first. Kubernetes objects have ``apiVersion`` instead."""
    errors = record_document()
    versioned = content if "apiVersion" in content else {"version": _JSON_VERSION, **content, **errors}
    click.echo(json.dumps(rounded(versioned), indent=2, ensure_ascii=False))


def rounded(content: object, digits: int | None = None) -> object:
    """Return a document with rounded money: the numbers at and below a key ``usd...``, with its number of decimals."""
    if isinstance(content, Mapping):
        return {key: rounded(value, _digits(key, digits)) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [rounded(each, digits) for each in content]
    return round(content, digits) if isinstance(content, float) and digits is not None else content


def _digits(key: str, inherited: int | None) -> int | None:
    if not key.startswith(_MONEY):
        return inherited
    return _RATE_DIGITS if key in _RATES else _AMOUNT_DIGITS


class _Unpadded:
    """Stdout without trailing spaces, with which Rich pads the last column of a table."""

    def __init__(self) -> None:
        self._stream = sys.stdout

    def write(self, text: str) -> int:
        self._stream.write(_PADDING.sub(lambda match: match[0].replace(" ", ""), text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def console(*, highlight: bool = False) -> Console:
    """Return the console for tables."""
    from rich.console import Console

    columns = width()
    # Given width and height, Rich uses them even on a dumb terminal. No output depends on the height.
    height = None if columns is None else _LINES
    # Text such as `:key:` is a user's, not an emoji's name.
    return Console(highlight=highlight, emoji=False, file=cast("IO[str]", _Unpadded()), width=columns, height=height)


def table(
    columns: Sequence[str], *, right: Container[str] = (), fold: Container[str] = (), heading: str = "bold"
) -> Table:
    """Return a table without borders. ``right`` lists right-aligned columns, ``fold`` columns that wrap."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=heading)
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column not in fold,
            overflow="fold" if column in fold else "ellipsis",
            min_width=max(map(len, column.split()), default=None),  # headers break only at spaces
        )
    return made


def facts(rows: Iterable[tuple[RenderableType, RenderableType]]) -> Table:
    """Return a grid of labelled sentences. Sentences wrap to the right of their labels."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid
