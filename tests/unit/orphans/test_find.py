"""Resources that exist in the account and not in the state, with the commands that import or delete them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eks_hardware.orphans import Report, find
from helpers.doctor import ACCOUNT, REGION, RefusedError, answering, check_command

STRATEGY = "demo"
TAG = {"Key": "eks-hardware/strategy", "Value": STRATEGY}
SUBNET, TABLE = "subnet-1", "rtb-1"
LONG_SUBNET = "subnet-00000002"
"""EFS has a shortest length."""


def stack_of(**resources: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"resource": resources}


def state(**resources: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state with one resource ``it`` of each type, with these attributes."""
    return {
        "resources": [
            {"mode": "managed", "type": kind, "name": "it", "instances": [{"attributes": attributes}]}
            for kind, attributes in resources.items()
        ]
    }


def searched(stack: Mapping[str, Any], known: Mapping[str, Any], answers: Mapping[str, Any], **options: Any) -> Report:
    return find(
        stack,
        known,
        answering(answers),
        strategy=STRATEGY,
        region=REGION,
        folder=Path("cdktf.out/stacks/demo"),
        **options,
    )


def templates(*names: str, tags: tuple[Mapping[str, str], ...] = (TAG,)) -> Mapping[str, Any]:
    found = [{"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": name, "Tags": list(tags)} for name in names]
    return {"ec2:DescribeLaunchTemplates": {"LaunchTemplates": found}}


def test_a_resource_of_the_stack_is_imported() -> None:
    found = searched(stack_of(aws_launch_template={"it": {"name": "demo/gpu"}}), {}, templates("demo/gpu"))
    (orphan,) = found.orphans
    assert (found.account, found.region, found.not_checked) == (ACCOUNT, REGION, ())
    assert (orphan.kind, orphan.id, orphan.address) == (
        "aws_launch_template",
        "lt-demo/gpu",
        "aws_launch_template.it",
    )
    assert orphan.commands == ("terraform -chdir=cdktf.out/stacks/demo import aws_launch_template.it lt-demo/gpu",)


def test_a_resource_in_the_state_is_not_an_orphan() -> None:
    stack = stack_of(aws_launch_template={"it": {"name": "demo/gpu"}})
    known = state(aws_launch_template={"id": "lt-demo/gpu"})
    assert searched(stack, known, templates("demo/gpu")).orphans == ()


def test_a_second_one_is_deleted() -> None:
    stack = stack_of(aws_launch_template={"it": {"name": "demo/gpu"}})
    known = state(aws_launch_template={"id": "lt-demo/gpu"})
    (orphan,) = searched(stack, known, templates("demo/gpu", "demo/old"), profile="my profile").orphans
    assert orphan.address == ""
    (command,) = orphan.commands
    check_command(command)
    assert command == (
        "aws ec2 delete-launch-template --launch-template-id lt-demo/old --region us-west-2 --profile 'my profile'"
    )


def test_one_in_place_of_a_resource_that_is_gone_takes_its_address() -> None:
    """A state from before a replacement has the old id. AWS would not delete a route table that is in use."""
    stack = stack_of(aws_route_table={"it": {"tags": {"Name": "demo-private"}}})
    tables = [{"RouteTableId": "rtb-new", "Tags": [TAG, {"Key": "Name", "Value": "demo-private"}]}]
    answers = {"ec2:DescribeRouteTables": {"RouteTables": tables}}
    (orphan,) = searched(stack, state(aws_route_table={"id": "rtb-gone"}), answers).orphans
    assert orphan.commands == (
        "terraform -chdir=cdktf.out/stacks/demo state rm aws_route_table.it",
        "terraform -chdir=cdktf.out/stacks/demo import aws_route_table.it rtb-new",
    )
    tables.append({"RouteTableId": "rtb-gone", "Tags": tables[0]["Tags"]})
    (orphan,) = searched(stack, state(aws_route_table={"id": "rtb-gone"}), answers).orphans
    assert (orphan.address, orphan.id) == ("", "rtb-new")
    assert orphan.commands[0].startswith("aws ec2 delete-route-table --route-table-id rtb-new")


def test_a_key_in_place_of_one_that_is_being_deleted_takes_its_address() -> None:
    stack = stack_of(aws_kms_key={"it": {}})
    states = {"old": "PendingDeletion", "new": "Enabled"}
    listed = [{"ResourceARN": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{name}"} for name in states]
    answers = {
        "tagging:GetResources": {"ResourceTagMappingList": listed},
        "kms:DescribeKey": lambda given: {"KeyMetadata": {"KeyId": given["KeyId"], "KeyState": states[given["KeyId"]]}},
    }
    (orphan,) = searched(stack, state(aws_kms_key={"id": "old"}), answers).orphans
    assert (orphan.id, orphan.address) == ("new", "aws_kms_key.it")
    assert [command.split()[2] for command in orphan.commands] == ["state", "import"]


def test_an_internet_gateway_is_detached_before_it_is_deleted() -> None:
    attached = [{"VpcId": "vpc-2", "State": "available"}]
    gateways = {"InternetGateways": [{"InternetGatewayId": "igw-2", "Tags": [TAG], "Attachments": attached}]}
    known = state(aws_internet_gateway={"id": "igw-1"})
    (orphan,) = searched({}, known, {"ec2:DescribeInternetGateways": gateways}).orphans
    for command in orphan.commands:
        check_command(command)
    assert [command.split()[2] for command in orphan.commands] == ["detach-internet-gateway", "delete-internet-gateway"]


def test_what_karpenter_and_eks_made_is_not_an_orphan() -> None:
    stack = stack_of(aws_launch_template={"it": {"name": "demo/gpu"}})
    for key in ("karpenter.k8s.aws/cluster", "karpenter.sh/nodepool", "eks:cluster-name", "aws:eks:cluster-name"):
        answers = templates("other", tags=(TAG, {"Key": key, "Value": STRATEGY}))
        assert searched(stack, {}, answers).orphans == (), key


def test_a_private_subnet_is_an_orphan_although_karpenter_discovers_it() -> None:
    tags = [TAG, {"Key": "karpenter.sh/discovery", "Value": STRATEGY}]
    answers = {"ec2:DescribeSubnets": {"Subnets": [{"SubnetId": SUBNET, "Tags": tags}]}}
    assert [each.id for each in searched(stack_of(aws_subnet={"it": {}}), {}, answers).orphans] == [SUBNET]


def test_the_default_security_group_is_not_an_orphan_although_the_state_is_lost() -> None:
    """AWS refuses to delete it, and the next apply adopts it."""
    groups = [{"GroupId": f"sg-{name}", "GroupName": name, "Tags": [TAG]} for name in ("default", "demo-endpoints")]
    stack = stack_of(aws_security_group={"it": {"name": "demo-endpoints"}})
    answers = {"ec2:DescribeSecurityGroups": {"SecurityGroups": groups}}
    assert [orphan.id for orphan in searched(stack, {}, answers).orphans] == ["sg-demo-endpoints"]


def test_a_nat_gateway_that_is_being_deleted_is_not_an_orphan() -> None:
    gateways = [{"NatGatewayId": "nat-1", "State": "deleting", "Tags": [TAG]}]
    stack = stack_of(aws_nat_gateway={"it": {"tags": {"Name": "demo"}}})
    assert searched(stack, {}, {"ec2:DescribeNatGateways": {"NatGateways": gateways}}).orphans == ()


def test_a_route_and_an_association_are_found_by_what_they_connect() -> None:
    table = {
        "RouteTableId": TABLE,
        "Tags": [TAG],
        "Routes": [{"DestinationCidrBlock": "0.0.0.0/0"}],
        "Associations": [{"SubnetId": SUBNET}],
    }
    subnets = {"Subnets": [{"SubnetId": SUBNET, "Tags": [TAG]}]}
    stack = stack_of(
        aws_route_table={"it": {}},
        aws_subnet={"it": {}},
        aws_route={
            "there": {"route_table_id": "${aws_route_table.it.id}", "destination_cidr_block": "0.0.0.0/0"},
            "not_there": {"route_table_id": "${aws_route_table.it.id}", "destination_cidr_block": "10.0.0.0/8"},
        },
        aws_route_table_association={
            "there": {"route_table_id": "${aws_route_table.it.id}", "subnet_id": "${aws_subnet.it.id}"},
            "of_a_subnet_that_is_not_there": {
                "route_table_id": "${aws_route_table.it.id}",
                "subnet_id": "${aws_subnet.other.id}",
            },
        },
    )
    known = state(aws_route_table={"id": TABLE}, aws_subnet={"id": SUBNET})
    answers = {"ec2:DescribeRouteTables": {"RouteTables": [table]}, "ec2:DescribeSubnets": subnets}
    assert [(each.address, each.id) for each in searched(stack, known, answers).orphans] == [
        ("aws_route.there", f"{TABLE}_0.0.0.0/0"),
        ("aws_route_table_association.there", f"{SUBNET}/{TABLE}"),
    ]


def test_a_name_that_does_not_exist_is_no_orphan_and_a_refused_call_is_named() -> None:
    stack = stack_of(
        aws_iam_role={"it": {"name": "demo-role"}},
        aws_sqs_queue={"it": {"name": "demo-queue"}},
        aws_kms_alias={"it": {"name": "alias/demo"}},
    )
    answers = {
        "iam:GetRole": RefusedError("NoSuchEntity"),
        "sqs:GetQueueUrl": RefusedError("AccessDenied"),
        "kms:ListAliases": RefusedError("InternalFailure"),
    }
    found = searched(stack, {}, answers)
    assert found.orphans == ()
    assert found.not_checked == (
        "aws_kms_alias: kms:ListAliases failed: InternalFailure",
        "aws_sqs_queue: no permission for sqs:GetQueueUrl",
    )


def test_a_mount_target_and_a_cidr_block_are_found_by_what_they_connect() -> None:
    stack = stack_of(
        aws_efs_mount_target={
            "there": {"file_system_id": "${aws_efs_file_system.it.id}", "subnet_id": "${aws_subnet.it.id}"},
            "in_a_subnet_that_is_not_there": {
                "file_system_id": "${aws_efs_file_system.it.id}",
                "subnet_id": "${aws_subnet.other.id}",
            },
        },
        aws_vpc_ipv4_cidr_block_association={
            "there": {"vpc_id": "${aws_vpc.it.id}", "cidr_block": "100.64.0.0/16"},
            "ending": {"vpc_id": "${aws_vpc.it.id}", "cidr_block": "100.65.0.0/16"},
        },
    )
    blocks = [
        {"AssociationId": f"vpc-cidr-assoc-{state_}", "CidrBlock": cidr, "CidrBlockState": {"State": state_}}
        for cidr, state_ in (("100.64.0.0/16", "associated"), ("100.65.0.0/16", "disassociated"))
    ]
    targets = [mount_target("fsmt-00000001", "subnet-00000001"), mount_target("fsmt-00000002", LONG_SUBNET)]
    known = state(aws_efs_file_system={"id": "fs-1"}, aws_subnet={"id": LONG_SUBNET}, aws_vpc={"id": "vpc-1"})
    answers = {
        "elasticfilesystem:DescribeFileSystems": {"FileSystems": []},
        "elasticfilesystem:DescribeMountTargets": {"MountTargets": targets},
        "ec2:DescribeSubnets": {"Subnets": []},
        "ec2:DescribeVpcs": {"Vpcs": [{"VpcId": "vpc-1", "CidrBlockAssociationSet": blocks}]},
    }
    assert [(each.address, each.id) for each in searched(stack, known, answers).orphans if each.address] == [
        ("aws_vpc_ipv4_cidr_block_association.there", "vpc-cidr-assoc-associated"),
        ("aws_efs_mount_target.there", "fsmt-00000002"),
    ]


def file_system(id_: str, name: str, *, of: str = STRATEGY, **values: object) -> Mapping[str, Any]:
    tags = [{"Key": TAG["Key"], "Value": of}, {"Key": "Name", "Value": name}]
    return {"FileSystemId": id_, "Tags": tags, **values}


def elastic(id_: str, name: str, state_: str, *, of: str = STRATEGY) -> Mapping[str, Any]:
    required = {
        "CreationTime": datetime.datetime(2026, 11, 28, tzinfo=datetime.timezone.utc),
        "CreationToken": id_,
        "NumberOfMountTargets": 0,
        "OwnerId": ACCOUNT,
        "PerformanceMode": "generalPurpose",
        "SizeInBytes": {"Value": 0},
    }
    return file_system(id_, name, of=of, LifeCycleState=state_, **required)


def mount_target(id_: str, subnet: str) -> Mapping[str, str]:
    return {"MountTargetId": id_, "SubnetId": subnet, "FileSystemId": "fs-1", "LifeCycleState": "available"}


def test_file_systems_are_found_by_the_tag() -> None:
    """The calls of EFS and FSx list those of others, too."""
    stack = stack_of(
        aws_efs_file_system={"it": {"tags": {"Name": "demo-efs"}}},
        aws_fsx_lustre_file_system={"it": {"tags": {"Name": "demo-lustre"}}},
    )
    answers = {
        "elasticfilesystem:DescribeFileSystems": {
            "FileSystems": [
                elastic("fs-00000001", "demo-efs", "available"),
                elastic("fs-00000002", "demo-efs", "available"),
                elastic("fs-00000003", "demo-efs", "deleting"),
                elastic("fs-00000009", "demo-efs", "available", of="another strategy"),
            ]
        },
        "elasticfilesystem:DescribeMountTargets": {"MountTargets": [mount_target("fsmt-00000002", LONG_SUBNET)]},
        "fsx:DescribeFileSystems": {
            "FileSystems": [
                file_system("fs-00000004", "demo-lustre", Lifecycle="AVAILABLE"),
                file_system("fs-00000005", "demo-lustre", Lifecycle="DELETING"),
                file_system("fs-00000006", "old-lustre", Lifecycle="AVAILABLE"),
                file_system("fs-00000009", "demo-lustre", of="another strategy"),
            ]
        },
    }
    found = searched(stack, {}, answers).orphans
    assert [(each.id, each.address) for each in found] == [
        ("fs-00000001", "aws_efs_file_system.it"),
        ("fs-00000002", ""),
        ("fs-00000004", "aws_fsx_lustre_file_system.it"),
        ("fs-00000006", ""),
    ]
    _, second, _, old = found
    for command in (*second.commands, *old.commands):
        check_command(command)
    assert second.commands == (
        "aws efs delete-mount-target --mount-target-id fsmt-00000002 --region us-west-2",
        "aws efs delete-file-system --file-system-id fs-00000002 --region us-west-2",
    )
    assert old.commands == ("aws fsx delete-file-system --file-system-id fs-00000006 --region us-west-2",)
