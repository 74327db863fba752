"""What ``constructs/network`` makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eks_hardware import aws_names
from eks_hardware.diff.inventory.iam import ACCOUNT, add_role
from eks_hardware.diff.inventory.resource import Inventory, Path, Reference
from eks_hardware.iam_policies.document import assumed_by_service
from eks_hardware.resolve import ResolvedNetwork, ResolvedProvider, SubnetRole

_HERE: Path = ("platform", "network")
_OWNER = "network"


@dataclass(frozen=True)
class NetworkIds:
    """What other resources refer to: ids by zone, as references or, in an existing VPC, as text."""

    vpc: Any
    private: Mapping[str, Any]
    control_plane: Mapping[str, Any]
    pod: Mapping[str, Any]


def add_network(inventory: Inventory, network: ResolvedNetwork, provider: ResolvedProvider) -> NetworkIds:
    """Add the network of a cluster."""
    if network.existing:
        return _existing(inventory, network)
    return _Own(inventory, network, provider).add()


def _existing(inventory: Inventory, network: ResolvedNetwork) -> NetworkIds:
    existing = network.existing
    assert existing is not None
    if existing.tag:
        tags = {"karpenter.sh/discovery": network.discovery_tag, "kubernetes.io/role/internal-elb": "1"}
        for zone, subnet_id in existing.private.items():
            for key, value in tags.items():
                id_ = f"tag-{zone}-{key.rpartition('/')[2]}"
                arguments = {"resource_id": subnet_id, "key": key, "value": value}
                inventory.add("aws_ec2_tag", (*_HERE, id_), _OWNER, arguments, name=f"{key} of {subnet_id}")
    return NetworkIds(existing.vpc_id, existing.private, existing.control_plane, existing.pod)


class _Own:
    """A VPC that the stack makes."""

    def __init__(self, inventory: Inventory, network: ResolvedNetwork, provider: ResolvedProvider) -> None:
        self._inventory = inventory
        self._network = network
        self._provider = provider
        self._tables: dict[str, Reference] = {}

    def add(self) -> NetworkIds:
        """Add everything; returns the ids."""
        network = self._network
        self._vpc = self._add("aws_vpc", "vpc", of=network, tag=network.name)
        self._add("aws_default_security_group", "default-security-group", {"vpc_id": self._vpc}, tag="unused")
        if network.pod_cidr:
            pods = self._add("aws_vpc_ipv4_cidr_block_association", "pod-network", {"vpc_id": self._vpc}, of=network)
            self._pod_vpc = Reference(pods.path, "vpc_id")
        self._subnets = {role: self._of_role(role) for role in SubnetRole}
        self._public_routes()
        self._private_routes()
        self._endpoints()
        if network.flow_logs:
            self._flow_logs()
        of_role = self._subnets
        return NetworkIds(
            self._vpc, of_role[SubnetRole.PRIVATE], of_role[SubnetRole.CONTROL_PLANE], of_role[SubnetRole.POD]
        )

    def _add(
        self,
        type_: str,
        id_: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        of: object = None,
        tag: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> Reference:
        own = {**({"Name": tag} if tag else {}), **(tags or {})}
        path = self._inventory.add(type_, (*_HERE, id_), _OWNER, arguments, of=of, name=id_, tags=own)
        return Reference(path)

    def _of_role(self, role: SubnetRole) -> dict[str, Reference]:
        name = self._network.name
        return {
            subnet.zone_id: self._add(
                "aws_subnet",
                subnet.key,
                {"vpc_id": self._pod_vpc if role is SubnetRole.POD else self._vpc},
                of=subnet,
                tag=f"{name}-{subnet.key}",
                tags=subnet.tags,
            )
            for subnet in self._network.of_role(role)
        }

    def _table(self, key: str) -> Reference:
        name = f"{self._network.name}-{key}"
        self._tables[key] = self._add("aws_route_table", f"routes-{key}", {"vpc_id": self._vpc}, tag=name)
        return self._tables[key]

    def _associate(self, key: str, subnet: Reference, table: Reference) -> None:
        arguments = {"subnet_id": subnet, "route_table_id": table}
        self._add("aws_route_table_association", f"association-{key}", arguments)

    def _public_routes(self) -> None:
        public = self._subnets[SubnetRole.PUBLIC]
        self._nat: dict[str, Reference] = {}
        if not public:
            return
        name = self._network.name
        gateway = self._add("aws_internet_gateway", "internet-gateway", {"vpc_id": self._vpc}, tag=name)
        table = self._table("public")
        self._add("aws_route", "route-public", {"route_table_id": table, "gateway_id": gateway})
        for zone, subnet in public.items():
            self._associate(f"public-{zone}", subnet, table)
        for zone in self._network.nat_zone_ids:
            tag = f"{name}-{zone}"
            address = self._add("aws_eip", f"nat-address-{zone}", tag=tag)
            arguments = {"allocation_id": Reference(address.path, "allocation_id"), "subnet_id": public[zone]}
            self._nat[zone] = self._add("aws_nat_gateway", f"nat-{zone}", arguments, tag=tag)

    def _private_routes(self) -> None:
        for zone, subnet in self._subnets[SubnetRole.PRIVATE].items():
            table = self._table(f"private-{zone}")
            self._associate(f"private-{zone}", subnet, table)
            nat_zone = self._network.nat_zone_by_zone.get(zone)
            if nat_zone is not None:
                arguments = {"route_table_id": table, "nat_gateway_id": self._nat[nat_zone]}
                self._add("aws_route", f"route-private-{zone}", arguments)
            if zone in self._subnets[SubnetRole.POD]:
                self._associate(f"pod-{zone}", self._subnets[SubnetRole.POD][zone], table)
        table = self._table("control-plane")
        for zone, subnet in self._subnets[SubnetRole.CONTROL_PLANE].items():
            self._associate(f"control-plane-{zone}", subnet, table)

    def _endpoints(self) -> None:
        network = self._network
        common = {"vpc_id": self._vpc}
        for service in network.gateway_endpoints:
            gateway = {
                "service_name": f"com.amazonaws.{network.region}.{service}",
                "vpc_endpoint_type": "Gateway",
                "route_table_ids": tuple(self._tables.values()),
            }
            self._add("aws_vpc_endpoint", f"endpoint-{service}", {**common, **gateway}, tag=f"{network.name}-{service}")
        if not network.interface_endpoints:
            return
        group = self._endpoint_group()
        zones = network.endpoint_zone_ids
        for service in network.interface_endpoints:
            interface = {
                "service_name": f"com.amazonaws.{network.region}.{service}",
                "vpc_endpoint_type": "Interface",
                "subnet_ids": tuple(self._subnets[SubnetRole.PRIVATE][zone] for zone in zones),
                "security_group_ids": (group,),
            }
            tag = f"{network.name}-{service}"
            self._add("aws_vpc_endpoint", f"interface-endpoint-{service}", {**common, **interface}, tag=tag)

    def _endpoint_group(self) -> Reference:
        network = self._network
        name = aws_names.security_group(network.name, "endpoints")
        arguments = {"name": name, "vpc_id": self._vpc}
        group = self._add("aws_security_group", "endpoint-security-group", arguments, tag=name)
        for key, cidr in (("vpc", network.cidr), ("pods", network.pod_cidr)):
            if cidr is not None:
                rule = {"security_group_id": group, "cidr_ipv4": cidr, "description": f"HTTPS from {cidr}"}
                self._add("aws_vpc_security_group_ingress_rule", f"endpoint-from-{key}", rule)
        return group

    def _flow_logs(self) -> None:
        network, inventory = self._network, self._inventory
        settings = network.flow_logs
        assert settings is not None
        group = {"name": f"/aws/vpc/{network.name}/flow-logs", "retention_in_days": settings.retention_days}
        logs = self._add("aws_cloudwatch_log_group", "flow-log-group", group)
        log_arn = Reference(logs.path, "arn")
        role = add_role(
            inventory,
            (*_HERE, "flow-log-role"),
            _OWNER,
            name=network.flow_log_role_name,
            provider=self._provider,
            trust=assumed_by_service("vpc-flow-logs.amazonaws.com", account_id=ACCOUNT),
            description=network.name,
        )
        policy = {"name": "write-flow-logs", "role": role.name, "policy": (log_arn,)}
        self._add("aws_iam_role_policy", "flow-log-policy", policy)
        arguments = {"vpc_id": self._vpc, "log_destination": log_arn, "iam_role_arn": role.arn}
        self._add("aws_flow_log", "flow-log", {**arguments, "traffic_type": settings.traffic}, tag=network.name)
