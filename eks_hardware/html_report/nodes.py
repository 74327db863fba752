"""Node groups and node pools for the diagram, in one format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from eks_hardware.catalogue import Accelerator, Catalogue, Hardware, InstanceType
from eks_hardware.explain import lines
from eks_hardware.printable import joined
from eks_hardware.resolve import (
    ResolvedNodeGroup,
    ResolvedNodePool,
    ResolvedNodes,
    ResolvedStrategy,
)
from eks_hardware.resolve.pool_types import counted_by_karpenter
from eks_hardware.spellings import CAPACITY
from eks_hardware.units import amount

_NAMED_TYPES = 3
"""Longer lists of instance types are summarized by family."""


@dataclass(frozen=True)
class Devices:
    """The accelerators of one node, for the types with the fewest and the most: ``8 × A100, 40 GiB each``."""

    fewest: int
    most: int
    text: str

    @property
    def uniform(self) -> bool:
        """Whether nodes of all types have the same number."""
        return self.fewest == self.most


@dataclass(frozen=True, kw_only=True)
class NodeSet:
    """A node group, or a Karpenter node pool, as text.

    Attributes:
        size: the number of nodes, or the limits.
        efa: EFA interfaces per node.
        marks: further properties: shared GPUs, a placement group.
        most_devices: maximum accelerators of all its nodes; for a pool, those that its limits allow.
    """

    name: str
    is_pool: bool
    hardware: Hardware
    types: str
    devices: Devices | None
    size: str
    capacity: str
    efa: int
    marks: tuple[str, ...]
    taints: tuple[str, ...]
    zone_ids: tuple[str, ...]
    most_devices: int


def node_sets(resolved: ResolvedStrategy, catalogue: Catalogue) -> tuple[NodeSet, ...]:
    """Return every node group and then every node pool, in the order of the strategy."""
    every: tuple[ResolvedNodeGroup | ResolvedNodePool, ...] = (*resolved.node_groups, *resolved.node_pools)
    return tuple(_node_set(nodes, catalogue) for nodes in every)


def _node_set(nodes: ResolvedNodeGroup | ResolvedNodePool, catalogue: Catalogue) -> NodeSet:
    kinds = [catalogue.get(name) for name in nodes.instance_types]
    devices = _devices(kinds)
    if isinstance(nodes, ResolvedNodeGroup):
        bought: Sequence[str] = (nodes.capacity,)
        size = f"min {nodes.min_size:,}, desired {nodes.desired_size:,}, max {nodes.max_size:,}"
        most_devices = nodes.max_size * devices.most if devices else 0
    else:
        bought = nodes.capacity_types
        size = f"limits: {', '.join(f'{name} {limit}' for name, limit in nodes.limits.items())}"
        most_devices = _within_limits(nodes, kinds)
    return NodeSet(
        name=nodes.name,
        is_pool=isinstance(nodes, ResolvedNodePool),
        hardware=nodes.hardware,
        types=_types(kinds),
        devices=devices,
        size=size,
        capacity=", ".join(CAPACITY[option].words for option in bought),
        efa=nodes.efa_count,
        marks=tuple(_marks(nodes)),
        taints=tuple(line for taint in nodes.taints for line in lines(taint)),
        zone_ids=nodes.zone_ids,
        most_devices=most_devices,
    )


def _types(kinds: Sequence[InstanceType]) -> str:
    if len(kinds) <= _NAMED_TYPES:
        return ", ".join(kind.name for kind in kinds)
    families = list(dict.fromkeys(kind.family for kind in kinds))
    if len(families) > 2 * _NAMED_TYPES:
        return f"{len(kinds)} types of {len(families)} families"
    return f"{', '.join(families)}: {len(kinds)} types"


def _devices(kinds: Sequence[InstanceType]) -> Devices | None:
    accelerators = [kind.accelerator for kind in kinds if kind.accelerator]
    if not accelerators:
        return None
    counts = [accelerator.count for accelerator in accelerators]
    fewest, most = min(counts), max(counts)
    chips = joined(list(dict.fromkeys(accelerator.name for accelerator in accelerators)), "or")
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return Devices(fewest, most, f"{_fraction(accelerators)}{number} × {chips}{_memory(accelerators)}")


def _fraction(accelerators: Sequence[Accelerator]) -> str:
    shares = sorted({accelerator.fraction for accelerator in accelerators if accelerator.fraction})
    if not shares:
        return ""
    return f"{joined([str(Fraction(share).limit_denominator(16)) for share in shares], 'or')} of "


def _memory(accelerators: Sequence[Accelerator]) -> str:
    known = [accelerator.memory_gib_each for accelerator in accelerators]
    sizes = sorted({round(gib, 1) for gib in known if gib})
    if not sizes or None in known:
        return ""
    ends = f"{sizes[0]:g}" if len(sizes) == 1 else f"{sizes[0]:g} to {sizes[-1]:g}"
    return f", {ends} GiB each"


def _within_limits(pool: ResolvedNodePool, kinds: Sequence[InstanceType]) -> int:
    """Return the devices that the limits allow if all nodes are of the type that yields the most devices."""
    most = 0
    for kind in kinds:
        if kind.accelerator:
            counted = counted_by_karpenter(kind, pool.gpu_shares)
            nodes = min(amount(limit) // counted[key] for key, limit in pool.limits.items() if key in counted)
            most = max(most, int(nodes) * kind.accelerator.count)
    return most


def _marks(nodes: ResolvedNodes) -> Iterator[str]:
    if nodes.gpu_shares and nodes.gpu_shares.mig_profile:
        yield f"MIG {nodes.gpu_shares.mig_profile}"
    elif nodes.gpu_shares:
        yield f"{nodes.gpu_shares.shares_per_gpu} pods share a GPU"
    if nodes.placement_group_name:
        yield "placement group"
