"""Print results as text for a terminal or as JSON.

Rich is imported on first use: JSON output does not need it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from eks_hardware.cli.failures import record_document

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table


_GAP = 2
"""Spaces between two columns of a table."""
_JSON_VERSION = 1
"""Version of every JSON document: raised if a key is removed or changes its meaning."""


def print_json(content: Mapping[str, Any]) -> None:
    """Print a document as JSON on stdout, with its ``version`` first. Kubernetes objects have their own."""
    errors = record_document()
    versioned = content if "apiVersion" in content else {"version": _JSON_VERSION, **content, **errors}
    click.echo(json.dumps(versioned, indent=2, ensure_ascii=False))


def console(*, highlight: bool = False) -> Console:
    """Return the console for tables."""
    from rich.console import Console

    return Console(highlight=highlight)


def table(
    columns: Sequence[str], *, right: Container[str] = (), fold: Container[str] = (), heading: str = "bold"
) -> Table:
    """Return a table without borders. ``right`` lists right-aligned columns, ``fold`` columns that wrap."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=heading)
    for each in columns:
        made.add_column(
            each,
            justify="right" if each in right else "left",
            no_wrap=each not in fold,
            overflow="fold" if each in fold else "ellipsis",
            min_width=max(map(len, each.split()), default=None),  # headers break only at spaces
        )
    return made


def fits(table: Table, out: Console) -> bool:
    """Return whether a console is wide enough for every column of a table."""
    widths = [
        max(map(len, map(str, (column.header, *column.cells)))) if column.no_wrap else column.min_width or 0
        for column in table.columns
    ]
    return sum(widths) + _GAP * (len(widths) - 1) <= out.width


def facts(rows: Iterable[tuple[RenderableType, RenderableType]]) -> Table:
    """Return a grid of labelled sentences. Sentences wrap to the right of their labels."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid
