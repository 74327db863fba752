"""Deletions that AWS refuses because something still uses the resource. ministack accepts most of them.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (DependencyViolation) and each
operation's page, https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_NAME.html. Each rule below names the source
of its message.
"""

from __future__ import annotations

import importlib
import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eks_hardware.local.emulator_patches import fsx
from eks_hardware.local.emulator_patches.ec2_protocol import SENT, is_dry_run, request
from eks_hardware.local.emulator_patches.ec2_vpc_cidrs import block_of

Map = Mapping[str, Any]

NAMES = frozenset(
    {
        "_ACTION_MAP",
        "_addresses",
        "_error",
        "_instances",
        "_internet_gateways",
        "_nat_gateways",
        "_network_interfaces",
        "_p",
        "_route_tables",
        "_security_groups",
        "_subnets",
        "_vpc_endpoints",
        "_vpcs",
    }
)
EKS_NAMES = frozenset({"_clusters", "_delete_cluster", "_error", "_nodegroups"})
"""The names of ministack's modules that the patches need."""

_ENDED = ("shutting-down", "terminated")


class _Interface(NamedTuple):
    """A network interface of an instance or a service, or a standalone one."""

    subnet_id: str
    groups: Sequence[str]


class _Rule(NamedTuple):
    """The condition under which EC2 refuses a deletion.

    Attributes:
        parameter: the request parameter that names the resource.
        code: the error code.
        message: the error message, with ``{}`` for the text that ``used`` returns.
        used: returns the text for the message if something uses the resource, otherwise an empty text.
    """

    parameter: str
    code: str
    message: str
    used: Callable[[Map, str], str]


def install(ec2: dict[str, Any], eks: dict[str, Any]) -> None:
    """Patch ministack's functions that delete resources which others may use."""
    actions = ec2["_ACTION_MAP"]
    actions.update({name: _refusing(ec2, rule, actions[name]) for name, rule in _RULES.items() if name in actions})
    actions["CreateVpcEndpoint"] = _with_groups(ec2, actions["CreateVpcEndpoint"])
    if eks.keys() >= EKS_NAMES:
        _keep_clusters_of_node_groups(eks)


def _refusing(ec2: Map, rule: _Rule, own: Callable[..., object]) -> Callable[..., object]:
    def act(params: Map, *arguments: object) -> object:
        if not is_dry_run(params, ec2["_p"]) and (used := rule.used(ec2, ec2["_p"](params, rule.parameter))):
            return ec2["_error"](rule.code, rule.message.format(used), 400)
        return own(params, *arguments)

    return act


def _with_groups(ec2: Map, own: Callable[..., object]) -> Callable[..., object]:
    """Return ``CreateVpcEndpoint``, keeping the security groups that ministack drops."""

    def create(params: Map, *arguments: object) -> object:
        known = set(ec2["_vpc_endpoints"])
        answer = own(params, *arguments)
        sent = request("CreateVpcEndpointRequest", params, ec2["_p"])
        for identity in set(ec2["_vpc_endpoints"]) - known:
            ec2["_vpc_endpoints"][identity][SENT] = {"SecurityGroupIds": sent.get("SecurityGroupIds", [])}
        return answer

    return create


def _keep_clusters_of_node_groups(eks: dict[str, Any]) -> None:
    """Refuse to delete a cluster with node groups, which ministack would delete with the cluster.

    Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_DeleteCluster.html,
    https://github.com/gruntwork-io/cloud-nuke/issues/148 (message)
    """
    own = eks["_delete_cluster"]

    def delete(name: str) -> object:
        if any(key.startswith(f"{name}/") for key in list(eks["_nodegroups"])):
            return eks["_error"](409, "ResourceInUseException", "Cluster has nodegroups attached")
        return own(name)

    eks["_delete_cluster"] = delete


def interfaces(ec2: Map) -> Iterator[_Interface]:
    """Yield every network interface in the region, including those that services own."""
    for each in list(ec2["_network_interfaces"].values()):
        yield _Interface(each["SubnetId"], _ids(each["Groups"]))
    for each in _running(ec2):
        for own in each.get("NetworkInterfaces") or [{**each, "Groups": each["SecurityGroups"]}]:
            yield _Interface(own["SubnetId"], _ids(own["Groups"]))
    for each in _open_nat_gateways(ec2):
        yield _Interface(each["SubnetId"], ())
    for each in list(ec2["_vpc_endpoints"].values()):
        for subnet_id in each.get("SubnetIds", ()):
            yield _Interface(subnet_id, _sent_groups(each))
    yield from _of_services(ec2)


def _of_services(ec2: Map) -> Iterator[_Interface]:
    """Yield the interfaces of EKS clusters, file systems and load balancers.

    EKS creates two to four interfaces in a cluster's subnets; here each subnet has one. A load balancer has one or more
    in each subnet.
    Sources: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html,
    https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-delete.html
    """
    modules = (importlib.import_module(f"ministack.services.{name}") for name in ("eks", "efs", "alb"))
    eks, efs, alb = map(vars, modules)
    for cluster in list(eks.get("_clusters", {}).values()):
        network = cluster["resourcesVpcConfig"]
        groups = [*network.get("securityGroupIds", ()), network.get("clusterSecurityGroupId", "")]
        for subnet_id in network.get("subnetIds", ()):
            yield _Interface(subnet_id, groups)
    for target in list(efs.get("_mount_targets", {}).values()):
        yield _Interface(target["SubnetId"], target.get("SecurityGroups") or ())
    for balancer in list(alb.get("_lbs", {}).values()):
        for subnet_id in balancer.get("Subnets", ()):
            yield _Interface(subnet_id, balancer.get("SecurityGroups", ()))
    for system in fsx.file_systems(ec2["get_region"]()):
        for subnet_id in system["SubnetIds"]:
            yield _Interface(subnet_id, _sent_groups(system))


def _running(ec2: Map) -> list[Map]:
    return [each for each in list(ec2["_instances"].values()) if each["State"]["Name"] not in _ENDED]


def _open_nat_gateways(ec2: Map) -> list[Map]:
    return [each for each in list(ec2["_nat_gateways"].values()) if each["State"] != "deleted"]


def _ids(groups: Sequence[Map]) -> list[str]:
    return [each["GroupId"] for each in groups]


def _sent_groups(record: Map) -> Sequence[str]:
    found: Sequence[str] = record.get(SENT, {}).get("SecurityGroupIds", ())
    return found


def _subnet(ec2: Map, subnet_id: str) -> str:
    return subnet_id if any(each.subnet_id == subnet_id for each in interfaces(ec2)) else ""


def _security_group(ec2: Map, group_id: str) -> str:
    """Return the group's ID if an interface or another group's rule uses it."""
    rules = (
        pair.get("GroupId")
        for each in list(ec2["_security_groups"].values())
        if each["GroupId"] != group_id
        for rule in (*each["IpPermissions"], *each["IpPermissionsEgress"])
        for pair in rule.get("UserIdGroupPairs", ())
    )
    used = group_id in rules or any(group_id in each.groups for each in interfaces(ec2))
    return group_id if used else ""


def _public_addresses(ec2: Map, gateway_id: str) -> str:
    """Return the ID of the gateway's VPC if anything in the VPC has a public address."""
    gateway = ec2["_internet_gateways"].get(gateway_id) or {}
    for vpc in (each.get("VpcId") for each in gateway.get("Attachments", ())):
        public = (each for each in _open_nat_gateways(ec2) if each["ConnectivityType"] == "public")
        reached = (each for each in _running(ec2) if each.get("PublicIpAddress"))
        if any(each["VpcId"] == vpc for each in (*public, *reached)):
            return str(vpc)
    return ""


def _attached(ec2: Map, gateway_id: str) -> str:
    gateway = ec2["_internet_gateways"].get(gateway_id) or {}
    return gateway_id if gateway.get("Attachments") else ""


def _vpc(ec2: Map, vpc_id: str) -> str:
    """Return the VPC's ID if it has a route table besides the main one, or an endpoint.

    ministack itself checks for subnets, security groups and internet gateways.
    """
    main = ec2["_vpcs"].get(vpc_id, {}).get("MainRouteTableId")
    tables = (each for key, each in ec2["_route_tables"].items() if key != main)
    parts = (*tables, *ec2["_vpc_endpoints"].values())
    return vpc_id if any(each["VpcId"] == vpc_id for each in parts) else ""


def _route_table(ec2: Map, table_id: str) -> str:
    return table_id if ec2["_route_tables"].get(table_id, {}).get("Associations") else ""


def _network_interface(ec2: Map, interface_id: str) -> str:
    return interface_id if ec2["_network_interfaces"].get(interface_id, {}).get("Attachment") else ""


def _address(ec2: Map, allocation_id: str) -> str:
    address = ec2["_addresses"].get(allocation_id)
    if address is None:
        return ""
    gateways = (each.get("AllocationId") for each in _open_nat_gateways(ec2))
    return str(address["PublicIp"]) if address.get("AssociationId") or allocation_id in gateways else ""


def _placement_group(ec2: Map, name: str) -> str:
    return name if any(each.get("Placement", {}).get("GroupName") == name for each in _running(ec2)) else ""


def _cidr_block(ec2: Map, association_id: str) -> str:
    found = block_of(ec2["_vpcs"], association_id)
    if found is None:
        return ""
    vpc_id, cidr = found
    subnets = (each["CidrBlock"] for each in list(ec2["_subnets"].values()) if each["VpcId"] == vpc_id)
    block = ipaddress.ip_network(cidr)
    inside = any(block.overlaps(ipaddress.ip_network(each)) for each in subnets)
    return f"{vpc_id} currently has a subnet within CIDR block {cidr}" if inside else ""


_RULES: Mapping[str, _Rule] = {
    # https://github.com/hashicorp/terraform/issues/31658 (subnet and group)
    "DeleteSubnet": _Rule(
        "SubnetId", "DependencyViolation", "The subnet '{}' has dependencies and cannot be deleted.", _subnet
    ),
    "DeleteSecurityGroup": _Rule(
        "GroupId", "DependencyViolation", "resource {} has a dependent object", _security_group
    ),
    # https://github.com/hashicorp/terraform/issues/497
    "DetachInternetGateway": _Rule(
        "InternetGatewayId",
        "DependencyViolation",
        "Network {} has some mapped public address(es). Please unmap those public address(es) before detaching the"
        " gateway.",
        _public_addresses,
    ),
    # https://github.com/awslabs/landing-zone-accelerator-on-aws/issues/765
    "DeleteInternetGateway": _Rule(
        "InternetGatewayId",
        "DependencyViolation",
        "The internetGateway '{}' has dependencies and cannot be deleted.",
        _attached,
    ),
    # https://github.com/pulumi/pulumi-aws/issues/1221
    "DeleteVpc": _Rule("VpcId", "DependencyViolation", "The vpc '{}' has dependencies and cannot be deleted.", _vpc),
    # moto 5.2.5, ec2/models/route_tables.py
    "DeleteRouteTable": _Rule(
        "RouteTableId",
        "DependencyViolation",
        "The routeTable '{}' has dependencies and cannot be deleted.",
        _route_table,
    ),
    # The error code's description in errors-overview.html: no thread with the exact words was found.
    "DeleteNetworkInterface": _Rule(
        "NetworkInterfaceId",
        "InvalidNetworkInterface.InUse",
        "The network interface '{}' is currently in use and cannot be deleted.",
        _network_interface,
    ),
    # The operation's page names the code; no thread with the exact words was found.
    "ReleaseAddress": _Rule("AllocationId", "InvalidIPAddress.InUse", "The address {} is in use.", _address),
    # https://github.com/scylladb/scylla-cluster-tests/issues/6742
    "DeletePlacementGroup": _Rule(
        "GroupName",
        "InvalidPlacementGroup.InUse",
        "The placement group '{}' is in use and may not be deleted.",
        _placement_group,
    ),
    # https://github.com/hashicorp/terraform-provider-aws/issues/29077
    "DisassociateVpcCidrBlock": _Rule("AssociationId", "InvalidCidrBlock.InUse", "The vpc {}", _cidr_block),
}
