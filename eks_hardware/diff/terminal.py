"""A comparison as text for 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eks_hardware import field_paths
from eks_hardware.diff.capacity import Amount
from eks_hardware.diff.compare import Changes
from eks_hardware.diff.cost import CostChange
from eks_hardware.diff.hardware import PartChange
from eks_hardware.diff.messages import VERBS
from eks_hardware.diff.summary import Point, cost_rows, listed, outline, summary, title
from eks_hardware.explain.columns import columns, widest, wrapped
from eks_hardware.explain.values import EMPTY
from eks_hardware.printable import counted

_LEAST_WIDTH = 40
_LABEL = 20


def as_text(changes: Changes, width: int = 80, name: str | None = None) -> str:
    """Return all changes by section, in lines of at most ``width`` characters."""
    return "\n".join(_lines(changes, max(width, _LEAST_WIDTH), name or title(changes)))


def _lines(changes: Changes, width: int, name: str) -> Iterator[str]:
    yield from wrapped(f"{name}: {summary(changes)}", width)
    for note in changes.notes:
        yield from wrapped(f"! {note}", width, indent="  ")
    if changes.hardware:
        yield from _section("Hardware", _hardware(changes.hardware, width))
    if changes.capacity.amounts:
        yield from _section("Capacity", _amounts(changes.capacity.amounts, width))
    if changes.cost.any:
        yield from _section("Cost", _cost(changes.cost, width))
    if changes.resources or changes.pools:
        yield from _section("Resources", _resources(changes, width))


def _section(heading: str, lines: Iterator[str]) -> Iterator[str]:
    yield ""
    yield heading
    yield from lines


def _hardware(parts: Sequence[PartChange], width: int) -> Iterator[str]:
    for part in parts:
        renamed = f": renamed to {part.renamed_to}" if part.renamed_to else ""
        yield from wrapped(f"{part.path} {part.action}{renamed}", width, indent="  ")
        rows = (
            (
                f"  {difference.name}",
                {"added": difference.after, "removed": difference.before}.get(
                    part.action, f"{difference.before} -> {difference.after}"
                ),
            )
            for difference in part.differences
        )
        yield from columns(rows, (_LABEL + 2, width - _LABEL - 3))


def _amounts(rows: Sequence[Amount], width: int) -> Iterator[str]:
    cells = [(row.name, row.before or EMPTY, row.after or EMPTY) for row in rows]
    # Pool limits are long, and wrap.
    before, after = (min(max(widest(cell[index] for cell in cells), 6), width // 4) for index in (1, 2))
    name = min(widest(cell[0] for cell in cells), width - before - after - 2)
    yield from columns([("", "before", "after"), *cells], (name, before, after), right=(1, 2))


def _cost(cost: CostChange, width: int) -> Iterator[str]:
    rows = [("US dollars", "before", "after", "change"), *cost_rows(cost)]
    cells = [tuple(re.sub(r"at (least|most) ", "at\u2060\\1\u2060", cell) for cell in row) for row in rows]
    widths = [widest(cell[index] for cell in cells) + (index > 0) for index in range(4)]
    if sum(widths) + 3 > width:
        # Bounds and labels are long, and wrap. Amounts stay whole.
        words = [widest(word for cell in cells for word in cell[index].split()) + (index > 0) for index in range(4)]
        room = (width - widths[0]) // 3 - 1
        amounts = [max(words[index], min(widths[index], room)) for index in (1, 2, 3)]
        widths = [max(words[0], min(widths[0], width - sum(amounts) - 3)), *amounts]
    yield from (line.replace("\u2060", " ") for line in columns(cells, widths, right=(1, 2, 3)))
    for each in cost.unknown:
        yield from wrapped(f"not included, because the price is unknown: {each}", width, indent="  ")


def _resources(changes: Changes, width: int) -> Iterator[str]:
    shown_changes = outline(changes)
    lines = [f"- {_line(point)}" for point in shown_changes.points]
    for action, counter in shown_changes.carried.items():
        lines.append(f"- because of references to other resources, {VERBS[action]}: {listed(counter)}")
    if shown_changes.only_tags:
        lines.append(f"- only tags change: {counted(shown_changes.only_tags, 'resource')} updated in place")
    lines += [f"+ {owner}: {listed(counter)} created" for owner, counter in shown_changes.created.items()]
    lines += [
        f"+ {field_paths.node_pool(pool.name)}: its NodePool and EC2NodeClass created"
        for pool in changes.pools
        if pool.action == "created"
    ]
    for line in lines:
        yield from wrapped(line, width, indent="  ")


def _line(point: Point) -> str:
    more = f" (and {point.more} more like this)" if point.more else ""
    return f"{point.sentence}{more}"
