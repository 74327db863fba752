"""Terraform's action on each resource, computed from the resources before and after.

Like Terraform, it follows references: attributes of a replaced resource are unknown while planning, and an argument
with an unknown value counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from eks_hardware.diff.resources import TAGS, Resource, references_in


class Action(str, Enum):
    """The action on a resource."""

    REPLACE = "replace"
    DESTROY = "destroy"
    FORGET = "forget"
    UPDATE = "update"
    CREATE = "create"


@dataclass(frozen=True)
class Cause:
    """A changed argument, with its row in ``facts/replacements.json`` (empty for tags).

    Values are references if only AWS knows them. ``through`` is the referenced resource that makes the
    value unknown while planning.
    """

    argument: str
    row: Mapping[str, Any]
    before: object
    after: object
    replaces: bool
    through: Resource | None = None


@dataclass(frozen=True)
class ResourceChange:
    """The change of one resource and its causes. Causes that force a replacement come first.

    ``freed`` is whether the same apply first destroys the resources that use this one.
    """

    action: Action
    resource: Resource
    causes: tuple[Cause, ...] = ()
    freed: bool = False

    @property
    def own(self) -> bool:
        """Whether its own arguments change, not only references."""
        decisive = [cause for cause in self.causes if cause.replaces] or self.causes
        return not self.causes or any(each.through is None for each in decisive)

    @property
    def only_tags(self) -> bool:
        """Whether only tags change."""
        return bool(self.causes) and all(cause.argument == TAGS for cause in self.causes)

    @property
    def unless(self) -> tuple[str, ...]:
        """Conditions that avoid the replacement; empty if there are none."""
        decisive = [cause for cause in self.causes if cause.replaces]
        if not all(each.before is None and "unless" in each.row for each in decisive):
            return ()
        return tuple(each.row["unless"] for each in decisive)


def changes(before: Iterable[Resource], after: Iterable[Resource]) -> tuple[ResourceChange, ...]:
    """Return Terraform's actions in the order of the new resources. Removed resources come last."""
    return tuple(_Plan(before, after).changes())


def forgotten(before: Iterable[Resource], after: Iterable[Resource]) -> tuple[ResourceChange, ...]:
    """Return the changes of all resources if the provider's region changes.

    Terraform finds no old resources in the new region, drops them from the state, and creates everything again. The old
    resources keep running. IAM resources are global, so their changes are planned as usual.
    """
    of_iam: list[Resource] = []
    regional: list[Resource] = []
    for resource in before:
        (of_iam if resource.type.startswith("aws_iam_") else regional).append(resource)
    return (*changes(of_iam, after), *(ResourceChange(Action.FORGET, resource) for resource in regional))


class _Plan:
    def __init__(self, before: Iterable[Resource], after: Iterable[Resource]) -> None:
        self._before = {resource.key: resource for resource in before}
        self._after = {resource.key: resource for resource in after}
        self._decisions: dict[tuple[str, str], ResourceChange | None] = {}

    def changes(self) -> Iterator[ResourceChange]:
        resource_changes = tuple(self._found())
        gone = {
            (cause.resource.type, cause.resource.owner)
            for cause in resource_changes
            if cause.action in (Action.REPLACE, Action.DESTROY)
        }
        for cause in resource_changes:
            freed = (cause.resource.facts.get("used_by"), cause.resource.owner) in gone
            yield replace(cause, freed=True) if freed else cause

    def _found(self) -> Iterator[ResourceChange]:
        for resource in self._after.values():
            if change := self._of(resource):
                yield change
        for key, resource in self._before.items():
            if key not in self._after:
                yield ResourceChange(Action.DESTROY, resource)

    def _of(self, resource: Resource) -> ResourceChange | None:
        if resource.key not in self._decisions:
            self._decisions[resource.key] = self._decided(resource)
        return self._decisions[resource.key]

    def _decided(self, resource: Resource) -> ResourceChange | None:
        before = self._before.get(resource.key)
        if before is None:
            return ResourceChange(Action.CREATE, resource)
        causes = sorted(
            self._causes(before, resource), key=lambda cause: (not cause.replaces, cause.through is not None)
        )
        if not causes:
            return None
        action = Action.REPLACE if any(cause.replaces for cause in causes) else Action.UPDATE
        return ResourceChange(action, resource, tuple(causes))

    def _causes(self, before: Resource, after: Resource) -> Iterator[Cause]:
        rows: Mapping[str, Any] = after.facts["arguments"]
        for argument in dict.fromkeys((*before.arguments, *after.arguments)):
            row = rows.get(argument, {})
            old, new = before.arguments.get(argument), after.arguments.get(argument)
            if argument in after.ignored or (new is None and row.get("computed")):
                continue
            through = self._unknown(after, new)
            if old != new:
                # Its own value changed, in addition to any reference.
                yield Cause(argument, row, old, new, _replaces(row.get("change"), old, new))
            elif through:
                yield Cause(argument, row, old, new, row.get("change") == "replace", through)

    def _unknown(self, resource: Resource, value: object) -> Resource | None:
        """Return the first resource referenced by a value that is unknown while planning."""
        for reference in references_in(value):
            target = self._after.get((resource.stack, reference.address))
            change = self._of(target) if target else None
            if change is None:
                continue
            updated = change.action is Action.UPDATE
            if not updated or reference.attribute in change.resource.facts.get("computed_on_update", ()):
                return target
        return None


def _replaces(change: str | None, before: object, after: Any) -> bool:
    if change == "replace-if-removed":
        return before is not None and after is None
    if change == "replace-if-smaller":
        return bool(after < before)
    return change == "replace"
