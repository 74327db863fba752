"""Building blocks of messages: text on one line, printable and not too long; numbers, prices and plurals."""

from __future__ import annotations

from collections.abc import Sequence

_LEAST_USD = 0.001
"""The smallest amount that is shown as a number."""


def visible(text: str, *, kept: str = "") -> str:
    r"""Return the text with invisible characters escaped (``\x00``, ``\u202e``), except those in ``kept``."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in kept or character.isprintable()
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shown(value: object, limit: int = 80) -> str:
    """Return a value as printable text on one line, cut to ``limit`` characters."""
    text = str(value)
    return visible(text if len(text) <= limit else text[: limit - 3] + "...")


def quoted(value: object) -> str:
    """Like :func:`shown`, in double quotes."""
    return f'"{shown(value)}"'


def number(value: float | None, digits: int = 1) -> str:
    """Format a number, with ``digits`` decimals unless it is whole: ``1,536``, ``2.3``; ``unknown`` for None."""
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{digits}f}"


def usd(value: float | None, digits: int | None = None) -> str:
    """Format US dollars with a suitable number of decimals, or with ``digits`` decimals; ``unknown`` for None.

    Whole dollars from 1,000, cents from 1, and three decimals below, because prices per hour are often that small.

    >>> usd(1234.5), usd(12.3), usd(0.7582), usd(0.0002), usd(0)
    ('1,234', '12.30', '0.758', '<0.001', '0')
    """
    if value is None:
        return "unknown"
    if digits is not None:
        return f"{value:,.{digits}f}"
    size = abs(value)
    if 0 < size < _LEAST_USD / 2:
        return f"<{_LEAST_USD}"
    return f"{value:,.{0 if size >= 999.5 or not value else 2 if size >= 0.9995 else 3}f}"


def ratio(value: float) -> str:
    """Format a ratio with two significant digits.

    >>> ratio(8.85), ratio(123.4), ratio(1.04)
    ('about 8.8x', 'about 120x', 'about 1.0x')
    """
    digits = 1 if float(f"{value:.2g}") < 10 else 0
    return f"about {float(f'{value:.2g}'):,.{digits}f}x"


def plural(noun: str, number: int) -> str:
    """Return a noun in singular or plural.

    >>> plural("EC2NodeClass", 2), plural("NetworkPolicy", 2), plural("NodePool", 1)
    ('EC2NodeClasses', 'NetworkPolicies', 'NodePool')
    """
    if number == 1:
        return noun
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 error``, ``2 errors``, ``2 policies``."""
    return f"{number} {plural(noun, number)}"


def joined(words: Sequence[str], conjunction: str) -> str:
    """Join words as in a sentence: ``a, b and c``, ``a or b``."""
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def reason(error: OSError) -> str:
    """Return the operating system's message for an error, such as ``no space left on device``."""
    return (error.strerror or str(error)).lower()
