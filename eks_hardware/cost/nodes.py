"""The cost of node groups and node pools: instances and their volumes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from eks_hardware import field_paths
from eks_hardware.catalogue import Catalogue
from eks_hardware.cost import rates
from eks_hardware.cost.instance_prices import instance_figure
from eks_hardware.cost.model import CostLine, Figure, Level, Purchase
from eks_hardware.printable import joined
from eks_hardware.resolve import BlockDevice, ResolvedNodeGroup, ResolvedNodePool
from eks_hardware.resolve.pool_types import counted_by_karpenter
from eks_hardware.resolve.zones import is_edge
from eks_hardware.spellings import capacity_words
from eks_hardware.units import amount

_SPOT_AT_MAX = "max uses the On-Demand price, which the Spot price does not exceed"
"""The default maximum price of a Spot instance is the On-Demand price.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-requests.html
"""

_SPOT_UNKNOWN = "the Spot price is unknown, but is at most the On-Demand price"
_RESERVED = "a reservation is billed whether it is used or not: its capacity beyond these nodes costs extra"
_BLOCK_UNKNOWN = "a Capacity Block is billed at purchase; its price is unknown, but is at most the On-Demand price"
_BLOCK = "a Capacity Block is billed at purchase, used or not, at the price of that day"
_POOL = "no nodes at min and desired; max fills the limits with the type that makes the pool most expensive"
_POOL_RESERVED = f"{_RESERVED}; a Capacity Block is billed at purchase, and costs at most the On-Demand price"


def of_group(group: ResolvedNodeGroup, region: str, catalogue: Catalogue, today: datetime.date) -> Iterator[CostLine]:
    """Yield the instances of a node group, and their volumes.

    EKS launches the first instance type of an On-Demand group as long as it has capacity. That type counts at ``min``
    and ``desired``. At ``max`` the most expensive type counts.
    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html#managed-node-group-capacity-types
    """
    path = field_paths.item("node_groups", group.name)
    units: dict[Level, float] = {"min": group.min_size, "desired": group.desired_size, "max": group.max_size}
    bought = {name: instance_figure(catalogue, name, region) for name in group.instance_types}
    first, *others = group.instance_types
    spot, block = group.capacity == "spot", group.capacity == "capacity-block"
    known = {name: figure for name, figure in bought.items() if figure}
    at_max = max(known, key=lambda name: known[name].usd_per_hour, default=first)
    most_expensive = known.get(at_max)
    figure = bought[first]
    if spot or block:
        bought_as: Purchase = "spot" if spot else "capacity-block"
        figure = instance_figure(catalogue, first, region, bought_as, today=today)
    bounded = (spot or block) and figure is None and len(known) == len(bought)
    yield CostLine(
        path=path,
        name=f"{first}, {capacity_words((group.capacity,))}",
        short_name=first,
        kind="instances",
        instance_type=first,
        instance_type_at_max=None if at_max == first else at_max,
        capacity_types=(group.capacity,),
        figure=figure,
        units=units,
        note=_group_note(group, figure, at_max if others and known else None),
        figure_at_max=None if block or bounded or most_expensive == figure else most_expensive,
        unpriced=_unpriced(group, bought, figure),
        ceiling=most_expensive if bounded else None,
    )
    yield _volumes(path, group.block_devices, units, rates.volumes(region, group.block_devices))


def _unpriced(group: ResolvedNodeGroup, bought: Mapping[str, Figure | None], figure: Figure | None) -> tuple[str, ...]:
    """Return the types that may be launched at max and have no known price. A Capacity Block has one type."""
    if group.capacity == "capacity-block":
        return () if figure else tuple(group.instance_types)
    return tuple(name for name, each in bought.items() if each is None)


def _group_note(group: ResolvedNodeGroup, figure: Figure | None, at_max: str | None) -> str | None:
    if group.capacity == "capacity-block":
        return "; ".join(filter(None, [_BLOCK, figure.note])) if figure else _BLOCK_UNKNOWN
    notes = [_RESERVED] if group.capacity == "reserved" else []
    if group.capacity == "spot":
        notes.append(f"Spot prices change; {_SPOT_AT_MAX}" if figure else _SPOT_UNKNOWN)
    if at_max:
        types = f"the most expensive of the group's {len(group.instance_types)} types"
        notes.append(f"at max all nodes are {at_max}, {types}")
    return "; ".join([*notes, *_zone_notes(group.zone_ids)]) or None


def _zone_notes(zone_ids: Sequence[str]) -> list[str]:
    """Return that the prices of Local Zones and Wavelength Zones, which differ from the region's, are unknown.

    Source: https://aws.amazon.com/about-aws/global-infrastructure/localzones/pricing/
    """
    zones = [zone for zone in zone_ids if is_edge(zone)]
    return [f"the prices in {joined(zones, 'and')} are unknown; the region's prices count"] if zones else []


def of_pool(pool: ResolvedNodePool, region: str, catalogue: Catalogue, today: datetime.date) -> Iterator[CostLine]:
    """Yield the instances of a node pool and their volumes: none at ``min``, up to the limits at ``max``.

    That is an upper bound, as if all nodes were of the type with the highest price per unit of a limit. In practice
    Karpenter launches cheaper nodes: the cheapest type on which the pods fit, and Spot before On-Demand.
    """
    path = field_paths.item("karpenter.node_pools", pool.name)
    bought = capacity_words(pool.capacity_types)
    limits = {name: amount(limit) for name, limit in pool.limits.items()}
    counted = {name: counted_by_karpenter(catalogue.get(name), pool.gpu_shares) for name in pool.instance_types}
    # Karpenter never launches a type that is larger than the limits.
    types = {
        name: each
        for name, each in counted.items()
        if all(each.get(resource, 0) <= limit for resource, limit in limits.items())
    }
    prices = {name: instance_figure(catalogue, name, region) for name in types}
    volumes = rates.volumes(region, pool.block_devices)
    most = _most(limits, types, prices, volumes)
    if most is None:
        endless: dict[Level, float] = {"min": 0, "desired": 0, "max": int(bool(types))}
        yield CostLine(
            path=path,
            name=f"nodes without a limit, {bought}",
            short_name="nodes without a limit",
            kind="instances",
            capacity_types=pool.capacity_types,
            figure=None,
            units=endless,
            note="no limit bounds the cost of the pool",
        )
        return
    reserved = pool.capacity_types == ("reserved",)

    def unknown_block(name: str) -> bool:
        if not catalogue.get(name).supports_capacity_block:
            return False
        return instance_figure(catalogue, name, region, "capacity-block", today=today) is None

    priced = all(prices[name] for name in types)
    spot = pool.capacity_types == ("spot",)
    spot_unknown = spot and instance_figure(catalogue, most.type_name, region, "spot") is None
    notes = [_POOL, *([_SPOT_UNKNOWN if spot_unknown else _SPOT_AT_MAX] * spot), *([_POOL_RESERVED] * reserved)]
    notes += _zone_notes(pool.zone_ids)
    units: dict[Level, float] = {"min": 0, "desired": 0, "max": most.nodes}
    yield CostLine(
        path=path,
        name=f"{most.type_name}, {bought}",
        short_name=most.type_name,
        kind="instances",
        instance_type=most.type_name,
        capacity_types=pool.capacity_types,
        figure=None if spot_unknown else prices[most.type_name],
        ceiling=prices[most.type_name] if (reserved or spot_unknown) and priced else None,
        units=units,
        note="; ".join(notes),
        unpriced=tuple(name for name in types if prices[name] is None or (reserved and unknown_block(name))),
    )
    yield _volumes(path, pool.block_devices, units, volumes)


class _Most(NamedTuple):
    """The most expensive set of nodes within the limits of a pool."""

    type_name: str
    nodes: float


def _most(
    limits: Mapping[str, Fraction],
    types: Mapping[str, Mapping[str, Fraction]],
    prices: Mapping[str, Figure | None],
    volumes: Figure | None,
) -> _Most | None:
    """Return an upper bound of the cost of all nodes, as a number of nodes of one type; None if no limit bounds it.

    ``types`` has the share of each limit that a node of each type uses. For any mix of types, each limit bounds the
    cost by the limit times the highest price per unit of the limit. The lowest of these bounds counts. With one type,
    the number of nodes is whole. Types without a price are left out, unless no type has one.
    """
    disks = volumes.usd_per_hour if volumes else 0.0
    usd = {name: figure.usd_per_hour + disks for name, figure in prices.items() if figure}
    usd = usd or dict.fromkeys(prices, disks or 1.0)
    bounds: list[tuple[float, _Most]] = []
    for resource, limit in limits.items():
        nodes = {name: float(limit / types[name][resource]) for name in usd if types[name].get(resource)}
        if nodes and len(nodes) == len(usd):
            worst = max(nodes, key=lambda name: nodes[name] * usd[name])
            bounds.append((nodes[worst] * usd[worst], _Most(worst, nodes[worst])))
    if not bounds:
        return None
    _, least = min(bounds, key=lambda bound: bound[0])
    return _Most(least.type_name, math.floor(least.nodes)) if len(types) == 1 else least


def _volumes(
    path: str, devices: Sequence[BlockDevice], units: Mapping[Level, float], figure: Figure | None
) -> CostLine:
    """Return the volumes of all nodes. One unit is all volumes of a node."""
    name = " + ".join(_volume_name(device) for device in devices)
    return CostLine(
        path=field_paths.below(path, "disk"), name=name, short_name=name, kind="volumes", figure=figure, units=units
    )


def _volume_name(device: BlockDevice) -> str:
    parts = [f"{device.volume_type} {device.size_gib} GiB"]
    if device.iops:
        parts.append(f"{device.iops} IOPS")
    if device.throughput_mibps:
        parts.append(f"{device.throughput_mibps} MiB/s")
    return ", ".join(parts)
