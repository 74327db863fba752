"""Changes in the hardware of node groups and node pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from eks_hardware import field_paths
from eks_hardware.catalogue import Catalogue
from eks_hardware.explain.values import EMPTY, lines
from eks_hardware.kubernetes.nodes import Node
from eks_hardware.resolve import CapacityOverlay, ResolvedNodeGroup, ResolvedStrategy

_Lines = tuple[str, ...]

_NAMED = frozenset({"name", "launch_template_name", "placement_group_name", "tags", "instance_tags", "reasons"})
"""Fields that depend only on a group's name."""

_MANY = 6
"""Longer lists are shown as added and removed items."""


@dataclass(frozen=True)
class Difference:
    """A changed value as text; ``-`` for none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class PartChange:
    """A node group or node pool that is added, removed or changed.

    For an added or removed group, ``differences`` contains all values. ``renamed_to`` is an added group that is
    otherwise equal.
    """

    path: str
    action: Literal["added", "removed", "changed"]
    differences: tuple[Difference, ...]
    renamed_to: str | None = None


def hardware_changes(before: ResolvedStrategy, after: ResolvedStrategy, catalogue: Catalogue) -> tuple[PartChange, ...]:
    """Return groups and pools with changed hardware, in the order of the new strategy, removed ones last."""
    return tuple(_changes(_nodes(before), _nodes(after), catalogue))


def _nodes(resolved: ResolvedStrategy) -> dict[str, Node]:
    return {
        **{field_paths.node_group(group.name): group for group in resolved.node_groups},
        **{field_paths.node_pool(pool.name): pool for pool in resolved.node_pools},
    }


def _changes(old: Mapping[str, Node], new: Mapping[str, Node], catalogue: Catalogue) -> Iterator[PartChange]:
    for path, node in new.items():
        after = _facts(node, catalogue)
        if path not in old:
            yield PartChange(path, "added", tuple(Difference(name, EMPTY, value) for name, value in _given(after)))
            continue
        before = _facts(old[path], catalogue)
        differing = tuple(
            Difference(name, *_short(before[name], after[name])) for name in after if before[name] != after[name]
        )
        if differing:
            yield PartChange(path, "changed", differing)
    added = [each for path, each in new.items() if path not in old]
    for path, node in old.items():
        if path not in new:
            had = tuple(Difference(name, value, EMPTY) for name, value in _given(_facts(node, catalogue)))
            successor = next((each for each in added if _alike(node, each)), None)
            if successor:
                added.remove(successor)
            yield PartChange(path, "removed", had, successor.name if successor else None)


def _given(facts: Mapping[str, _Lines]) -> Iterator[tuple[str, str]]:
    return ((name, _text(value)) for name, value in facts.items() if value != (EMPTY,))


def _alike(one: Node, other: Node) -> bool:
    return type(one) is type(other) and all(
        _unnamed(getattr(one, field.name)) == _unnamed(getattr(other, field.name))
        for field in fields(one)
        if field.name not in _NAMED
    )


def _unnamed(value: object) -> object:
    """Return NodeOverlays without their names, which contain the pool's name."""
    if isinstance(value, tuple) and value and isinstance(value[0], CapacityOverlay):
        return [replace(each, name="") for each in value]
    return value


def _facts(node: Node, catalogue: Catalogue) -> dict[str, _Lines]:
    """Return the hardware properties of a group or pool that matter to reviewers, as lines."""
    return {name: lines(read(node, catalogue)) for name, read in _READ.items()}


def _ami(node: Node) -> object:
    if node.image_id:
        return node.image_id
    return node.ami_type if isinstance(node, ResolvedNodeGroup) else node.ami_alias


def _accelerators(node: Node, catalogue: Catalogue) -> Sequence[str]:
    chips = {(chip.name, chip.count) for name in node.instance_types if (chip := catalogue.get(name).accelerator)}
    return [f"{count} x {name}" for name, count in sorted(chips)]


_READ: Mapping[str, Callable[[Node, Catalogue], object]] = {
    "hardware": lambda node, _: node.hardware.value,
    "instance types": lambda node, _: node.instance_types,
    "accelerators/node": _accelerators,
    "capacity": lambda node, _: node.capacity if isinstance(node, ResolvedNodeGroup) else node.capacity_types,
    "AMI": lambda node, _: _ami(node),
    "operating system": lambda node, _: node.ami_family,
    "EFA interfaces": lambda node, _: node.efa_count or None,
    "placement group": lambda node, _: node.placement_group_name,
    "zones": lambda node, _: node.zone_ids,
    "disks": lambda node, _: node.block_devices,
    "local disks": lambda node, _: node.instance_store,
    "GPU sharing": lambda node, _: node.gpu_shares,
    "workload": lambda node, _: node.workload,
    "labels": lambda node, _: node.labels,
    "taints": lambda node, _: node.taints,
}


def _short(before: _Lines, after: _Lines) -> tuple[str, str]:
    """Return both values as text; for long lists, only the removed and added items."""
    if max(len(before), len(after)) < _MANY or not set(before) & set(after):
        return _text(before), _text(after)
    gone = [f"-{each}" for each in before if each not in after]
    come = [f"+{each}" for each in after if each not in before]
    return _text(gone) or EMPTY, _text(come) or EMPTY


def _text(items: Iterable[str]) -> str:
    return ", ".join(items)
