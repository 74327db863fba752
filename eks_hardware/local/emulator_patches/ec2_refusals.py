"""Requests that EC2 refuses and ministack accepts.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

NAMES = frozenset({"_ACTION_MAP", "_DEFAULT_VPC_ID", "_error", "_p", "_subnets", "_vpcs"})
"""The names of ministack's module that the patches need."""


def install(ec2: dict[str, Any]) -> None:
    """Patch the functions of ministack that create subnets.

    A repeated apply without its state would otherwise create every subnet a second time.
    """
    own = ec2["_ACTION_MAP"]["CreateSubnet"]

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

    ec2["_ACTION_MAP"]["CreateSubnet"] = create
