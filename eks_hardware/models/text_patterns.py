"""Patterns of text, with words for messages."""

from __future__ import annotations

from pydantic import StringConstraints

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
LABEL_KEY = r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
LABEL_VALUE = r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$"

_WORDS: dict[str, str] = {}


def pattern(
    regex: str, words: str, *, max_length: int | None = None, min_length: int | None = None
) -> StringConstraints:
    """Return constraints for text that must match a pattern, and words for error messages.

    The words include an example: ``a subnet ID such as subnet-0123456789abcdef0``.
    """
    _WORDS[regex] = words
    return StringConstraints(pattern=regex, max_length=max_length, min_length=min_length)


def in_words(regex: str) -> str | None:
    """Return the words for a pattern; None if it has none."""
    return _WORDS.get(regex)
