"""``config/facts/replacements.json`` row by row against the real AWS provider.

For every argument, one resource has a handwritten state and a different value in the configuration. One plan without a
refresh shows the provider's action for each.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eks_hardware import facts

ROLE = "arn:aws:iam::000000000000:role/"
KEY = "arn:aws:kms:us-west-2:000000000000:key/11111111-1111-1111-1111-11111111111"
POLICY = '{"Version":"2012-10-17","Statement":[{"Sid":"%s","Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}'
TRUST = (
    '{"Version":"2012-10-17","Statement":[{"Sid":"%s","Effect":"Allow","Action":"sts:AssumeRole",'
    '"Principal":{"Service":"ec2.amazonaws.com"}}]}'
)
RULE = {
    "security_group_id": "sg-1",
    "description": "a",
    "cidr_ipv4": "10.0.0.0/16",
    "ip_protocol": "tcp",
    "from_port": 1,
    "to_port": 1,
}
RULE_CHANGES = {
    "security_group_id": "sg-2",
    "description": "b",
    "cidr_ipv4": "10.1.0.0/16",
    "referenced_security_group_id": "sg-3",
    "from_port": 0,
    "to_port": 2,
}

# A configuration for each type, and another value for each argument: the value itself, or, for an argument in a block,
# a map that is merged into the configuration.
TABLE: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "aws_vpc": ({"cidr_block": "10.0.0.0/16", "instance_tenancy": "default"}, {"cidr_block": "10.1.0.0/16"}),
    "aws_subnet": (
        {"vpc_id": "vpc-1", "cidr_block": "10.0.0.0/20", "availability_zone_id": "usw2-az1", "ipv6_native": False},
        {"vpc_id": "vpc-2", "cidr_block": "10.1.0.0/20", "availability_zone_id": "usw2-az2"},
    ),
    "aws_default_security_group": ({"vpc_id": "vpc-1"}, {"vpc_id": "vpc-2"}),
    "aws_vpc_ipv4_cidr_block_association": (
        {"vpc_id": "vpc-1", "cidr_block": "100.64.0.0/16"},
        {"vpc_id": "vpc-2", "cidr_block": "100.65.0.0/16"},
    ),
    "aws_internet_gateway": ({"vpc_id": "vpc-1"}, {"vpc_id": "vpc-2"}),
    "aws_eip": ({"domain": "vpc"}, {}),
    "aws_nat_gateway": (
        {"allocation_id": "eipalloc-1", "subnet_id": "subnet-1", "connectivity_type": "public"},
        {"allocation_id": "eipalloc-2", "subnet_id": "subnet-2"},
    ),
    "aws_route_table": ({"vpc_id": "vpc-1"}, {"vpc_id": "vpc-2"}),
    "aws_route": (
        {"route_table_id": "rtb-1", "destination_cidr_block": "0.0.0.0/0", "gateway_id": "igw-1"},
        {
            "route_table_id": "rtb-2",
            "gateway_id": "igw-2",
            "nat_gateway_id": {"gateway_id": None, "nat_gateway_id": "nat-2"},
        },
    ),
    "aws_route_table_association": (
        {"subnet_id": "subnet-1", "route_table_id": "rtb-1"},
        {"subnet_id": "subnet-2", "route_table_id": "rtb-2"},
    ),
    "aws_vpc_endpoint": (
        {
            "vpc_id": "vpc-1",
            "service_name": "com.amazonaws.us-west-2.sts",
            "vpc_endpoint_type": "Interface",
            "subnet_ids": ["subnet-1"],
            "security_group_ids": ["sg-1"],
        },
        {
            "vpc_id": "vpc-2",
            "service_name": "com.amazonaws.us-west-2.ec2",
            "vpc_endpoint_type": "Gateway",
            "subnet_ids": ["subnet-2"],
            "security_group_ids": ["sg-2"],
            "route_table_ids": ["rtb-1"],
        },
    ),
    "aws_security_group": (
        {"name": "a", "description": "a", "vpc_id": "vpc-1"},
        {"name": "b", "vpc_id": "vpc-2"},
    ),
    "aws_vpc_security_group_ingress_rule": (RULE, RULE_CHANGES),
    "aws_vpc_security_group_egress_rule": (
        RULE,
        {key: value for key, value in RULE_CHANGES.items() if key not in ("description", "cidr_ipv4")},
    ),
    "aws_ec2_tag": (
        {"resource_id": "subnet-1", "key": "a", "value": "a"},
        {"resource_id": "subnet-2", "key": "b", "value": "b"},
    ),
    "aws_flow_log": (
        {
            "vpc_id": "vpc-1",
            "iam_role_arn": f"{ROLE}a",
            "log_destination": "arn:aws:logs:us-west-2:000000000000:log-group:a",
            "log_destination_type": "cloud-watch-logs",
            "traffic_type": "REJECT",
            "max_aggregation_interval": 60,
        },
        {
            "vpc_id": "vpc-2",
            "iam_role_arn": f"{ROLE}b",
            "log_destination": "arn:aws:logs:us-west-2:000000000000:log-group:b",
            "traffic_type": "ALL",
        },
    ),
    "aws_launch_template": (
        {"name": "aaa", "update_default_version": True},
        {
            "name": "bbb",
            "image_id": "ami-2",
            "instance_type": "p5.48xlarge",
            "user_data": "Yg==",
            "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": [{"volume_size": 2}]}],
            "network_interfaces": [{"network_card_index": 0, "device_index": 0, "interface_type": "efa"}],
            "placement.group_name": {"placement": [{"group_name": "b"}]},
            "capacity_reservation_specification": [{"capacity_reservation_preference": "none"}],
            "instance_market_options.market_type": {"instance_market_options": [{"market_type": "capacity-block"}]},
            "metadata_options.http_put_response_hop_limit": {
                "metadata_options": [{"http_tokens": "required", "http_put_response_hop_limit": 2}]
            },
            "monitoring.enabled": {"monitoring": [{"enabled": True}]},
            "tag_specifications": [{"resource_type": "instance", "tags": {"a": "b"}}],
        },
    ),
    "aws_placement_group": ({"name": "a", "strategy": "cluster"}, {"name": "b", "strategy": "spread"}),
    "aws_eks_cluster": (
        {
            "name": "a",
            "role_arn": f"{ROLE}a",
            "version": "1.34",
            "enabled_cluster_log_types": ["api"],
            "bootstrap_self_managed_addons": False,
            "access_config": [
                {"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": False},
            ],
            "vpc_config": [
                {
                    "subnet_ids": ["subnet-1", "subnet-2"],
                    "endpoint_private_access": True,
                    "endpoint_public_access": True,
                    "public_access_cidrs": ["192.0.2.0/24"],
                }
            ],
            "encryption_config": [{"provider": [{"key_arn": f"{KEY}1"}], "resources": ["secrets"]}],
            "kubernetes_network_config": [{"service_ipv4_cidr": "172.20.0.0/16", "ip_family": "ipv4"}],
            "upgrade_policy": [{"support_type": "STANDARD"}],
        },
        {
            "name": "b",
            "role_arn": f"{ROLE}b",
            "version": "1.35",
            "enabled_cluster_log_types": ["audit"],
            "vpc_config.subnet_ids": {"vpc_config": [{"subnet_ids": ["subnet-1", "subnet-3"]}]},
            "vpc_config.endpoint_public_access": {"vpc_config": [{"endpoint_public_access": False}]},
            "vpc_config.public_access_cidrs": {"vpc_config": [{"public_access_cidrs": ["198.51.100.0/24"]}]},
            "encryption_config": {"encryption_config": None},
            "kubernetes_network_config.service_ipv4_cidr": {
                "kubernetes_network_config": [{"service_ipv4_cidr": "10.100.0.0/16"}]
            },
            "upgrade_policy.support_type": {"upgrade_policy": [{"support_type": "EXTENDED"}]},
            "zonal_shift_config.enabled": {"zonal_shift_config": [{"enabled": True}]},
        },
    ),
    "aws_eks_node_group": (
        {
            "cluster_name": "a",
            "node_group_name": "a",
            "node_role_arn": f"{ROLE}a",
            "subnet_ids": ["subnet-1"],
            "ami_type": "AL2023_x86_64_STANDARD",
            "capacity_type": "ON_DEMAND",
            "instance_types": ["m7i.xlarge", "m6i.xlarge"],
            "launch_template": [{"id": "lt-1", "version": "1"}],
            "version": "1.34",
            "release_version": "1.34.1-20260801",
            "scaling_config": [{"min_size": 1, "max_size": 3, "desired_size": 2}],
            "update_config": [{"max_unavailable": 1}],
            "node_repair_config": [{"enabled": True}],
            "labels": {"a": "a"},
            "taint": [{"key": "a", "value": "a", "effect": "NO_SCHEDULE"}],
        },
        {
            "cluster_name": "b",
            "node_group_name": "b",
            "node_role_arn": f"{ROLE}b",
            "subnet_ids": ["subnet-1", "subnet-2"],
            "ami_type": "AL2023_x86_64_NVIDIA",
            "capacity_type": "SPOT",
            # The order matters.
            "instance_types": ["m6i.xlarge", "m7i.xlarge"],
            "launch_template.id": {"launch_template": [{"id": "lt-2"}]},
            "launch_template.version": {"launch_template": [{"version": "2"}]},
            "version": "1.35",
            "release_version": "1.34.1-20260901",
            "scaling_config.min_size": {"scaling_config": [{"min_size": 0}]},
            "scaling_config.max_size": {"scaling_config": [{"max_size": 4}]},
            "scaling_config.desired_size": {"scaling_config": [{"desired_size": 3}]},
            "update_config.max_unavailable": {"update_config": [{"max_unavailable": 2}]},
            "update_config.max_unavailable_percentage": {
                "update_config": [{"max_unavailable": None, "max_unavailable_percentage": 10}]
            },
            "node_repair_config.enabled": {"node_repair_config": [{"enabled": False}]},
            "labels": {"labels": {"a": "b"}},
            "taint": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}],
        },
    ),
    "aws_eks_addon": (
        {"cluster_name": "a", "addon_name": "coredns", "addon_version": "v1.0.0-eksbuild.1"},
        {
            "cluster_name": "b",
            "addon_name": "vpc-cni",
            "addon_version": "v1.1.0-eksbuild.1",
            "configuration_values": "{}",
        },
    ),
    "aws_eks_access_entry": (
        {"cluster_name": "a", "principal_arn": f"{ROLE}a", "type": "STANDARD", "kubernetes_groups": ["a"]},
        {"cluster_name": "b", "principal_arn": f"{ROLE}b", "type": "EC2_LINUX", "kubernetes_groups": ["b"]},
    ),
    "aws_eks_access_policy_association": (
        {
            "cluster_name": "a",
            "principal_arn": f"{ROLE}a",
            "policy_arn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
            "access_scope": [{"type": "namespace", "namespaces": ["a"]}],
        },
        {
            "cluster_name": "b",
            "principal_arn": f"{ROLE}b",
            "policy_arn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy",
            "access_scope": {"access_scope": [{"namespaces": ["b"]}]},
        },
    ),
    "aws_eks_pod_identity_association": (
        {"cluster_name": "a", "namespace": "a", "service_account": "a", "role_arn": f"{ROLE}a"},
        {"cluster_name": "b", "namespace": "b", "service_account": "b", "role_arn": f"{ROLE}b"},
    ),
    "aws_iam_role": (
        {"name": "a", "path": "/", "description": "a", "assume_role_policy": TRUST % "a"},
        {
            "name": "b",
            "path": "/b/",
            "description": "b",
            "assume_role_policy": TRUST % "b",
            "permissions_boundary": "arn:aws:iam::000000000000:policy/b",
        },
    ),
    "aws_iam_role_policy": (
        {"name": "a", "role": "a", "policy": POLICY % "a"},
        {"name": "b", "role": "b", "policy": POLICY % "b"},
    ),
    "aws_iam_role_policy_attachment": (
        {"role": "a", "policy_arn": "arn:aws:iam::aws:policy/A"},
        {"role": "b", "policy_arn": "arn:aws:iam::aws:policy/B"},
    ),
    "aws_iam_policy": (
        {"name": "a", "path": "/", "description": "a", "policy": POLICY % "a"},
        {"name": "b", "path": "/b/", "description": "b", "policy": POLICY % "b"},
    ),
    "aws_iam_instance_profile": (
        {"name": "a", "path": "/", "role": "a"},
        {"name": "b", "path": "/b/", "role": "b"},
    ),
    "aws_kms_key": (
        {
            "description": "a",
            "policy": POLICY % "a",
            "customer_master_key_spec": "SYMMETRIC_DEFAULT",
            "key_usage": "ENCRYPT_DECRYPT",
        },
        {"description": "b", "policy": POLICY % "b"},
    ),
    "aws_kms_alias": (
        {"name": "alias/a", "target_key_id": "11111111-1111-1111-1111-111111111111"},
        {"name": "alias/b", "target_key_id": "11111111-1111-1111-1111-111111111112"},
    ),
    "aws_kms_grant": (
        {"key_id": f"{KEY}1", "grantee_principal": f"{ROLE}a", "operations": ["Decrypt"], "retire_on_delete": False},
        {"key_id": f"{KEY}2", "grantee_principal": f"{ROLE}b"},
    ),
    "aws_cloudwatch_log_group": (
        {"name": "a", "retention_in_days": 365},
        {"name": "b", "retention_in_days": 30, "skip_destroy": True},
    ),
    "aws_sqs_queue": ({"name": "a", "fifo_queue": False}, {"name": "b"}),
    "aws_sqs_queue_policy": (
        {"queue_url": "http://localhost/a", "policy": POLICY % "a"},
        {"queue_url": "http://localhost/b", "policy": POLICY % "b"},
    ),
    "aws_cloudwatch_event_rule": (
        {"name": "a", "description": "a", "event_pattern": '{"source":["a"]}', "event_bus_name": "default"},
        {"name": "b", "event_pattern": '{"source":["b"]}'},
    ),
    "aws_cloudwatch_event_target": (
        {
            "rule": "a",
            "target_id": "karpenter",
            "arn": "arn:aws:sqs:us-west-2:000000000000:a",
            "event_bus_name": "default",
        },
        {"rule": "b", "arn": "arn:aws:sqs:us-west-2:000000000000:b"},
    ),
    "aws_efs_file_system": (
        {"creation_token": "a", "encrypted": True, "kms_key_id": f"{KEY}1", "throughput_mode": "elastic"},
        {"creation_token": "b", "kms_key_id": f"{KEY}2", "throughput_mode": "bursting"},
    ),
    "aws_efs_mount_target": (
        {"file_system_id": "fs-1", "subnet_id": "subnet-1", "security_groups": ["sg-1"]},
        {"file_system_id": "fs-2", "subnet_id": "subnet-2", "security_groups": ["sg-2"]},
    ),
    "aws_fsx_lustre_file_system": (
        {
            "subnet_ids": ["subnet-1"],
            "security_group_ids": ["sg-1"],
            "storage_capacity": 2400,
            "storage_type": "SSD",
            "deployment_type": "PERSISTENT_2",
            "per_unit_storage_throughput": 250,
            "file_system_type_version": "2.12",
            "copy_tags_to_backups": False,
            "kms_key_id": f"{KEY}1",
        },
        {
            "subnet_ids": ["subnet-2"],
            "security_group_ids": ["sg-2"],
            "storage_capacity": 1200,
            "deployment_type": "PERSISTENT_1",
            "per_unit_storage_throughput": 500,
            "file_system_type_version": "2.15",
            "kms_key_id": f"{KEY}2",
            "skip_final_backup": True,
        },
    ),
}

# Not supported by 5.100.0 yet.
NEWER = {
    ("aws_eks_cluster", "deletion_protection"),
    ("aws_eks_cluster", "control_plane_scaling_config.tier"),
    ("aws_eks_node_group", "update_config.update_strategy"),
}

# Arguments that change in another configuration: a rule has one peer.
ANOTHER: Mapping[tuple[str, str], dict[str, Any]] = {
    (f"aws_vpc_security_group_{direction}_rule", "referenced_security_group_id"): {
        "cidr_ipv4": None,
        "referenced_security_group_id": "sg-2",
    }
    for direction in ("ingress", "egress")
}

# The other side of a condition, and of an update: arguments that only update.
MILDER: Mapping[tuple[str, str], dict[str, Any]] = {
    ("aws_eks_cluster", "encryption_config"): {
        "encryption_config": [{"provider": [{"key_arn": f"{KEY}2"}], "resources": ["secrets"]}]
    },
    ("aws_fsx_lustre_file_system", "storage_capacity"): {"storage_capacity": 4800},
    # The provider requests a lower version, and one that skips a version; EKS decides.
    ("aws_eks_cluster", "version"): {"version": "1.33"},
}


_PROVIDER = {
    "terraform": {
        "backend": {"local": {"path": "terraform.tfstate"}},
        "required_providers": {"aws": {"source": "hashicorp/aws", "version": "5.100.0"}},
    },
    "provider": {"aws": [{"region": "us-west-2"}]},
}


def replacement_rows() -> Iterator[tuple[str, str, str]]:
    """Return type, argument and change of every row of the AWS provider."""
    for type_, row in facts.replacements()["resources"].items():
        if type_.startswith("aws_"):
            for argument, fact in row["arguments"].items():
                yield type_, argument, fact["change"]


def with_argument(configuration: Mapping[str, Any], argument: str, value: Any) -> dict[str, Any]:
    """Return the configuration with another value for an argument; blocks are merged."""
    over = value if isinstance(value, dict) else {argument: value}
    result = copy.deepcopy(dict(configuration))
    for key, each in over.items():
        under = result.get(key)
        blocks = isinstance(value, dict) and isinstance(each, list) and isinstance(under, list)
        inner = blocks and each and isinstance(each[0], dict)
        result[key] = [{**under[0], **each[0]}] if inner and under else each
    return result


class Outcome(NamedTuple):
    """Plan for a resource: the action, the arguments that force a replacement, and the unknown attributes."""

    actions: tuple[str, ...]
    forced_by: set[str]
    unknown: set[str]

    @property
    def replaced(self) -> bool:
        return set(self.actions) == {"create", "delete"}


@pytest.fixture(scope="module")
def planned(
    terraform_cli: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Outcome]:
    """Return the results of one plan for every resource, by address."""
    before, after = states()
    configured: dict[str, dict[str, Any]] = {}
    for (type_, name), values in after.items():
        configured.setdefault(type_, {})[name] = {key: each for key, each in values.items() if each is not None}
    document = {**_PROVIDER, "resource": configured}

    def ask() -> list[Any]:
        schemas = request.getfixturevalue("schemas")["resource"]
        state = [_in_state(type_, name, schemas[type_]["version"], each) for (type_, name), each in before.items()]
        written = {"version": 4, "terraform_version": "1.5.0", "serial": 1, "lineage": "rows", "outputs": {}}
        folder = tmp_path_factory.mktemp("rows")
        (folder / "cdk.tf.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
        project = request.getfixturevalue("deploy").project(folder)
        (project.stack_dir / "terraform.tfstate").write_text(
            json.dumps({**written, "resources": state}), encoding="utf-8"
        )
        project.init()
        changes: list[Any] = project.plan("-refresh=false").document["resource_changes"]
        return changes

    inputs = json.dumps([document, *([type_, name, each] for (type_, name), each in before.items())])
    return {
        each["address"]: Outcome(
            tuple(each["change"]["actions"]),
            {path[0] for path in each["change"].get("replace_paths", ())},
            set(each["change"].get("after_unknown") or ()),
        )
        for each in terraform_cli.answer("replacements", Path(__file__).read_bytes(), inputs).get(ask)
    }


def states() -> tuple[dict[tuple[str, str], dict[str, Any]], dict[tuple[str, str], dict[str, Any]]]:
    """Return the arguments of each resource before and after its change, by type and name."""
    before: dict[tuple[str, str], dict[str, Any]] = {}
    after: dict[tuple[str, str], dict[str, Any]] = {}

    def add(type_: str, name: str, was: dict[str, Any], becomes: dict[str, Any]) -> None:
        before[type_, name], after[type_, name] = was, becomes

    for type_, (base, values) in TABLE.items():
        add(type_, "same", base, base)
        if facts.replacements()["resources"][type_]["tagged"]:
            add(type_, "tagged", base, {**base, "tags": {"team": "a"}})
        for argument, value in values.items():
            was = {**base, **ANOTHER.get((type_, argument), {})}
            add(type_, name_of(argument), was, with_argument(was, argument, value))
            if (type_, argument) in MILDER:
                milder = with_argument(base, argument, MILDER[type_, argument])
                add(type_, f"{name_of(argument)}-milder", base, milder)
    return before, after


def _in_state(type_: str, name: str, schema_version: int, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource as Terraform's state has it."""
    return {
        "mode": "managed",
        "type": type_,
        "name": name,
        "provider": 'provider["registry.terraform.io/hashicorp/aws"]',
        "instances": [{"schema_version": schema_version, "attributes": {"id": name, **attributes}}],
    }


def name_of(argument: str) -> str:
    """Return a resource name for an argument."""
    return argument.replace(".", "-")


def test_the_table_has_every_row() -> None:
    asked = {(type_, argument) for type_, (_, values) in TABLE.items() for argument in values}
    assert {(type_, argument) for type_, argument, _ in replacement_rows()} == asked | NEWER
    assert set(TABLE) == {type_ for type_ in facts.replacements()["resources"] if type_.startswith("aws_")}


def test_the_same_configuration_replaces_nothing(planned: Mapping[str, Outcome]) -> None:
    assert [address for address, outcome in planned.items() if address.endswith(".same") and outcome.replaced] == []


@pytest.mark.parametrize(("type_", "argument", "change"), [row for row in replacement_rows() if row[:2] not in NEWER])
def test_the_provider_agrees(planned: Mapping[str, Outcome], type_: str, argument: str, change: str) -> None:
    outcome = planned[f"{type_}.{name_of(argument)}"]
    if change == "update":
        assert outcome.actions == ("update",)
    else:
        assert (outcome.replaced, outcome.forced_by) == (True, {argument.partition(".")[0]})
    assert (type_, argument) in MILDER or not change.startswith("replace-if")
    if (type_, argument) in MILDER:
        assert planned[f"{type_}.{name_of(argument)}-milder"].actions == ("update",)


@pytest.mark.parametrize("type_", [type_ for type_ in TABLE if facts.replacements()["resources"][type_]["tagged"]])
def test_tags_update_in_place(planned: Mapping[str, Outcome], type_: str) -> None:
    assert planned[f"{type_}.tagged"].actions == ("update",)


def test_every_update_of_a_launch_template_makes_a_version(planned: Mapping[str, Outcome]) -> None:
    expected = set(facts.replacements()["resources"]["aws_launch_template"].get("computed_on_update", ()))
    updates = {
        address: outcome.unknown
        for address, outcome in planned.items()
        if address.startswith("aws_launch_template.") and outcome.actions == ("update",)
    }
    assert "aws_launch_template.tagged" in updates
    assert {address for address, unknown in updates.items() if not expected <= unknown} <= {"aws_launch_template.same"}
