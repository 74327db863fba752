"""The resources of a comparison in reading order: the most severe changes first, each reason once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eks_hardware.cost import HOURS_PER_MONTH, LEVELS, Level
from eks_hardware.diff.compare import Changes
from eks_hardware.diff.cost import CostChange
from eks_hardware.diff.messages import Sentence, pool_sentence, sentence
from eks_hardware.diff.plan import Action, ResourceChange
from eks_hardware.printable import counted, joined, usd


@dataclass(frozen=True)
class Point:
    """One line of a report, also for ``more`` changes of the same kind and owner. A node pool has no ``action``."""

    action: Action | None
    sentence: Sentence
    more: int = 0


@dataclass(frozen=True)
class Outline:
    """The content of a report of resources.

    ``points`` are changes with their own reason. ``carried`` counts changes caused only by references, by action and
    kind. ``created`` counts new resources, by owner and kind.
    """

    points: tuple[Point, ...]
    carried: dict[Action, Counter[str]]
    only_tags: int
    created: dict[str, Counter[str]]


def outline(changes: Changes) -> Outline:
    """Return the resources of a comparison in reading order."""
    points: list[Point] = []
    carried: dict[Action, Counter[str]] = {}
    for action in (Action.REPLACE, Action.DESTROY, Action.FORGET, Action.UPDATE):
        changed = [change for change in changes.of(action) if not change.only_tags]
        templates = _templates(changed)
        changed = [change for change in changed if templates.get(change.resource.owner) != change]
        own: list[ResourceChange] = []
        carried_over: list[ResourceChange] = []
        for change in changed:
            (own if change.own or change.resource.owner in templates else carried_over).append(change)
        points += _points(action, own, templates)
        others = Counter(change.resource.facts["noun"] for change in sorted(carried_over, key=_mild))
        if others:
            carried[action] = others
        if action is Action.DESTROY:
            points += [Point(None, pool_sentence(pool)) for pool in changes.pools if pool.action != "created"]
    created: dict[str, Counter[str]] = {}
    for change in changes.of(Action.CREATE):
        created.setdefault(change.resource.owner, Counter())[change.resource.facts["noun"]] += 1
    tags = sum(1 for resource in changes.resources if resource.only_tags)
    return Outline(tuple(points), carried, tags, created)


def _mild(change: ResourceChange) -> bool:
    """Return whether a replacement has no noticeable effect."""
    return "replaced" not in change.resource.facts


def _templates(resource_changes: Sequence[ResourceChange]) -> dict[str, ResourceChange]:
    """Return launch templates with a new version, by node group. The group's line lists their changes."""
    groups = {
        resource_change.resource.owner
        for resource_change in resource_changes
        if resource_change.resource.type == "aws_eks_node_group"
    }
    return {
        resource_change.resource.owner: resource_change
        for resource_change in resource_changes
        if resource_change.action is Action.UPDATE
        and resource_change.resource.type == "aws_launch_template"
        and resource_change.resource.owner in groups
    }


def _points(
    action: Action, resource_changes: Sequence[ResourceChange], templates: Mapping[str, ResourceChange]
) -> Iterable[Point]:
    """Return one point per kind and owner, the worst consequences first."""
    groups: dict[tuple[str, str], list[ResourceChange]] = {}
    for resource_change in resource_changes:
        groups.setdefault((resource_change.resource.owner, resource_change.resource.type), []).append(resource_change)
    points = [
        Point(action, sentence(group[0], templates.get(group[0].resource.owner)), len(group) - 1)
        for group in groups.values()
    ]
    return sorted(points, key=lambda point: not point.sentence.consequences)


def listed(counter: Counter[str]) -> str:
    """Return counts as text: ``2 subnets, 1 route``."""
    return ", ".join(counted(number, noun) for noun, number in counter.items())


_LEAST_CHANGE = 0.00005
"""The smallest change in US dollars that is shown."""
_MOST_NAMES = 2
"""Maximum number of items that a change in cost names."""
_LEVELS = {"min": "minimum", "desired": "desired", "max": "maximum"}
_COUNTED = {
    Action.REPLACE: "replaced",
    Action.DESTROY: "destroyed",
    Action.FORGET: "left behind",
    Action.UPDATE: "updated",
    Action.CREATE: "created",
}


def summary(changes: Changes) -> str:
    """Return the number of changes: ``1 resource replaced, 3 updated``."""
    if changes.not_compared:
        return "resources are not compared"
    count = changes.count()
    counts = [(count[action], word) for action, word in _COUNTED.items() if count[action]]
    if not counts:
        return "no change" if not changes.any else "no Terraform resource changes"
    (number, word), *others = counts
    return ", ".join([f"{counted(number, 'resource')} {word}", *(f"{each} {done}" for each, done in others)])


def title(changes: Changes) -> str:
    """Return the names of the compared strategies."""
    before, after = changes.before.name, changes.after.name
    return after if before == after else f"{before} -> {after}"


def dollars(value: float, *, signed: bool = False) -> str:
    """Return ``$1,234``, ``$0.0123``; with a sign ``+$12.30``."""
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    return f"{sign}${usd(abs(value))}"


def change_in_words(cost: CostChange, level: Level, hours: int) -> str:
    """Return ``+$12.30``, or its bounds if a price is unknown; empty if nothing changes."""
    least, most = (each * hours for each in cost.bounds(level))
    if max(abs(least), abs(most)) < _LEAST_CHANGE:
        return ""
    words, other = (dollars(each, signed=True) for each in (least, most))
    if words == other:
        return words
    if math.isfinite(least) and math.isfinite(most):
        # "At least" before a negative amount reads as if it were saved.
        return f"between {words} and {other}" if least < 0 else f"at least {words} / at most {other}"
    if math.isfinite(least) and least >= 0:
        return f"at least {words}"
    if math.isfinite(most) and most <= 0:
        return f"saves at least {dollars(-most)}"
    # Whether the cost rises or falls is unknown: the finite bound covers the items with known prices.
    for bound, shown in ((least, words), (most, other)):
        if math.isfinite(bound):
            return f"{shown}, excluding {_few(cost.unbounded(level))} (price unknown)"
    return "unknown"


def _few(names: Sequence[str]) -> str:
    shown, more = names[:_MOST_NAMES], names[_MOST_NAMES:]
    return joined([*shown, *([f"{len(more)} more"] if more else [])], "and")


def cost_rows(cost: CostChange) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cost per hour and month: before, after, and the change; empty if it does not change."""
    for unit, hours in (("per hour", 1), ("per month", HOURS_PER_MONTH)):
        for level in LEVELS:
            change = change_in_words(cost, level, hours)
            was, is_ = (each.in_words(level, dollars, hours=hours) for each in (cost.before, cost.after))
            yield f"{unit}, {_LEVELS[level]}", was, is_, change
