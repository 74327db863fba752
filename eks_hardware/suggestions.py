"""What somebody may have meant by an unknown name, and other words that several messages share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CLOSE = 0.6
"""How alike two names must be, from 0 to 1: difflib's own default."""
_AS_CLOSE = 0.1
"""Names that are less alike than the nearest by more than this are left out."""
_SAME = 0.85
"""From this likeness on, one name is the other one misspelt."""


def several(names: Sequence[str], most: int = 5) -> str:
    """The first few of some names."""
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown


def some(names: Sequence[str], most: int) -> str:
    """The first few of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def likeness(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio()


def close(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Up to three names that are spelled like a word, nearest first; case, ``-``, ``_``, ``.`` and spaces aside."""
    from difflib import get_close_matches  # Only a wrong name needs it.

    plain = _plain(word[:200])
    names = {_plain(name): name for name in sorted(known)}
    nearest = get_close_matches(plain, names, n=1, cutoff=_CLOSE)
    if not nearest:
        return ()
    least = likeness(nearest[0], plain) - _AS_CLOSE
    return tuple(names[each] for each in get_close_matches(plain, names, n=3, cutoff=max(least, _CLOSE)))


def misspelt(word: str, names: Iterable[str]) -> str | None:
    """The first of some names that a word can hardly be anything but a misspelling of."""
    return next((name for name in names if _plain(word) == _plain(name) or likeness(word, name) >= _SAME), None)


def _plain(name: str) -> str:
    return re.sub(r"[-_ .]", "", name).lower()


def question(names: Sequence[str]) -> str:
    """The sentence that asks for names."""
    *others, last = names
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The question for the names that are spelled like a word; else ``otherwise``, by default all names."""
    names = sorted(known)
    if meant := close(word, names):
        return question(meant)
    return f"known are {', '.join(names)}" if otherwise is None else otherwise
