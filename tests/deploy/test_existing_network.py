"""A cluster in another team's VPC, with its own subnets for pods and a Capacity Block, not only in the first zones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware.local.readback import Account
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from helpers.strategies import group
from helpers.synthesized import synthesize

REGION = "us-west-2"
NAME = "their-network"
ZONES = ("usw2-az3", "usw2-az4")
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "usw2-az4"}


class Vpc(NamedTuple):
    """A VPC that was created elsewhere."""

    vpc_id: str
    nodes: dict[str, str]  # subnets by zone ID
    pods: dict[str, str]


@pytest.fixture(scope="module")
def vpc(account: Callable[[str], Account]) -> Iterator[Vpc]:
    ec2 = account(REGION).client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    for attribute in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=vpc_id, **{attribute: {"Value": True}})
    ec2.associate_vpc_cidr_block(VpcId=vpc_id, CidrBlock="100.64.0.0/16")
    found = Vpc(vpc_id, {}, {})
    for subnets, start in ((found.nodes, "10.9"), (found.pods, "100.64")):
        for number, zone in enumerate(ZONES):
            cidr = f"{start}.{16 * number}.0/20"
            made = ec2.create_subnet(VpcId=vpc_id, CidrBlock=cidr, AvailabilityZoneId=zone)
            subnets[zone] = made["Subnet"]["SubnetId"]
    yield found
    for subnet in (*found.nodes.values(), *found.pods.values()):
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc_id)


def test_pods_get_addresses_from_their_subnets_in_every_zone(
    deploy: Any, account: Callable[[str], Account], vpc: Vpc, tmp_path: Path
) -> None:
    """The second plan is empty: subnets and nodes are in the zones that the strategy names."""
    here = account(REGION)
    ec2, eks, before = here.client("ec2"), here.client("eks"), here.inventory()
    strategy = Strategy.model_validate(
        {
            "version": 1,
            "name": NAME,
            "region": REGION,
            "cluster": {"creator_is_admin": True},
            "network": {
                "existing": {"vpc_id": vpc.vpc_id, "private_subnets": vpc.nodes, "pod_subnets": vpc.pods},
            },
            "node_groups": [
                group("m7i.xlarge", "system", scaling={"min": 2, "max": 3}),
                group("p5.48xlarge", "h100", efa=True, capacity="capacity-block", reservation=BLOCK),
            ],
            "kubernetes": {"delivery": "manifests"},
        }
    )
    (stack,) = synthesize(tmp_path, [resolve(strategy)])
    with deploy.directly(stack.file.parent) as project:
        assert project.plan().changes == {}
        addon = eks.describe_addon(clusterName=NAME, addonName="vpc-cni")["addon"]
        configured = json.loads(addon["configurationValues"])
        of_nodes = {
            name: eks.describe_nodegroup(clusterName=NAME, nodegroupName=name)["nodegroup"]["subnets"]
            for name in ("system", "h100")
        }
        (shown,) = here.clusters(before)
        zone_names = {
            each["ZoneId"]: each["ZoneName"] for each in ec2.describe_availability_zones()["AvailabilityZones"]
        }
    assert configured["env"]["AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"] == "true"
    assert {zone: each["id"] for zone, each in configured["eniConfig"]["subnets"].items()} == {
        zone_names[zone]: subnet for zone, subnet in vpc.pods.items()
    }
    assert set(of_nodes["system"]) == set(vpc.nodes.values())
    assert of_nodes["h100"] == [vpc.nodes["usw2-az4"]]
    # Only its launch template names the type of a Capacity Block.
    assert {each.name: each.instance_types for each in shown.node_groups}["h100"] == ("p5.48xlarge",)
    assert here.inventory() == before, "destroy left something behind"
