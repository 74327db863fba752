"""Resolve ``network``: zones, subnets, NAT gateways, endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from eks_hardware import aws_names, facts
from eks_hardware.models import NetworkSpec
from eks_hardware.resolve import cidrs
from eks_hardware.resolve.model import ExistingSubnets, Reasons, ResolvedNetwork, ResolvedSubnet, SubnetRole
from eks_hardware.resolve.zones import ZoneChoice, control_plane_excluded

# https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html
_PUBLIC_LOAD_BALANCER = {"kubernetes.io/role/elb": "1"}
_INTERNAL_LOAD_BALANCER = {"kubernetes.io/role/internal-elb": "1"}
DISCOVERY_TAG = "karpenter.sh/discovery"

_CONTROL_PLANE_ZONES = 2


def resolve_network(
    network: NetworkSpec, *, name: str, region: str, zones: ZoneChoice, addons: Sequence[str] = ()
) -> ResolvedNetwork:
    """Derive everything about the network of the cluster ``name``.

    ``addons`` are the cluster's add-ons: without NAT gateways they decide on endpoints too.
    """
    why = Reasons()
    existing = network.existing
    nat = nat_mode(network)
    zone_ids = zones.zone_ids
    nat_zones = () if existing else _nat_zones(nat, zones)
    control_plane = _control_plane_zones(network, zones)
    subnets = () if existing else tuple(_subnets(network, zones, control_plane, discovery=name))
    return ResolvedNetwork(
        name=why.strategy("name", name),
        region=why.strategy("region", region),
        cidr=why.given(
            "cidr",
            None if existing else network.cidr,
            when="cidr" in network.model_fields_set,
            otherwise="the VPC exists" if existing else "10.0.0.0/16 has room for 8 zones of 4,096 nodes' addresses",
        ),
        pod_cidr=why.given(
            "pod_cidr",
            network.pod_cidr,
            when=network.pod_cidr is not None,
            otherwise="pods share the nodes' subnets",
            source="https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html",
        ),
        zone_ids=why.rule(
            "zone_ids",
            zone_ids,
            _zones_reason(network, zones),
            source="offerings.json, facts/eks.json control_plane_excluded_zones",
        ),
        control_plane_zone_ids=why.rule(
            "control_plane_zone_ids",
            control_plane,
            "the first two that EKS allows: it takes no other zones once the cluster exists",
            source="facts/eks.json control_plane_excluded_zones",
        ),
        subnets=why.rule(
            "subnets",
            subnets,
            "none: they exist" if existing else "each zone owns an eighth of the VPC, so that no subnet ever moves",
        ),
        nat_zone_ids=why.given(
            "nat_zone_ids",
            nat_zones,
            when=network.nat_gateways is not None,
            otherwise="none: private cluster" if network.private else "one NAT gateway is cheapest",
        ),
        nat_zone_by_zone=why.rule(
            "nat_zone_by_zone",
            MappingProxyType({zone: zone if zone in nat_zones else nat_zones[0] for zone in zone_ids if nat_zones}),
            "a zone uses its own NAT gateway where it has one",
        ),
        gateway_endpoints=why.rule(
            "gateway_endpoints",
            () if existing else tuple(sorted({"s3", *network.gateway_endpoints})),
            "none: the VPC is someone else's"
            if existing
            else "S3 always: ECR keeps image layers there, and a gateway endpoint costs nothing",
            source="https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html",
        ),
        interface_endpoints=why.given(
            "interface_endpoints",
            interface_endpoints(network, addons),
            when=network.interface_endpoints is not None,
            otherwise="all that nodes need: there is no NAT gateway"
            if nat == "none"
            else "none: NAT gateways reach AWS",
            source="facts/eks.json interface_endpoints",
        ),
        endpoint_zone_ids=why.rule(
            "endpoint_zone_ids",
            () if existing else tuple(sorted(zones.base)),
            "not in zones that were added for one group: an endpoint costs per zone, and not every service is in each",
            source="facts/prices.json row interface_endpoint",
        ),
        flow_logs=why.given(
            "flow_logs",
            network.flow_logs if network.flow_logs.enabled and not existing else None,
            when="flow_logs" in network.model_fields_set,
            otherwise="none: the VPC is someone else's"
            if existing
            else "refused traffic: a trace of scans and mistakes",
        ),
        flow_log_role_name=why.rule(
            "flow_log_role_name",
            aws_names.limited(name, region, "flow-logs", limit=aws_names.IAM_ROLE),
            "cluster, region and purpose, at most 64 characters",
        ),
        discovery_tag=why.rule(
            "discovery_tag", name, f"{DISCOVERY_TAG} on the private subnets, for Karpenter's selectors"
        ),
        existing=why.given(
            "existing",
            _existing(network, control_plane),
            when=existing is not None,
            otherwise="the stack makes its own VPC",
        ),
        reasons=why.frozen(),
    )


def has_pod_subnets(network: NetworkSpec) -> bool:
    """Whether pods have subnets of their own (VPC CNI custom networking)."""
    return network.pod_cidr is not None or bool(network.existing and network.existing.pod_subnets)


def nat_mode(network: NetworkSpec) -> str:
    """How nodes of a VPC that the stack makes reach the internet."""
    if network.nat_gateways is not None:
        return network.nat_gateways
    return "none" if network.private else "single"


def _nat_zones(mode: str, zones: ZoneChoice) -> tuple[str, ...]:
    # The first listed zone, not the first by name: a zone that is added later must not move the gateway.
    return {"none": (), "single": zones.base[:1], "one-per-zone": zones.zone_ids}[mode]


def _control_plane_zones(network: NetworkSpec, zones: ZoneChoice) -> tuple[str, ...]:
    """Zones of the control plane's interfaces: two, and the same two whatever is added later.

    EKS refuses to change the set of zones of a cluster
    (https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, aws/containers-roadmap#170).
    """
    existing = network.existing
    if existing and existing.control_plane_subnets:
        return tuple(existing.control_plane_subnets)
    excluded = control_plane_excluded()
    return tuple(zone for zone in zones.base if zone not in excluded)[:_CONTROL_PLANE_ZONES]


def _subnets(
    network: NetworkSpec, zones: ZoneChoice, control_plane: tuple[str, ...], *, discovery: str
) -> Iterator[ResolvedSubnet]:
    for zone in zones.zone_ids:
        private_tags = {**_INTERNAL_LOAD_BALANCER, DISCOVERY_TAG: discovery}
        yield _subnet(SubnetRole.PRIVATE, zone, cidrs.private(network.cidr, zone), private_tags)
        if not network.private:
            yield _subnet(SubnetRole.PUBLIC, zone, cidrs.public(network.cidr, zone), _PUBLIC_LOAD_BALANCER)
        if zone in control_plane:
            yield _subnet(SubnetRole.CONTROL_PLANE, zone, cidrs.control_plane(network.cidr, zone), {})
        if network.pod_cidr is not None:
            yield _subnet(SubnetRole.POD, zone, cidrs.pods(network.pod_cidr, zone), {})


def _subnet(role: SubnetRole, zone_id: str, cidr: str, tags: Mapping[str, str]) -> ResolvedSubnet:
    return ResolvedSubnet(role, zone_id, cidr, MappingProxyType(dict(tags)))


def interface_endpoints(network: NetworkSpec, addons: Sequence[str]) -> tuple[str, ...]:
    """Services that nodes reach through interface endpoints of the VPC that the stack makes."""
    if network.existing:
        return ()
    if network.interface_endpoints is not None:
        return tuple(sorted(set(network.interface_endpoints)))
    if nat_mode(network) != "none":
        return ()
    known = facts.eks("interface_endpoints")
    of_addons = {service for addon in addons for service in known["addons"].get(addon, ())}
    return tuple(sorted({*known["nodes"], *of_addons}))


def _existing(network: NetworkSpec, control_plane_zones: tuple[str, ...]) -> ExistingSubnets | None:
    given = network.existing
    if given is None:
        return None
    of_control_plane = given.control_plane_subnets or given.private_subnets
    control_plane = {zone: of_control_plane[zone] for zone in control_plane_zones}
    return ExistingSubnets(
        given.vpc_id,
        MappingProxyType(dict(given.private_subnets)),
        MappingProxyType(dict(control_plane)),
        MappingProxyType(dict(given.pod_subnets)),
        given.tag_subnets,
    )


def _zones_reason(network: NetworkSpec, zones: ZoneChoice) -> str:
    if network.existing:
        return "the zones of the given subnets"
    if not isinstance(network.zones, int):
        return "as the strategy says"
    reason = f"the region's first {len(zones.base)} zones that EKS allows"
    for zone, group in zones.added.items():
        reason += f"; {zone} for {group}, whose type none of those offers"
    return reason
