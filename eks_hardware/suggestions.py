"""Words that several messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def several(names: Sequence[str], most: int = 5) -> str:
    """The first few of some names."""
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None, *, cutoff: float = 0.6) -> str:
    """The nearest of some names, else ``otherwise``, by default all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=cutoff)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {', '.join(names)}" if otherwise is None else otherwise
