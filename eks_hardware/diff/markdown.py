"""A comparison as a pull request comment in GitHub's Markdown.

All text from a strategy is in code spans, where it cannot become HTML, a link, a mention or a table border.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from eks_hardware.cost import HOURS_PER_MONTH
from eks_hardware.diff.compare import Changes
from eks_hardware.diff.messages import VERBS, sentence
from eks_hardware.diff.plan import Action
from eks_hardware.diff.summary import Point, change_in_words, cost_rows, dollars, listed, outline, summary, title
from eks_hardware.printable import counted

MOST = 62_000
"""Maximum characters of a comment, with room for text around it: GitHub's limit is 65,536.

Source: https://github.com/google/go-github/pull/440
"""
_MOST_POINTS, _MOST_HARDWARE, _MOST_CAPACITY, _MOST_UNPRICED = 24_000, 14_000, 8_000, 2_000
"""Maximum characters of each part. The remaining characters are for the resource table."""
_AROUND = 2_000
"""Characters reserved around the rows of the table of resources."""
_MOST_IN_SPAN = 1_000
"""Maximum characters of one value."""
_LEAST_CHANGE = 0.01
"""The smallest change in US dollars per month that the headline shows."""


def as_markdown(changes: Changes, name: str | None = None) -> str:
    """Return summary, tables, and all resources in a collapsed section, within GitHub's limit for a comment.

    ``name`` replaces the names of the strategies in the heading.
    """
    lines = list(_lines(changes, code(title(changes)) if name is None else name))
    lines += _resources(changes, MOST - _size(lines))
    return "\n".join(lines).rstrip("\n") + "\n"


def code(text: str, *, in_table: bool = False) -> str:
    r"""Return a code span of any text. Only backticks, and in tables vertical bars, need escaping.

    >>> code("a`b"), code("a|b", in_table=True)
    ('``a`b``', '`a\\|b`')
    """
    flat = re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()
    if len(flat) > _MOST_IN_SPAN:
        flat = f"{flat[:_MOST_IN_SPAN].rstrip()} ..."
    if not flat:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    span = f"{fence}{pad}{flat}{pad}{fence}"
    # A backslash before the bar would cancel the bar's own escape.
    return re.sub(r"(\\*)\|", r"\1\1\\|", span) if in_table else span


def _cell(text: str) -> str:
    return code(text, in_table=True)


def _lines(changes: Changes, name: str) -> Iterator[str]:
    yield f"### {name}: {summary(changes)}{_headline(changes)}"
    yield ""
    if changes.notes:
        yield "> [!WARNING]"
        yield from (f"> {note}" for note in changes.notes)
        yield ""
    points = outline(changes).points
    if points:
        lines, more = _within(_MOST_POINTS, [f"- {_point(point)}" for point in points])
        yield from lines
        if more:
            yield f"- ... and {more} more"
        yield ""
    if changes.hardware:
        yield from ("#### Hardware", "", *_hardware(changes))
    if changes.capacity.amounts:
        yield from ("#### Capacity", "", *_capacity(changes))
    if changes.cost.any:
        yield from ("#### Cost", "", *_cost(changes))


def _headline(changes: Changes) -> str:
    cost = changes.cost
    most = max(map(abs, cost.bounds("max"))) * HOURS_PER_MONTH
    if most < _LEAST_CHANGE or not cost.any:
        return ""
    shown = cost.after.in_words("max", dollars, hours=HOURS_PER_MONTH)
    change = change_in_words(cost, "max", HOURS_PER_MONTH)
    return f"; {shown} per month at max ({'change unknown' if change == 'unknown' else change})"


def _point(point: Point) -> str:
    parts = point.sentence
    verb = f"**{parts.verb.lower()}**" if parts.verb.isupper() else parts.verb
    causes = f"{'; '.join(map(code, parts.causes))}: " if parts.causes else ""
    name = f" {code(parts.name)}" if parts.name else ""
    more = f" (and {point.more} more like this)" if point.more else ""
    return ": ".join([f"{code(parts.owner)}: {causes}the {parts.noun}{name} is {verb}", *parts.consequences]) + more


def _size(lines: Iterable[str]) -> int:
    """Return the characters of lines including line ends."""
    return sum(len(line) + 1 for line in lines)


def _within(most: int, lines: Sequence[str]) -> tuple[Sequence[str], int]:
    """Return the first lines that fit, and the number of remaining lines."""
    for index, size in enumerate(accumulate(len(line) + 1 for line in lines)):
        if size > most:
            return lines[:index], len(lines) - index
    return lines, 0


def _table(
    heading: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), most: int = MOST
) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield f"|{'|'.join('---:' if index in right else '---' for index in range(len(heading)))}|"
    lines, more = _within(most, [f"| {' | '.join(row)} |" for row in rows])
    yield from (*lines, "")
    if more:
        yield from (f"... and {more} more rows", "")


def _hardware(changes: Changes) -> Iterator[str]:
    rows = []
    for part in changes.hardware:
        name = _cell(part.path)
        action = f"{part.action}, renamed to {_cell(part.renamed_to)}" if part.renamed_to else part.action
        for index, each in enumerate(part.differences):
            first = (name, action) if index == 0 else ("", "")
            rows.append((*first, each.name, _cell(each.before), _cell(each.after)))
    yield from _table(("", "", "", "before", "after"), rows, most=_MOST_HARDWARE)


def _capacity(changes: Changes) -> Iterator[str]:
    rows = [
        (_cell(amount.name), _cell(amount.before or ""), _cell(amount.after or ""))
        for amount in changes.capacity.amounts
    ]
    yield from _table(("", "before", "after"), rows, right=(1, 2), most=_MOST_CAPACITY)


def _cost(changes: Changes) -> Iterator[str]:
    cost = changes.cost
    yield from _table(("US dollars", "before", "after", "change"), cost_rows(cost), right=(1, 2, 3))
    if cost.unknown:
        names, more = _within(_MOST_UNPRICED, [code(item) for item in cost.unknown])
        rest = [f"{more} more"] if more else []
        yield f"Not included, because the price is unknown: {', '.join([*names, *rest])}."
        yield ""


def _resources(changes: Changes, most: int) -> Iterator[str]:
    if not changes.resources:
        return
    shown_changes = outline(changes)
    yield f"<details><summary>Every resource: {summary(changes)}</summary>"
    yield ""
    carried = [
        f"- because of references to other resources, {VERBS[each].lower()}: {listed(shown_changes.carried[each])}"
        for each in shown_changes.carried
    ]
    tags = [f"- only tags change: {counted(shown_changes.only_tags, 'resource')}"] if shown_changes.only_tags else []
    if carried or tags:
        yield from (*carried, *tags, "")
    order = list(Action)
    every = sorted(
        changes.resources, key=lambda resource: (order.index(resource.action), resource.only_tags, not resource.own)
    )
    rows = [
        (each.action.value, _cell(each.resource.address), "; ".join(map(_cell, sentence(each).causes)))
        for each in every
    ]
    yield from _table(("", "address", "why"), rows, most=most - _AROUND)
    yield "</details>"
