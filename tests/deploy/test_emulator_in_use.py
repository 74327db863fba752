"""The emulator refuses to delete what is still in use, as AWS does, and deletes it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from eks_hardware.local.readback import Account
from helpers.emulated_ec2 import aws_error, aws_refusal, two_subnets

IN_USE = ("DependencyViolation", 400)
ROLE = "arn:aws:iam::000000000000:role/any"
DOCUMENT = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}'
TRUST = """{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}
]}"""


class Network(NamedTuple):
    """A VPC with a subnet, a security group and an internet gateway."""

    vpc: str
    subnet: str
    group: str
    gateway: str


@pytest.fixture
def network(ec2: Any, aws: Account) -> Iterator[Network]:
    before = aws.inventory()
    vpc = ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.7.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="used", Description="used", VpcId=vpc)["GroupId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    yield Network(vpc, subnet, group, gateway)
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_internet_gateway(InternetGatewayId=gateway)
    ec2.delete_security_group(GroupId=group)
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
    assert aws.inventory() == before


def _interface(aws: Account, on: Network) -> Callable[[], object]:
    ec2 = aws.client("ec2")
    made = ec2.create_network_interface(SubnetId=on.subnet, Groups=[on.group])["NetworkInterface"]
    return lambda: ec2.delete_network_interface(NetworkInterfaceId=made["NetworkInterfaceId"])


def _instance(aws: Account, on: Network) -> Callable[[], object]:
    ec2 = aws.client("ec2")
    (made,) = ec2.run_instances(
        ImageId="ami-1",
        InstanceType="m5.large",
        MinCount=1,
        MaxCount=1,
        SubnetId=on.subnet,
        SecurityGroupIds=[on.group],
    )["Instances"]
    return lambda: ec2.terminate_instances(InstanceIds=[made["InstanceId"]])


def _endpoint(aws: Account, on: Network) -> Callable[[], object]:
    ec2 = aws.client("ec2")
    made = ec2.create_vpc_endpoint(
        VpcId=on.vpc,
        ServiceName="com.amazonaws.us-west-2.sts",
        VpcEndpointType="Interface",
        SubnetIds=[on.subnet],
        SecurityGroupIds=[on.group],
    )["VpcEndpoint"]
    return lambda: ec2.delete_vpc_endpoints(VpcEndpointIds=[made["VpcEndpointId"]])


def _cluster(aws: Account, on: Network) -> Callable[[], object]:
    ec2, eks = aws.client("ec2"), aws.client("eks")
    subnets = two_subnets(ec2, on.vpc, "10.7")
    network = {"subnetIds": [on.subnet, *subnets], "securityGroupIds": [on.group]}
    eks.create_cluster(name="in-use", roleArn=ROLE, resourcesVpcConfig=network)

    def delete() -> None:
        eks.delete_cluster(name="in-use")
        for subnet in subnets:
            ec2.delete_subnet(SubnetId=subnet)

    return delete


def _load_balancer(aws: Account, on: Network) -> Callable[[], object]:
    balancers = aws.client("elbv2")
    (made,) = balancers.create_load_balancer(Name="in-use", Subnets=[on.subnet], SecurityGroups=[on.group])[
        "LoadBalancers"
    ]
    return lambda: balancers.delete_load_balancer(LoadBalancerArn=made["LoadBalancerArn"])


def _mount_target(aws: Account, on: Network) -> Callable[[], object]:
    efs = aws.client("efs")
    system = efs.create_file_system(CreationToken="in-use")["FileSystemId"]
    made = efs.create_mount_target(FileSystemId=system, SubnetId=on.subnet, SecurityGroups=[on.group])

    def delete() -> None:
        efs.delete_mount_target(MountTargetId=made["MountTargetId"])
        efs.delete_file_system(FileSystemId=system)

    return delete


def _lustre(aws: Account, on: Network) -> Callable[[], object]:
    fsx = aws.client("fsx")
    made = fsx.create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[on.subnet], SecurityGroupIds=[on.group]
    )["FileSystem"]
    return lambda: fsx.delete_file_system(FileSystemId=made["FileSystemId"])


@pytest.mark.parametrize("use", [_interface, _instance, _endpoint, _cluster, _load_balancer, _mount_target, _lustre])
def test_what_a_network_interface_uses_stays(
    ec2: Any, aws: Account, network: Network, use: Callable[[Account, Network], Callable[[], object]]
) -> None:
    end = use(aws, network)
    assert aws_refusal(ec2.delete_subnet, SubnetId=network.subnet) == (
        *IN_USE,
        f"The subnet '{network.subnet}' has dependencies and cannot be deleted.",
    )
    assert aws_refusal(ec2.delete_security_group, GroupId=network.group) == (
        *IN_USE,
        f"resource {network.group} has a dependent object",
    )
    end()  # the fixture then deletes both


def test_a_cluster_needs_its_subnets_in_two_zones_and_its_groups(ec2: Any, aws: Account, network: Network) -> None:
    eks, subnets = aws.client("eks"), two_subnets(ec2, network.vpc, "10.7")

    def refusal(subnet_ids: list[str], *groups: str) -> tuple[str, int, str]:
        of = {"subnetIds": subnet_ids, "securityGroupIds": list(groups)}
        return aws_refusal(eks.create_cluster, name="refused", roleArn=ROLE, resourcesVpcConfig=of)

    code, status, message = refusal([*subnets, "subnet-0123"])
    assert (code, status) == ("InvalidParameterException", 400)
    assert message.startswith("The subnet ID 'subnet-0123' does not exist (Service: AmazonEC2;")
    apart = "Subnets specified must be in at least two different AZs"
    assert refusal(subnets[:1]) == refusal([]) == ("InvalidParameterException", 400, apart)
    assert refusal(subnets, network.group, "sg-0123")[2].startswith("The security group 'sg-0123' does not exist")
    assert "refused" not in eks.list_clusters()["clusters"]
    eks.create_cluster(name="refused", roleArn=ROLE, resourcesVpcConfig={"subnetIds": subnets})
    assert aws_error(eks.create_cluster, name="refused", roleArn=ROLE, resourcesVpcConfig={"subnetIds": []}) == (
        "ResourceInUseException",
        409,
    )
    eks.delete_cluster(name="refused")
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)


def test_a_group_that_another_groups_rule_names_stays(ec2: Any, network: Network) -> None:
    other = ec2.create_security_group(GroupName="other", Description="other", VpcId=network.vpc)["GroupId"]
    for group in (network.group, other):  # its own rule does not keep it
        pairs = [{"GroupId": network.group}]
        rule = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "UserIdGroupPairs": pairs}
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    assert aws_error(ec2.delete_security_group, GroupId=network.group) == IN_USE
    ec2.delete_security_group(GroupId=other)


def test_a_gateway_stays_attached_while_something_has_a_public_address(ec2: Any, network: Network) -> None:
    address = ec2.allocate_address(Domain="vpc")
    allocation = address["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=network.subnet, AllocationId=allocation)["NatGateway"]["NatGatewayId"]
    here = {"InternetGatewayId": network.gateway, "VpcId": network.vpc}
    code, status, message = aws_refusal(ec2.detach_internet_gateway, **here)
    assert (code, status) == IN_USE
    assert message.startswith(f"Network {network.vpc} has some mapped public address(es).")
    assert aws_error(ec2.delete_internet_gateway, InternetGatewayId=network.gateway) == IN_USE
    assert aws_error(ec2.release_address, AllocationId=allocation) == ("InvalidIPAddress.InUse", 400)
    assert aws_error(ec2.delete_subnet, SubnetId=network.subnet) == IN_USE
    ec2.delete_nat_gateway(NatGatewayId=nat)
    ec2.release_address(AllocationId=allocation)


def test_a_private_nat_gateway_needs_no_internet_gateway(ec2: Any, network: Network) -> None:
    made = ec2.create_nat_gateway(SubnetId=network.subnet, ConnectivityType="private")["NatGateway"]
    here = {"InternetGatewayId": network.gateway, "VpcId": network.vpc}
    ec2.detach_internet_gateway(**here)
    ec2.attach_internet_gateway(**here)
    ec2.delete_nat_gateway(NatGatewayId=made["NatGatewayId"])


def test_a_vpc_with_a_route_table_or_an_endpoint_stays(ec2: Any, aws: Account) -> None:
    before = aws.inventory()
    vpc = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    association = ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    endpoint = ec2.create_vpc_endpoint(VpcId=vpc, ServiceName="com.amazonaws.us-west-2.s3", RouteTableIds=[table])
    assert aws_error(ec2.delete_route_table, RouteTableId=table) == IN_USE
    ec2.disassociate_route_table(AssociationId=association)
    ec2.delete_subnet(SubnetId=subnet)
    assert aws_error(ec2.delete_vpc, VpcId=vpc) == IN_USE
    ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint["VpcEndpoint"]["VpcEndpointId"]])
    assert aws_error(ec2.delete_vpc, VpcId=vpc) == IN_USE
    ec2.delete_route_table(RouteTableId=table)
    ec2.delete_vpc(VpcId=vpc)
    assert aws.inventory() == before


def test_a_cidr_block_with_a_subnet_stays(ec2: Any, network: Network) -> None:
    made = ec2.associate_vpc_cidr_block(VpcId=network.vpc, CidrBlock="100.64.0.0/16")["CidrBlockAssociation"]
    subnet = ec2.create_subnet(VpcId=network.vpc, CidrBlock="100.64.1.0/24")["Subnet"]["SubnetId"]
    assert aws_refusal(ec2.disassociate_vpc_cidr_block, AssociationId=made["AssociationId"]) == (
        "InvalidCidrBlock.InUse",
        400,
        f"The vpc {network.vpc} currently has a subnet within CIDR block 100.64.0.0/16",
    )
    ec2.delete_subnet(SubnetId=subnet)
    ec2.disassociate_vpc_cidr_block(AssociationId=made["AssociationId"])


def test_a_placement_group_with_an_instance_stays(ec2: Any, network: Network) -> None:
    ec2.create_placement_group(GroupName="together", Strategy="cluster")
    data = {
        "ImageId": "ami-1",
        "InstanceType": "p4d.24xlarge",
        "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": network.subnet}],
        "Placement": {"GroupName": "together"},
    }
    ec2.create_launch_template(LaunchTemplateName="together", LaunchTemplateData=data)
    (made,) = ec2.run_instances(LaunchTemplate={"LaunchTemplateName": "together"}, MinCount=1, MaxCount=1)["Instances"]
    code = ("InvalidPlacementGroup.InUse", 400)
    assert aws_error(ec2.delete_placement_group, GroupName="together") == code
    ec2.delete_launch_template(LaunchTemplateName="together")  # which AWS allows while instances run
    ec2.terminate_instances(InstanceIds=[made["InstanceId"]])
    ec2.delete_placement_group(GroupName="together")


def test_a_cluster_with_node_groups_stays(aws: Account, network: Network) -> None:
    eks, ec2 = aws.client("eks"), aws.client("ec2")
    end = _cluster(aws, network)
    eks.create_nodegroup(
        clusterName="in-use",
        nodegroupName="nodes",
        nodeRole=ROLE,
        subnets=[network.subnet],
        amiType="AL2023_x86_64_STANDARD",
        scalingConfig={"minSize": 1, "maxSize": 1, "desiredSize": 1},
    )
    assert aws_refusal(eks.delete_cluster, name="in-use") == (
        "ResourceInUseException",
        409,
        "Cluster has nodegroups attached",
    )
    assert aws_error(ec2.delete_subnet, SubnetId=network.subnet) == IN_USE
    eks.delete_nodegroup(clusterName="in-use", nodegroupName="nodes")
    end()


def test_a_dry_run_of_a_deletion_says_only_that_it_is_allowed(ec2: Any, network: Network) -> None:
    interface = ec2.create_network_interface(SubnetId=network.subnet)["NetworkInterface"]["NetworkInterfaceId"]
    assert aws_error(ec2.delete_subnet, SubnetId=network.subnet, DryRun=True) == ("DryRunOperation", 412)
    ec2.delete_network_interface(NetworkInterfaceId=interface)


def test_a_role_with_policies_stays(aws: Account) -> None:
    """ministack itself refuses this; a destroy that works relies on it."""
    iam = aws.client("iam")
    iam.create_role(RoleName="in-use", AssumeRolePolicyDocument=TRUST)
    policy = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    iam.attach_role_policy(RoleName="in-use", PolicyArn=policy)
    iam.put_role_policy(RoleName="in-use", PolicyName="inline", PolicyDocument=DOCUMENT)
    assert aws_error(iam.delete_role, RoleName="in-use") == ("DeleteConflict", 409)
    iam.detach_role_policy(RoleName="in-use", PolicyArn=policy)
    assert aws_error(iam.delete_role, RoleName="in-use") == ("DeleteConflict", 409)
    iam.delete_role_policy(RoleName="in-use", PolicyName="inline")
    iam.delete_role(RoleName="in-use")
