"""Resolve ``network``: zones, subnets, NAT gateways, endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eks_hardware import aws_names, facts
from eks_hardware.models import FlowLogs, NetworkSpec
from eks_hardware.resolve import cidrs
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    Source,
    chosen,
    default,
    limited_name,
    optional,
    rule,
    stated,
    stated_field,
)
from eks_hardware.resolve.mappings import frozen
from eks_hardware.resolve.model import ExistingSubnets, ResolvedNetwork, ResolvedSubnet
from eks_hardware.resolve.values import SubnetRole
from eks_hardware.resolve.vpc import interface_endpoints, nat_mode
from eks_hardware.resolve.zones import ZoneChoice, can_have_control_plane, control_plane_excluded

# https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html
_PUBLIC_LOAD_BALANCER = {"kubernetes.io/role/elb": "1"}
INTERNAL_LOAD_BALANCER = {"kubernetes.io/role/internal-elb": "1"}
DISCOVERY_TAG = "karpenter.sh/discovery"

_NONE = "none: the strategy uses an existing VPC"


def resolve_network(
    network: NetworkSpec, *, name: str, region: str, zones: ZoneChoice, addons: Sequence[str] = ()
) -> ResolvedNetwork:
    """Derive all values of the network.

    ``addons`` are the cluster's add-ons. Without NAT gateways the interface endpoints depend on them.
    """
    return _Network(network, name, region, zones, addons).collect()


@dataclass(frozen=True)
class _Network(Resolver[ResolvedNetwork]):
    kind = ResolvedNetwork
    _spec: NetworkSpec
    _name: str
    _region: str
    _zones: ZoneChoice
    _addons: Sequence[str]

    def name(self) -> Derived[str]:
        return stated(self._name)

    def region(self) -> Derived[str]:
        return stated(self._region)

    def cidr(self) -> Derived[str | None]:
        if self._spec.existing:
            return default(None, "the strategy uses an existing VPC")
        row = facts.choices.cite(lambda file: file["vpc"]["cidr"])
        return stated_field(self._spec, "cidr", row, "room for 8 zones with 4,096 node addresses each")

    def pod_cidr(self) -> Derived[str | None]:
        page = "https://docs.aws.amazon.com/eks/latest/best-practices/custom-networking.html"
        return optional(self._spec.pod_cidr, "pods share the nodes' subnets", page)

    def zone_ids(self) -> Derived[tuple[str, ...]]:
        zone_ids = self._zones.zone_ids
        if self._spec.existing:
            return stated(zone_ids, "the zones of the strategy's subnets")
        if not isinstance(self._spec.zones, int):
            return stated(zone_ids)
        reason = f"the region's first {len(self._zones.base)} zones that EKS allows"
        for zone, group in self._zones.added.items():
            reason += f"; {zone}, because {group} needs it"
        rows: list[Source] = []
        if zone_ids:
            rows += [facts.offerings.cite(lambda file: file["regions"][self._region]), control_plane_excluded()]
        if "zones" not in self._spec.model_fields_set:
            rows.append(facts.choices.cite(lambda file: file["zones"]["count"]))
        return rule(zone_ids, reason, *rows)

    def control_plane_zone_ids(self) -> Derived[tuple[str, ...]]:
        """Return two zones that never change: EKS does not allow a cluster's set of zones to change.

        Source: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html, aws/containers-roadmap#170
        """
        if self._spec.existing and self._spec.existing.control_plane_subnets:
            return stated(tuple(self._spec.existing.control_plane_subnets), "the zones of the strategy's subnets")
        count = facts.choices.cite(lambda file: file["control_plane_zones"]["count"])
        excluded = control_plane_excluded()
        zone_ids = tuple(zone for zone in self._zones.base if can_have_control_plane(zone))[: count.value]
        text = "the first two zones that EKS allows; they cannot change once the cluster exists"
        return rule(zone_ids, text, count, excluded)

    def subnets(self) -> Derived[tuple[ResolvedSubnet, ...]]:
        if self._spec.existing:
            return rule((), "none: the strategy uses existing subnets")
        subnets = tuple(_subnets(self._spec, self._zones, self.control_plane_zone_ids().value, discovery=self._name))
        split = facts.choices.cite(lambda file: file["subnets"])
        return rule(subnets, "each zone has a fixed eighth of the VPC, so no subnet ever changes", split)

    def nat_zone_ids(self) -> Derived[tuple[str, ...]]:
        # The first listed zone, not the first by name: a zone that is added later must not move the gateway.
        zones = {"none": (), "single": self._zones.base[:1], "one-per-zone": self._zones.zone_ids}
        if self._spec.existing:
            return rule((), _NONE)
        given = self._spec.nat_gateways
        if given is None and self._spec.private:
            return rule((), "none: private cluster")
        row = facts.choices.cite(lambda file: file["nat_gateways"]["mode"]).part(lambda mode: zones[mode])
        return chosen(given is not None, zones[given or "none"], row, "one NAT gateway is cheapest")

    def nat_zone_by_zone(self) -> Derived[Mapping[str, str]]:
        with_nat = self.nat_zone_ids().value
        return rule(
            {zone: zone if zone in with_nat else with_nat[0] for zone in self._zones.zone_ids if with_nat},
            "a zone uses its own NAT gateway if it has one",
        )

    def gateway_endpoints(self) -> Derived[tuple[str, ...]]:
        page = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html"
        if self._spec.existing:
            return rule((), _NONE, page)
        row = facts.choices.cite(lambda file: file["gateway_endpoints"]["services"])
        services = tuple(sorted({*row.value, *self._spec.gateway_endpoints}))
        text = "always S3: ECR stores image layers there, and a gateway endpoint is free"
        return rule(services, text, row, page)

    def interface_endpoints(self) -> Derived[tuple[str, ...]]:
        services = interface_endpoints(self._spec, self._addons)
        if self._spec.interface_endpoints is not None:
            return stated(services)
        if self._spec.existing:
            return default(services, _NONE)
        if nat_mode(self._spec) != "none":
            return default(services, "none: nodes reach AWS through NAT gateways")
        row = facts.eks.cite(lambda file: file["interface_endpoints"])
        return default(services, "all services that nodes need, because there is no NAT gateway", row)

    def endpoint_zone_ids(self) -> Derived[tuple[str, ...]]:
        if self._spec.existing:
            return rule((), _NONE)
        text = "not in zones added for one group: an endpoint costs money in each zone"
        page = "https://aws.amazon.com/privatelink/pricing/"
        return rule(tuple(sorted(self._zones.base)), f"{text}, and not every zone has every service", page)

    def endpoint_security_group_name(self) -> Derived[str]:
        name = aws_names.security_group(self._name, "endpoints")
        return rule(name, "cluster and purpose", aws_names.longest("security_group"))

    def flow_logs(self) -> Derived[FlowLogs | None]:
        if self._spec.existing:
            return default(None, _NONE)
        logs, row = self._spec.flow_logs, facts.choices.cite(lambda file: file["flow_logs"])
        value = logs if logs.enabled else None
        if "flow_logs" not in self._spec.model_fields_set:
            return default(value, "rejected traffic reveals scans and misconfiguration", row)
        if value is None or logs.model_fields_set == set(FlowLogs.model_fields):
            return stated(value)
        return stated(value, "as set in the strategy, with defaults for the other fields", row)

    def flow_log_group_name(self) -> Derived[str]:
        return rule(f"/aws/vpc/{self._name}/flow-logs", "contains the cluster's name, so it is easy to find")

    def flow_log_interval_seconds(self) -> Derived[int]:
        row = facts.choices.cite(lambda file: file["flow_log_interval"]["seconds"])
        return default(row.value, "the shorter of EC2's two intervals", row)

    def flow_log_role_name(self) -> Derived[str]:
        text = "cluster, region and purpose"
        return limited_name(text, self._name, self._region, "flow-logs", limit="iam_role")

    def discovery_tag(self) -> Derived[str]:
        return rule(self._name, f"{DISCOVERY_TAG} on the private subnets, for Karpenter's selectors")

    def existing(self) -> Derived[ExistingSubnets | None]:
        subnets = _existing(self._spec, self.control_plane_zone_ids().value)
        return optional(subnets, "the stack creates its own VPC")


def _subnets(
    network: NetworkSpec, zones: ZoneChoice, control_plane: tuple[str, ...], *, discovery: str
) -> Iterator[ResolvedSubnet]:
    for zone in zones.zone_ids:
        private_tags = {**INTERNAL_LOAD_BALANCER, DISCOVERY_TAG: discovery}
        yield _subnet(SubnetRole.PRIVATE, zone, cidrs.private(network.cidr, zone), private_tags)
        if not network.private:
            yield _subnet(SubnetRole.PUBLIC, zone, cidrs.public(network.cidr, zone), _PUBLIC_LOAD_BALANCER)
        if zone in control_plane:
            yield _subnet(SubnetRole.CONTROL_PLANE, zone, cidrs.control_plane(network.cidr, zone), {})
        if network.pod_cidr is not None:
            yield _subnet(SubnetRole.POD, zone, cidrs.pods(network.pod_cidr, zone), {})


def _subnet(role: SubnetRole, zone_id: str, cidr: str, tags: Mapping[str, str]) -> ResolvedSubnet:
    return ResolvedSubnet(role, zone_id, cidr, frozen(tags))


def _existing(network: NetworkSpec, control_plane_zones: tuple[str, ...]) -> ExistingSubnets | None:
    given = network.existing
    if given is None:
        return None
    of_control_plane = given.control_plane_subnets or given.private_subnets
    control_plane = {zone: of_control_plane[zone] for zone in control_plane_zones}
    return ExistingSubnets(
        given.vpc_id, frozen(given.private_subnets), frozen(control_plane), frozen(given.pod_subnets), given.tag_subnets
    )
