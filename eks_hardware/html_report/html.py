"""HTML and SVG as nested calls: whatever is not :class:`Html` already is text, and is escaped.

    tag("p", "fits <b>", tag("strong", 3), class_="note")

An engine for templates would be one more dependency, and one more place where escaping can be switched off.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias


class Html(str):
    """Text that is HTML already. Only this module and constants make it from plain text."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | float | Iterable[Child] | None"
"""What an element may hold; None is nothing."""

# Elements without an end, of those that are used: https://html.spec.whatwg.org/multipage/syntax.html#void-elements
_VOID = frozenset({"meta", "wbr"})

# Space after these shows nowhere, and a page that is kept in git can be compared line by line.
_ENDS_LINE = frozenset({"details", "li", "rect", "section", "svg", "table", "text", "tr"})


def tag(name: str, /, *children: Child, **attributes: str | int | float | None) -> Html:
    """An element.

    Args:
        name: name of the element.
        children: what it holds, in order.
        attributes: ``class_`` stands for ``class``, ``aria_label`` for ``aria-label``; None leaves one out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    end = "\n" if name in _ENDS_LINE else ""
    return Html(f"<{name}{written}>{joined(children)}</{name}>{end}")


def joined(children: Child) -> Html:
    """All of them after each other."""
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return _escaped(children)
    if children is None:
        return Html()
    if isinstance(children, int | float):
        return Html(number(children))
    return Html("".join(map(joined, children)))


@lru_cache(maxsize=4096)
def _escaped(text: str) -> Html:
    return Html(html.escape(_printable(text)))


def number(value: float) -> str:
    """A coordinate or count with at most two decimals: ``12``, ``12.5``."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@lru_cache(maxsize=4096)  # classes, roles and sizes come again and again
def _attribute(value: str | int | float) -> str:
    return html.escape(_printable(value) if isinstance(value, str) else number(value))


def _printable(text: str) -> str:
    """Escapes for what XML has no place for, and for what is unseen or turns text around."""
    if text.isprintable():
        return text
    return "".join(
        each if each == "\n" or each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text
    )
