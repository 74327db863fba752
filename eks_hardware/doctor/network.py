"""Check: an existing VPC has the strategy's subnets, with enough addresses for the nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import address_count
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.resolve import ResolvedNodeGroup

NAME = "network"
CALLS: tuple[str, ...] = ("ec2:DescribeSubnets", "ec2:DescribeVpcAttribute", "ec2:DescribeVpcs")

_VPC = "network.existing.vpc_id"
# VPC attribute -> its key in the response, and the option of modify-vpc-attribute.
_DNS = {
    "enableDnsSupport": ("EnableDnsSupport", "--enable-dns-support"),
    "enableDnsHostnames": ("EnableDnsHostnames", "--enable-dns-hostnames"),
}


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield probes for an existing VPC: the VPC, its DNS attributes, each subnet."""
    existing = subject.resolved.network.existing
    if existing is None:
        return
    vpc_id = existing.vpc_id
    yield Probe(_VPC, f"VPC {vpc_id}", partial(_vpc, subject, vpc_id))
    for attribute in _DNS:
        yield Probe(_VPC, f"{attribute} of {vpc_id}", partial(_dns, subject, vpc_id, attribute))
    for role, subnets in _named(subject).items():
        for zone, subnet_id in subnets.items():
            yield Probe(
                f"network.existing.{role}.{zone}",
                f"subnet {subnet_id}",
                partial(_subnet, subject, vpc_id, role, zone, subnet_id),
            )


def _named(subject: Subject) -> dict[str, Mapping[str, str]]:
    """Return the subnets by zone for each field. The control plane subnets are often the private ones."""
    given = subject.strategy.network.existing
    assert given is not None
    return {
        "private_subnets": given.private_subnets,
        "control_plane_subnets": given.control_plane_subnets,
        "pod_subnets": given.pod_subnets,
    }


def _vpc(subject: Subject, vpc_id: str, aws: Aws) -> Iterator[Diagnosis]:
    if not aws.pages("ec2", "describe_vpcs", "Vpcs", Filters=[{"Name": "vpc-id", "Values": [vpc_id]}]):
        yield subject.error(
            "VPC_MISSING",
            _VPC,
            f"{subject.resolved.region} has no VPC {vpc_id} that this account can see; choose an existing VPC",
            subject.command("ec2", "describe-vpcs", query="Vpcs[].[VpcId,CidrBlock,IsDefault]"),
        )


def _dns(subject: Subject, vpc_id: str, attribute: str, aws: Aws) -> Iterator[Diagnosis]:
    name, option = _DNS[attribute]
    # Another probe reports a missing VPC.
    gone = ("InvalidVpcID.NotFound",)
    answer = aws.found(gone, "ec2", "describe_vpc_attribute", VpcId=vpc_id, Attribute=attribute)
    if answer and not answer[name]["Value"]:
        yield subject.error(
            "VPC_DNS",
            _VPC,
            f"{attribute} of {vpc_id} is off; turn it on: otherwise nodes cannot resolve the cluster's endpoint, and "
            "never join",
            f"{subject.command('ec2', 'modify-vpc-attribute', vpc_id=vpc_id)} {option} '{{\"Value\":true}}'",
        )


def _subnet(subject: Subject, vpc_id: str, role: str, zone: str, subnet_id: str, aws: Aws) -> Iterator[Diagnosis]:
    path = f"network.existing.{role}.{zone}"
    columns = "Subnets[].[AvailabilityZoneId,SubnetId,CidrBlock,AvailableIpAddressCount]"
    every = subject.command("ec2", "describe-subnets", filters=f"Name=vpc-id,Values={vpc_id}", query=columns)
    # One call for all subnets, so a missing one does not hide the others.
    ids = sorted({each for subnets in _named(subject).values() for each in subnets.values()})
    described = aws.pages("ec2", "describe_subnets", "Subnets", Filters=[{"Name": "subnet-id", "Values": ids}])
    subnet = next((each for each in described if each["SubnetId"] == subnet_id), None)
    if subnet is None:
        message = (
            f"{subject.resolved.region} has no subnet {subnet_id} that this account can see; choose one in {vpc_id}"
        )
        yield subject.error("SUBNET_MISSING", path, message, every)
        return
    if subnet["VpcId"] != vpc_id:
        message = f"{subnet_id} belongs to {subnet['VpcId']}, not to {vpc_id}; choose a subnet in this VPC"
        yield subject.error("SUBNET_OTHER_VPC", path, message, every)
    if subnet.get("AvailabilityZoneId") not in (None, zone):
        message = f"{subnet_id} is in {subnet['AvailabilityZoneId']}, not in {zone}; list it under its own zone"
        yield subject.error("SUBNET_OTHER_ZONE", path, message, every)
        return
    yield from _room(subject, role, zone, subnet, path, every)


def _room(
    subject: Subject, role: str, zone: str, subnet: Mapping[str, Any], path: str, command: str
) -> Iterator[Diagnosis]:
    free = subnet["AvailableIpAddressCount"]
    at_once, at_most = _addresses(subject, role, zone)
    message = f"{subnet['SubnetId']} has {free} free addresses; "
    if free < at_once:
        message += f"the control plane and the first nodes need {at_once}; choose a larger subnet"
        yield subject.error("SUBNET_FULL", path, message, command)
    elif free < at_most:
        message += f"with every group at max and every node full of pods, {zone} needs about {at_most}; "
        message += "choose a larger subnet"
        yield subject.warning("SUBNET_SMALL", path, message, command)


def _addresses(subject: Subject, role: str, zone: str) -> tuple[int, int]:
    """Return how many addresses a subnet needs: at first, and with every node group in its zone at max.

    Nodes spread evenly over a group's zones. Nodes of Karpenter's pools need additional addresses.
    """
    existing, given = subject.resolved.network.existing, subject.strategy.network.existing
    assert existing
    assert given
    at_once = at_most = 0
    shared = role == "private_subnets" and not given.control_plane_subnets
    if zone in existing.control_plane and (role == "control_plane_subnets" or shared):
        at_once = at_most = facts.account()["control_plane_addresses"]["each_subnet"]
    for group in subject.resolved.node_groups:
        if zone in group.zone_ids and role != "control_plane_subnets":
            few, many = _of_node(subject, group, role)
            at_once += math.ceil(group.desired_size / len(group.zone_ids)) * few
            at_most += math.ceil(group.max_size / len(group.zone_ids)) * many
    return at_once, at_most


def _of_node(subject: Subject, group: ResolvedNodeGroup, role: str) -> tuple[int, int]:
    """Return how many addresses one node uses in a subnet: when it starts, and when it is full of pods.

    A node gets a prefix of 16 addresses when it starts, and always has one more prefix than it fills:
    https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
    """
    prefix = facts.eks()["max_pods"]["addresses_per_prefix"]
    of_pods = (math.ceil((group.max_pods or prefix) / prefix) + 1) * prefix
    interfaces = address_count(group.efa_interfaces)
    own = subject.resolved.cluster.custom_networking
    if role == "pod_subnets":
        return 1 + prefix, 1 + of_pods
    return interfaces + (0 if own else prefix), interfaces + (0 if own else of_pods)
