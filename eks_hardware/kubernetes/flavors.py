"""Nodes that are interchangeable for jobs, with the most that pods can use of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.kubernetes.allocatable import allocatable
from eks_hardware.kubernetes.nodes import Node, nodes, taint_object
from eks_hardware.resolve import (
    ResolvedNodeGroup,
    ResolvedNodePool,
    ResolvedStrategy,
    accelerator_resource,
    extended_resources_of,
)
from eks_hardware.resolve.extended_resources import NEURON, NEURON_CORE
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES, keeps_pods_off, kubernetes_effect
from eks_hardware.units import GIB, MIB, amount

# https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html, https://karpenter.sh/docs/concepts/nodepools/
_GROUP_LABEL = "eks.amazonaws.com/nodegroup"
_POOL_LABEL = "karpenter.sh/nodepool"

# Labels that jobs select hardware by. Kueue compares a job's node selector only with the keys that a flavor has: one
# without `kubernetes.io/arch` would take a job for x86 and put it on Graviton.
_SELECTED_BY = ("hardware-type", "accelerator", "workload-type")
_ARCHITECTURE_LABEL = "kubernetes.io/arch"

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class Flavor:
    """Nodes with the same accelerator, architecture, taints and sharing.

    Attributes:
        labels: they select these nodes and no others.
        taints: those that a job must tolerate itself, as objects.
        tolerations: of the taints that keep other pods off the accelerator, as objects.
        quota: Kubernetes quantities that pods can have of all nodes together.
    """

    name: str
    hardware: Hardware
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    tolerations: tuple[Mapping[str, str], ...]
    quota: Mapping[str, str]


def flavors(resolved: ResolvedStrategy) -> tuple[Flavor, ...]:
    """The flavors of a strategy, in the order of its groups and pools.

    System groups are left out: they are for what runs on the cluster itself. A pool with several accelerators has no
    label for them; a job that selects one by that label may be given the pool, and then waits.
    """
    alike: dict[tuple[object, ...], list[Node]] = {}
    for node in _for_jobs(resolved):
        alike.setdefault(_kind(node), []).append(node)
    found: list[Flavor] = []
    for members in alike.values():
        name, labels = _name(members[0]), _common_labels(members)
        selected = [node for node in nodes(resolved) if labels.items() <= _labels(node).items()]
        if len(selected) == len(members) and all(each.name != name for each in found):
            found.append(_flavor(name, labels, members))
        else:
            # Their labels fit other nodes too.
            found += [_flavor(f"nodes-{node.name}", {**_labels(node), **_own_label(node)}, [node]) for node in members]
    return tuple(found)


def neuron_cores_per_device(resolved: ResolvedStrategy) -> int | None:
    """The fewest NeuronCores that a device of the nodes for jobs has; None without such devices."""
    offers = [extended_resources_of(load().get(name)) for node in _for_jobs(resolved) for name in node.instance_types]
    return min((each[NEURON_CORE] // each[NEURON] for each in offers if NEURON_CORE in each), default=None)


def _for_jobs(resolved: ResolvedStrategy) -> list[Node]:
    return [each for each in nodes(resolved) if each.workload != "system" and each.hardware is not Hardware.OTHER]


def _kind(node: Node) -> tuple[object, ...]:
    """What nodes of one flavor have in common."""
    labels = _labels(node)
    same = tuple(labels.get(name) for name in (*_SELECTED_BY[:2], _ARCHITECTURE_LABEL))
    return (node.hardware, same, _own_taints(node), _keys(node), node.gpu_shares)


def _labels(node: Node) -> dict[str, str]:
    """The labels that a job may select the node by."""
    found = {name: node.labels[name] for name in _SELECTED_BY if name in node.labels}
    return {**found, _ARCHITECTURE_LABEL: KUBERNETES_ARCHITECTURES[node.architecture]}


def _common_labels(members: list[Node]) -> dict[str, str]:
    first, *others = (_labels(node) for node in members)
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def _own_label(node: Node) -> dict[str, str]:
    return {_GROUP_LABEL if isinstance(node, ResolvedNodeGroup) else _POOL_LABEL: node.name}


def _name(node: Node) -> str:
    accelerator = node.labels.get("accelerator", "")
    # A label's value may have characters that a name must not have; then the hardware alone names the flavor.
    name = accelerator if _NAME.fullmatch(accelerator) else node.hardware.value
    return f"{name}-arm64" if node.architecture == "arm64" else name


def _own_taints(node: Node) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Taints other than the accelerator's; Kueue ignores PreferNoSchedule."""
    resource = accelerator_resource(node.hardware)
    return tuple(
        tuple(taint_object(taint).items())
        for taint in node.taints
        if taint.key != resource and keeps_pods_off(taint.effect)
    )


def _keys(node: Node) -> tuple[tuple[str, str], ...]:
    """Key and effect of the taints that keep other pods off the accelerator."""
    resource = accelerator_resource(node.hardware)
    return tuple((taint.key, kubernetes_effect(taint.effect)) for taint in node.taints if taint.key == resource)


def _flavor(name: str, labels: Mapping[str, str], members: list[Node]) -> Flavor:
    total: dict[str, Fraction] = {}
    for node in members:
        most = _of_group(node) if isinstance(node, ResolvedNodeGroup) else _of_pool(node)
        for resource, quantity in most.items():
            total[resource] = total.get(resource, Fraction(0)) + quantity
    first = members[0]
    return Flavor(
        name=name,
        hardware=first.hardware,
        labels=labels,
        taints=tuple(dict(taint) for taint in _own_taints(first)),
        tolerations=tuple({"key": key, "operator": "Exists", "effect": each} for key, each in _keys(first)),
        quota={resource: _text(resource, quantity) for resource, quantity in total.items()},
    )


def _text(resource: str, quantity: Fraction) -> str:
    if resource == "memory":
        return f"{math.floor(quantity / MIB)}Mi"
    thousandths = math.floor(quantity * 1000)
    return f"{thousandths}m" if resource == "cpu" and thousandths % 1000 else str(thousandths // 1000)


def _of_node(node: Node, kind: InstanceType) -> dict[str, Fraction]:
    """What pods can have of one node."""
    resources = extended_resources_of(kind, efa_count=node.efa_count, shares=node.gpu_shares)
    # A NeuronCore is part of a device, and is counted as one (`kueue.py`).
    devices = {name: Fraction(count) for name, count in resources.items() if name != NEURON_CORE}
    return {**allocatable(node, kind), **devices}


def _whole(node: Node, kind: InstanceType) -> dict[str, Fraction]:
    """What Karpenter's limits count of one node: more CPU and memory than pods can have."""
    capacity = {"cpu": Fraction(kind.vcpus), "memory": Fraction(kind.memory_gib) * GIB, "nodes": Fraction(1)}
    return {**_of_node(node, kind), **capacity}


def _of_group(group: ResolvedNodeGroup) -> dict[str, Fraction]:
    """What pods can have of as many nodes as the group may have; of several types the smallest."""
    each = [_of_node(group, load().get(name)) for name in group.instance_types]
    return {resource: group.max_size * min(kind[resource] for kind in each) for resource in each[0]}


def _of_pool(pool: ResolvedNodePool) -> dict[str, Fraction]:
    """What pods can have at most of nodes within the pool's limits.

    A limit bounds a resource without one too, by what the types have of both.
    """
    kinds = [load().get(name) for name in pool.instance_types]
    pairs = [(_of_node(pool, kind), _whole(pool, kind)) for kind in kinds]
    limits = {name: amount(value) for name, value in pool.limits.items() if all(whole.get(name) for _, whole in pairs)}
    return {
        resource: min(
            limit * max(usable[resource] / whole[name] for usable, whole in pairs) for name, limit in limits.items()
        )
        for resource in pairs[0][0]
    }
