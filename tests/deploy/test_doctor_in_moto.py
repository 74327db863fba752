"""The checks of ``eks-hardware doctor`` against moto, another implementation with its own calls and errors.

``tests/unit/doctor`` has the responses that moto does not support.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from eks_hardware.doctor import images, keys, kubernetes, network, offerings, principals
from eks_hardware.doctor.aws import Caller, connect
from eks_hardware.models import AssumeRole
from helpers.doctor import REGION, RefusedError, answering, look, no_aws_settings, of_moto
from helpers.findings import codes
from helpers.strategies import group, pools

ACCOUNT = "123456789012"


@pytest.fixture(autouse=True)
def _moto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    no_aws_settings(monkeypatch, tmp_path)
    with mock_aws():
        yield


def client(service: str) -> Any:
    return boto3.client(service, REGION, aws_access_key_id="test", aws_secret_access_key="test")


def test_own_image() -> None:
    def own(image_id: str) -> dict[str, Any]:
        return group("m6i.xlarge", name="own", ami={"image_id": image_id})

    there = client("ec2").register_image(Name="own", Architecture="x86_64")["ImageId"]
    found = {path: code for code, path in codes(look(images, of_moto(), own(there)).findings)}
    assert "node_groups[own].ami.image_id" not in found
    found = {path: code for code, path in codes(look(images, of_moto(), own("ami-0123456789abcdef0")).findings)}
    assert found["node_groups[own].ami.image_id"] == "IMAGE_MISSING"


def test_network() -> None:
    ec2 = client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    ids = {}
    for index, zone in enumerate(("usw2-az1", "usw2-az2")):
        made = ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.1.{index * 16}.0/20", AvailabilityZoneId=zone)
        ids[zone] = made["Subnet"]["SubnetId"]
    given: dict[str, Any] = {"network": {"existing": {"vpc_id": vpc_id, "private_subnets": ids}}}
    assert codes(look(network, of_moto(), **given).findings) == [("VPC_DNS", "network.existing.vpc_id")]
    ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsHostnames={"Value": True})
    assert codes(look(network, of_moto(), **given).findings) == []
    given["network"]["existing"]["private_subnets"] = {**ids, "usw2-az2": "subnet-0123456789abcdef0"}
    assert codes(look(network, of_moto(), **given).findings) == [
        ("SUBNET_MISSING", "network.existing.private_subnets.usw2-az2")
    ]
    missing: dict[str, Any] = {"network": {"existing": {"vpc_id": "vpc-0123456789abcdef0", "private_subnets": ids}}}
    found = {code for code, _ in codes(look(network, of_moto(), **missing).findings)}
    assert found == {"VPC_MISSING", "SUBNET_OTHER_VPC"}


def test_offerings() -> None:
    pool = {"name": "l4", "instance_families": ["g6"], "limits": {"nvidia.com/gpu": 4}}
    assert codes(look(offerings, of_moto(), group("g6e.xlarge"), **pools(pool)).findings) == []


def test_keys() -> None:
    def secrets(arn: str) -> dict[str, Any]:
        return {"cluster": {"creator_is_admin": True, "secrets_encryption": {"kms_key_arn": arn}}}

    path = "cluster.secrets_encryption.kms_key_arn"
    kms = client("kms")
    made = kms.create_key()["KeyMetadata"]
    arn, key_id = made["Arn"], made["KeyId"]
    assert codes(look(keys, of_moto(), **secrets(arn)).findings) == []
    kms.disable_key(KeyId=key_id)
    assert codes(look(keys, of_moto(), **secrets(arn)).findings) == [("KEY_NOT_ENABLED", path)]
    kms.schedule_key_deletion(KeyId=key_id, PendingWindowInDays=7)
    assert codes(look(keys, of_moto(), **secrets(arn)).findings) == [("KEY_NOT_ENABLED", path)]
    assert codes(look(keys, of_moto(), **secrets(arn.replace(key_id, "no-such-key"))).findings) == [
        ("KEY_MISSING", path)
    ]


def test_principals() -> None:
    def role(name: str) -> str:
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"

    iam = client("iam")
    iam.create_role(RoleName="platform", Path="/teams/", AssumeRolePolicyDocument="{}")
    iam.create_user(UserName="anna")
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:List*", "Resource": "*"}]}'
    boundary = iam.create_policy(PolicyName="boundary", PolicyDocument=policy)["Policy"]["Arn"]
    caller = Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/anna")
    entry = {"name": "anna", "principal_arn": f"arn:aws:iam::{ACCOUNT}:user/anna"}
    right = {
        "cluster": {"admins": [role("teams/platform")], "access_entries": [entry]},
        "aws": {"permissions_boundary_arn": boundary},
        "karpenter": {"node_policies": [boundary]},
    }
    assert codes(look(principals, of_moto(), caller=caller, **right).findings) == []
    wrong = {
        "cluster": {
            "admins": [role("platform"), role("gone")],
            "access_entries": [{**entry, "principal_arn": f"arn:aws:iam::{ACCOUNT}:user/bert"}],
        },
        "aws": {"permissions_boundary_arn": f"{boundary}-gone"},
        "karpenter": {"node_policies": [f"{boundary}-gone"]},
    }
    assert codes(look(principals, of_moto(), caller=caller, **wrong).findings) == [
        ("PRINCIPAL_MISSING", "cluster.admins[0]"),
        ("PRINCIPAL_MISSING", "cluster.admins[1]"),
        ("PRINCIPAL_MISSING", "cluster.access_entries[anna].principal_arn"),
        ("BOUNDARY_MISSING", "aws.permissions_boundary_arn"),
        ("POLICY_MISSING", "karpenter.node_policies[0]"),
    ]


@pytest.mark.parametrize(
    ("tags", "expected"), [({}, [("CLUSTER_EXISTS", "name")]), ({"eks-hardware/strategy": "demo"}, [])]
)
def test_cluster_of_the_name(tags: dict[str, str], expected: list[tuple[str, str]]) -> None:
    """Moto supports none of EKS's lists of versions."""
    eks = client("eks")
    vpc = {"subnetIds": ["subnet-0aaaaaaaa", "subnet-0bbbbbbbb"]}
    eks.create_cluster(name="demo", roleArn=f"arn:aws:iam::{ACCOUNT}:role/eks", resourcesVpcConfig=vpc, tags=tags)
    answer = {"eks:DescribeCluster": {"cluster": eks.describe_cluster(name="demo")["cluster"]}}
    outcome = look(kubernetes, answering(answer, otherwise=RefusedError("AccessDenied")))
    assert [each for each in codes(outcome.findings) if each[0] != "CHECK_DENIED"] == expected


def test_role_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All calls use the role that Terraform assumes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    role = AssumeRole(role_arn=f"arn:aws:iam::{ACCOUNT}:role/deployer", session_name="terraform", external_id="xyz")
    caller = connect("us-west-2", assume_role=role).caller()
    assert caller.arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/terraform"
    assert caller.role_name == "deployer"
