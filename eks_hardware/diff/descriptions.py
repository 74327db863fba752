"""What becomes of a resource or a node pool, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware.diff.inventory import TAGS, Reference, Resource
from eks_hardware.diff.plan import Action, Cause, ResourceChange
from eks_hardware.diff.pools import PoolChange
from eks_hardware.explain.values import lines

_LONG = 100
"""Values that take more characters are not written out."""

VERBS = {
    Action.REPLACE: "REPLACED",
    Action.DESTROY: "DESTROYED",
    Action.FORGET: "left running, unmanaged",
    Action.UPDATE: "updated in place",
    Action.CREATE: "created",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence in parts, so that a report can set values off from words.

    Attributes:
        owner: field of the strategy.
        causes: what changes.
        noun: what the resource is: ``node group``.
        name: its name beside others of its kind; may be empty.
        verb: what becomes of it.
        consequences: what follows from that.
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
    """``node_groups[gpu]: capacity on-demand -> spot: the node group is REPLACED: its nodes drain and go, ...``

    Args:
        change: what becomes of a resource.
        template: what changes in its launch template, to be said in place of "gets a new version".
    """
    causes: list[Cause] = []
    for each in [each for each in change.causes if each.replaces] or change.causes:
        through = template is not None and each.through == template.resource
        causes += template.causes if template and through else [each]
    resource = change.resource
    return Sentence(
        owner=resource.owner,
        causes=tuple(dict.fromkeys(difference(each) for each in causes)),
        noun=resource.facts["noun"],
        name=_name(resource),
        verb=VERBS[change.action],
        consequences=tuple(_consequences(change)),
    )


def _name(resource: Resource) -> str:
    """The name where it says more than the kind of resource does."""
    plain = resource.name.replace("-", " ").lower()
    return "" if plain == resource.facts["noun"].lower() else resource.name


def _consequences(change: ResourceChange) -> Iterable[str]:
    facts = change.resource.facts
    if change.action in (Action.REPLACE, Action.DESTROY):
        key = "replaced" if change.action is Action.REPLACE else "destroyed"
        found = [facts[key]] if key in facts and not change.freed else []
        return [*found, *(f"not if {each}" for each in change.unless)]
    if change.action is Action.UPDATE:
        # Where its nodes go anyway, nothing else matters to them.
        causes = [each for each in change.causes if "effect" in each.row]
        causes = [each for each in causes if each.row.get("rolls")] or causes
        found = list(dict.fromkeys(_effect(each) for each in causes))
        return found or ([facts["updated"]] if "updated" in facts and not change.only_tags else [])
    return []


def _effect(cause: Cause) -> str:
    row = cause.row
    effect: str = row["added"] if cause.before is None and "added" in row else row["effect"]
    return effect


def difference(cause: Cause) -> str:
    """What changes in an argument, in the words of the strategy."""
    if cause.argument == TAGS:
        text = _mapping_difference(cause.before or {}, cause.after or {})
        return f"tags {text}" if len(text) <= _LONG else "tags changed"
    shown: str = cause.row.get("shown", cause.argument)
    if cause.through is not None:
        verb = "gets a new version" if cause.through.type == "aws_launch_template" else "is made anew"
        name = _name(cause.through)
        return f"the {cause.through.facts['noun']}{f' {name}' if name else ''} {verb}"
    if isinstance(cause.before, Mapping) and isinstance(cause.after, Mapping):
        text = _mapping_difference(cause.before, cause.after)
        return f"{shown} {text}" if len(text) <= _LONG else f"{shown} changed"
    if _is_nested(cause.before) or _is_nested(cause.after):
        return f"{shown} changed"
    before, after = (_text(each, lower=bool(cause.row.get("lower"))) for each in (cause.before, cause.after))
    if len(before) + len(after) > _LONG or before == after:
        return f"{shown} changed"
    return f"{shown} {before} -> {after}"


def _text(value: Any, *, lower: bool = False) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, Reference):
        return [part for part in value.path if part != "Resource"][-1]
    if isinstance(value, tuple) and any(isinstance(each, Reference) for each in value):
        # What it refers to has no name in the strategy; it says nothing where there is something else to say.
        plain = tuple(each for each in value if not isinstance(each, Reference))
        return ", ".join(_text(each) for each in plain or value)
    text = ", ".join(lines(value))
    return text.lower().replace("_", "-") if lower else text


def _is_nested(value: Any) -> bool:
    """Whether a value can be read as YAML only. IAM statements cannot: they have names, and are counted."""
    if isinstance(value, Mapping):
        return any(isinstance(each, Mapping | list | tuple) for each in value.values())
    if isinstance(value, tuple):
        return any("Sid" not in each if isinstance(each, Mapping) else _is_nested(each) for each in value)
    return False


def _mapping_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``+team=a, -old=b, tier=1 -> 2``"""
    parts = []
    for key in dict.fromkeys((*before, *after)):
        if _is_nested(before.get(key)) or _is_nested(after.get(key)):
            parts += [f"{key} changed"] if before.get(key) != after.get(key) else []
        elif key not in before:
            parts.append(f"+{key}={_text(after[key])}")
        elif key not in after:
            parts.append(f"-{key}={_text(before[key])}")
        elif before[key] != after[key]:
            parts.append(f"{key}={_text(before[key])} -> {_text(after[key])}")
    return ", ".join(parts)


_POOL_NODES = {
    "all": "Karpenter replaces all of its nodes",
    "unmatched": "Karpenter replaces those of its nodes that no longer match",
    "none": "its nodes stay",
}


def pool_sentence(change: PoolChange) -> Sentence:
    """``karpenter.node_pools[gpu]: EC2NodeClass kubelet.maxPods: the NodePool is changed: Karpenter replaces ...``"""
    consequences: tuple[str, ...] = ()
    verb: str = change.action
    if change.action == "deleted":
        verb, consequences = "DELETED", ("its nodes drain and go",)
    elif change.action == "replaced":
        verb = "REPLACED"
        consequences = ("its nodes drain and go as its release is uninstalled, whatever its disruption budgets say",)
    elif change.action == "changed":
        text = _POOL_NODES[change.nodes]
        if change.nodes != "none":
            text += (
                ", but its disruption budgets allow none of that: old nodes stay until they are empty"
                if change.held
                else ", as its disruption budgets allow"
            )
        consequences = (text,)
    return Sentence(f"karpenter.node_pools[{change.name}]", change.fields, "node pool", "", verb, consequences)
