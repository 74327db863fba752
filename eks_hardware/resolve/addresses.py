"""The IP budget: how many addresses the maximum number of nodes uses in each subnet, and how many exist.

With the CNI's prefix delegation:

- Each interface with an IP address uses one address; an ``efa-only`` interface has none.
- Pods get their addresses from prefixes of 16 (/28). A node has one prefix from the start, and a second one as soon as
  its first pod runs, because the CNI keeps a free one warm. With ``kubelet.max_pods`` in the strategy, a node has as
  many prefixes as that number of pods needs.
- With pod subnets, prefixes and their interfaces are in the pod subnets.

A /28 must be free as a whole; single free addresses between others cannot be used. A subnet therefore runs out of
prefixes slightly earlier than the total suggests.

Sources: https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/prefix-and-ip-target.md,
https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue, InstanceType, address_count
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, Strategy
from eks_hardware.models.node_lists import pools_of
from eks_hardware.resolve import cidrs, zones
from eks_hardware.resolve.addons import addons_of, vpc_cni_configuration
from eks_hardware.resolve.mappings import merged
from eks_hardware.resolve.max_pods import addresses_per_slot
from eks_hardware.resolve.pool_types import node_capacity, pool_types
from eks_hardware.resolve.values import SubnetRole
from eks_hardware.resolve.vpc import has_pod_subnets, interface_endpoints
from eks_hardware.units import amount

# Pods of a node that use the node's own address: the CNI's and kube-proxy's
# (https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/runtime/eni-max-pods.txt).
_HOST_NETWORK_PODS = 2


class _Nodes(NamedTuple):
    """The maximum nodes of a group or pool, spread evenly over its zones; None if their number is unknown."""

    of: NodeGroupSpec | NodePoolSpec
    types: tuple[InstanceType, ...]
    zone_ids: tuple[str, ...]
    maximum: int | None


class Share(NamedTuple):
    """Addresses that the nodes of one group or pool use in a subnet, for themselves and for pods."""

    of: NodeGroupSpec | NodePoolSpec
    nodes: int
    own: int
    pods: int

    @property
    def total(self) -> int:
        """Addresses of all nodes together."""
        return self.nodes * (self.own + self.pods)


@dataclass(frozen=True)
class SubnetBudget:
    """A subnet with everything that uses its addresses: nodes, pods, and other resources by kind."""

    role: SubnetRole
    zone_id: str
    cidr: str
    shares: tuple[Share, ...]
    others: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def usable(self) -> int:
        """Addresses that AWS does not reserve."""
        return usable(_prefix(self.cidr))

    @property
    def rest(self) -> int:
        """Addresses that resources other than nodes use."""
        return sum(self.others.values())

    @cached_property
    def own(self) -> int:
        """Addresses used by node interfaces when every group is at max, plus those of other resources.

        Pools are not counted: their limits protect against runaway scaling, and are seldom an intended number of
        nodes.
        """
        return self.rest + sum(share.nodes * share.own for share in self.shares if isinstance(share.of, NodeGroupSpec))

    @cached_property
    def total(self) -> int:
        """IP addresses used with every group and pool at max and pods on every node, plus those of other resources."""
        return self.rest + sum(share.total for share in self.shares)


def usable(prefix: int) -> int:
    """Return the number of addresses of a subnet that instances can use."""
    reserved: int = facts.eks()["subnet_addresses"]["reserved_by_aws"]
    return max(int(2 ** (32 - prefix)) - reserved, 0)


def nodes_at_limit(pool: NodePoolSpec, types: Sequence[InstanceType]) -> int | None:
    """Return how many nodes of a medium-sized type a pool's limits allow; None if no limit bounds them.

    The smallest type would allow many more nodes, but Karpenter launches larger ones if pods fill them.
    """
    limits = {str(name): amount(value) for name, value in pool.limits.items() if not str(value).startswith("-")}
    counts: list[int] = []
    for kind in types:
        of_a_node = node_capacity(kind)
        bounds = [limit // of_a_node[name] for name, limit in limits.items() if of_a_node.get(name)]
        if not bounds:
            return None
        counts.append(min(bounds))
    return sorted(counts)[(len(counts) - 1) // 2] if counts else None


def strategy_budgets(strategy: Strategy, catalogue: Catalogue) -> tuple[SubnetBudget, ...]:
    """Return the budget of every subnet of a strategy; groups and pools with unknown types are omitted."""
    region, network = strategy.region, strategy.network
    if network.existing:
        return ()
    demands: dict[str, tuple[NodeGroupSpec | NodePoolSpec, tuple[InstanceType, ...], zones.Demand]] = {}
    for group in strategy.node_groups:
        kinds = tuple(kind for name in group.instance_types if (kind := catalogue.find(name)))
        if len(kinds) == len(group.instance_types):
            demands[group.name] = (group, kinds, zones.of_node_group(group))
    for pool in pools_of(strategy):
        if names := pool_types(pool, region, catalogue):
            demands[pool.name] = (pool, tuple(map(catalogue.get, names)), zones.of_node_pool(pool, names))
    choice = zones.choose(network, [demand for _, _, demand in demands.values()], region, catalogue)
    nodes = [
        _Nodes(of, kinds, zones.zones_of(demand, choice, region, catalogue), _count(of, kinds))
        for of, kinds, demand in demands.values()
    ]
    return tuple(_budgets(strategy, nodes, choice))


def _count(of: NodeGroupSpec | NodePoolSpec, types: Sequence[InstanceType]) -> int | None:
    return of.scaling.max if isinstance(of, NodeGroupSpec) else nodes_at_limit(of, types)


def _budgets(strategy: Strategy, nodes: Sequence[_Nodes], choice: zones.ZoneChoice) -> Iterator[SubnetBudget]:
    network, pod_cidr = strategy.network, strategy.network.pod_cidr
    if not cidrs.LARGEST_VPC_PREFIX <= _prefix(network.cidr) <= cidrs.SMALLEST_VPC_PREFIX:
        return
    if pod_cidr and not cidrs.LARGEST_VPC_PREFIX <= _prefix(pod_cidr) <= cidrs.SMALLEST_POD_PREFIX:
        return
    cni = _vpc_cni_environment(strategy)
    shares: list[tuple[tuple[str, ...], Share, Share]] = []
    for node in nodes:
        if not node.maximum or not node.zone_ids:
            continue
        here = -(-node.maximum // len(node.zone_ids))
        pods = max((_for_pods(node, *places, cni) for places in _places(node)), default=0)
        of_nodes = Share(node.of, here, _own(node), 0 if pod_cidr else pods)
        # The primary interface is in the nodes' subnet. Other interfaces are in the pods' subnet and have their own
        # address.
        shares.append((node.zone_ids, of_nodes, Share(node.of, here, 1, pods)))
    addons = addons_of(strategy)
    endpoints = len(interface_endpoints(network, addons))
    for zone in choice.zone_ids:
        # One address each.
        counts = {
            "interface endpoints": endpoints if zone in choice.base else 0,
            "mount targets": 1 if strategy.storage.efs else 0,
        }
        others = {name: count for name, count in counts.items() if count}
        nodes_here = tuple(of_nodes for zones_of, of_nodes, _ in shares if zone in zones_of)
        yield SubnetBudget(SubnetRole.PRIVATE, zone, cidrs.private(network.cidr, zone), nodes_here, others)
        if pod_cidr is not None:
            pods_here = tuple(of_pods for zones_of, _, of_pods in shares if zone in zones_of)
            yield SubnetBudget(SubnetRole.POD, zone, cidrs.pods(pod_cidr, zone), pods_here)


def wider(network: str, needed: int, subnet: str) -> str | None:
    """Return the smallest network containing ``network`` whose proportional ``subnet`` has ``needed`` addresses."""
    given = ipaddress.IPv4Network(network)
    cut = _prefix(subnet) - given.prefixlen
    for prefix in range(given.prefixlen - 1, cidrs.LARGEST_VPC_PREFIX - 1, -1):
        if usable(prefix + cut) >= needed:
            return str(given.supernet(new_prefix=prefix))
    return None


def _vpc_cni_environment(strategy: Strategy) -> Mapping[str, object]:
    """Return the CNI's environment: the derived one, merged with the strategy's."""
    addon = strategy.cluster.addons.get("vpc-cni")
    given = addon.configuration if addon else {}
    environment = merged(vpc_cni_configuration(has_pod_subnets(strategy.network)), given).get("env")
    return environment if isinstance(environment, Mapping) else {}


def switched_on(environment: Mapping[str, object], name: str) -> bool:
    """Return whether a CNI setting is on."""
    return str(environment.get(name, "")).lower() in ("true", "1")


def _own(nodes: _Nodes) -> int:
    """Return the number of interfaces with an address that a node starts with."""
    layouts = {kind.efa_interfaces for kind in nodes.types} if nodes.of.efa else set()
    return max(map(address_count, layouts), default=1)


def _places(nodes: _Nodes) -> set[tuple[int, int]]:
    """Return, for every type, the slots of an interface except its own address, and the addresses per slot."""
    return {(max((kind.ipv4_per_interface or 0) - 1, 1), addresses_per_slot(kind)) for kind in nodes.types}


def _for_pods(nodes: _Nodes, places: int, size: int, cni: Mapping[str, object]) -> int:
    """Return the addresses that a node reserves for pods, including those of the additional interfaces."""
    stated = nodes.of.kubelet.max_pods
    pods = max(stated - _HOST_NETWORK_PODS, 1) if stated else 1
    warm, least = _number(cni, "WARM_IP_TARGET"), _number(cni, "MINIMUM_IP_TARGET")
    asked, overridden = max(pods + warm, least), warm or least
    if size == 1 or not switched_on(cni, "ENABLE_PREFIX_DELEGATION"):
        # All addresses of the interfaces in use, and of a warm one.
        addresses = asked if overridden else (math.ceil(pods / places) + 1) * places
        return addresses + math.ceil(addresses / places) - 1
    prefixes = math.ceil(asked / size) if overridden else math.ceil(pods / size) + _number(cni, "WARM_PREFIX_TARGET")
    return prefixes * size + math.ceil(prefixes / places) - 1


def _number(environment: Mapping[str, object], name: str) -> int:
    text = str(environment.get(name, ""))
    return int(text) if text.isdecimal() and len(text) < 6 else 0


def _prefix(cidr: str) -> int:
    return int(cidr.rpartition("/")[2])
