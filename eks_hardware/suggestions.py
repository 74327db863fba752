"""Suggestions for unknown names, and other text that several messages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from eks_hardware.printable import joined

_CLOSE = 0.6
"""Minimum similarity of a suggested name, from 0 to 1: difflib's default."""
_AS_CLOSE = 0.1
"""Maximum difference in similarity to the nearest name; less similar names are left out."""
_SAME = 0.85
"""Minimum similarity at which one name counts as a misspelling of another."""
_CLOSEST = 3
"""Maximum number of suggested names."""


LISTED = 20
"""Maximum number of known names in a message about an unknown name."""


def several(names: Sequence[str], most: int = 5) -> str:
    """Join the first few names, with an ellipsis if there are more."""
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown


def some(names: Sequence[str], most: int) -> str:
    """Join the first few names, with the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def likeness(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio()


def close(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three similar names, nearest first; ignore case, ``-``, ``_``, ``.`` and spaces."""
    from difflib import get_close_matches  # needed only for an unknown name

    wanted = plain(word[:200])
    names = {plain(name): name for name in sorted(known)}
    nearest = get_close_matches(wanted, names, n=1, cutoff=_CLOSE)
    if not nearest:
        return ()
    least = likeness(nearest[0], wanted) - _AS_CLOSE
    return tuple(names[match] for match in get_close_matches(wanted, names, n=_CLOSEST, cutoff=max(least, _CLOSE)))


def misspelt(word: str, names: Iterable[str]) -> str | None:
    """Return the first name that the word almost certainly misspells."""
    from difflib import get_close_matches

    return next(
        (each for each in names if plain(word) == plain(each) or get_close_matches(each, [word], cutoff=_SAME)), None
    )


def plain(name: str) -> str:
    """Return a name without its case, ``-``, ``_``, ``.`` and spaces."""
    return re.sub(r"[-_ .]", "", name).lower()


def question(names: Sequence[str]) -> str:
    """Return "did you mean ...?" with the suggested names, or with the first few of more than three."""
    return f"did you mean {joined(names, 'or') if len(names) <= _CLOSEST else several(names)}?"


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """Return "did you mean ...?" with similar names; if there are none, ``otherwise``, by default all known names."""
    names = sorted(known)
    if meant := close(word, names):
        return question(meant)
    return f"use one of {', '.join(names)}" if otherwise is None else otherwise
