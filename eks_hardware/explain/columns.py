"""Text in columns, wrapped and never cut.

Rich is not used here: its table for a whole strategy takes a quarter of a second, as long as everything else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

Cell = str | Sequence[str]
"""A text, or separate lines."""


def columns(rows: Iterable[Sequence[Cell]], widths: Sequence[int], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Yield the lines of each row, as many as its longest cell needs, without trailing spaces.

    ``widths`` are in characters, with one space between columns. ``right`` lists the indices of right-aligned columns.
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
    """Return lines of at most ``width`` characters, all but the first indented.

    With ``whole_words``, a word longer than a line, such as a link, is not broken.
    """
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=not whole_words, break_on_hyphens=False
    )


def widest(texts: Iterable[str]) -> int:
    """Return the length of the longest text; 0 if there are none."""
    return max(map(len, texts), default=0)
