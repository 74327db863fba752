"""Resources in Terraform JSON, and Terraform's actions on them, without synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from eks_hardware.diff import Action, ResourceChange
from eks_hardware.diff.messages import difference, sentence
from eks_hardware.diff.plan import Cause, changes, forgotten
from eks_hardware.diff.resources import Reference, Resource, references_in, resources
from helpers.cases import in_one_test

TEMPLATE, NODES = "aws_launch_template.platform_nodes-gpu_launch-template_1", "aws_eks_node_group.platform_nodes-gpu_2"
VPC, SUBNET = "aws_vpc.platform_network_vpc_3", "aws_subnet.platform_network_private-a_4"


def body(path: str, **arguments: Any) -> dict[str, Any]:
    return {"//": {"metadata": {"path": f"demo/{path}"}}, **arguments}


def terraform_document(bodies: Mapping[str, Mapping[str, Any]], **rest: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"resource": {}, **rest}
    for address, each in bodies.items():
        type_, _, id_ = address.partition(".")
        found["resource"].setdefault(type_, {})[id_] = each
    return found


def read(bodies: Mapping[str, Mapping[str, Any]], **rest: Any) -> dict[str, Resource]:
    return {each.address: each for each in resources((terraform_document(bodies, **rest),))}


def base(**fields: Any) -> dict[str, dict[str, Any]]:
    """Return a node group in a subnet; fields are merged into resources ``vpc``, ``template``, ``nodes``."""
    return {
        VPC: body("platform/network/vpc", cidr_block="10.0.0.0/16", **fields.get("vpc", {})),
        SUBNET: body("platform/network/private-a", vpc_id=f"${{{VPC}.id}}", cidr_block="10.0.0.0/20"),
        TEMPLATE: body("platform/nodes-gpu/launch-template", name="gpu", **fields.get("template", {})),
        NODES: body(
            "platform/nodes-gpu/Resource",
            node_group_name="gpu",
            subnet_ids=[f"${{{SUBNET}.id}}"],
            launch_template={"id": f"${{{TEMPLATE}.id}}", "version": f"${{{TEMPLATE}.latest_version}}"},
            **fields.get("nodes", {}),
        ),
    }


def planned(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, ResourceChange]:
    found = changes(resources((terraform_document(before),)), resources((terraform_document(after),)))
    return {each.resource.address: each for each in found}


# Reading.


def test_a_reference_to_an_argument_is_its_value() -> None:
    found = read(
        {
            "aws_eks_cluster.main": body("platform/cluster/Resource", name="demo", vpc_config={"subnet_ids": ["a"]}),
            "aws_eks_access_entry.one": body(
                "platform/karpenter/node-access",
                cluster_name="${aws_eks_cluster.main.name}",
                principal_arn="${aws_iam_role.nodes.arn}",
            ),
            "aws_eks_access_policy_association.two": body(
                "platform/cluster/access-viewers-AmazonEKSViewPolicy",
                principal_arn="${aws_eks_access_entry.one.principal_arn}",
                policy_arn="arn:${aws_eks_cluster.main.name}:${data.aws_caller_identity.current.account_id}",
            ),
            "aws_ec2_tag.three": body(
                "platform/karpenter/discovery-tag",
                resource_id="${aws_eks_cluster.main.vpc_config[0].cluster_security_group_id}",
                value='${join("-", [aws_eks_cluster.main.name, aws_vpc.main.id])} $${aws_eks_cluster.main.name}',
            ),
            "aws_iam_role.nodes": body("platform/karpenter/node-role/Resource", name="nodes"),
            "aws_vpc.main": body("platform/network/vpc"),
        }
    )
    role = Reference("aws_iam_role.nodes", "arn")
    assert found["aws_eks_access_entry.one"].arguments["cluster_name"] == "demo"
    association = found["aws_eks_access_policy_association.two"].arguments
    assert association["principal_arn"] == role
    assert association["policy_arn"] == "arn:demo:${data.aws_caller_identity.current.account_id}"
    tag = found["aws_ec2_tag.three"].arguments
    assert tag["resource_id"] == Reference("aws_eks_cluster.main", "vpc_config.cluster_security_group_id")
    assert '"demo", aws_vpc.main.id' in tag["value"]
    assert [each.address for each in references_in(tag["value"])] == ["aws_vpc.main"]
    assert [each.address for each in references_in({"a": (role, "text aws_vpc.main.id")})] == ["aws_iam_role.nodes"]


@pytest.mark.parametrize("block", [{"version": "1"}, [{"version": "1"}]], ids=["object", "list"])
def test_blocks_are_looked_into_where_the_table_does(block: Any) -> None:
    arguments = read({NODES: body("x", launch_template=block, labels={"a": "b"})})[NODES].arguments
    assert arguments == {"launch_template.version": "1", "labels": {"a": "b"}, "tags_all": {}}


def test_tags_are_those_of_the_provider_too() -> None:
    provider = {"aws": [{"default_tags": [{"tags": {"team": "a", "strategy": "demo"}}]}]}
    found = read(
        {VPC: body("x", tags={"Name": "v", "team": "b"}), "aws_ec2_tag.a": body("y", key="a")}, provider=provider
    )
    assert found[VPC].arguments == {"tags_all": {"team": "b", "strategy": "demo", "Name": "v"}}
    assert found["aws_ec2_tag.a"].arguments == {"key": "a"}


def test_what_is_about_terraform_is_no_argument() -> None:
    meta = {"depends_on": ["aws_vpc.a"], "lifecycle": {"prevent_destroy": True}, "provider": "aws.other"}
    assert read({"aws_ec2_tag.a": body("x", key="a", **meta)})["aws_ec2_tag.a"].arguments == {"key": "a"}


FIELDS = {
    "platform/network/private-usw2-az1": ("network", "private-usw2-az1"),
    "platform/network/flow-log-role/Resource": ("network", "flow-log-role"),
    "platform/cluster/Resource": ("cluster", ""),
    "platform/cluster/role/AmazonEKSClusterPolicy": ("cluster", "AmazonEKSClusterPolicy"),
    "platform/cluster/secrets-key/Resource": ("cluster.secrets_encryption", "secrets-key"),
    "platform/cluster/secrets-key/alias": ("cluster.secrets_encryption", "alias"),
    "platform/cluster/addon-vpc-cni/role/Resource": ("cluster.addons.vpc-cni", "role"),
    "platform/cluster/access-admin-Admin-1a": ("cluster.access_entries[admin-Admin-1a]", ""),
    "platform/cluster/access-viewers-AmazonEKSViewPolicy": ("cluster.access_entries[viewers]", "AmazonEKSViewPolicy"),
    "platform/node-role/Resource": ("node_groups", "node-role"),
    "platform/nodes-gpu/Resource": ("node_groups[gpu]", ""),
    "platform/nodes-gpu/launch-template": ("node_groups[gpu]", "launch-template"),
    "platform/efa/Resource": ("efa", ""),
    "platform/efs/mount-usw2-az1": ("storage.efs", "mount-usw2-az1"),
    "platform/lustre/Resource": ("storage.fsx_lustre", ""),
    "platform/karpenter/queue": ("karpenter", "queue"),
    "platform/karpenter/placement-group-train": ("karpenter.node_pools[train]", ""),
    "platform/service-role-cluster-autoscaler/role/Resource": ("kubernetes.charts.cluster-autoscaler", "role"),
    "kubernetes/karpenter-resources": ("kubernetes.karpenter-resources", ""),
    "bucket": ("bucket", ""),
}


@in_one_test(("path", "expected"), FIELDS.items(), ids=FIELDS)
def test_the_field_of_the_strategy(path: str, expected: tuple[str, str]) -> None:
    found = read({"aws_thing.a": body(path)})["aws_thing.a"]
    assert (found.owner, found.name) == expected


def test_a_chart_is_told_from_our_own_objects() -> None:
    address = "helm_release.kubernetes_karpenter_1"
    found = read({address: body("kubernetes/karpenter", repository="oci://public.ecr.aws/karpenter")})[address]
    assert found.owner == "kubernetes.charts.karpenter"


def test_the_second_stack_has_the_charts() -> None:
    first, second = (
        terraform_document({VPC: body("platform/network/vpc")}),
        terraform_document({"helm_release.a": body("kubernetes/a")}),
    )
    assert [each.key for each in resources((first, second))] == [("", VPC), ("kubernetes", "helm_release.a")]


# Terraform's actions.


def test_nothing() -> None:
    assert planned(base(), base()) == {}


def test_an_argument_that_forces_a_replacement() -> None:
    found = planned(base(nodes={"capacity_type": "ON_DEMAND"}), base(nodes={"capacity_type": "SPOT"}))
    assert {address: each.action for address, each in found.items()} == {NODES: Action.REPLACE}
    assert str(sentence(found[NODES])).startswith(
        "node_groups[gpu]: capacity on-demand -> spot: the node group is REPLACED"
    )


def test_a_replacement_is_carried_along_references() -> None:
    """A subnet refers to its VPC, a node group to the subnet: neither id is known during the plan."""
    after = base(vpc={})
    after[VPC]["cidr_block"] = "10.8.0.0/16"
    found = planned(base(), after)
    assert {address: each.action for address, each in found.items()} == dict.fromkeys(
        (VPC, SUBNET, NODES), Action.REPLACE
    )
    [cause] = found[NODES].causes
    assert (cause.argument, cause.through and cause.through.address) == ("subnet_ids", SUBNET)
    assert [found[each].own for each in (VPC, SUBNET, NODES)] == [True, False, False]


def test_an_update_hands_out_what_it_did_but_for_a_version() -> None:
    found = planned(base(template={"user_data": "YQ=="}), base(template={"user_data": "Yg=="}))
    assert {address: each.action for address, each in found.items()} == dict.fromkeys((TEMPLATE, NODES), Action.UPDATE)
    assert [each.argument for each in found[NODES].causes] == ["launch_template.version"]


def test_what_lifecycle_ignores_is_no_change() -> None:
    def group(size: int) -> dict[str, Any]:
        ignored = {"ignore_changes": ["scaling_config[0].desired_size"]}
        return base(nodes={"scaling_config": {"desired_size": size}, "lifecycle": ignored})

    assert planned(group(1), group(2)) == {}


def test_what_is_read_back_from_aws_is_no_change() -> None:
    def group(most: int) -> dict[str, Any]:
        size = f"${{min({most}, one(values(data.aws_autoscaling_group.a)).desired_capacity)}}"
        return base(nodes={"scaling_config": {"desired_size": size}})

    assert planned(group(1), group(2)) == {}


def test_a_value_that_is_no_longer_stated_stays_where_aws_chose_one() -> None:
    assert planned(base(nodes={"release_version": "1.35.0"}), base()) == {}
    assert planned(base(nodes={"labels": {"a": "b"}}), base())[NODES].action is Action.UPDATE


def test_what_the_table_lacks_is_updated_in_place() -> None:
    before, after = ({"random_pet.name": body("pet", length=length)} for length in (1, 2))
    found = planned(before, after)["random_pet.name"]
    assert str(sentence(found)) == "pet: length 1 -> 2: the random pet is updated in place"


def test_what_comes_and_goes() -> None:
    only_vpc = {VPC: base()[VPC]}
    assert {each.action for each in planned(only_vpc, base()).values()} == {Action.CREATE}
    assert {each.action for each in planned(base(), only_vpc).values()} == {Action.DESTROY}


def test_in_another_region_all_but_iam_is_left_behind() -> None:
    role = {"aws_iam_role.nodes": body("platform/node-role/Resource", name="nodes")}
    one, other = (resources((terraform_document({**base(), **role}),)) for _ in range(2))
    found = forgotten(one, other)
    assert {each.resource.address for each in found if each.action is Action.FORGET} == set(base())
    assert {each.resource.address for each in found if each.action is Action.CREATE} == set(base())
    assert len(found) == 2 * len(base())


# Wording.

SUBNETS = tuple(Reference(f"aws_subnet.{each}", "id", each) for each in "abc")
DISK = {"device_name": "/dev/xvda", "ebs": {"volume_size": 200}}
TAINT = {"key": "a", "value": "b"}
DIFFERENCES = {
    "plain": ("name", {}, "a", "b", "name a -> b"),
    "none": ("name", {"shown": "the name"}, None, "b", "the name none -> b"),
    "yes and no": ("enabled", {}, True, False, "enabled yes -> no"),
    "list": ("subnet_ids", {"shown": "zones"}, SUBNETS[:2], SUBNETS[1:], "zones a, b -> b, c"),
    "map": ("labels", {}, {"a": "1", "b": "2"}, {"a": "3", "c": "4"}, "labels a=1 -> 3, -b=2, +c=4"),
    "block": ("disk", {}, (DISK,), ({**DISK, "ebs": {"volume_size": 300}},), "disk ebs.volume_size=200 -> 300"),
    "block more": ("taint", {}, (), (TAINT,), "taint none -> key=a, value=b"),
    "second block": ("taint", {}, (TAINT,), (TAINT, {"key": "c"}), "taint +(key=c)"),
    "same in each": ("tags", {}, ({"a": 1}, {"a": 1, "b": 2}), ({"a": 3}, {"a": 3, "b": 2}), "tags a=1 -> 3"),
    "in JSON": ("configuration", {}, '{"replicas":2}', '{"replicas":3}', "configuration replicas=2 -> 3"),
    "in braces": ("pattern", {}, "{a", "{b", "pattern {a -> {b"),
    "lines": ("values", {}, "a: 1\n", "a: 2\n", "values changed"),
    "long": ("user_data", {"shown": "user data"}, "a" * 90, "b" * 90, "user data changed"),
    "lower": ("capacity_type", {"lower": True}, "ON_DEMAND", "SPOT", "capacity_type on-demand -> spot"),
    "tags": ("tags_all", {}, {"team": "a"}, {"team": "b", "tier": "1"}, "tags team=a -> b, +tier=1"),
}


@in_one_test(("argument", "row", "before", "after", "expected"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_differences(argument: str, row: Mapping[str, Any], before: Any, after: Any, expected: str) -> None:
    assert difference(Cause(argument, row, before, after, replaces=False)) == expected
