"""Refuse clusters with unsuitable subnets or security groups, as EKS does; ministack creates them.

Sources: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html (two zones),
https://github.com/pulumi/pulumi-eks/issues/311 and
https://github.com/AdminTurnedDevOps/DevOps-The-Hard-Way-AWS/issues/16 (messages: EKS passes on EC2's). No thread shows
the message for security groups, which is modelled on the message for subnets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Map = Mapping[str, Any]

NAMES = frozenset({"_clusters", "_create_cluster", "_error"})
EC2_NAMES = frozenset({"_security_groups", "_subnets"})
"""The names of ministack's modules that the patch needs."""


def install(eks: dict[str, Any], ec2: Map) -> None:
    """Patch ministack's function that creates clusters."""
    own = eks["_create_cluster"]

    def create(body: Map, *arguments: object, **options: object) -> object:
        fault = "" if body.get("name") in eks["_clusters"] else _fault(ec2, body.get("resourcesVpcConfig", {}))
        return eks["_error"](400, "InvalidParameterException", fault) if fault else own(body, *arguments, **options)

    eks["_create_cluster"] = create


def _fault(ec2: Map, network: Map) -> str:
    subnets = {each: ec2["_subnets"].get(each) for each in network.get("subnetIds", ())}
    for each, subnet in subnets.items():
        if subnet is None:
            return _not_found(f"The subnet ID '{each}' does not exist", "InvalidSubnetID.NotFound")
    if len({subnet["AvailabilityZone"] for subnet in subnets.values()}) < 2:
        return "Subnets specified must be in at least two different AZs"
    for each in network.get("securityGroupIds", ()):
        if each not in ec2["_security_groups"]:
            return _not_found(f"The security group '{each}' does not exist", "InvalidGroup.NotFound")
    return ""


def _not_found(text: str, error: str) -> str:
    return f"{text} (Service: AmazonEC2; Status Code: 400; Error Code: {error})"
