"""The emulator starts instances, offers them and refuses as AWS does: what Karpenter and node groups rely on."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.catalogue.aws_prices import listed_prices, spot_prices
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.node_user_data import boot
from eks_hardware.local.readback import Account
from helpers.emulated_ec2 import REGION, aws_error, fleet, running_instances

AL2023 = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"
NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {config: {maxPods: 42}}}
--b--
"""


def test_a_dry_run_starts_nothing(ec2: Any, aws: Account) -> None:
    before = aws.inventory()
    data = {"LaunchTemplateName": "dry", "LaunchTemplateData": {"InstanceType": "m5.large"}}
    assert aws_error(ec2.create_launch_template, DryRun=True, **data) == ("DryRunOperation", 412)
    assert aws_error(ec2.run_instances, DryRun=True, MinCount=1, MaxCount=1) == ("DryRunOperation", 412)
    assert aws_error(ec2.create_fleet, DryRun=True, **fleet(template="dry")) == ("DryRunOperation", 412)
    assert aws.inventory() == before


def test_unknown_names_are_errors(ec2: Any) -> None:
    code = "InvalidLaunchTemplateName.NotFoundException"
    assert aws_error(ec2.describe_launch_templates, LaunchTemplateNames=["nosuch"]) == (code, 400)
    code = "InvalidLaunchTemplateId.NotFound"
    assert aws_error(ec2.describe_launch_templates, LaunchTemplateIds=["lt-0123456789abcdef0"]) == (code, 400)
    assert aws_error(ec2.describe_instance_types, InstanceTypes=["p99.large"]) == ("InvalidInstanceType", 400)


def test_overlapping_subnets_are_refused(ec2: Any) -> None:
    first, second = (ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"] for _ in range(2))
    ec2.create_subnet(VpcId=first, CidrBlock="10.1.0.0/24")
    for cidr in ("10.1.0.0/24", "10.1.0.128/25", "10.1.0.0/20"):
        assert aws_error(ec2.create_subnet, VpcId=first, CidrBlock=cidr) == ("InvalidSubnet.Conflict", 400)
    ec2.create_subnet(VpcId=second, CidrBlock="10.1.0.0/24")
    code = aws_error(ec2.create_subnet, VpcId="vpc-0123456789abcdef0", CidrBlock="10.1.1.0/24")
    assert code == ("InvalidVpcID.NotFound", 400)


def test_unknown_security_groups_are_refused(ec2: Any, aws: Account, subnets: dict[str, str]) -> None:
    before, subnet = aws.inventory(), next(iter(subnets.values()))
    vpc = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["VpcId"]
    group = ec2.create_security_group(GroupName="known", Description="known", VpcId=vpc)["GroupId"]
    unknown, error = "sg-0123456789abcdef0", ("InvalidGroup.NotFound", 400)
    start = {"ImageId": "ami-1", "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
    endpoint = {"VpcId": vpc, "ServiceName": "com.amazonaws.us-west-2.sts", "VpcEndpointType": "Interface"}
    rule = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "UserIdGroupPairs": [{"GroupId": unknown}]}
    interface = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [group, unknown]}
    assert aws_error(ec2.create_network_interface, SubnetId=subnet, Groups=[group, unknown]) == error
    assert aws_error(ec2.run_instances, **start, SubnetId=subnet, SecurityGroupIds=[unknown]) == error
    assert aws_error(ec2.run_instances, **start, NetworkInterfaces=[interface]) == error
    assert aws_error(ec2.create_vpc_endpoint, **endpoint, SubnetIds=[subnet], SecurityGroupIds=[unknown]) == error
    for authorize in (ec2.authorize_security_group_ingress, ec2.authorize_security_group_egress):
        assert aws_error(authorize, GroupId=group, IpPermissions=[rule]) == error
    ec2.delete_security_group(GroupId=group)
    assert aws.inventory() == before


def test_a_nat_gateway_has_its_address(ec2: Any, subnets: dict[str, str]) -> None:
    """Otherwise Terraform replaces one that it imported."""
    address = ec2.allocate_address(Domain="vpc")
    made = ec2.create_nat_gateway(SubnetId=next(iter(subnets.values())), AllocationId=address["AllocationId"])
    identity = made["NatGateway"]["NatGatewayId"]
    (found,) = ec2.describe_nat_gateways(NatGatewayIds=[identity])["NatGateways"]
    (shown,) = found["NatGatewayAddresses"]
    assert shown == {
        "AllocationId": address["AllocationId"],
        "PublicIp": address["PublicIp"],
        "IsPrimary": True,
        "Status": "succeeded",
    }
    ec2.delete_nat_gateway(NatGatewayId=identity)
    ec2.release_address(AllocationId=address["AllocationId"])


def test_a_fleet_takes_the_first_priority_and_says_what_it_took(ec2: Any, subnets: dict[str, str]) -> None:
    data = {
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 200, "VolumeType": "gp3", "Throughput": 500}}
        ],
        "NetworkInterfaces": [
            {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "interface"},
            {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only"},
        ],
        "TagSpecifications": [{"ResourceType": "volume", "Tags": [{"Key": "of", "Value": "volume"}]}],
        "UserData": base64.b64encode(NODE_CONFIG.encode()).decode(),
    }
    ec2.create_launch_template(LaunchTemplateName="first", LaunchTemplateData=data)
    (zone, subnet), (_, other) = sorted(subnets.items())
    overrides = (
        {"InstanceType": "p4d.24xlarge", "SubnetId": other, "Priority": 21.9},
        {"InstanceType": "g5.xlarge", "SubnetId": subnet, "Priority": 1.0, "ImageId": "ami-0123456789abcdef0"},
    )
    answer = ec2.create_fleet(**fleet(*overrides, template="first", count=2, capacity="spot"))
    (launched,) = answer["Instances"]
    taken = launched["LaunchTemplateAndOverrides"]["Overrides"]
    assert (taken["InstanceType"], taken["SubnetId"], taken["AvailabilityZone"]) == ("g5.xlarge", subnet, zone)
    assert (launched["Lifecycle"], len(launched["InstanceIds"]), answer["Errors"]) == ("spot", 2, [])

    first, second = running_instances(ec2, of="first")
    assert first["PrivateIpAddress"] != second["PrivateIpAddress"]
    address = first["PrivateIpAddress"].replace(".", "-")
    assert first["PrivateDnsName"] == f"ip-{address}.us-west-2.compute.internal"
    assert first["Placement"]["AvailabilityZone"] == zone
    assert first["ImageId"] == "ami-0123456789abcdef0"
    assert [each["InterfaceType"] for each in first["NetworkInterfaces"]] == ["interface", "efa-only"]
    told = ec2.describe_instance_attribute(InstanceId=first["InstanceId"], Attribute="userData")["UserData"]["Value"]
    assert base64.b64decode(told).decode() == NODE_CONFIG
    (volume,) = ec2.describe_volumes(VolumeIds=[first["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]])["Volumes"]
    assert (volume["Size"], volume["Throughput"]) == (200, 500)
    assert volume["Tags"] == [{"Key": "of", "Value": "volume"}]

    ec2.terminate_instances(InstanceIds=launched["InstanceIds"])
    assert running_instances(ec2, of="first") == []
    assert ec2.describe_volumes(Filters=[{"Name": "tag:of", "Values": ["volume"]}])["Volumes"] == []


def test_no_capacity(emulator: Emulator, ec2: Any, subnets: dict[str, str]) -> None:
    ec2.create_launch_template(LaunchTemplateName="none", LaunchTemplateData={})
    (zone, subnet), (_, other) = sorted(subnets.items())
    overrides = [{"InstanceType": "p5.48xlarge", "SubnetId": each} for each in (subnet, other)]
    emulator.set_no_capacity({"type": "p5.48xlarge", "zone": zone})
    try:
        answer = ec2.create_fleet(**fleet(*overrides, template="none"))
        (error,) = answer["Errors"]
        assert error["ErrorCode"] == "InsufficientInstanceCapacity"
        assert error["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"] == zone
        (launched,) = answer["Instances"]
        assert launched["LaunchTemplateAndOverrides"]["Overrides"]["SubnetId"] == other
        emulator.set_no_capacity({"type": "p5.48xlarge"})
        answer = ec2.create_fleet(**fleet(*overrides, template="none"))
        assert (len(answer["Errors"]), answer["Instances"]) == (2, [])
    finally:
        emulator.set_no_capacity()


def test_instance_types_are_those_that_aws_recorded(aws: Account) -> None:
    known = {each["InstanceType"]: each for each in aws.items("ec2", "describe_instance_types", "InstanceTypes")}
    assert known["p4d.24xlarge"]["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] == 4
    # The catalogue has corrections and additions; sizes of all types that both have are the same.
    both = [kind for kind in load().select() if kind.name in known]
    assert len(both) > 900
    assert [kind.name for kind in both if kind.vcpus != known[kind.name]["VCpuInfo"]["DefaultVCpus"]] == []
    arm = [{"Name": "processor-info.supported-architecture", "Values": ["arm64"]}]
    found = aws.items("ec2", "describe_instance_types", "InstanceTypes", Filters=arm)
    assert {each["ProcessorInfo"]["SupportedArchitectures"][0] for each in found} == {"arm64"}


def test_offerings_agree_with_the_catalogue_by_zone_id(aws: Account) -> None:
    found = aws.items(
        "ec2",
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": ["trn1.32xlarge", "p4d.24xlarge"]}],
    )
    offered = {(each["InstanceType"], each["Location"]) for each in found}
    for name in ("trn1.32xlarge", "p4d.24xlarge"):
        assert {zone for kind, zone in offered if kind == name} == set(load().offered(name, REGION))


@pytest.mark.parametrize(
    ("parameter", "name", "architecture"),
    [
        (f"{AL2023}/x86_64/nvidia/recommended", "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260903", "x86_64"),
        (
            f"{AL2023}/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260625",
            "amazon-eks-node-al2023-arm64-standard-1.35-v20260625",
            "arm64",
        ),
        (
            "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.67.0",
            "bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.67.0",
            "x86_64",
        ),
    ],
)
def test_images_of_eks(aws: Account, parameter: str, name: str, architecture: str) -> None:
    image = aws.client("ssm").get_parameter(Name=f"{parameter}/image_id")["Parameter"]["Value"]
    (found,) = aws.client("ec2").describe_images(Filters=[{"Name": "image-id", "Values": [image]}])["Images"]
    assert (found["Name"], found["Architecture"], found["State"]) == (name, architecture, "available")


def parameters_of_images() -> dict[str, str]:
    """Return the architecture for the parameter of each AMI type and release that an alias of Karpenter can name."""
    known, released = facts.account()["image_parameters"], facts.karpenter()["ami_aliases"]["releases"]
    found = {}
    for ami_type, variant in known["variants"].items():
        is_bottlerocket = ami_type.startswith("BOTTLEROCKET")
        family = "bottlerocket" if is_bottlerocket else "al2023"
        row, architecture = known["by_family"][family], "arm64" if "_ARM_64" in ami_type else "x86_64"
        values = {"kubernetes": "1.35", "architecture": architecture, "variant": variant}
        # Bottlerocket's parameters have no v.
        versions = [each["version"].removeprefix("v" if is_bottlerocket else "") for each in released[family]]
        releases = [row["newest"], *(row["release"].format(**values, version=each) for each in versions)]
        found.update({row["path"].format(**values, release=each): architecture for each in releases})
    return found


def test_every_release_has_an_image_of_each_variant(aws: Account) -> None:
    ssm, wanted = aws.client("ssm"), parameters_of_images()
    assert len(wanted) > 50
    ids = {ssm.get_parameter(Name=name)["Parameter"]["Value"]: wanted[name] for name in wanted}
    found = aws.client("ec2").describe_images(ImageIds=list(ids))["Images"]
    assert {each["ImageId"]: each["Architecture"] for each in found} == ids


def test_an_unknown_release_has_no_image(aws: Account) -> None:
    name = f"{AL2023}/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v19990101/image_id"
    assert aws_error(aws.client("ssm").get_parameter, Name=name) == ("ParameterNotFound", 400)


def test_prices(aws: Account) -> None:
    spot = aws.client("ec2").describe_spot_price_history(InstanceTypes=["p4d.24xlarge"])["SpotPriceHistory"]
    products = aws.client("pricing").get_products(
        ServiceCode="AmazonEC2",
        Filters=[
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": REGION},
            {"Type": "TERM_MATCH", "Field": "instanceType", "Value": "p4d.24xlarge"},
        ],
    )["PriceList"]
    (product,) = (yaml.safe_load(each) for each in products)
    (term,) = product["terms"]["OnDemand"].values()
    (dimension,) = term["priceDimensions"].values()
    on_demand = float(dimension["pricePerUnit"]["USD"])
    assert all(0 < float(each["SpotPrice"]) < on_demand for each in spot)
    assert {each["AvailabilityZone"][:-1] for each in spot} == {REGION}


def test_the_catalogue_asks_for_prices(aws: Account) -> None:
    """``instances refresh --from aws`` reads On-Demand prices and the Spot history."""

    class Session:
        def client(self, service: str, region_name: str) -> Any:
            assert region_name in (REGION, "us-east-1")
            return aws.client(service)

    (on_demand, _), spot = listed_prices(Session(), REGION), spot_prices(Session(), REGION)
    price = load().price("p4d.24xlarge", REGION)
    assert price is not None
    assert on_demand["p4d.24xlarge"] == pytest.approx(price.usd_per_hour)
    assert spot["p4d.24xlarge"] == sorted(spot["p4d.24xlarge"])
    assert 0 < spot["p4d.24xlarge"][-1] < price.usd_per_hour


def test_node_group_instances_have_the_merged_user_data(
    emulator: Emulator, aws: Account, subnets: dict[str, str], tmp_path: Path
) -> None:
    ec2, eks = aws.client("ec2"), aws.client("eks")
    authority = tmp_path / "authority.pem"
    authority.write_bytes(b"a certificate")
    emulator.set_api_server("https://127.0.0.1:6443", authority)
    role = "arn:aws:iam::000000000000:role/node"
    cluster = eks.create_cluster(name="c", roleArn=role, resourcesVpcConfig={"subnetIds": list(subnets.values())})
    network = cluster["cluster"]["resourcesVpcConfig"]
    (group,) = ec2.describe_security_groups(GroupIds=[network["clusterSecurityGroupId"]])["SecurityGroups"]
    assert (
        group["VpcId"]
        == network["vpcId"]
        == ec2.describe_subnets(SubnetIds=list(subnets.values()))["Subnets"][0]["VpcId"]
    )
    assert {"Key": "aws:eks:cluster-name", "Value": "c"} in group["Tags"]

    data = {"UserData": base64.b64encode(NODE_CONFIG.encode()).decode(), "InstanceType": "p4d.24xlarge"}
    ec2.create_launch_template(LaunchTemplateName="of-group", LaunchTemplateData=data)
    eks.create_nodegroup(
        clusterName="c",
        nodegroupName="n",
        nodeRole=role,
        subnets=list(subnets.values()),
        amiType="AL2023_x86_64_NVIDIA",
        launchTemplate={"name": "of-group", "version": "1"},
        scalingConfig={"minSize": 0, "maxSize": 3, "desiredSize": 1},
        labels={"team": "research"},
        taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    )
    (instance,) = running_instances(ec2, **{"eks_nodegroup-name": "n"})
    told = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")["UserData"]["Value"]
    booted = boot(base64.b64decode(told), bottlerocket=False)
    assert (booted.cluster, booted.endpoint) == ("c", "https://127.0.0.1:6443")
    assert booted.max_pods == 42
    assert booted.labels["team"] == "research"
    assert booted.labels["eks.amazonaws.com/nodegroup"] == "n"
    assert [(each["key"], each["effect"]) for each in booted.taints] == [("nvidia.com/gpu", "NoSchedule")]

    # An instance is described only when it is complete.
    with ThreadPoolExecutor(1) as pool:
        scaled = pool.submit(
            eks.update_nodegroup_config, clusterName="c", nodegroupName="n", scalingConfig={"desiredSize": 30}
        )
        names: set[str] = set()
        while not scaled.done():
            names |= {each["PrivateDnsName"].partition(".")[2] for each in running_instances(ec2)}
        scaled.result()
    assert names <= {f"{REGION}.compute.internal"}
    assert len({each["PrivateIpAddress"] for each in running_instances(ec2, **{"eks_nodegroup-name": "n"})}) == 30
    eks.update_nodegroup_config(clusterName="c", nodegroupName="n", scalingConfig={"desiredSize": 0})
    assert running_instances(ec2, **{"eks_nodegroup-name": "n"}) == []
    eks.delete_nodegroup(clusterName="c", nodegroupName="n")
    eks.delete_cluster(name="c")
    code = aws_error(ec2.describe_security_groups, GroupIds=[network["clusterSecurityGroupId"]])
    assert code == ("InvalidGroup.NotFound", 400)
