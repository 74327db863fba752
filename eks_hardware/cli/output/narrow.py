"""Tables on a terminal that is too narrow for them: rows become paragraphs, and no figure is cropped."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_INDENT = "  "
_UNLIMITED = 10_000
_UNBROKEN = 24
"""Longest field, in characters, that stays on one line with its header."""
_NO_BREAK = "\u00a0"


def fitted(table: Table, out: Console) -> RenderableType:
    """Return a table if the console is wide enough for it; otherwise each row as a name and a paragraph.

    The name is the first left-aligned cell, with the cells before it.
    """
    from rich.console import Group

    return whole(table, out) or Group(*_paragraphs(table, out))


def whole(table: Table, out: Console) -> RenderableType | None:
    """Return a table, or its text as rendered for this console; None if it would crop a cell or break a word."""
    from rich.measure import Measurement
    from rich.segment import Segments

    wanted = Measurement.get(out, out.options.update_width(_UNLIMITED), table)
    if not wanted.minimum <= out.width < wanted.maximum:  # not rendered, which takes seconds for a thousand rows
        return table if out.width >= wanted.maximum else None
    lines = out.render_lines(table, pad=False, new_lines=True)
    parts = [part for line in lines for part in line]
    shown = Counter("".join(part.text for part in parts).split())
    return Segments(parts) if _words(table) <= shown else None


def _words(table: Table) -> Counter[str]:
    headers = [column.header for column in table.columns] if table.show_header else []
    cells = [cell for column in table.columns for cell in column.cells]
    return Counter("\n".join(_plain(cell) for cell in [*headers, *cells]).split())


def _paragraphs(table: Table, out: Console) -> Iterator[RenderableType]:
    from rich.text import Text

    names = 1 + next((place for place, each in enumerate(table.columns) if each.justify == "left"), 0)
    headers = [_plain(column.header) if table.show_header else "" for column in table.columns]
    rows = zip_longest(*(column.cells for column in table.columns), fillvalue="")
    for row, cells in zip(table.rows, rows, strict=True):
        texts = [_plain(cell) for cell in cells]
        yield Text(" ".join(filter(None, texts[:names])), style=row.style or "")
        fields = [(header, text) for header, text in zip(headers[names:], texts[names:], strict=True) if text]
        if fields:
            separator = ", " if table.show_header else ": "
            yield Text("\n".join(paragraph(fields, out.width, separator=separator)), style=row.style or "")


def paragraph(
    fields: Iterable[tuple[str, str]], width: int, *, separator: str = ", ", indent: str = _INDENT
) -> list[str]:
    """Return the lines of a row's cells, each after its header. Short cells are not broken."""
    text = separator.join(_field(header, value) for header, value in fields)
    lines = textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _field(header: str, value: str) -> str:
    field = f"{header} {value}".strip()
    return field.replace(" ", _NO_BREAK) if len(field) <= _UNBROKEN else field


def _plain(cell: RenderableType) -> str:
    from rich.text import Text

    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell), emoji=False).plain
