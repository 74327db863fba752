"""``eks-hardware doctor`` as a user runs it, against the emulator: a correct account, and one with problems.

The emulator has no Service Quotas, instance offerings or lists of versions. The command says so and continues. It does
not have EKS's images either.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_hardware.local.emulator import Emulator
from eks_hardware.local.readback import Account
from helpers.strategies import document, group, pools

REGION = "us-west-2"
# Services that the emulator does not support.
NOT_THERE = {
    "eks:DescribeAddonVersions",
    "eks:DescribeClusterVersions",
    "servicequotas:GetServiceQuota",
}


@dataclass(frozen=True)
class Made:
    """Contents of the account: keys of a user with full access, and of one with read access."""

    account_id: str
    vpc_id: str
    subnets: Mapping[str, str]
    key_arn: str
    role_arn: str
    image_id: str
    administrator: Mapping[str, str]
    reader: Mapping[str, str]


@pytest.fixture(scope="module")
def made(account: Callable[[str], Account]) -> Made:
    def client(service: str) -> Any:
        return account(REGION).client(service)

    ec2, iam, kms = client("ec2"), client("iam"), client("kms")
    vpc_id = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsHostnames={"Value": True})
    ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsSupport={"Value": True})
    zones = {each["ZoneId"]: each["ZoneName"] for each in ec2.describe_availability_zones()["AvailabilityZones"]}
    subnets = {
        zone: ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.9.{index * 32}.0/19", AvailabilityZone=zones[zone])[
            "Subnet"
        ]["SubnetId"]
        for index, zone in enumerate(("usw2-az1", "usw2-az2"))
    }
    images = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"]
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    roles = ["doctor-platform", *(f"AWSServiceRoleFor{each}" for each in ("AmazonEKS", "AmazonEKSNodegroup"))]
    roles += ["AWSServiceRoleForAutoScaling", "AWSServiceRoleForEC2Spot"]
    there = [iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"] for name in roles]
    everything = _user(iam, "doctor-administrator", ["*"])
    reading = _user(iam, "doctor-reader", ["sts:*", "iam:Get*", "iam:Simulate*", "ec2:Describe*"])
    return Made(
        account_id=there[0].split(":")[4],
        vpc_id=vpc_id,
        subnets=subnets,
        key_arn=kms.create_key()["KeyMetadata"]["Arn"],
        role_arn=there[0],
        image_id=images[0]["ImageId"],
        administrator=everything,
        reader=reading,
    )


def _user(iam: Any, name: str, actions: list[str]) -> dict[str, str]:
    iam.create_user(UserName=name)
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName=name, PolicyName="all", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def _strategy(made: Made, folder: Path, **fields: Any) -> Path:
    right = {
        "aws": {"account_id": made.account_id},
        "cluster": {
            "admins": [made.role_arn],
            "secrets_encryption": {"kms_key_arn": made.key_arn},
        },
        "network": {"existing": {"vpc_id": made.vpc_id, "private_subnets": dict(made.subnets)}},
        "node_groups": [group(name="system", ami={"image_id": made.image_id}, scaling={"min": 2, "max": 4})],
        **pools(
            {
                "name": "l4",
                "instance_types": ["g6.xlarge"],
                "capacity": ["spot", "on-demand"],
                "limits": {"nvidia.com/gpu": 4},
                "ami": {"image_id": made.image_id},
            }
        ),
    }
    file = folder / "demo.yaml"
    file.write_text(yaml.safe_dump(document(**{**right, **fields})), encoding="utf-8")
    return file


def _doctor(emulator: Emulator, file: Path, keys: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from eks_hardware.cli import main; main()", "doctor", file.name, *options],
        cwd=file.parent,
        env={**emulator.environment(), "COLUMNS": "80", **keys},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _contents(account: Account) -> list[Any]:
    """Return everything that the emulator can list."""
    ec2, iam, kms = (account.client(each) for each in ("ec2", "iam", "kms"))
    return [
        ec2.describe_vpcs()["Vpcs"],
        ec2.describe_subnets()["Subnets"],
        ec2.describe_security_groups()["SecurityGroups"],
        iam.list_roles()["Roles"],
        iam.list_policies(Scope="Local")["Policies"],
        kms.list_keys()["Keys"],
        account.client("eks").list_clusters()["clusters"],
    ]


def test_account_that_is_right(
    made: Made, emulator: Emulator, tmp_path: Path, account: Callable[[str], Account]
) -> None:
    """Every check runs, and nothing is changed."""
    before = _contents(account(REGION))
    done = _doctor(emulator, _strategy(made, tmp_path), made.administrator, "--format", "json")
    assert done.stderr == ""
    assert _contents(account(REGION)) == before
    report = json.loads(done.stdout)
    failed = [each["message"] for each in report["findings"] if each["code"] == "CHECK_FAILED"]
    assert {next(call for call in NOT_THERE if call in message) for message in failed} == NOT_THERE
    # Every subnet of the emulator has 251 free addresses.
    assert {each["code"] for each in report["findings"]} - {"SUBNET_SMALL"} == {"CHECK_FAILED"}
    assert (done.returncode, report["account"]) == (0, made.account_id)
    assert report["caller"].endswith(":user/doctor-administrator")
    asked = {check["name"]: check["probes"] for check in report["checks"]}
    assert all(asked[name] for name in asked if name != "reservations")


def test_account_that_is_wrong(made: Made, emulator: Emulator, tmp_path: Path) -> None:
    gone = made.key_arn[:-12] + "0" * 12
    subnets = {"usw2-az1": made.subnets["usw2-az2"], "usw2-az2": "subnet-0123456789abcdef0"}
    block = {"id": "cr-0123456789abcdef0", "zone": "usw2-az1"}
    file = _strategy(
        made,
        tmp_path,
        cluster={"admins": [f"{made.role_arn}-gone"], "secrets_encryption": {"kms_key_arn": gone}},
        network={"existing": {"vpc_id": made.vpc_id, "private_subnets": subnets}},
        node_groups=[
            group(name="system", scaling={"min": 2, "max": 4}),
            group("p5.48xlarge", name="h100", capacity="capacity-block", reservation=block),
        ],
        **pools(
            {
                "name": "l4",
                "instance_types": ["g6.xlarge"],
                "limits": {"nvidia.com/gpu": 4},
                "ami": {"version": "v20260901"},
            }
        ),
    )
    done = _doctor(emulator, file, made.reader)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    # Only unbreakable parts are longer: an ARN, an option with its value.
    assert [line for line in lines if len(line) > 80 and len(shlex.split(line.rstrip(" \\"))) > 2] == []
    assert lines[0] == f"demo: account {made.account_id}, {REGION}"
    for code, path in {
        "PRINCIPAL_MISSING": "cluster.admins[0]",
        "KEY_MISSING": "cluster.secrets_encryption.kms_key_arn",
        "SUBNET_OTHER_ZONE": "network.existing.private_subnets.usw2-az1",
        "SUBNET_MISSING": "network.existing.private_subnets.usw2-az2",
        "RESERVATION_NOT_FOUND": "node_groups[h100].reservation.id",
        "IMAGE_RELEASE_MISSING": "karpenter.node_pools[l4].ami.version",
        "PERMISSION_MISSING": "",
    }.items():
        first = next(index for index, line in enumerate(lines) if line.endswith(f"error {code}"))
        assert lines[first].startswith("demo.yaml:")
        assert lines[first + 1].startswith(f"  {path}")
        command = [line for line in lines[first : lines.index("", first)] if line.startswith("    ")]
        assert shlex.split("\n".join(command).replace("\\\n", " "))[0] == "aws"


def test_another_account(made: Made, emulator: Emulator, tmp_path: Path) -> None:
    file = _strategy(made, tmp_path, aws={"account_id": "999999999999"})
    done = _doctor(emulator, file, made.administrator, "--format", "json")
    assert done.returncode == 1
    assert [each["code"] for each in json.loads(done.stdout)["findings"]] == ["ACCOUNT_OTHER"]
