"""EFS and the permissions of its driver and of Mountpoint, made and destroyed in the emulator.

The emulator has no FSx, so that the real provider only plans that part.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.local.readback import Account
from helpers.paths import ROOT

REGION = "us-west-2"
NAME = "shared"
STRATEGY = f"""
version: 1
name: {NAME}
region: {REGION}
cluster: {{creator_is_admin: true}}
network: {{zones: 2, nat_gateways: single}}
node_groups:
  - {{name: system, instance_types: [m7i.xlarge], scaling: {{min: 2, max: 3}}}}
kubernetes: {{delivery: manifests}}
storage: """
SHARED = "{efs: {}, s3_buckets: [{name: acme-datasets}, {name: acme-checkpoints, read_only: false}]}"


def _synthesize(folder: Path, storage: str) -> Path:
    file = folder / f"{NAME}.yaml"
    file.write_text(STRATEGY + storage, encoding="utf-8")
    outdir = folder / "out"
    environment = {
        **os.environ,
        "CDKTF_OUTDIR": str(outdir),
        "EKS_HARDWARE_STRATEGIES": str(file),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    subprocess.run([sys.executable, "main.py"], cwd=ROOT, env=environment, check=True)
    return outdir / "stacks" / NAME


def test_storage_is_made_and_destroyed(deploy: Any, account: Callable[[str], Account], tmp_path: Path) -> None:
    here = account(REGION)
    before = here.inventory()
    with deploy.directly(_synthesize(tmp_path, SHARED)) as project:
        assert project.plan().changes == {}
        _file_system(here)
        _permissions(here)
    assert here.inventory() == before, "destroy left something behind"
    assert here.client("efs").describe_file_systems()["FileSystems"] == []


@pytest.mark.parametrize("deployment", ["persistent-2", "scratch-2"])
def test_the_provider_plans_lustre(deploy: Any, tmp_path: Path, deployment: str) -> None:
    project = deploy.project(_synthesize(tmp_path, f"{{fsx_lustre: {{deployment: {deployment}, size_gib: 2400}}}}"))
    project.init()
    assert project.validate()["diagnostics"] == []
    plan = project.plan()
    [lustre] = [
        each["change"]["after"]
        for each in plan.document["resource_changes"]
        if each["type"] == "aws_fsx_lustre_file_system"
    ]
    assert lustre["deployment_type"] == deployment.upper().replace("-", "_")
    assert (lustre["storage_capacity"], lustre["file_system_type_version"]) == (2400, "2.15")
    assert (lustre["per_unit_storage_throughput"], lustre["skip_final_backup"]) == (
        (250, False) if deployment == "persistent-2" else (None, True)
    )


def _file_system(here: Account) -> None:
    efs, ec2 = here.client("efs"), here.client("ec2")
    [file_system] = efs.describe_file_systems(CreationToken=f"{NAME}-efs")["FileSystems"]
    assert (file_system["Encrypted"], file_system["ThroughputMode"]) == (True, "elastic")
    targets = efs.describe_mount_targets(FileSystemId=file_system["FileSystemId"])["MountTargets"]
    subnets = ec2.describe_subnets(SubnetIds=[each["SubnetId"] for each in targets])["Subnets"]
    names = {tag["Value"] for subnet in subnets for tag in subnet["Tags"] if tag["Key"] == "Name"}
    assert names == {f"{NAME}-private-usw2-az1", f"{NAME}-private-usw2-az2"}


def _permissions(here: Account) -> None:
    eks, iam = here.client("eks"), here.client("iam")
    associations = {
        each["serviceAccount"]: eks.describe_pod_identity_association(
            clusterName=NAME, associationId=each["associationId"]
        )["association"]["roleArn"]
        for each in eks.list_pod_identity_associations(clusterName=NAME)["associations"]
    }
    roles = {account: arn.rpartition("/")[2] for account, arn in associations.items()}
    attached = iam.list_attached_role_policies(RoleName=roles["efs-csi-controller-sa"])["AttachedPolicies"]
    assert [each["PolicyArn"].rpartition("/")[2] for each in attached] == ["AmazonEFSCSIDriverPolicy"]
    mountpoint = roles["s3-csi-driver-sa"]
    assert iam.list_attached_role_policies(RoleName=mountpoint)["AttachedPolicies"] == []
    document = iam.get_role_policy(RoleName=mountpoint, PolicyName="storage")["PolicyDocument"]
    allowed = {each["Sid"]: each["Resource"] for each in document["Statement"]}
    assert allowed == {
        "ListBuckets": ["arn:aws:s3:::acme-datasets", "arn:aws:s3:::acme-checkpoints"],
        "ReadObjects": ["arn:aws:s3:::acme-datasets/*", "arn:aws:s3:::acme-checkpoints/*"],
        "WriteObjects": "arn:aws:s3:::acme-checkpoints/*",
    }
