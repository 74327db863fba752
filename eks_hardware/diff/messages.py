"""The change of a resource or node pool as one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware import field_paths
from eks_hardware.diff.node_pools import PoolChange
from eks_hardware.diff.plan import Action, Cause, ResourceChange
from eks_hardware.diff.resources import TAGS, Reference, Resource
from eks_hardware.spellings import of_api

_LONG = 100
"""Longer values are not shown."""

VERBS = {
    Action.REPLACE: "REPLACED",
    Action.DESTROY: "DESTROYED",
    Action.FORGET: "left running, unmanaged",
    Action.UPDATE: "updated in place",
    Action.CREATE: "created",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence in parts. Reports can format values and words differently.

    ``owner`` is a field of the strategy and ``noun`` the kind of resource (``node group``). ``name`` distinguishes
    the resource from others of its kind and can be empty.
    """

    owner: str
    causes: tuple[str, ...]
    noun: str
    name: str
    verb: str
    consequences: tuple[str, ...]

    def __str__(self) -> str:
        causes = f"{'; '.join(self.causes)}: " if self.causes else ""
        name = f" {self.name}" if self.name else ""
        return ": ".join([f"{self.owner}: {causes}the {self.noun}{name} is {self.verb}", *self.consequences])


def sentence(change: ResourceChange, template: ResourceChange | None = None) -> Sentence:
    """Return the change of a resource as a sentence.

    ``node_groups[gpu]: capacity on-demand -> spot: the node group is REPLACED: its nodes are drained, ...``

    If ``template`` is the change of its launch template, the template's causes replace "gets a new version".
    """
    causes: list[Cause] = []
    for each in [cause for cause in change.causes if cause.replaces] or change.causes:
        through = template is not None and each.through == template.resource
        causes += template.causes if template and through else [each]
    resource = change.resource
    return Sentence(
        owner=resource.owner,
        causes=tuple(dict.fromkeys(difference(cause) for cause in causes)),
        noun=resource.facts["noun"],
        name=_name(resource),
        verb=VERBS[change.action],
        consequences=tuple(_consequences(change)),
    )


def _name(resource: Resource) -> str:
    """Return the name if it adds anything to the kind of resource; otherwise an empty text."""
    plain = resource.name.replace("-", " ").lower()
    return "" if resource.facts["noun"].lower().endswith(plain) else resource.name


def _consequences(change: ResourceChange) -> Iterable[str]:
    facts = change.resource.facts
    if change.action in (Action.REPLACE, Action.DESTROY):
        key = "replaced" if change.action is Action.REPLACE else "destroyed"
        consequences = [facts[key]] if key in facts and not change.freed else []
        return [*consequences, *(f"unless {each}" for each in change.unless)]
    if change.action is Action.UPDATE:
        # If its nodes are replaced anyway, other effects do not matter.
        causes = [cause for cause in change.causes if "effect" in cause.row]
        causes = [cause for cause in causes if cause.row.get("rolls")] or causes
        consequences = list(dict.fromkeys(_effect(cause) for cause in causes))
        return consequences or ([facts["updated"]] if "updated" in facts and not change.only_tags else [])
    return []


def _effect(cause: Cause) -> str:
    return str(cause.row["added"] if cause.before is None and "added" in cause.row else cause.row["effect"])


def difference(cause: Cause) -> str:
    """Return the change of an argument, in the strategy's terms."""
    shown: str = "tags" if cause.argument == TAGS else cause.row.get("shown", cause.argument)
    if cause.through is not None:
        verb = "gets a new version" if cause.through.type == "aws_launch_template" else "is created again"
        name = _name(cause.through)
        return f"the {cause.through.facts['noun']}{f' {name}' if name else ''} {verb}"
    before, after = (
        of_api(side) if cause.row.get("lower") and isinstance(side, str) else _parsed(side)
        for side in (cause.before, cause.after)
    )
    text = ", ".join(dict.fromkeys(_differences(before, after)))
    return f"{shown} {text}" if 0 < len(text) <= _LONG and "\n" not in text else f"{shown} changed"


def _parsed(value: object) -> object:
    """Return a value, parsed if it is JSON text such as a policy."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        parsed: object = json.loads(value)
    except ValueError:
        return value
    return parsed


def _differences(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Yield each nested value that differs: ``+team=a``, ``-old=b``, ``tier=1 -> 2``; ``1 -> 2`` without a name."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key), after.get(key), f"{name}.{key}" if name else str(key))
        return
    if _are_blocks(before) and _are_blocks(after):
        gone, come = [each for each in before if each not in after], [each for each in after if each not in before]
        if len(gone) == len(come):
            for old, new in zip(gone, come, strict=True):
                yield from _differences(old, new, name)
            return
        yield ", ".join([*(f"-({_text(each)})" for each in gone), *(f"+({_text(each)})" for each in come)])
        return
    if not name:
        yield f"{_text(before)} -> {_text(after)}"
    elif before is None:
        yield f"+{name}={_text(after)}"
    elif after is None:
        yield f"-{name}={_text(before)}"
    else:
        yield f"{name}={_text(before)} -> {_text(after)}"


def _are_blocks(value: object) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == ():
        return "none"
    if isinstance(value, Reference):
        return value.name
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_text(each)}" for key, each in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(_text(item) for item in value)
    return str(value)


_POOL_NODES = {
    "all": "Karpenter replaces all of its nodes",
    "unmatched": "Karpenter replaces its nodes that no longer match",
    "none": "its nodes are kept",
}


def pool_sentence(change: PoolChange) -> Sentence:
    """Return the change of a node pool as a sentence.

    ``karpenter.node_pools[gpu]: EC2NodeClass kubelet.maxPods: the node pool is changed: Karpenter replaces ...``
    """
    consequences: tuple[str, ...] = ()
    verb: str = change.action
    if change.action == "deleted":
        verb, consequences = "DELETED", ("its nodes are drained and terminated",)
    elif change.action == "replaced":
        verb = "REPLACED"
        consequences = ("uninstalling its release drains and terminates its nodes, regardless of disruption budgets",)
    elif change.action == "changed":
        text = _POOL_NODES[change.nodes]
        if change.nodes != "none":
            text += (
                ", but its disruption budgets do not allow it: old nodes stay until they are empty"
                if change.held
                else ", within its disruption budgets"
            )
        consequences = (text,)
    return Sentence(field_paths.node_pool(change.name), change.fields, "node pool", "", verb, consequences)
