"""Changes from one folder of strategies to another, such as two commits of a repository.

Strategies are matched by name and overlay. Variants of a strategy with equal changes are one item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from eks_hardware.cost import HOURS_PER_MONTH, Level, StrategyCost, cost_of
from eks_hardware.diff.compare import Changes, compare
from eks_hardware.diff.json import as_json as changes_as_json
from eks_hardware.diff.markdown import MOST, as_markdown, code
from eks_hardware.diff.summary import dollars
from eks_hardware.diff.terminal import as_text
from eks_hardware.models import Strategy
from eks_hardware.printable import counted
from eks_hardware.resolve import resolve

NO_CHANGE = "No strategy changes."
_SHOWN: tuple[Level, ...] = ("min", "max")
_MOST_HEADINGS = 8_000
"""Characters reserved for the headings of items whose details do not fit."""


class Key(NamedTuple):
    """A strategy with one overlay; the overlay is empty for the strategy alone."""

    name: str
    overlay: str = ""


@dataclass(frozen=True)
class Item:
    """A changed, new, removed or faulty strategy.

    Attributes:
        name: the strategy's name.
        overlays: the overlays that this item is about; an empty name is the strategy alone.
        change: ``failed`` if the strategy has errors, which the report does not list.
        cost: the cost of a new or removed strategy.
        changes: the changes of a changed strategy.
    """

    name: str
    overlays: tuple[str, ...]
    change: Literal["changed", "new", "removed", "failed"]
    cost: StrategyCost | None = None
    changes: Changes | None = None


Side = Mapping[Key, Strategy | None]
"""The strategies of a folder; None for one with errors."""


def compare_folders(
    before: Side, after: Side, *, compare: Callable[[Strategy, Strategy], Changes] = compare
) -> tuple[Item, ...]:
    """Compare the strategies of two folders; unchanged ones are omitted.

    A strategy that had errors before counts as new.

    Raises:
        SynthesisError: when the stacks of a strategy cannot be synthesized.
    """
    items: dict[tuple[str, str], Item] = {}
    for key in dict.fromkeys((*after, *before)):
        item = _item(key, before, after, compare)
        if item is None:
            continue
        # Equal reports of the same strategy with different overlays become one item.
        same = (key.name, _report(item))
        others = items[same].overlays if same in items else ()
        items[same] = replace(item, overlays=others + item.overlays)
    return tuple(items.values())


def _item(key: Key, before: Side, after: Side, compare: Callable[[Strategy, Strategy], Changes]) -> Item | None:
    old, new = before.get(key), after.get(key)
    if key in after and new is None:
        return Item(key.name, (key.overlay,), "failed")
    if new is None:
        return Item(key.name, (key.overlay,), "removed", cost=cost_of(resolve(old)) if old else None)
    if old is None:
        return Item(key.name, (key.overlay,), "new", cost=cost_of(resolve(new)))
    if old == new:
        return None
    changes = compare(old, new)
    return Item(key.name, (key.overlay,), "changed", changes=changes) if changes.any else None


# --- reports


def folders_as_text(items: Sequence[Item], width: int = 80) -> str:
    """Return all items as text."""
    if not items:
        return NO_CHANGE
    return "\n\n".join(
        as_text(item.changes, width, _label(item, str)) if item.changes else _sentence(item, str) for item in items
    )


def folders_as_markdown(items: Sequence[Item]) -> str:
    """Return all items as one comment within GitHub's limit. Further items have only their headings."""
    if not items:
        return f"{NO_CHANGE}\n"
    parts: list[str] = []
    left = MOST - _MOST_HEADINGS
    unnamed = 0
    for item in items:
        text = _report(item, _label(item, code))
        if len(text) > left:
            heading = text.partition("\n")[0]
            text = f"{heading}\n\nThe details do not fit in a comment. `eks-hardware diff` prints them.\n"
            if sum(map(len, parts)) + len(text) > MOST - 100:
                unnamed += 1
                continue
        else:
            left -= len(text)
        parts.append(text)
    if unnamed:
        parts.append(f"... and {counted(unnamed, 'more change')}\n")
    return "\n".join(parts)


def folders_as_json(items: Sequence[Item]) -> dict[str, object]:
    """Return all items with stable keys."""
    return {"version": 1, "strategies": [_item_as_json(item) for item in items]}


def _item_as_json(item: Item) -> dict[str, object]:
    cost = item.cost
    return {
        "strategy": item.name,
        "overlays": [overlay or None for overlay in item.overlays],
        "change": item.change,
        "usd_per_month": {level: round(cost.usd_per_month(level), 2) for level in _SHOWN} if cost else None,
        "usd_per_month_at_most": {level: _at_most(cost, level) for level in _SHOWN} if cost else None,
        "diff": changes_as_json(item.changes) if item.changes else None,
    }


def _at_most(cost: StrategyCost, level: Level) -> float | None:
    bound = cost.usd_per_hour_at_most(level)
    return None if bound is None else round(bound * HOURS_PER_MONTH, 2)


def _report(item: Item, label: str = "") -> str:
    return as_markdown(item.changes, label) if item.changes else f"### {label}{_fate(item)}\n"


def _sentence(item: Item, quote: Callable[[str], str]) -> str:
    return f"{_label(item, quote)}{_fate(item)}"


def _fate(item: Item) -> str:
    comma = "," if "" in item.overlays and len(item.overlays) > 1 else ""
    if item.change == "failed":
        return f"{comma} has errors; `eks-hardware validate` shows them"
    at = _monthly(item.cost) if item.cost else ""
    if item.change == "new":
        return f"{comma} is new: {at}"
    return f"{comma} is removed: its resources stay until `cdktf destroy`{f', and cost {at}' if at else ''}"


def _monthly(cost: StrategyCost) -> str:
    least = cost.in_words("min", dollars, hours=HOURS_PER_MONTH)
    return f"{least} per month at min, {cost.in_words('max', dollars, hours=HOURS_PER_MONTH)} at max"


def _label(item: Item, quote: Callable[[str], str]) -> str:
    """Return ``demo``, ``demo with production``, or ``demo, alone and with production``."""
    named = ", ".join(quote(overlay) for overlay in item.overlays if overlay)
    alone = ", alone and" if "" in item.overlays else ""
    return f"{quote(item.name)}{alone} with {named}" if named else quote(item.name)
