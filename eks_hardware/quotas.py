"""The Service Quotas that a strategy needs with every group and pool at its maximum.

    for need in quota_needs(strategy, resolve(strategy)):
        print(need.code, need.name, need.needed, need.surge, need.default)

A group or pool with two capacity types counts in full toward both quotas. If it has several instance types, the type
with the highest need counts, because EKS and Karpenter choose the type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from eks_hardware import facts, field_paths
from eks_hardware.catalogue import Catalogue, InstanceType, address_count, load
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.resolve import BlockDevice, ResolvedNodeGroup, ResolvedNodes, ResolvedStrategy, SubnetRole
from eks_hardware.resolve.max_pods import addresses_per_slot
from eks_hardware.resolve.pool_types import node_capacity
from eks_hardware.spellings import CAPACITY
from eks_hardware.units import GIB_PER_TIB, amount

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.prices import CapacityBlockQuotas, OtherQuota, QuotaDefault, VcpuQuotas

    _Section = CapacityBlockQuotas | OtherQuota | VcpuQuotas


@dataclass(frozen=True)
class Part:
    """One field's share of a need: at maximum size, and the surge while EKS updates the group.

    ``path`` is the field's path as in findings (``node_groups[gpu].scaling.max``). ``text`` shows the calculation:
    ``4 x 96 (p4d.24xlarge)``.
    """

    path: str
    needed: float
    surge: float
    text: str


@dataclass(frozen=True)
class QuotaNeed:
    """A strategy's need for one quota.

    Attributes:
        key: ``on-demand``, ``spot`` or ``capacity-block`` for vCPUs, otherwise a key in ``quotas/service_quotas.json``.
        code: quota code; None if AWS documents none.
        unit: unit of the need; empty if the name includes the unit.
        default: default quota of a new account; None if unknown.
    """

    key: str
    service: str
    code: str | None
    name: str
    unit: str
    default: float | None
    parts: tuple[Part, ...]
    source: str

    @property
    def needed(self) -> float:
        """The sum of all parts."""
        return sum(part.needed for part in self.parts)

    @property
    def surge(self) -> float:
        """The additional need while EKS updates every node group at once, as an apply can do."""
        return sum(part.surge for part in self.parts)

    @property
    def above_default(self) -> bool:
        """Whether the need, including the extra nodes of an update, is above a new account's quota."""
        return self.default is not None and self.needed + self.surge > self.default

    @property
    def counts_vcpus(self) -> bool:
        """Whether the quota limits vCPUs of instances."""
        return self.key in ("on-demand", "spot", "capacity-block")


def quota_needs(
    strategy: Strategy, resolved: ResolvedStrategy, catalogue: Catalogue | None = None
) -> tuple[QuotaNeed, ...]:
    """Return the need for every quota, vCPUs first. The strategy must have passed the rules."""
    nodes = tuple(_nodes(strategy, resolved, catalogue or load()))
    return (*_vcpus(nodes), *_others(resolved, nodes))


def vcpu_need(kind: InstanceType, nodes: int, capacity: str) -> QuotaNeed:
    """Return the vCPU quota need of some nodes of one instance type, without a strategy.

    Args:
        kind: the instance type.
        nodes: number of nodes.
        capacity: purchase option, such as ``on-demand``.
    """
    market, code, family = _quota_of(CAPACITY[capacity].usage_class, kind)
    section, row = _vcpu_facts(market, code, family)
    part = Part("", nodes * kind.vcpus, 0, f"{nodes} x {kind.vcpus} ({kind.name})")
    return _need(market, code, section, row, (part,))


def vcpu_quota_names() -> dict[str, str]:
    """Return the names of the vCPU quotas of EC2 instances, by quota code."""
    quotas = facts.service_quotas()
    blocks = {row["code"]: row["name"] for row in quotas["capacity_blocks"]["families"].values()}
    return {code: row["name"] for code, row in quotas["vcpus"]["defaults"].items()} | blocks


@dataclass(frozen=True)
class _Nodes:
    """A group or pool: instance types, markets, and the maximum number of nodes, set by the field at path ``count``."""

    path: str
    count: str
    types: tuple[InstanceType, ...]
    markets: tuple[str, ...]
    zone_ids: tuple[str, ...]
    most: int
    surge: int
    reserved: bool
    devices: tuple[BlockDevice, ...]
    interfaces: int
    pool: NodePoolSpec | None = None

    def vcpus(self, types: Sequence[InstanceType]) -> Part:
        """Return the vCPUs of all nodes if every node has one of these types."""
        largest = max(types, key=lambda kind: kind.vcpus)
        if self.pool:
            needed, text = min(_limited(self.pool, types, self.most), key=lambda bound: bound[0])
        else:
            needed = self.most * largest.vcpus
            text = f"{self.most} x {largest.vcpus} ({largest.name})"
        if self.reserved:
            text += ", reserved, whether used or not"
        return Part(self.count, needed, self.surge * largest.vcpus, text)


def _nodes(strategy: Strategy, resolved: ResolvedStrategy, catalogue: Catalogue) -> Iterator[_Nodes]:
    custom_networking = resolved.cluster.custom_networking
    for group, of_group in zip(strategy.node_groups, resolved.node_groups, strict=True):
        path = field_paths.item("node_groups", group.name)
        types = tuple(catalogue.get(name) for name in of_group.instance_types)
        yield _Nodes(
            path=path,
            count=f"{path}.scaling.max",
            types=types,
            markets=(CAPACITY[group.capacity].usage_class,),
            zone_ids=of_group.zone_ids,
            most=of_group.max_size,
            surge=_surge(group, of_group),
            reserved=group.capacity == "reserved",
            devices=of_group.block_devices,
            interfaces=_interfaces(of_group, types, of_group.max_pods, custom_networking=custom_networking),
        )
    for pool, of_pool in zip(pools_of(strategy), resolved.node_pools, strict=True):
        path = field_paths.item("karpenter.node_pools", pool.name)
        types = tuple(catalogue.get(name) for name in of_pool.instance_types)
        yield _Nodes(
            path=path,
            count=f"{path}.limits",
            types=types,
            markets=tuple(dict.fromkeys(CAPACITY[capacity].usage_class for capacity in pool.capacity)),
            zone_ids=of_pool.zone_ids,
            most=_most_nodes(pool, types),
            # Karpenter counts replacement nodes toward the pool's limits.
            surge=0,
            reserved="reserved" in pool.capacity and "on-demand" not in pool.capacity,
            devices=of_pool.block_devices,
            interfaces=_interfaces(of_pool, types, of_pool.max_pods, custom_networking=custom_networking),
            pool=pool,
        )


def _surge(group: NodeGroupSpec, resolved: ResolvedNodeGroup) -> int:
    """Return the number of extra nodes that EKS may start during an update; 0 if a reservation is the only capacity."""
    if group.reservation is not None or resolved.update_strategy == "MINIMAL":
        return 0
    by_zone = facts.nodes()["group_update"]["nodes_per_zone"] * len(resolved.zone_ids)
    percentage = resolved.max_unavailable_percentage
    unavailable = resolved.max_unavailable or math.ceil(resolved.max_size * (percentage or 0) / 100)
    return max(by_zone, unavailable)


# --- pools and their limits


_COUNTED = {"nvidia.com/gpu": "GPUs", "aws.amazon.com/neuron": "devices"}


def _most_nodes(pool: NodePoolSpec, types: Sequence[InstanceType]) -> int:
    """Return the number of nodes of the smallest type that the limits allow."""
    bounds = [
        amount(limit) // min(node_capacity(kind)[name] for kind in types)
        for name, limit in pool.limits.items()
        if all(name in node_capacity(kind) for kind in types)
    ]
    return int(min(bounds, default=0))


def _limited(pool: NodePoolSpec, types: Sequence[InstanceType], most: int) -> Iterator[tuple[float, str]]:
    """Yield the vCPUs that each limit allows, with the calculation."""
    for name, limit in pool.limits.items():
        if not all(name in node_capacity(kind) for kind in types):
            continue
        if name == "cpu":
            yield float(amount(limit)), f"limit cpu {limit}"
            continue
        worst = max(types, key=lambda kind: kind.vcpus / node_capacity(kind)[name])
        each = Fraction(worst.vcpus) / node_capacity(worst)[name]
        if name == "memory":
            yield math.floor(amount(limit) * each), f"limit memory {limit}, all {worst.name}"
        else:
            counted = _COUNTED.get(name, "nodes")
            yield math.floor(amount(limit) * each), f"{limit} {counted} x {float(each):g} ({worst.name})"
    largest = max(types, key=lambda kind: kind.vcpus)
    yield most * largest.vcpus, f"{most} nodes x {largest.vcpus} ({largest.name})"


# --- vCPUs


def _vcpus(nodes: Iterable[_Nodes]) -> Iterator[QuotaNeed]:
    parts: dict[tuple[str, str | None, str], list[Part]] = {}
    for node in nodes:
        for market in node.markets:
            by_quota: dict[tuple[str, str | None, str], list[InstanceType]] = {}
            for kind in node.types:
                by_quota.setdefault(_quota_of(market, kind), []).append(kind)
            for quota, types in by_quota.items():
                parts.setdefault(quota, []).append(node.vcpus(types))
    markets = list(dict.fromkeys(spelling.usage_class for spelling in CAPACITY.values()))
    for market, code, family in sorted(parts, key=lambda quota: (markets.index(quota[0]), quota[1] or "~", quota[2])):
        section, row = _vcpu_facts(market, code, family)
        yield _need(market, code, section, row, parts[market, code, family])


def _quota_of(market: str, kind: InstanceType) -> tuple[str, str | None, str]:
    """Return the market, the quota code, and the family if only the family distinguishes two quotas."""
    if market == "capacity-block":
        row = facts.service_quotas()["capacity_blocks"]["families"].get(kind.family)
        code = row["code"] if row else None
    else:
        code = kind.quota_code_spot if market == "spot" else kind.quota_code_on_demand
    return market, code, kind.family if code is None or market == "capacity-block" else ""


def _vcpu_facts(market: str, code: str | None, family: str) -> tuple[VcpuQuotas | CapacityBlockQuotas, QuotaDefault]:
    blocks, vcpus = facts.service_quotas()["capacity_blocks"], facts.service_quotas()["vcpus"]
    section = blocks if market == "capacity-block" else vcpus
    if code is None:
        words = {"on-demand": "On-Demand", "spot": "Spot", "capacity-block": "in Capacity Blocks"}
        return section, {"name": f"{family} {words[market]}: AWS documents no quota", "default": None}
    return section, blocks["families"][family] if market == "capacity-block" else vcpus["defaults"][code]


def _need(key: str, code: str | None, section: _Section, row: QuotaDefault, parts: Iterable[Part]) -> QuotaNeed:
    service, unit, source = section["service"], section["unit"], section["source"]
    return QuotaNeed(key, service, code, row["name"], unit, row["default"], tuple(parts), source)


# --- quotas on other resources


def _others(resolved: ResolvedStrategy, nodes: Sequence[_Nodes]) -> Iterator[QuotaNeed]:
    found = {**_of_network(resolved), **_of_nodes(resolved, nodes), **_of_storage(resolved)}
    for key, row in facts.service_quotas()["others"]["quotas"].items():
        if parts := [part for part in found.get(key, ()) if part.needed]:
            yield _need(key, row["code"], row, row, parts)


def _of_network(resolved: ResolvedStrategy) -> dict[str, list[Part]]:
    network = resolved.network
    if network.existing:
        return {}
    nat = len(network.nat_zone_ids)
    endpoints = len(network.interface_endpoints)
    public = bool(network.of_role(SubnetRole.PUBLIC))
    return {
        "vpcs": [Part("network", 1, 0, "the cluster's VPC")],
        "internet_gateways": [Part("network", int(public), 0, "public subnets")],
        "elastic_ips": [Part("network.nat_gateways", nat, 0, "one per NAT gateway")],
        "nat_gateways": [Part("network.nat_gateways", min(nat, 1), 0, f"one in {', '.join(network.nat_zone_ids)}")],
        "interface_endpoints": [Part("network.interface_endpoints", endpoints, 0, "one per service")],
    }


def _of_nodes(resolved: ResolvedStrategy, nodes: Sequence[_Nodes]) -> dict[str, list[Part]]:
    groups = [node for node in nodes if node.pool is None]
    largest = max(groups, key=lambda group: group.most)
    zone_ids = sorted({zone for node in nodes for zone in node.zone_ids})
    by_zone = [[_interface_part(node) for node in nodes if zone in node.zone_ids] for zone in zone_ids]
    return {
        "network_interfaces": max(by_zone, key=lambda parts: sum(part.needed for part in parts), default=[]),
        "clusters": [Part("name", 1, 0, f"{resolved.name}")],
        "node_groups": [Part("node_groups", len(groups), 0, "")],
        "nodes_per_group": [Part(largest.count, largest.most, 0, "")],
        **{f"{volume_type}_storage": list(_storage_parts(nodes, volume_type)) for volume_type in ("gp3", "io2")},
        "io2_iops": [
            Part(f"{node.path}.disk.iops", node.most * iops, node.surge * iops, f"{node.most} nodes x {iops:,}")
            for node in nodes
            if (iops := sum(device.iops or 0 for device in node.devices if device.volume_type == "io2"))
        ],
    }


def _storage_parts(nodes: Iterable[_Nodes], volume_type: str) -> Iterator[Part]:
    for node in nodes:
        gib = sum(device.size_gib for device in node.devices if device.volume_type == volume_type)
        if gib:
            yield Part(
                f"{node.path}.disk",
                node.most * gib / GIB_PER_TIB,
                node.surge * gib / GIB_PER_TIB,
                f"{node.most} nodes x {gib} GiB",
            )


def _interface_part(nodes: _Nodes) -> Part:
    # All nodes can be in one zone, although EKS and Karpenter spread them.
    text = f"{nodes.most} nodes x {nodes.interfaces}"
    return Part(nodes.count, nodes.most * nodes.interfaces, nodes.surge * nodes.interfaces, text)


def _interfaces(
    resolved: ResolvedNodes,
    types: Sequence[InstanceType],
    max_pods: int | None,
    *,
    custom_networking: bool,
) -> int:
    """Return the number of network interfaces of a node full of pods: its EFA layout, and those for pod addresses.

    With prefix delegation, each slot of an interface except the first provides 16 addresses. The VPC CNI keeps one
    prefix free:
    https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
    """
    layout = resolved.efa_interfaces
    slots = min(((kind.ipv4_per_interface or 0) - 1 for kind in types), default=0)
    if max_pods is None or slots < 1:
        return max(1, len(layout))
    prefixes = math.ceil(max_pods / min(map(addresses_per_slot, types))) + 1
    with_addresses = math.ceil(prefixes / slots) + (1 if custom_networking else 0)
    without_address = len(layout) - address_count(layout) if layout else 0
    return max(with_addresses + without_address, len(layout))


def _of_storage(resolved: ResolvedStrategy) -> dict[str, list[Part]]:
    lustre = resolved.storage.fsx_lustre
    if lustre is None:
        return {}
    key = "fsx_persistent" if lustre.deployment_type == "PERSISTENT_2" else "fsx_scratch"
    return {key: [Part("storage.fsx_lustre", lustre.size_gib, 0, lustre.name)]}
