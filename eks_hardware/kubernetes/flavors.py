"""Nodes that are interchangeable for jobs, with the maximum resources that pods can use on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from eks_hardware.catalogue import Hardware, InstanceType, load
from eks_hardware.kubernetes.allocatable import allocatable
from eks_hardware.kubernetes.nodes import ARCHITECTURE_LABEL, Node, name_label, nodes, selecting_labels, taint_object
from eks_hardware.resolve import (
    ResolvedNodeGroup,
    ResolvedNodePool,
    ResolvedStrategy,
    accelerator_resource,
    extended_resources_of,
)
from eks_hardware.resolve.extended_resources import NEURON, NEURON_CORE
from eks_hardware.spellings import DNS_LABEL, keeps_pods_off
from eks_hardware.units import GIB, MIB, amount


@dataclass(frozen=True)
class Flavor:
    """Nodes with the same accelerator, architecture, taints and sharing.

    Attributes:
        labels: labels that select these nodes and no others.
        taints: taints for which a job must set a toleration itself, as objects.
        tolerations: tolerations for the taints that keep other pods off the accelerator, as objects.
        quota: total resources that pods can use on all these nodes, as Kubernetes quantities.
    """

    name: str
    hardware: Hardware
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    tolerations: tuple[Mapping[str, str], ...]
    quota: Mapping[str, str]


def flavors(resolved: ResolvedStrategy) -> tuple[Flavor, ...]:
    """Return the flavors of a strategy, in the order of its groups and pools.

    System groups are left out, because they run the cluster's own pods. A pool with several accelerators has no label
    for them. Kueue may admit a job that selects one of them to the pool, and the job then waits.
    """
    alike: dict[tuple[object, ...], list[Node]] = {}
    for node in _for_jobs(resolved):
        alike.setdefault(_kind(node), []).append(node)
    grouped: list[Flavor] = []
    for members in alike.values():
        name, labels = _name(members[0]), _common_labels(members)
        selected = [node for node in nodes(resolved) if labels.items() <= selecting_labels(node).items()]
        if len(selected) == len(members) and all(flavor.name != name for flavor in grouped):
            grouped.append(_flavor(name, labels, members))
        else:
            # The labels of these nodes match other nodes, too.
            grouped += [
                _flavor(f"nodes-{node.name}", {**selecting_labels(node), **name_label(node)}, [node])
                for node in members
            ]
    return tuple(grouped)


def neuron_cores_per_device(resolved: ResolvedStrategy) -> int | None:
    """Return the smallest number of NeuronCores per device on the nodes for jobs; None without such devices."""
    offers = [extended_resources_of(load().get(name)) for node in _for_jobs(resolved) for name in node.instance_types]
    return min((offer[NEURON_CORE] // offer[NEURON] for offer in offers if NEURON_CORE in offer), default=None)


def _for_jobs(resolved: ResolvedStrategy) -> list[Node]:
    return [node for node in nodes(resolved) if node.workload != "system" and node.hardware is not Hardware.OTHER]


def _kind(node: Node) -> tuple[object, ...]:
    """Return the properties that nodes of one flavor share."""
    labels = selecting_labels(node)
    same = tuple(labels.get(name) for name in ("hardware-type", "accelerator", ARCHITECTURE_LABEL))
    return (node.hardware, same, _own_taints(node), _keys(node), node.gpu_shares)


def _common_labels(members: list[Node]) -> dict[str, str]:
    first, *others = (selecting_labels(node) for node in members)
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _name(node: Node) -> str:
    accelerator = node.labels.get("accelerator", "")
    # A label value may contain characters that are not allowed in names. The flavor is then named after the hardware.
    name = accelerator if DNS_LABEL.fullmatch(accelerator) else node.hardware.value
    return f"{name}-arm64" if node.architecture == "arm64" else name


def _own_taints(node: Node) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the taints other than the accelerator's, without PreferNoSchedule, which Kueue ignores."""
    resource = accelerator_resource(node.hardware)
    return tuple(
        tuple(taint_object(taint).items())
        for taint in node.taints
        if taint.key != resource and keeps_pods_off(taint.effect)
    )


def _keys(node: Node) -> tuple[tuple[str, str], ...]:
    """Return the key and effect of each taint that keeps other pods off the accelerator."""
    resource = accelerator_resource(node.hardware)
    return tuple((taint.key, taint.effect) for taint in node.taints if taint.key == resource)


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
    """Return the resources that pods can use on one node."""
    resources = extended_resources_of(kind, efa_count=node.efa_count, shares=node.gpu_shares)
    # A NeuronCore is part of a device, and is counted as a part of it (`kueue.py`).
    devices = {name: Fraction(count) for name, count in resources.items() if name != NEURON_CORE}
    return {**allocatable(node, kind), **devices}


def _whole(node: Node, kind: InstanceType) -> dict[str, Fraction]:
    """Return the resources of a node that count against Karpenter's limits: more CPU and memory than pods can use."""
    capacity = {"cpu": Fraction(kind.vcpus), "memory": Fraction(kind.memory_gib) * GIB, "nodes": Fraction(1)}
    return {**_of_node(node, kind), **capacity}


def _of_group(group: ResolvedNodeGroup) -> dict[str, Fraction]:
    """Return the minimum resources over the group's types that pods can use on its maximum number of nodes."""
    each = [_of_node(group, load().get(name)) for name in group.instance_types]
    return {resource: group.max_size * min(kind[resource] for kind in each) for resource in each[0]}


def _of_pool(pool: ResolvedNodePool) -> dict[str, Fraction]:
    """Return the maximum resources that pods can use on nodes within the pool's limits.

    A limit also bounds the resources without a limit, by the ratio of the two in each instance type.
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
