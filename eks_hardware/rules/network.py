"""Rules about the network: zones, subnets, addresses, endpoints and NAT."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from ipaddress import IPv4Network

from eks_hardware import facts, field_paths
from eks_hardware.models import NodeGroupSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve import cidrs
from eks_hardware.resolve.addons import addons_of
from eks_hardware.resolve.addresses import Share, SubnetBudget, wider
from eks_hardware.resolve.values import SubnetRole
from eks_hardware.resolve.vpc import nat_mode
from eks_hardware.resolve.zones import (
    can_have_control_plane,
    edge_groups,
    edge_place,
    edge_zone_ids,
    is_edge,
    region_code,
    zones_of,
)
from eks_hardware.rules.registry import (
    Breach,
    Context,
    error,
    existing_subnets,
    node_path,
    stated_zones,
    warning,
    zones_given,
)
from eks_hardware.suggestions import close, did_you_mean, question

_PUBLIC_CIDRS = "cluster.endpoint.public_cidrs"


@error("ZONE_UNKNOWN")
def _unknown_zone(context: Context) -> Iterator[Breach]:
    if not context.region_known:
        return
    region = context.strategy.region
    known = context.catalogue.zone_ids(region)
    for path, zone in stated_zones(context):
        # AWS adds Local Zones often: LOCAL_ZONE_UNLISTED warns about those that are not in its list.
        if not (region_code(zone) == region_code(known[0]) if is_edge(zone) else zone in known):
            near = close(edge_place(zone), edge_groups(region)) if is_edge(zone) else ()
            meant = f"; {question(edge_zone_ids(region_code(known[0]), near))}" if near else ""
            yield path, f"must be a zone of {region} ({', '.join(known)}), got {zone}{meant}"


@error("ZONE_NOT_IN_NETWORK")
def _zone_without_subnet(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing is None and isinstance(network.zones, int):
        return
    have = set(network.existing.private_subnets) if network.existing else set(context.zone_choice().base)
    field = "network.existing.private_subnets" if network.existing else "network.zones"
    for node in context.nodes:
        for path, zone in zones_given(node):
            if zone not in have:
                yield path, f"{zone} has no subnet; add the zone to {field}"


@error("ZONE_TOO_FEW")
def _too_few_zones(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    # The default of 3 means as many as the region has, up to 3.
    asked = network.zones if "zones" in network.model_fields_set else None
    if context.region_known and isinstance(asked, int) and len(context.zone_choice().base) < asked:
        base = context.zone_choice().base
        yield (
            "network.zones",
            f"must be at most {len(base)}, the number of zones that EKS supports in {context.strategy.region} "
            f"({', '.join(base)}), got {asked}",
        )


@error("POD_SUBNET_MISSING")
def _pod_subnets(context: Context) -> Iterator[Breach]:
    existing = context.strategy.network.existing
    if existing is None or not existing.pod_subnets:
        return
    users = _users_of_zones(context)
    for zone in existing.private_subnets:
        if zone in users and zone not in existing.pod_subnets:
            yield (
                "network.existing.pod_subnets",
                f"{zone} has a subnet for nodes but not for pods, so pods on the nodes of "
                f"{', '.join(users[zone][:_SHARES])} get no address there; add a subnet for pods, or set zones to "
                f"exclude {zone}",
            )


def _users_of_zones(context: Context) -> dict[str, list[str]]:
    """Return the zones with nodes, and the names of their groups and pools."""
    users: dict[str, list[str]] = {}
    for node in context.nodes:
        region = context.strategy.region
        for zone in zones_of(context.demand(node), context.zone_choice(), region, context.catalogue):
            users.setdefault(zone, []).append(node.name)
    return users


@error("SUBNET_TWICE")
def _subnet_twice(context: Context) -> Iterator[Breach]:
    zone_of: dict[str, str] = {}
    for path, zone, subnet in existing_subnets(context):
        if zone_of.setdefault(subnet, zone) != zone:
            yield path, f"must be a subnet in {zone}, got {subnet}, which is also set for {zone_of[subnet]}"


@error("CONTROL_PLANE_ZONES")
def _control_plane_zones(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing:
        field = "control_plane_subnets" if network.existing.control_plane_subnets else "private_subnets"
        path, zone_ids = f"network.existing.{field}", set(getattr(network.existing, field))
        for zone in sorted(
            subnet for subnet in network.existing.control_plane_subnets if not can_have_control_plane(subnet)
        ):
            yield (
                f"network.existing.control_plane_subnets.{zone}",
                f"EKS does not support control planes in {zone}; use another zone",
            )
    elif isinstance(network.zones, int):
        return
    else:
        path, zone_ids = "network.zones", set(network.zones)
    unusable = sorted(zone for zone in zone_ids if not can_have_control_plane(zone))
    count = len(zone_ids) - len(unusable)
    if count < 2:
        without = f" and does not support {', '.join(unusable)}" if unusable else ""
        yield (
            path,
            f"EKS needs two zones for the control plane{without}, got {count}; add another",
        )


# --- networks


@cache
def _without_hosts() -> dict[IPv4Network, str]:
    return {IPv4Network(block): what for block, what in facts.eks()["vpc_cidrs"]["no_hosts"].items()}


@cache
def _private_blocks() -> tuple[IPv4Network, ...]:
    return tuple(map(IPv4Network, facts.eks()["vpc_cidrs"]["private"]))


@error("NETWORK_CIDR_SIZE")
def _cidr_size(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    if network.existing:
        return
    prefix = IPv4Network(network.cidr).prefixlen
    if not cidrs.LARGEST_VPC_PREFIX <= prefix <= cidrs.SMALLEST_VPC_PREFIX:
        yield (
            "network.cidr",
            f"must be between /{cidrs.LARGEST_VPC_PREFIX} (AWS's limit) and /{cidrs.SMALLEST_VPC_PREFIX} (the "
            f"subnets of eight zones), got {network.cidr}",
        )


@error("NETWORK_CIDR_RESERVED")
def _cidr_reserved(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    given = IPv4Network(network.cidr)
    for block, what in _without_hosts().items():
        if network.existing is None and given.subnet_of(block):
            yield "network.cidr", f"hosts cannot use addresses of {network.cidr}: {what}; use 10.0.0.0/16, for example"


@warning("NETWORK_CIDR_PUBLIC")
def _cidr_public(context: Context) -> Iterator[Breach]:
    network = context.strategy.network
    given = IPv4Network(network.cidr)
    if network.existing or any(map(given.overlaps, _without_hosts())):
        return
    if not any(map(given.subnet_of, _private_blocks())):
        yield (
            "network.cidr",
            f"{network.cidr} is not private, so pods and nodes cannot reach internet hosts with these addresses; use "
            f"one of {', '.join(map(str, _private_blocks()))}, unless you own the addresses",
        )


@warning("NETWORK_CIDR_DOCKER")
def _cidr_docker(context: Context) -> Iterator[Breach]:
    network, docker = context.strategy.network, facts.eks()["vpc_cidrs"]["docker"]
    if network.existing is None and IPv4Network(network.cidr).overlaps(IPv4Network(docker)):
        yield (
            "network.cidr",
            f"{network.cidr} overlaps {docker}, so hosts with Docker (Cloud9, SageMaker, runners) cannot reach these "
            "addresses; choose another, such as 10.0.0.0/16",
        )


@error("NETWORK_POD_CIDR")
def _pod_cidr(context: Context) -> Iterator[Breach]:
    pod_cidr = context.strategy.network.pod_cidr
    if pod_cidr is None:
        return
    given = IPv4Network(pod_cidr)
    if not given.subnet_of(cidrs.POD_RANGE):
        yield "network.pod_cidr", f"must be inside {cidrs.POD_RANGE}, got {pod_cidr}; use 100.64.0.0/16, for example"
    elif not cidrs.LARGEST_VPC_PREFIX <= given.prefixlen <= cidrs.SMALLEST_POD_PREFIX:
        yield (
            "network.pod_cidr",
            f"must be between /{cidrs.LARGEST_VPC_PREFIX} and /{cidrs.SMALLEST_POD_PREFIX}, got {pod_cidr}",
        )
    elif given.overlaps(IPv4Network(context.strategy.network.cidr)):
        yield "network.pod_cidr", f"{pod_cidr} overlaps network.cidr {context.strategy.network.cidr}; choose another"


_SERVICE_RANGES = tuple(
    IPv4Network(private_range) for private_range in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)


@error("SERVICE_CIDR")
def _service_cidr(context: Context) -> Iterator[Breach]:
    given = context.strategy.cluster.service_cidr
    if given is None:
        return
    service = IPv4Network(given)
    if not 12 <= service.prefixlen <= 24 or not any(
        service.subnet_of(service_range) for service_range in _SERVICE_RANGES
    ):
        yield (
            "cluster.service_cidr",
            f"must be between /12 and /24 and inside {', '.join(map(str, _SERVICE_RANGES))}, got {given}",
        )
    network = context.strategy.network
    for field in ("cidr", "pod_cidr"):
        other = None if network.existing else getattr(network, field)
        if other is not None and service.overlaps(IPv4Network(other)):
            yield "cluster.service_cidr", f"{given} overlaps network.{field} {other}; choose another"


# --- endpoints and NAT


@error("NETWORK_PRIVATE")
def _private(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    if strategy.network.private and strategy.network.nat_gateways not in (None, "none"):
        yield (
            "network.nat_gateways",
            "a private network has no NAT gateways; remove this, or set network.private: false",
        )
    if strategy.network.private and strategy.cluster.endpoint.public_cidrs:
        yield (
            _PUBLIC_CIDRS,
            "a private network has only a private API; remove these networks, or set network.private: false",
        )


@error("NETWORK_NO_WAY_OUT")
def _no_way_out(context: Context) -> Iterator[Breach]:
    endpoints = only_endpoints(context)
    if endpoints is None:
        return
    for who, services in _callers(context).items():
        if missing := sorted(set(services) - set(endpoints)):
            yield (
                "network.interface_endpoints",
                f"without a NAT gateway, {who} also need{'' if who == 'nodes' else 's'} {', '.join(missing)}; add "
                f"{'it' if len(missing) == 1 else 'them'}, or remove this field to get all endpoints",
            )


def only_endpoints(context: Context) -> tuple[str, ...] | None:
    """Return the interface endpoints that the strategy lists, if they are the only route out of the network."""
    network = context.strategy.network
    return None if network.existing or nat_mode(network) != "none" else network.interface_endpoints


def _callers(context: Context) -> dict[str, list[str]]:
    """Return the components that call AWS, each with the services that it calls."""
    strategy = context.strategy
    required = facts.eks()["interface_endpoints"]["required"]
    callers: dict[str, list[str]] = {"nodes": required["nodes"]}
    for addon in addons_of(strategy):
        if addon in required["addons"]:
            callers[addon] = required["addons"][addon]
    if strategy.karpenter:
        callers["Karpenter"] = required["karpenter_queue"] if strategy.karpenter.interruption_queue else []
        if any(pool.ami.image_id is None for pool in context.pools):
            callers["Karpenter"] = [*callers["Karpenter"], *required["karpenter_images"]]
    return callers


@warning("INTERFACE_ENDPOINT_UNKNOWN")
def _unknown_endpoint(context: Context) -> Iterator[Breach]:
    given = context.strategy.network.interface_endpoints
    if not given:
        return
    known = facts.endpoint_services()
    for path, service in field_paths.items("network.interface_endpoints", given):
        if service not in known:
            # Users copy the full name, such as com.amazonaws.us-west-2.ecr.api.
            bare = service.removeprefix(f"com.amazonaws.{context.strategy.region}.")
            otherwise = "write the part after com.amazonaws.<region>"
            hint = question([bare]) if bare in known else did_you_mean(service, known, otherwise)
            yield path, f"{quoted(service)} is not a known interface endpoint; {hint}"


# The largest network that IANA has assigned:
# https://www.iana.org/assignments/ipv4-address-space/ipv4-address-space.xhtml
_LARGEST_OWN_PREFIX = 8


@warning("ENDPOINT_OPEN")
def _open_endpoint(context: Context) -> Iterator[Breach]:
    for path, cidr in field_paths.items(_PUBLIC_CIDRS, context.strategy.cluster.endpoint.public_cidrs):
        network = IPv4Network(cidr)
        if network.prefixlen < _LARGEST_OWN_PREFIX:
            whom = f"{network.num_addresses:,} addresses" if network.prefixlen else "the whole internet"
            yield path, f"the Kubernetes API is open to {whom}; list only your own networks"


@error("ENDPOINT_CIDR_RESERVED")
def _reserved_cidr(context: Context) -> Iterator[Breach]:
    reserved = facts.eks()["public_access_cidrs"]["reserved"]
    for path, cidr in field_paths.items(_PUBLIC_CIDRS, context.strategy.cluster.endpoint.public_cidrs):
        given = IPv4Network(cidr)
        for block, what in reserved.items():
            if given.subnet_of(IPv4Network(block)):
                yield (
                    path,
                    f"{cidr} is reserved ({what}) and never a client's address on the internet; use your public "
                    "address (curl https://checkip.amazonaws.com), or remove this and use the private endpoint, which "
                    "is always on",
                )


@error("ENDPOINT_CIDR_COUNT")
def _too_many_cidrs(context: Context) -> Iterator[Breach]:
    count, most = len(context.strategy.cluster.endpoint.public_cidrs), facts.eks()["public_access_cidrs"]["most"]
    if count > most:
        yield _PUBLIC_CIDRS, f"must have at most {most} networks, got {count}; merge adjacent ones into larger ones"


@warning("ENDPOINT_CIDR_OVERLAP")
def _overlapping_cidrs(context: Context) -> Iterator[Breach]:
    given = [IPv4Network(cidr) for cidr in context.strategy.cluster.endpoint.public_cidrs]
    for index, cidr in enumerate(given):
        # ENDPOINT_OPEN covers 0.0.0.0/0.
        around = [
            other
            for place, other in enumerate(given)
            if other.prefixlen and cidr.subnet_of(other) and (cidr != other or place < index) and place != index
        ]
        if around:
            path = field_paths.item(_PUBLIC_CIDRS, index)
            yield path, f"{around[0]} is also listed and contains {cidr}; remove one of them"


# --- addresses


@error("SUBNET_NODES")
def _nodes_do_not_fit(context: Context) -> Iterator[Breach]:
    for budget in _fullest(context, own=True):
        groups = [share for share in budget.shares if isinstance(share.of, NodeGroupSpec)]
        taken = [_nodes(group) + (f" x {group.own}" if group.own > 1 else "") for group in groups]
        remedy = _remedy(context, budget, budget.own, pods=False)
        yield (
            _path(context, budget, groups),
            f"{_subnet(budget)}, but at their maximum size the groups need {_sum(budget, taken)} = {budget.own}; "
            f"{remedy}",
        )


@warning("SUBNET_PODS")
def _pods_do_not_fit(context: Context) -> Iterator[Breach]:
    for budget in _fullest(context, own=False):
        taken = [f"{_nodes(share)} x ({share.own} + {share.pods} for pods)" for share in budget.shares]
        yield (
            _path(context, budget, budget.shares),
            f"{_subnet(budget)}, but at their maximum size groups and pools need {_sum(budget, taken)} = "
            f"{budget.total} (pods get /28 prefixes, with one kept free), so some pods stay in ContainerCreating; "
            f"{_remedy(context, budget, budget.total, pods=True)}",
        )


def _fullest(context: Context, *, own: bool) -> Iterator[SubnetBudget]:
    """Yield the subnet of each kind that is short of the most addresses, for the nodes alone or for nodes and pods."""
    if not context.region_known:
        return
    for role in (SubnetRole.PRIVATE, SubnetRole.POD):
        of_role = [budget for budget in context.budgets if budget.role is role]
        nodes_fit = all(subnet.own <= subnet.usable for subnet in of_role)
        lacking = [subnet for subnet in of_role if (subnet.own if own else subnet.total) > subnet.usable]
        if lacking and own != nodes_fit:
            yield max(lacking, key=lambda subnet: subnet.own if own else subnet.total)


def _subnet(budget: SubnetBudget) -> str:
    what = "pods" if budget.role is SubnetRole.POD else "nodes"
    return f"the subnet for {what} in {budget.zone_id}, {budget.cidr}, has {budget.usable} addresses"


def _nodes(share: Share) -> str:
    return f"{share.nodes} node{'s' if share.nodes > 1 else ''} of {share.of.name}"


def _sum(budget: SubnetBudget, shares: list[str]) -> str:
    more = [f"{len(shares) - _SHARES} more"] if len(shares) > _SHARES else []
    return " + ".join([*shares[:_SHARES], *more, *(f"{count} {name}" for name, count in budget.others.items())])


_SHARES = 5


def _path(context: Context, budget: SubnetBudget, shares: tuple[Share, ...] | list[Share]) -> str:
    """Return the path of the network's CIDR if the strategy states it, otherwise of the size of the largest share."""
    field = "pod_cidr" if budget.role is SubnetRole.POD else "cidr"
    if field in context.strategy.network.model_fields_set or not shares:
        return f"network.{field}"
    most = max(shares, key=lambda share: share.total).of
    return node_path(most, "scaling.max" if isinstance(most, NodeGroupSpec) else "limits")


def _remedy(context: Context, budget: SubnetBudget, needed: int, *, pods: bool) -> str:
    network, of_pods = context.strategy.network, budget.role is SubnetRole.POD
    given = network.pod_cidr if of_pods and network.pod_cidr else network.cidr
    larger = wider(given, needed, budget.cidr)
    ways = [f"use network.{'pod_cidr' if of_pods else 'cidr'}: {larger}"] if larger else []
    if pods and network.pod_cidr is None:
        ways.append("give pods their own addresses (network.pod_cidr: 100.64.0.0/16)")
    return ", ".join([*ways, "or lower maximum sizes"]) if ways else "lower maximum sizes, or use more zones"
