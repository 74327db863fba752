"""Forms that text in a strategy has to have, each with words for it: nobody reads a regular expression in an error."""

from __future__ import annotations

from pydantic import StringConstraints

_WORDS: dict[str, str] = {}


def form(
    pattern: str, words: str, *, max_length: int | None = None, min_length: int | None = None
) -> StringConstraints:
    """Text of a form.

    Args:
        pattern: the regular expression that the whole text has to match.
        words: what that is, with an example: ``a subnet id such as subnet-0123456789abcdef0``.
        max_length: most characters.
        min_length: fewest characters.
    """
    _WORDS[pattern] = words
    return StringConstraints(pattern=pattern, max_length=max_length, min_length=min_length)


def in_words(pattern: str) -> str | None:
    """The words for a pattern; None for one that has none."""
    return _WORDS.get(pattern)
