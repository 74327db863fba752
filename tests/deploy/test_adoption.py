"""Node pools on another team's cluster, created and destroyed in the emulator; the cluster remains."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.adoption import ResolvedAdoption
from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from helpers.adoption import adoption, synthesized_pools
from helpers.cases import in_one_test
from helpers.emulated_ec2 import aws_error
from helpers.strategies import gpu_pool, pool

REGION = "us-west-2"
NAME = "theirs"
ROLE = "their-karpenter-nodes"
POOLS = (
    pool("cpu", instance_families=["m7i"]),
    gpu_pool("h100", instance_types=["p5.48xlarge"], efa=True, limits={"nvidia.com/gpu": 16}),
)


class Theirs(NamedTuple):
    """A cluster that was created elsewhere."""

    vpc_id: str
    security_group_id: str
    adoption: ResolvedAdoption


@pytest.fixture(scope="module")
def theirs(account: Callable[[str], Account]) -> Iterator[Theirs]:
    ec2, eks = account(REGION).client("ec2"), account(REGION).client("eks")
    vpc_id = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    zones = [each for each in ec2.describe_availability_zones()["AvailabilityZones"] if each["State"] == "available"]
    subnets = {
        each["ZoneId"]: ec2.create_subnet(
            VpcId=vpc_id, CidrBlock=f"10.8.{number}.0/24", AvailabilityZone=each["ZoneName"]
        )["Subnet"]["SubnetId"]
        for number, each in enumerate(zones[:2])
    }
    eks.create_cluster(
        name=NAME,
        version="1.35",
        roleArn="arn:aws:iam::000000000000:role/their-cluster",
        resourcesVpcConfig={"subnetIds": list(subnets.values())},
        accessConfig={"authenticationMode": "API"},
    )
    found = eks.describe_cluster(name=NAME)["cluster"]["resourcesVpcConfig"]["clusterSecurityGroupId"]
    network = {"existing": {"vpc_id": vpc_id, "private_subnets": subnets}}
    yield Theirs(vpc_id, found, adoption(*POOLS, name=NAME, network=network))
    eks.delete_cluster(name=NAME)
    for subnet in subnets.values():
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc_id)


def discovered(ec2: Any) -> list[str]:
    """Return the resources that Karpenter would find by the cluster's tag."""
    tagged = [{"Name": "key", "Values": ["karpenter.sh/discovery"]}, {"Name": "value", "Values": [NAME]}]
    return [each["ResourceId"] for each in ec2.describe_tags(Filters=tagged)["Tags"]]


@pytest.fixture
def failing(emulator: Emulator) -> Iterator[None]:
    """Throttle and fail every seventh request of Terraform."""
    emulator.set_failures(7)
    yield
    emulator.set_failures(0)


@pytest.mark.usefixtures("failing")
def test_karpenter_comes_and_goes(
    deploy: Any, account: Callable[[str], Account], theirs: Theirs, tmp_path: Path
) -> None:
    """Apply and destroy converge, although AWS throttles requests and has internal errors."""
    here = account(REGION)
    ec2, eks = here.client("ec2"), here.client("eks")
    before, cluster = here.inventory(), eks.describe_cluster(name=NAME)["cluster"]
    with deploy.directly(synthesized_pools(tmp_path, theirs.adoption)) as project:
        assert project.plan().changes == {}
        assert discovered(ec2) == [theirs.security_group_id]
        (identity,) = eks.list_pod_identity_associations(clusterName=NAME)["associations"]
        assert (identity["namespace"], identity["serviceAccount"]) == ("kube-system", "karpenter")
        role = theirs.adoption.karpenter.node_role_name
        entries = eks.list_access_entries(clusterName=NAME)["accessEntries"]
        assert [each.rpartition(":role/")[2] for each in entries if ":role/" in each] == [role]
        named = [{"Name": "group-name", "Values": [str(theirs.adoption.efa_security_group_name)]}]
        (efa,) = ec2.describe_security_groups(Filters=named)["SecurityGroups"]
        assert efa["VpcId"] == theirs.vpc_id
        here.client("sqs").get_queue_url(QueueName=str(theirs.adoption.karpenter.queue_name))
    assert here.inventory() == before, "destroy left something behind"
    assert discovered(ec2) == []
    assert eks.describe_cluster(name=NAME)["cluster"] == cluster


def test_where_karpenter_is_only_what_pools_name_is_planned(deploy: Any, theirs: Theirs, tmp_path: Path) -> None:
    project = deploy.project(synthesized_pools(tmp_path, theirs.adoption, node_role_name=ROLE))
    project.init()
    changes = {address: action for address, action in project.plan().changes.items() if action != "read"}
    assert set(changes.values()) == {"create"}
    assert sorted(address.partition(".")[0] for address in changes) == [
        "aws_placement_group",
        "aws_security_group",
        "aws_vpc_security_group_egress_rule",
        "aws_vpc_security_group_ingress_rule",
    ]


@in_one_test("service", ["ec2", "iam", "eks"])
def test_only_terraform_s_requests_fail(emulator: Emulator, account: Callable[[str], Account], service: str) -> None:
    """The errors are those of each protocol."""
    ask, throttled, broken = {
        "ec2": ("describe_vpcs", "RequestLimitExceeded", "InternalError"),
        "iam": ("list_roles", "ThrottlingException", "InternalFailure"),
        "eks": ("list_clusters", "ThrottlingException", "InternalFailure"),
    }[service]
    own = importlib.import_module("boto3").client(
        service,
        region_name=REGION,
        endpoint_url=emulator.endpoint_url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=importlib.import_module("botocore.config").Config(
            user_agent="APN/1.0 HashiCorp/1.0 Terraform/1.11.4", retries={"total_max_attempts": 1}
        ),
    )
    emulator.set_failures(2)
    try:
        for code in (broken, throttled, broken):
            getattr(own, ask)()
            assert aws_error(getattr(own, ask))[0] == code
            getattr(account(REGION).client(service), ask)()
    finally:
        emulator.set_failures(0)
        own.close()
