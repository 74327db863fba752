"""Regular expressions for fields, with descriptions of them for error messages."""

from __future__ import annotations

from pydantic import StringConstraints

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
LABEL_KEY = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
LABEL_VALUE = r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$"

_WORDS: dict[str, str] = {}


def pattern(
    regex: str, words: str, *, max_length: int | None = None, min_length: int | None = None
) -> StringConstraints:
    """Return the constraints of a string that must match ``regex``, which ``words`` describes in error messages.

    The description includes an example: ``a subnet ID such as subnet-0123456789abcdef0``.
    """
    _WORDS[regex] = words
    return StringConstraints(pattern=regex, max_length=max_length, min_length=min_length)


def in_words(regex: str) -> str | None:
    """Return the description of a regular expression; None if it has none."""
    return _WORDS.get(regex)
