"""FSx for Lustre, EFS and S3 in Terraform."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping

from eks_hardware.testing import Absent, Template

Templates = Mapping[str, Template]


def test_lustre_is_in_the_zone_of_the_nodes_that_mount_it(templates: Templates) -> None:
    # trap: kubernetes-sigs/aws-fsx-csi-driver#437
    template = templates["storage"]
    subnet = template.address("aws_subnet", {"tags": {"Name": "storage-private-usw2-az1"}})
    template.has(
        "aws_fsx_lustre_file_system",
        {
            "subnet_ids": [f"${{{subnet}.id}}"],
            "storage_capacity": 4800,
            "deployment_type": "PERSISTENT_2",
            "per_unit_storage_throughput": 500,
            "file_system_type_version": "2.15",
            "skip_final_backup": False,
        },
    )


def test_scratch_has_neither_throughput_nor_backup(synthesize: Callable[..., Template]) -> None:
    template = synthesize(storage={"fsx_lustre": {"deployment": "scratch-2"}})
    template.has(
        "aws_fsx_lustre_file_system",
        {"deployment_type": "SCRATCH_2", "per_unit_storage_throughput": Absent, "skip_final_backup": True},
    )


def test_lustre_ports_are_open_between_servers_and_nodes(templates: Templates) -> None:
    template = templates["storage"]
    servers = f"${{{template.address('aws_security_group', {'name': 'storage-lustre'})}.id}}"
    nodes = template.outputs["cluster_security_group_id"]
    expected = {
        "ingress": {(servers, servers), (servers, nodes), (nodes, servers)},
        "egress": {(servers, servers), (servers, nodes)},
    }
    for direction, pairs in expected.items():
        rules = template.resources(f"aws_vpc_security_group_{direction}_rule", {"ip_protocol": "tcp"}).values()
        for low, high in ((988, 988), (1018, 1023)):
            found = {
                (rule["security_group_id"], rule["referenced_security_group_id"])
                for rule in rules
                if (rule["from_port"], rule["to_port"]) == (low, high)
            }
            assert found == pairs, (direction, low)


def test_lustre_waits_for_its_rules(templates: Templates) -> None:
    template = templates["storage"]
    before = template.dependencies(template.address("aws_fsx_lustre_file_system", {}))
    for direction in ("ingress", "egress"):
        type_ = f"aws_vpc_security_group_{direction}_rule"
        rules = {address for address in template.resources(type_) if "platform_lustre" in address}
        assert rules
        assert rules <= before


def test_efs_is_encrypted_and_reached_from_nodes_alone(templates: Templates) -> None:
    template = templates["storage"]
    file_system = template.address(
        "aws_efs_file_system", {"encrypted": True, "creation_token": "storage-efs", "throughput_mode": "elastic"}
    )
    group = template.address("aws_security_group", {"name": "storage-efs"})
    targets = template.resources("aws_efs_mount_target").values()
    assert {(each["file_system_id"], *each["security_groups"]) for each in targets} == {
        (f"${{{file_system}.id}}", f"${{{group}.id}}")
    }
    assert len({each["subnet_id"] for each in targets}) == 3
    rules = template.resources("aws_vpc_security_group_ingress_rule", {"security_group_id": f"${{{group}.id}}"})
    assert [(rule["referenced_security_group_id"], rule["from_port"], rule["to_port"]) for rule in rules.values()] == [
        (template.outputs["cluster_security_group_id"], 2049, 2049)
    ]


def test_a_driver_starts_with_its_permissions(templates: Templates) -> None:
    template = templates["storage"]
    for account, addon, action in (
        ("s3-csi-driver-sa", "aws-mountpoint-s3-csi-driver", "s3:ListBucket"),
        ("fsx-csi-controller-sa", "aws-fsx-csi-driver", "fsx:DescribeFileSystems"),
    ):
        identity = template.address("aws_eks_pod_identity_association", {"service_account": account})
        role = template.address("aws_iam_role", {"name": f"storage-us-west-2-{addon}"})
        policies = template.resources("aws_iam_role_policy", {"role": f"${{{role}.name}}"})
        [(address, body)] = policies.items()
        actions = [each["Action"] for each in json.loads(body["policy"])["Statement"]]
        assert action in actions
        assert {identity, address} <= template.dependencies(template.address("aws_eks_addon", {"addon_name": addon}))


def test_outputs_are_named_as_manifests_ask_for_them(templates: Templates) -> None:
    from eks_hardware.kubernetes import Reference

    outputs = templates["storage"].outputs
    file_systems = (Reference.FSX_ID, Reference.FSX_DNS_NAME, Reference.FSX_MOUNT_NAME, Reference.EFS_ID)
    assert {each.value for each in file_systems} <= set(outputs)
    lustre = templates["storage"].address("aws_fsx_lustre_file_system", {})
    assert outputs["fsx_lustre_mount_name"] == f"${{{lustre}.mount_name}}"


def test_nodes_install_the_client_before_they_join(templates: Templates) -> None:
    # trap: kubernetes-sigs/aws-fsx-csi-driver#437
    template = templates["storage"]
    by_group = {body["name"]: body.get("user_data", "") for body in template.resources("aws_launch_template").values()}
    al2023 = base64.b64decode(by_group["storage/gpu-training"]).decode()
    assert "dnf install -y lustre-client" in al2023
    assert "application/node.eks.aws" in al2023
    bottlerocket = base64.b64decode(by_group["storage/cpu-bottlerocket"]).decode()
    assert "lustre" not in bottlerocket


def test_an_image_of_your_own_gets_the_client_too(templates: Templates) -> None:
    body = templates["storage"].resource("aws_launch_template", {"name": "storage/own-image"})
    text = base64.b64decode(body["user_data"].split('base64decode("')[1].split('"')[0]).decode()
    assert "dnf install -y lustre-client" in text
    assert "@eks-hardware:name@" in text
