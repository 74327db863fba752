"""Requests that EC2 refuses and ministack accepts.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware.local.emulator_patches.ec2_protocol import request

NAMES = frozenset({"_ACTION_MAP", "_DEFAULT_VPC_ID", "_error", "_p", "_security_groups", "_subnets", "_vpcs"})
"""The names of ministack's module that the patches need."""


# The request shape of each action with security groups, which must exist.
_WITH_GROUPS = {
    "AuthorizeSecurityGroupEgress": "AuthorizeSecurityGroupEgressRequest",
    "AuthorizeSecurityGroupIngress": "AuthorizeSecurityGroupIngressRequest",
    "CreateNetworkInterface": "CreateNetworkInterfaceRequest",
    "CreateVpcEndpoint": "CreateVpcEndpointRequest",
    "RunInstances": "RunInstancesRequest",
}


def install(ec2: dict[str, Any]) -> None:
    """Patch ministack's functions that create subnets or accept security groups."""
    actions = ec2["_ACTION_MAP"]
    actions["CreateSubnet"] = _without_overlaps(ec2, actions["CreateSubnet"])
    actions.update({name: _with_known_groups(ec2, actions[name], of) for name, of in _WITH_GROUPS.items()})


def _without_overlaps(ec2: Mapping[str, Any], own: Callable[..., object]) -> Callable[..., object]:
    """Return ``CreateSubnet`` with EC2's error for overlapping CIDR blocks.

    Otherwise a second apply without the state would create every subnet again.
    """

    def create(params: Mapping[str, object]) -> object:
        vpc = ec2["_p"](params, "VpcId") or ec2["_DEFAULT_VPC_ID"]
        if vpc not in ec2["_vpcs"]:
            return ec2["_error"]("InvalidVpcID.NotFound", f"The vpc ID '{vpc}' does not exist", 400)
        text = ec2["_p"](params, "CidrBlock")
        if text:
            cidr = ipaddress.ip_network(text)
            there = (subnet["CidrBlock"] for subnet in ec2["_subnets"].values() if subnet["VpcId"] == vpc)
            if any(cidr.overlaps(ipaddress.ip_network(each)) for each in there):
                return ec2["_error"]("InvalidSubnet.Conflict", f"The CIDR '{text}' conflicts with another subnet", 400)
        return own(params)

    return create


def _with_known_groups(ec2: Mapping[str, Any], own: Callable[..., object], of: str) -> Callable[..., object]:
    def act(params: Mapping[str, object], *arguments: object) -> object:
        for group in _groups(request(of, params, ec2["_p"])):
            if group not in ec2["_security_groups"]:
                text = f"The security group '{group}' does not exist"
                return ec2["_error"]("InvalidGroup.NotFound", text, 400)
        return own(params, *arguments)

    return act


def _groups(asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield the security groups in a request, in its network interfaces, and in the rules that it adds."""
    for part in (asked, *asked.get("NetworkInterfaces", ())):
        for name in ("Groups", "SecurityGroupIds"):
            yield from part.get(name, ())
    for rule in asked.get("IpPermissions", ()):
        for pair in rule.get("UserIdGroupPairs", ()):
            if "GroupId" in pair and "VpcPeeringConnectionId" not in pair:
                yield pair["GroupId"]
