"""An existing VPC: complete, and with each possible problem."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.doctor import network
from helpers.cases import in_one_test
from helpers.doctor import RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group

VPC, PRIVATE, SECOND = "vpc-0aaaaaaaa", "subnet-0aaaaaaaa", "subnet-0bbbbbbbb"
BIG = group("m6i.xlarge", name="batch", scaling={"max": 90})


def vpc_with(**fields: Any) -> dict[str, Any]:
    private = {"usw2-az1": PRIVATE, "usw2-az2": SECOND}
    return {"network": {"existing": {"vpc_id": VPC, "private_subnets": private, **fields}}}


def subnet(subnet_id: str, zone: str, **fields: Any) -> dict[str, Any]:
    return {
        "SubnetId": subnet_id,
        "VpcId": VPC,
        "AvailabilityZoneId": zone,
        "AvailableIpAddressCount": 60_000,
        **fields,
    }


def account_with_subnets(*subnets: dict[str, Any], support: bool = True, hostnames: bool = True, vpcs: int = 1) -> Any:
    def attribute(params: dict[str, Any]) -> dict[str, Any]:
        if params["Attribute"] == "enableDnsSupport":
            return {"VpcId": VPC, "EnableDnsSupport": {"Value": support}}
        return {"VpcId": VPC, "EnableDnsHostnames": {"Value": hostnames}}

    first, second = subnet(PRIVATE, "usw2-az1"), subnet(SECOND, "usw2-az2")
    given = {each["SubnetId"]: each for each in (first, second, *subnets)}
    return answering(
        {
            "ec2:DescribeVpcs": {"Vpcs": [{"VpcId": VPC}] * vpcs},
            "ec2:DescribeVpcAttribute": attribute,
            "ec2:DescribeSubnets": {"Subnets": [each for each in given.values() if each.get("VpcId")]},
        }
    )


def test_own_vpc_asks_nothing() -> None:
    assert look(network, answering({})).probes == 0


def test_all_there() -> None:
    assert codes(look(network, account_with_subnets(), **vpc_with()).findings) == []


@pytest.mark.parametrize(
    ("given", "option"),
    [({"support": False}, "--enable-dns-support"), ({"hostnames": False}, "--enable-dns-hostnames")],
)
def test_dns(given: dict[str, bool], option: str) -> None:
    outcome = look(network, account_with_subnets(**given), **vpc_with())
    assert codes(outcome.findings) == [("VPC_DNS", "network.existing.vpc_id")]
    assert outcome.findings[0].command == (
        f"aws ec2 modify-vpc-attribute --vpc-id {VPC} --region us-west-2 {option} '{{\"Value\":true}}'"
    )


def test_vpc_missing() -> None:
    assert codes(look(network, account_with_subnets(vpcs=0), **vpc_with()).findings) == [
        ("VPC_MISSING", "network.existing.vpc_id")
    ]


@in_one_test(
    ("code", "fields"),
    [
        ("SUBNET_MISSING", {"VpcId": ""}),
        ("SUBNET_OTHER_VPC", {"VpcId": "vpc-0bbbbbbbb"}),
        ("SUBNET_OTHER_ZONE", {"AvailabilityZoneId": "usw2-az3"}),
        # Six for the control plane, one node of the two at once, with one address and one prefix.
        ("SUBNET_FULL", {"AvailableIpAddressCount": 6 + 1 + 16 - 1}),
    ],
)
def test_subnet(code: str, fields: dict[str, Any]) -> None:
    outcome = look(network, account_with_subnets(subnet(SECOND, "usw2-az2", **fields)), **vpc_with())
    assert codes(outcome.findings) == [(code, "network.existing.private_subnets.usw2-az2")]
    assert outcome.findings[0].severity.value == "error"
    assert outcome.findings[0].command.startswith("aws ec2 describe-subnets ")


def test_subnet_that_is_too_small_for_the_most() -> None:
    enough = account_with_subnets(subnet(SECOND, "usw2-az2", AvailableIpAddressCount=6 + 1 + 16))
    outcome = look(network, enough, BIG, **vpc_with())
    assert codes(outcome.findings) == [("SUBNET_SMALL", "network.existing.private_subnets.usw2-az2")]
    assert outcome.findings[0].severity.value == "warning"


def test_control_plane_and_pods_have_their_own() -> None:
    own = vpc_with(
        control_plane_subnets={"usw2-az1": "subnet-0cccccccc", "usw2-az2": "subnet-0dddddddd"},
        pod_subnets={"usw2-az1": "subnet-0eeeeeeee", "usw2-az2": "subnet-0ffffffff"},
    )
    subnets = [
        subnet("subnet-0cccccccc", "usw2-az1", AvailableIpAddressCount=5),
        subnet("subnet-0dddddddd", "usw2-az2", AvailableIpAddressCount=6),
        subnet("subnet-0eeeeeeee", "usw2-az1", AvailableIpAddressCount=16),
        subnet("subnet-0ffffffff", "usw2-az2"),
        # Only nodes: one address each.
        subnet(PRIVATE, "usw2-az1", AvailableIpAddressCount=2),
    ]
    assert codes(look(network, account_with_subnets(*subnets), **own).findings) == [
        ("SUBNET_FULL", "network.existing.control_plane_subnets.usw2-az1"),
        ("SUBNET_FULL", "network.existing.pod_subnets.usw2-az1"),
    ]


def test_denied() -> None:
    outcome = look(network, answering({}, otherwise=RefusedError("UnauthorizedOperation")), **vpc_with())
    assert {code for code, _ in codes(outcome.findings)} == {"CHECK_DENIED"}
    assert all(any(call in each.message for each in outcome.findings) for call in network.CALLS)
