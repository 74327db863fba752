"""Names: within AWS's limits and patterns, stable, and unique."""

from __future__ import annotations

import re
import typing

from eks_hardware import aws_names
from eks_hardware.resolve import ResolvedStrategy, resolve
from helpers.cases import in_one_test
from helpers.strategies import SYSTEM, group, strategy

LONGEST_REGION = "ap-southeast-2"
CLUSTERS = ["a", "demo", "A_b-C", "x" * 100, "x" * 99 + "_", "9" + "-_" * 49]

ROLE = r"[\w+=,.@-]{1,64}"
PATTERNS = {
    "role": ROLE,
    "policy": r"[\w+=,.@-]{1,128}",
    "queue": r"[A-Za-z0-9_-]{1,80}",
    "rule": r"[.\-_A-Za-z0-9]{1,64}",
    "launch template": r"[a-zA-Z0-9().\-/_]{3,128}",
    "placement group": r"[\x20-\x7e]{1,255}",
    "security group": r"(?!sg-)[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}",
    "alias": r"alias/(?!aws/)[a-zA-Z0-9/_-]{1,250}",
    "log group": r"[.\-_/#A-Za-z0-9]{1,512}",
}


def names_of(resolved: ResolvedStrategy) -> list[tuple[str, str]]:
    """Return every derived name with its kind."""
    karpenter = resolved.karpenter
    assert karpenter is not None
    assert karpenter.queue_name is not None
    assert resolved.efa_security_group_name is not None
    groups = resolved.node_groups
    return [
        ("role", resolved.node_role_name),
        ("role", resolved.cluster.role_name),
        ("role", resolved.network.flow_log_role_name),
        ("role", karpenter.controller_role_name),
        ("role", karpenter.node_role_name),
        *(("role", addon.role_name) for addon in resolved.cluster.addons if addon.role_name),
        *(("policy", name) for name in karpenter.policy_names.values()),
        ("queue", karpenter.queue_name),
        *(("rule", rule.name) for rule in karpenter.rules),
        *(("launch template", each.launch_template_name) for each in groups),
        *(("placement group", each.placement_group_name) for each in groups if each.placement_group_name),
        ("security group", resolved.efa_security_group_name),
        ("alias", resolved.cluster.kms_alias),
        ("log group", resolved.cluster.log_group_name),
    ]


def resolved_as(cluster: str, *group_names: str) -> ResolvedStrategy:
    addons: dict[str, dict[str, str]] = {"aws-ebs-csi-driver": {}, "amazon-cloudwatch-observability": {}}
    return resolve(
        strategy(
            *(group("p5.48xlarge", name, efa=True) for name in group_names),
            name=cluster,
            region=LONGEST_REGION,
            cluster={"creator_is_admin": True, "addons": addons},
            karpenter={},
        )
    )


@in_one_test("cluster", [*CLUSTERS, "sg-x"])
def test_names_are_legal_and_apart(cluster: str) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#2555
    found = names_of(resolved_as(cluster, "g" * 63, "g" * 62 + "h", "h" * 63))
    assert [(kind, name) for kind, name in found if not re.fullmatch(PATTERNS[kind], name, re.ASCII)] == []
    assert len(set(found)) == len(found)
    assert {kind for kind, _ in found} == set(PATTERNS)


def test_two_long_clusters_have_different_names() -> None:
    one, other = (dict(names_of(resolved_as("x" * 99 + end, "gpu"))) for end in "ab")
    assert not set(one.values()) & set(other.values())


@in_one_test(
    ("parts", "limit", "expected"),
    [
        (("demo", "us-west-2", "cluster"), 64, "demo-us-west-2-cluster"),
        (("a" * 40, "us-west-2", "cluster"), 32, "aaaaaaaaaaaaaaa-cluster-e27c67a9"),
        (("abc",), 3, "abc"),
        # A shortened name does not end in a separator.
        (("a" * 14 + "-_" + "b" * 9, "us-west-2", "cluster"), 32, "aaaaaaaaaaaaaa-cluster-529cbaed"),
        (("a" * 14 + "X" + "b" * 10, "us-west-2", "cluster"), 32, "aaaaaaaaaaaaaaX-cluster-3f769199"),
        # A single part is shortened itself.
        (("abcd" * 8,), 31, "abcdabcdabcdabcdabcdab-e2c973bf"),
        # If a last part leaves no room for the first, the whole name is shortened.
        (("a" * 12, "d" * 22), 32, "aaaaaaaaaaaa-dddddddddd-30e3c824"),
        (("abcdefghijkl", "d" * 21), 32, "a-ddddddddddddddddddddd-46f9113f"),
    ],
)
def test_golden(parts: tuple[str, ...], limit: int, expected: str) -> None:
    assert expected == aws_names.limited(*parts, limit=limit)


def test_told_apart() -> None:
    assert aws_names.told_apart("a", "x") == aws_names.told_apart("a", "x")
    assert len({aws_names.told_apart("a", whole) for whole in ("x", "y", "x ", "")}) == 4


def test_a_security_group_is_not_named_as_an_id() -> None:
    assert aws_names.security_group("SG-demo", "efa") == "eks-SG-demo-efa"
    assert aws_names.security_group("demo", "efa") == "demo-efa"
    assert len(aws_names.security_group("x" * 300, "efa")) == 255


def test_the_limits_are_those_of_aws() -> None:
    """IAM, EventBridge, SQS, the AWS provider, EC2, KMS, tags, EFS and HCP Terraform."""
    assert {kind: aws_names.longest(kind).value for kind in typing.get_args(aws_names.NameKind)} == {
        "iam_role": 64,
        "iam_policy": 128,
        "instance_profile": 128,
        "event_rule": 64,
        "sqs_queue": 80,
        "launch_template": 125,
        "placement_group": 255,
        "security_group": 255,
        "kms_alias": 256,
        "tag_key": 128,
        "tag_value": 256,
        "efs_token": 64,
        "terraform_workspace": 90,
    }


def test_system_group_has_a_launch_template_name_too() -> None:
    assert resolve(strategy()).node_groups[0].launch_template_name == f"demo/{SYSTEM['name']}"
