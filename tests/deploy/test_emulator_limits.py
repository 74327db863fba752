"""The emulator refuses what is above the default of a quota, as AWS does for a new account."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.emulator_patches.limits import most
from eks_hardware.local.readback import Account
from helpers.emulated_ec2 import aws_refusal, two_subnets

TRUST = """{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "eks.amazonaws.com"}}
]}"""


def _error(row: str, status: int = 400) -> tuple[str, int, str]:
    refusal = facts.service_quotas()["refusals"]["rows"][row]
    return refusal["code"], status, refusal["message"]


@pytest.fixture(autouse=True)
def clean(aws: Account) -> Iterator[None]:
    before = aws.inventory()
    yield
    assert aws.inventory() == before


@pytest.fixture
def vpc(ec2: Any) -> Iterator[str]:
    made = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    yield made
    ec2.delete_vpc(VpcId=made)


@pytest.fixture
def group(ec2: Any, vpc: str) -> Iterator[str]:
    made = ec2.create_security_group(GroupName="full", Description="full", VpcId=vpc)["GroupId"]
    yield made
    ec2.delete_security_group(GroupId=made)


def _fill(create: Callable[[], str], row: str) -> tuple[list[str], tuple[str, int, str]]:
    """Create one after the other until AWS refuses; return those that were created and the error."""
    made: list[str] = []

    def all_and_one_more() -> None:
        for _ in range(most(row) + 1):
            made.append(create())

    return made, aws_refusal(all_and_one_more)


@pytest.mark.parametrize(
    ("row", "create", "delete", "there"),
    [
        pytest.param(
            "CreateVpc",
            lambda ec2: ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"],
            lambda ec2, each: ec2.delete_vpc(VpcId=each),
            lambda ec2: len(ec2.describe_vpcs()["Vpcs"]),
            id="VPCs",
        ),
        pytest.param(
            "AllocateAddress",
            lambda ec2: ec2.allocate_address(Domain="vpc")["AllocationId"],
            lambda ec2, each: ec2.release_address(AllocationId=each),
            lambda ec2: len(ec2.describe_addresses()["Addresses"]),
            id="addresses",
        ),
        pytest.param(
            "CreateInternetGateway",
            lambda ec2: ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"],
            lambda ec2, each: ec2.delete_internet_gateway(InternetGatewayId=each),
            lambda ec2: len(ec2.describe_internet_gateways()["InternetGateways"]),
            id="internet gateways",
        ),
    ],
)
def test_a_region_is_full(
    ec2: Any,
    row: str,
    create: Callable[[Any], str],
    delete: Callable[[Any, str], None],
    there: Callable[[Any], int],
) -> None:
    """The default VPC and its gateway count, too."""
    before = there(ec2)
    made, error = _fill(lambda: create(ec2), row)
    for each in made:
        delete(ec2, each)
    assert (before + len(made), error) == (most(row), _error(row))


def test_an_account_with_raised_quotas_has_more(ec2: Any, emulator: Emulator) -> None:
    """The demo has raised quotas, so that it deploys what an older account can."""
    emulator.set_quotas_raised(True)
    try:
        made = [ec2.allocate_address(Domain="vpc")["AllocationId"] for _ in range(most("AllocateAddress") + 1)]
        longer = {"UserData": base64.b64encode(b"x" * (most("UserData") + 1)).decode()}
        create = ec2.create_launch_template
        assert aws_refusal(create, LaunchTemplateName="long", LaunchTemplateData=longer) == _error("UserData")
    finally:
        emulator.set_quotas_raised(False)
    for each in made:
        ec2.release_address(AllocationId=each)


def test_nat_gateways_count_per_zone(ec2: Any, vpc: str) -> None:
    first, second = (
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZoneId=f"usw2-az{number}")["Subnet"]
        for number in (1, 2)
    )

    def create(subnet: dict[str, str] = first) -> str:
        made = ec2.create_nat_gateway(SubnetId=subnet["SubnetId"], ConnectivityType="private")
        return str(made["NatGateway"]["NatGatewayId"])

    made, error = _fill(create, "CreateNatGateway")
    assert (len(made), error) == (most("CreateNatGateway"), _error("CreateNatGateway"))
    made.append(create(second))
    ec2.delete_nat_gateway(NatGatewayId=made.pop(0))
    made.append(create())  # a deleted one does not count
    for each in made:
        ec2.delete_nat_gateway(NatGatewayId=each)
    for subnet in (first, second):
        ec2.delete_subnet(SubnetId=subnet["SubnetId"])


def _permission(*cidrs: str, port: int = 1) -> dict[str, Any]:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [{"CidrIp": cidr} for cidr in cidrs]}


def test_rules_count_per_direction_and_ip_version(ec2: Any, group: str) -> None:
    cidrs = [f"10.0.0.{number}/32" for number in range(most("AuthorizeSecurityGroup") + 1)]
    in_, out = ec2.authorize_security_group_ingress, ec2.authorize_security_group_egress
    too_many = {"GroupId": group, "IpPermissions": [_permission(*cidrs)]}
    assert aws_refusal(in_, **too_many) == _error("AuthorizeSecurityGroup")
    in_(GroupId=group, IpPermissions=[_permission(*cidrs[:-1])])
    one = {"GroupId": group, "IpPermissions": [_permission(cidrs[-1])]}
    assert aws_refusal(in_, **one) == _error("AuthorizeSecurityGroup")
    of_group = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "UserIdGroupPairs": [{"GroupId": group}]}
    assert aws_refusal(in_, GroupId=group, IpPermissions=[of_group]) == _error("AuthorizeSecurityGroup")
    out(**one)  # the other direction
    six = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "Ipv6Ranges": [{"CidrIpv6": "fd00::/64"}]}
    in_(GroupId=group, IpPermissions=[six])


def test_routes_of_a_table_have_the_limit_of_june_2025(ec2: Any, vpc: str) -> None:
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    numbers = iter(range(most("CreateRoute") + 1))

    def create() -> str:
        number = next(numbers)
        cidr = f"192.{number // 250}.{number % 250}.0/24"
        ec2.create_route(RouteTableId=table, DestinationCidrBlock=cidr, GatewayId=gateway)
        return cidr

    made, error = _fill(create, "CreateRoute")
    ec2.delete_route_table(RouteTableId=table)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    # The local route counts.
    assert (1 + len(made), error) == (most("CreateRoute"), _error("CreateRoute"))


def test_a_network_interface_has_few_security_groups(ec2: Any, vpc: str) -> None:
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    groups = [
        ec2.create_security_group(GroupName=f"g{number}", Description="g", VpcId=vpc)["GroupId"]
        for number in range(most("SecurityGroups") + 1)
    ]
    error = _error("SecurityGroups")
    assert aws_refusal(ec2.create_network_interface, SubnetId=subnet, Groups=groups) == error
    start = {"ImageId": "ami-1", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    assert aws_refusal(ec2.run_instances, **start, SubnetId=subnet, SecurityGroupIds=groups) == error
    interface = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": groups}
    assert aws_refusal(ec2.run_instances, **start, NetworkInterfaces=[interface]) == error
    endpoint = {"VpcId": vpc, "ServiceName": "com.amazonaws.us-west-2.sts", "VpcEndpointType": "Interface"}
    assert aws_refusal(ec2.create_vpc_endpoint, **endpoint, SubnetIds=[subnet], SecurityGroupIds=groups) == error
    made = ec2.create_network_interface(SubnetId=subnet, Groups=groups[:-1])["NetworkInterface"]
    ec2.delete_network_interface(NetworkInterfaceId=made["NetworkInterfaceId"])
    for each in groups:
        ec2.delete_security_group(GroupId=each)
    ec2.delete_subnet(SubnetId=subnet)


def test_user_data_counts_before_base64(ec2: Any) -> None:
    exact, longer = (
        {"UserData": base64.b64encode(b"x" * size).decode()} for size in (most("UserData"), most("UserData") + 1)
    )
    create, next_version = ec2.create_launch_template, ec2.create_launch_template_version
    error = _error("UserData")
    assert aws_refusal(create, LaunchTemplateName="long", LaunchTemplateData=longer) == error
    create(LaunchTemplateName="long", LaunchTemplateData=exact)
    assert aws_refusal(next_version, LaunchTemplateName="long", LaunchTemplateData=longer) == error
    ec2.delete_launch_template(LaunchTemplateName="long")


def test_a_role_has_few_managed_policies(aws: Account) -> None:
    iam = aws.client("iam")
    iam.create_role(RoleName="full", AssumeRolePolicyDocument=TRUST)
    numbers = iter(range(most("AttachRolePolicy") + 1))

    def attach() -> str:
        arn = f"arn:aws:iam::000000000000:policy/p{next(numbers)}"
        iam.attach_role_policy(RoleName="full", PolicyArn=arn)
        return arn

    made, error = _fill(attach, "AttachRolePolicy")
    iam.attach_role_policy(RoleName="full", PolicyArn=made[0])  # is attached already
    for each in made:
        iam.detach_role_policy(RoleName="full", PolicyArn=each)
    iam.delete_role(RoleName="full")
    assert (len(made), error) == (most("AttachRolePolicy"), _error("AttachRolePolicy", status=409))


def test_a_cluster_has_few_node_groups(ec2: Any, aws: Account, vpc: str) -> None:
    eks, subnets = aws.client("eks"), two_subnets(ec2, vpc, "10.0")
    role = "arn:aws:iam::000000000000:role/any"
    eks.create_cluster(name="full", roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    numbers = iter(range(most("CreateNodegroup") + 1))

    def create() -> str:
        name, scaling = f"n{next(numbers)}", {"minSize": 0, "maxSize": 1, "desiredSize": 0}
        of = {"clusterName": "full", "nodegroupName": name}
        eks.create_nodegroup(**of, nodeRole=role, subnets=subnets, scalingConfig=scaling)
        return name

    made, error = _fill(create, "CreateNodegroup")
    for each in made:
        eks.delete_nodegroup(clusterName="full", nodegroupName=each)
    eks.delete_cluster(name="full")
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)
    assert (len(made), error) == (most("CreateNodegroup"), _error("CreateNodegroup"))
