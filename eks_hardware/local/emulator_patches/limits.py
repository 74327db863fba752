"""Refuse calls that would exceed a quota's default, as AWS does; ministack has no quotas.

``quotas/service_quotas.json`` has the defaults and AWS's errors.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from eks_hardware import facts
from eks_hardware.local.emulator_patches.ec2_protocol import is_dry_run, request

Map = Mapping[str, Any]
# Maps the names of a service's module and a call's parameters to the number of resources after the call.
Count = Callable[[Map, Map], int]

EC2_NAMES = frozenset(
    {
        "_ACTION_MAP",
        "_addresses",
        "_error",
        "_internet_gateways",
        "_nat_gateways",
        "_p",
        "_route_tables",
        "_security_groups",
        "_subnets",
        "_vpcs",
    }
)
IAM_NAMES = frozenset({"_IAM_HANDLERS", "_error", "_p", "_roles"})
EKS_NAMES = frozenset({"_create_nodegroup", "_error", "_nodegroups"})
"""The names of ministack's modules that the patches need."""


_raised = False


def install(ec2: dict[str, Any], iam: dict[str, Any], eks: dict[str, Any]) -> None:
    """Patch ministack's functions that create resources with a quota."""
    if ec2.keys() >= EC2_NAMES:
        actions = ec2["_ACTION_MAP"]
        for name, (row, count) in _EC2.items():
            actions[name] = _limited_in_ec2(ec2, actions[name], row, count)
    if iam.keys() >= IAM_NAMES:
        _limit_policies(iam)
    if eks.keys() >= EKS_NAMES:
        _limit_node_groups(eks)


def set_raised(value: bool) -> None:
    """Raise every quota of the account as far as AWS allows, or restore the defaults."""
    global _raised
    _raised = value


def _is_over(row: str, number: int) -> bool:
    found = facts.service_quotas()["refusals"]["rows"][row]
    return number > most(row) and not (_raised and found.get("can_be_raised", True))


def most(row: str) -> int:
    """Return the default value of the quota in a row."""
    quotas = facts.service_quotas()
    found = quotas["refusals"]["rows"][row]
    default = quotas["others"]["quotas"][found["quota"]]["default"] if "quota" in found else found.get("most")
    assert default is not None, f"{row} has no default"
    return default


def _limited_in_ec2(ec2: Map, own: Callable[..., object], row: str, count: Count) -> Callable[..., object]:
    refusal = facts.service_quotas()["refusals"]["rows"][row]

    def act(params: Map, *arguments: object) -> object:
        if not is_dry_run(params, ec2["_p"]) and _is_over(row, count(ec2, params)):
            return ec2["_error"](refusal["code"], refusal["message"], 400)
        return own(params, *arguments)

    return act


def _limit_policies(iam: dict[str, Any]) -> None:
    refusal = facts.service_quotas()["refusals"]["rows"]["AttachRolePolicy"]
    own = iam["_IAM_HANDLERS"]["AttachRolePolicy"]

    def attach(params: Map) -> object:
        attached = iam["_roles"].get(iam["_p"](params, "RoleName"), {}).get("AttachedPolicies", ())
        if _is_over("AttachRolePolicy", len({*attached, iam["_p"](params, "PolicyArn")})):
            return iam["_error"](409, refusal["code"], refusal["message"], ns="iam")
        return own(params)

    iam["_IAM_HANDLERS"]["AttachRolePolicy"] = attach


def _limit_node_groups(eks: dict[str, Any]) -> None:
    refusal = facts.service_quotas()["refusals"]["rows"]["CreateNodegroup"]
    own = eks["_create_nodegroup"]

    def create(cluster: str, body: Map) -> object:
        groups = {key for key in list(eks["_nodegroups"]) if key.startswith(f"{cluster}/")}
        if _is_over("CreateNodegroup", len(groups | {f"{cluster}/{body.get('nodegroupName')}"})):
            return eks["_error"](400, refusal["code"], refusal["message"])
        return own(cluster, body)

    eks["_create_nodegroup"] = create


def _one_more(stored: str) -> Count:
    return lambda ec2, _: len(ec2[stored]) + 1


def _nat_gateways(ec2: Map, params: Map) -> int:
    """Return the number of NAT gateways in the zone after the call, without deleted gateways."""

    def zone(subnet_id: str) -> object:
        return ec2["_subnets"].get(subnet_id, {}).get("AvailabilityZone")

    here = zone(ec2["_p"](params, "SubnetId"))
    stored = list(ec2["_nat_gateways"].values())
    return 1 + len([each for each in stored if each["State"] != "deleted" and zone(each["SubnetId"]) == here])


def _subnets(ec2: Map, params: Map) -> int:
    vpc = ec2["_p"](params, "VpcId")
    return 1 + len([each for each in list(ec2["_subnets"].values()) if each["VpcId"] == vpc])


def _routes(ec2: Map, params: Map) -> int:
    table = ec2["_route_tables"].get(ec2["_p"](params, "RouteTableId"), {})
    return 1 + len(table.get("Routes", ()))


def _rules_after(direction: str, stored: str) -> Count:
    """Return a function that counts a direction's rules, for the IP version with more of them."""

    def count(ec2: Map, params: Map) -> int:
        asked = request(f"AuthorizeSecurityGroup{direction}Request", params, ec2["_p"])
        group = ec2["_security_groups"].get(asked.get("GroupId"), {})
        rules = {*_rules(group.get(stored, ())), *_rules(asked.get("IpPermissions", ()))}
        return max(sum(version in versions for versions, *_ in rules) for version in "46")

    return count


def _rules(permissions: Sequence[Map]) -> Iterator[tuple[str, ...]]:
    """Yield a rule with its IP versions for each source or target of a permission."""
    kinds = (("4", "IpRanges", "CidrIp"), ("6", "Ipv6Ranges", "CidrIpv6"))
    both = (("46", "UserIdGroupPairs", "GroupId"), ("46", "PrefixListIds", "PrefixListId"))
    for each in permissions:
        ports = (str(each.get(name)) for name in ("IpProtocol", "FromPort", "ToPort"))
        start = tuple(ports)
        for versions, part, key in (*kinds, *both):
            for item in each.get(part) or ():
                yield versions, *start, str(item.get(key))


def _groups(shape_name: str, *path: str) -> Count:
    """Return a function that counts a request's security groups, for the network interface with the most."""

    def count(ec2: Map, params: Map) -> int:
        asked = request(shape_name, params, ec2["_p"])
        interfaces = [asked, *asked.get("NetworkInterfaces", ())]
        return max(len(each.get(name, ())) for each in interfaces for name in path)

    return count


def _user_data(shape_name: str) -> Count:
    """Return a function that counts the bytes of a launch template's user data, before base64."""

    def count(ec2: Map, params: Map) -> int:
        data = request(shape_name, params, ec2["_p"]).get("LaunchTemplateData", {})
        try:
            return len(base64.b64decode(data.get("UserData", ""), validate=True))
        except (binascii.Error, ValueError):
            return 0  # invalid base64 is a different error

    return count


_EC2: Mapping[str, tuple[str, Count]] = {
    "AllocateAddress": ("AllocateAddress", _one_more("_addresses")),
    "AuthorizeSecurityGroupEgress": ("AuthorizeSecurityGroup", _rules_after("Egress", "IpPermissionsEgress")),
    "AuthorizeSecurityGroupIngress": ("AuthorizeSecurityGroup", _rules_after("Ingress", "IpPermissions")),
    "CreateInternetGateway": ("CreateInternetGateway", _one_more("_internet_gateways")),
    "CreateLaunchTemplate": ("UserData", _user_data("CreateLaunchTemplateRequest")),
    "CreateLaunchTemplateVersion": ("UserData", _user_data("CreateLaunchTemplateVersionRequest")),
    "CreateNatGateway": ("CreateNatGateway", _nat_gateways),
    "CreateNetworkInterface": ("SecurityGroups", _groups("CreateNetworkInterfaceRequest", "Groups")),
    "CreateRoute": ("CreateRoute", _routes),
    "CreateSubnet": ("CreateSubnet", _subnets),
    "CreateVpc": ("CreateVpc", _one_more("_vpcs")),
    "CreateVpcEndpoint": ("SecurityGroups", _groups("CreateVpcEndpointRequest", "SecurityGroupIds")),
    "RunInstances": ("SecurityGroups", _groups("RunInstancesRequest", "SecurityGroupIds", "Groups")),
}
"""Each operation's row, and the function that counts the resources after the call."""
