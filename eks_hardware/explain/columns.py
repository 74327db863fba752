"""Text in columns, wrapped and never cut.

Written out here: for a whole strategy a table of Rich takes a quarter of a second, as much as all the rest.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

Cell = str | Sequence[str]
"""A text, or lines that stay lines."""


def columns(rows: Iterable[Sequence[Cell]], widths: Sequence[int], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Each row in as many lines as its longest cell takes, without blanks at the end.

    ``widths`` are in characters, with one blank between two columns; ``right`` has the indices of columns that are
    aligned to the right.
    """
    for row in rows:
        cells = [list(_lines(cell, width)) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (
                part.rjust(width) if index in right else part.ljust(width)
                for index, (part, width) in enumerate(zip(parts, widths, strict=True))
            )
            yield " ".join(padded).rstrip()


def _lines(cell: Cell, width: int) -> Iterator[str]:
    for line in [cell] if isinstance(cell, str) else cell:
        yield from wrapped(line, width, indent=" " * (len(line) - len(line.lstrip())))


def wrapped(text: str, width: int, *, indent: str = "", whole_words: bool = False) -> list[str]:
    """Lines of at most a width in characters, all but the first indented.

    With ``whole_words`` a word that is longer than a line, such as a link, stays whole.
    """
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=not whole_words, break_on_hyphens=False
    )


def widest(texts: Iterable[str]) -> int:
    """Characters of the longest text; 0 without any."""
    return max(map(len, texts), default=0)
