"""The effect of changed objects on the nodes that Karpenter created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eks_hardware import facts
from eks_hardware.kubernetes import Bundle, Object

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.replacements import Nodes

_NODES: tuple[Nodes, ...] = ("none", "unmatched", "all")

_KINDS = ("NodePool", "EC2NodeClass", "NodeOverlay")


@dataclass(frozen=True)
class PoolChange:
    """A node pool with changed objects.

    Attributes:
        action: ``replaced`` for a pool that is deleted with its release, and created again.
        fields: changed fields of its objects, such as ``NodePool template.labels``, and its AMI's Kubernetes version.
        nodes: the nodes that Karpenter replaces: ``all``, those that no longer match (``unmatched``), ``none``.
        held: whether its disruption budgets prevent this replacement.
    """

    name: str
    action: Literal["created", "deleted", "changed", "replaced"]
    fields: tuple[str, ...] = ()
    nodes: Nodes = "none"
    held: bool = False


def pool_changes(
    before: Bundle, after: Bundle, *, kubernetes_versions: tuple[str, str], uninstalled: bool = False
) -> tuple[PoolChange, ...]:
    """Return node pools with changed nodes or objects; deleted pools come last.

    If the release of the objects is ``uninstalled``, Kubernetes deletes a pool's nodes, too, and budgets do not
    prevent that. Source: https://karpenter.sh/docs/concepts/disruption/#manual-methods
    """
    old, new = _by_kind(before), _by_kind(after)
    changes: list[PoolChange] = []
    for name, pool in new["NodePool"].items():
        if name not in old["NodePool"]:
            changes.append(PoolChange(name, "created"))
            continue
        rows: list[tuple[str, Nodes]] = [
            (f"{kind} {field}", nodes)
            for kind in ("NodePool", "EC2NodeClass")
            for field, nodes in _fields(kind, old[kind].get(name, {}), new[kind].get(name, {}))
        ]
        if kubernetes_versions[0] != kubernetes_versions[1] and all(_by_alias(side, name) for side in (old, new)):
            version = " -> ".join(kubernetes_versions)
            rows.append((f"kubernetes_version {version}", facts.replacements()["karpenter"]["kubernetes_version"]))
        if uninstalled:
            changes.append(PoolChange(name, "replaced", tuple(field for field, _ in rows), "all"))
        elif rows:
            most = _NODES[max(_NODES.index(each) for _, each in rows)]
            changes.append(PoolChange(name, "changed", tuple(field for field, _ in rows), most, _held(pool)))
    gone = (PoolChange(name, "deleted", nodes="all") for name in old["NodePool"] if name not in new["NodePool"])
    return (*changes, *gone)


def _by_kind(bundle: Bundle) -> dict[str, dict[str, Object]]:
    objects: dict[str, dict[str, Object]] = {kind: {} for kind in _KINDS}
    for manifest in bundle.objects:
        if manifest["kind"] in objects:
            objects[manifest["kind"]][manifest["metadata"]["name"]] = manifest
    return objects


def _by_alias(objects: Mapping[str, Mapping[str, Object]], name: str) -> bool:
    """Return whether an alias selects a pool's AMI."""
    node_class = objects["EC2NodeClass"].get(name, {})
    return any("alias" in term for term in node_class.get("spec", {}).get("amiSelectorTerms", ()))


def _fields(kind: str, before: Object, after: Object) -> Iterator[tuple[str, Nodes]]:
    """Yield changed fields of ``spec``, each with the nodes that drift because of it."""
    rows: Mapping[str, Nodes] = facts.replacements()["karpenter"]["kinds"][kind]
    for field in _differing(before.get("spec"), after.get("spec"), ""):
        row = next((each for each in rows if field == each or field.startswith(f"{each}.")), "other")
        yield field, rows[row]


def _differing(before: object, after: object, path: str) -> Iterator[str]:
    """Yield the paths of differing values, descending while both values are maps."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping) and not path.endswith("labels"):
        for key in dict.fromkeys((*before, *after)):
            yield from _differing(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
        return
    yield path


def _held(pool: Object) -> bool:
    """Return whether a budget of zero covers drift at all times."""
    budgets = pool["spec"]["disruption"].get("budgets", ())
    return any(
        str(budget["nodes"]) in ("0", "0%")
        and "Drifted" in budget.get("reasons", ("Drifted",))
        and not budget.get("schedule")
        for budget in budgets
    )
