"""Rules about access entries, ARNs and accounts: a strategy that breaks each, and a similar one that does not."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from eks_hardware.resolve.access import ADMIN_POLICY
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, warnings_of
from helpers.sections import cluster
from helpers.strategies import SYSTEM, group, pool, pools

ADMIN = "arn:aws:iam::111122223333:role/admin"
OTHER = "arn:aws:iam::444455556666:role/deploy"
SSO = "AWSReservedSSO_AdministratorAccess_0123456789abcdef"
BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"
KEY = "arn:aws-us-gov:kms:us-west-2:111122223333:key/1234abcd"
BUCKET = {"type": "s3", "bucket": "acme-terraform"}
CLUSTER_ADMIN = {"policy": ADMIN_POLICY}
VIEW = {"policy": "AmazonEKSViewPolicy"}


def access_entry(name: str, arn: str = ADMIN, *policies: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": name, "principal_arn": arn, "policies": list(policies or (VIEW,)), **fields}


def entries(*given: dict[str, Any]) -> dict[str, Any]:
    return cluster(access_entries=list(given))


def aws(**fields: Any) -> dict[str, Any]:
    return {"aws": fields}


def deploying_as(arn: str, **fields: Any) -> dict[str, Any]:
    return aws(assume_role={"role_arn": arn}, **fields)


def node_policies(count: int) -> dict[str, Any]:
    """Return Karpenter with managed policies for its nodes; four more are always there."""
    arns = [f"arn:aws:iam::111122223333:policy/p{index}" for index in range(count)]
    return {"karpenter": {"node_policies": arns}, "kubernetes": {"delivery": "manifests"}}


def with_keys(count: int) -> list[dict[str, Any]]:
    key = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890"
    return [pool(name=f"p{n}", weight=1 + n, disk={"kms_key_arn": f"{key}{n:02}"}) for n in range(count)]


def managed(policy: str) -> dict[str, Any]:
    return pools(node_policies=[f"arn:aws:iam::aws:policy/{policy}"])


def limited(namespace: str) -> dict[str, Any]:
    return entries(access_entry("a", ADMIN, {**VIEW, "namespaces": [namespace]}))


CASES = [
    Case("CLUSTER_NO_ADMIN", "cluster", {"cluster": {}}, {"cluster": {"admins": [ADMIN]}}),
    Case(
        "CLUSTER_NO_ADMIN",
        "cluster",
        {"cluster": {}},
        {"cluster": {"access_entries": [access_entry("a", ADMIN, CLUSTER_ADMIN)]}},
    ),
    Case(
        "ACCESS_ENTRY_DUPLICATE",
        "cluster.access_entries[a].principal_arn",
        cluster(admins=[ADMIN], access_entries=[access_entry("a", ADMIN)]),
        cluster(admins=[ADMIN, ADMIN], access_entries=[access_entry("a", ADMIN + "2")]),
    ),
    Case(
        "ACCESS_ENTRY_DUPLICATE",
        "cluster.access_entries[b].principal_arn",
        cluster(access_entries=[access_entry("a", ADMIN), access_entry("b", ADMIN)]),
        cluster(access_entries=[access_entry("a", ADMIN), access_entry("b", ADMIN + "2")]),
    ),
    Case(
        "CLUSTER_NO_ADMIN",
        "cluster",
        {"cluster": {"access_entries": [access_entry("a", ADMIN, VIEW)]}},
        {"cluster": {"creator_is_admin": True, "access_entries": [access_entry("a", ADMIN, VIEW)]}},
    ),
    Case(
        "CLUSTER_NO_ADMIN",
        "cluster",
        {"cluster": {"access_entries": [access_entry("a", ADMIN, {**CLUSTER_ADMIN, "namespaces": ["demo"]})]}},
        {"cluster": {"access_entries": [access_entry("a", ADMIN, CLUSTER_ADMIN)]}},
    ),
    Case(
        "ACCESS_ENTRY_PRINCIPAL",
        "cluster.admins[1]",
        cluster(admins=[ADMIN, f"arn:aws:iam::111122223333:role/{SSO}"]),
        cluster(admins=[ADMIN, f"arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/{SSO}"]),
    ),
    Case(
        "ACCESS_ENTRY_PRINCIPAL",
        "cluster.access_entries[a].principal_arn",
        entries(
            access_entry(
                "a", "arn:aws:iam::111122223333:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForX"
            )
        ),
        entries(access_entry("a", "arn:aws:iam::111122223333:role/service-role/AWSServiceRoleForX")),
    ),
    Case(
        "ACCESS_ENTRY_CREATOR",
        "cluster.admins[0]",
        {**cluster(admins=[ADMIN]), **deploying_as(ADMIN)},
        {"cluster": {"admins": [ADMIN]}, **deploying_as(ADMIN)},
    ),
    Case(
        "ACCESS_ENTRY_CREATOR",
        "cluster.access_entries[a].principal_arn",
        {**entries(access_entry("a")), **deploying_as(ADMIN)},
        {**entries(access_entry("a")), **deploying_as(ADMIN + "2")},
    ),
    Case(
        "ACCESS_ENTRY_EMPTY",
        "cluster.access_entries[a]",
        entries({"name": "a", "principal_arn": ADMIN}),
        entries({"name": "a", "principal_arn": ADMIN, "kubernetes_groups": ["operators"]}),
    ),
    Case(
        "ACCESS_POLICY_UNKNOWN",
        "cluster.access_entries[a].policies[1].policy",
        entries(access_entry("a", ADMIN, VIEW, {"policy": "AmazonEKSEditorPolicy"})),
        entries(access_entry("a", ADMIN, VIEW, {"policy": "AmazonEKSEditPolicy"})),
    ),
    Case(
        "ACCESS_POLICY_UNKNOWN",
        "cluster.access_entries[a].policies[0].policy",
        entries(access_entry("a", ADMIN, {"policy": "AmazonEKSHybridPolicy"})),
        entries(access_entry("a", ADMIN, {"policy": "AmazonSagemakerHyperpodClusterPolicy"})),
    ),
    Case(
        "ARN_PARTITION",
        "cluster.admins[0]",
        cluster(admins=["arn:aws-us-gov:iam::111122223333:role/admin"]),
        cluster(admins=[ADMIN]),
    ),
    Case(
        "ARN_PARTITION",
        "cluster.secrets_encryption.kms_key_arn",
        cluster(secrets_encryption={"kms_key_arn": KEY}),
        cluster(secrets_encryption={"kms_key_arn": KEY.replace("-us-gov", "")}),
    ),
    Case(
        "ARN_PARTITION",
        "node_groups[gpu].disk.kms_key_arn",
        {"node_groups": [SYSTEM, group(disk={"kms_key_arn": KEY})]},
        {"node_groups": [SYSTEM, group(disk={"kms_key_arn": KEY.replace("-us-gov", "")})]},
    ),
    Case(
        "ARN_PARTITION",
        "node_groups[gpu].reservation.resource_group_arn",
        {
            "node_groups": [
                SYSTEM,
                group(
                    capacity="reserved",
                    update={"strategy": "minimal"},
                    reservation={
                        "resource_group_arn": "arn:aws-cn:resource-groups:us-west-2:111122223333:group/h100",
                        "zone": "usw2-az1",
                    },
                ),
            ]
        },
        {
            "node_groups": [
                SYSTEM,
                group(
                    capacity="reserved",
                    update={"strategy": "minimal"},
                    reservation={
                        "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/h100",
                        "zone": "usw2-az1",
                    },
                ),
            ]
        },
    ),
    Case(
        "ARN_PARTITION",
        "karpenter.node_policies[0]",
        pools(pool(), node_policies=["arn:aws-cn:iam::aws:policy/ReadOnlyAccess"]),
        pools(pool(), node_policies=["arn:aws:iam::aws:policy/ReadOnlyAccess"]),
    ),
    Case(
        "ARN_PARTITION",
        "backend.role_arn",
        {"backend": {**BUCKET, "role_arn": ADMIN, "region": "us-gov-west-1", "profile": "gov"}},
        {"backend": {**BUCKET, "role_arn": ADMIN, "region": "us-east-1"}},
    ),
    Case(
        "ARN_PARTITION",
        "aws.permissions_boundary_arn",
        aws(permissions_boundary_arn=BOUNDARY.replace(":aws:", ":aws-cn:")),
        aws(permissions_boundary_arn=BOUNDARY),
    ),
    *(
        Case("ROLE_ARN", "aws.assume_role.role_arn", deploying_as(bad), deploying_as(ADMIN))
        for bad in (
            "arn:aws:iam::111122223333:role/*",
            "arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS",
            f"arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/{SSO}",
        )
    ),
    Case(
        "ROLE_ARN",
        "aws.assume_role.role_arn",
        deploying_as("arn:aws:sts::111122223333:assumed-role/deploy/session"),
        deploying_as("arn:aws:iam::111122223333:role/ci/deploy"),
    ),
    Case(
        "ROLE_ARN",
        "backend.role_arn",
        {"backend": {**BUCKET, "role_arn": "arn:aws:iam::111122223333:user/deploy"}},
        {"backend": {**BUCKET, "role_arn": ADMIN}},
    ),
    Case(
        "ACCOUNT_MISMATCH",
        "aws.assume_role.role_arn",
        deploying_as(OTHER, account_id="111122223333"),
        deploying_as(OTHER, account_id="444455556666"),
    ),
    Case(
        "ACCOUNT_MISMATCH",
        "aws.permissions_boundary_arn",
        deploying_as(OTHER, permissions_boundary_arn=BOUNDARY),
        deploying_as(ADMIN, permissions_boundary_arn=BOUNDARY),
    ),
    Case(
        "ACCOUNT_MISMATCH",
        "karpenter.node_policies[1]",
        {
            **aws(account_id="111122223333"),
            **pools(pool(), node_policies=[BOUNDARY, "arn:aws:iam::444455556666:policy/logs"]),
        },
        {
            **aws(account_id="111122223333"),
            **pools(pool(), node_policies=[BOUNDARY, "arn:aws:iam::aws:policy/ReadOnlyAccess"]),
        },
    ),
    Case("TAG_CASE", "tags[Eks-Hardware/Strategy]", {"tags": {"Eks-Hardware/Strategy": "a"}}, {"tags": {"eks": "a"}}),
    Case("TAG_STRATEGY", "tags[eks-hardware/strategy]", {"tags": {"eks-hardware/strategy": "a"}}, {"tags": {"a": "a"}}),
    Case("TAG_CASE", "tags.team", {"tags": {"Team": "a", "team": "b"}}, {"tags": {"Team": "a", "teams": "b"}}),
    Case("TAG_CASE", "tags[cost center]", {"tags": {"Cost Center": "a", "cost center": "a"}}, {"tags": {"Cost": "a"}}),
    Case(
        "TAG_CASE",
        "karpenter.node_pools[pool].tags.team",
        {"tags": {"Team": "a"}, **pools(pool(tags={"team": "b"}))},
        {"tags": {"Team": "a"}, **pools(pool(tags={"Team": "b"}))},
    ),
    Case(
        "TAG_CASE",
        "karpenter.node_pools[pool].tags.name",
        pools(pool(tags={"name": "b"})),
        pools(pool(tags={"Name": "b"})),
    ),
    Case("TAG_CASE", "tags.name", {"tags": {"name": "a"}, **pools(pool())}, {"tags": {"name": "a"}}),
    *(
        Case("TAG_DISCOVERY", f"tags[{key}]", {"tags": {key: "1"}}, {"tags": {f"x-{key}": "1"}})
        for key in ("karpenter.sh/discovery", "kubernetes.io/cluster/other", "kubernetes.io/role/elb")
    ),
    Case("POLICY_SIZE", "karpenter.node_pools", pools(*with_keys(80)), pools(*with_keys(8))),
    *(
        Case(code, "karpenter.node_policies[0]", managed(bad), managed(good))
        for code, bad, good in [
            ("MANAGED_POLICY_UNKNOWN", "AmazonEBSCSIDriverPolicy", "service-role/AmazonEBSCSIDriverPolicy"),
            ("MANAGED_POLICY_UNKNOWN", "AmazonS3ReadonlyAccess", "AmazonS3ReadOnlyAccess"),
            ("MANAGED_POLICY_UNREAD", "OurOwnPolicy", "CloudWatchAgentServerPolicy"),
        ]
    ),
    Case(
        "MANAGED_POLICY_UNKNOWN",
        "aws.permissions_boundary_arn",
        aws(permissions_boundary_arn="arn:aws:iam::aws:policy/PowerUsersAccess"),
        aws(permissions_boundary_arn="arn:aws:iam::aws:policy/PowerUserAccess"),
    ),
    *(
        Case("ACCESS_NAMESPACE", "cluster.access_entries[a].policies[0].namespaces[0]", limited(bad), limited(good))
        for bad, good in [("Team_A", "team-a"), ("-team", "team-*"), ("a" * 64, "a" * 63)]
    ),
    Case("IAM_PATH_RESERVED", "aws.iam_path", aws(iam_path="/aws-service-role/eks/"), aws(iam_path="/service-role/")),
    Case("ROLE_POLICIES", "karpenter.node_policies", node_policies(8), node_policies(6)),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("access")


def test_which_rules_warn() -> None:
    assert warnings_of("access") == {
        "ACCESS_ENTRY_EMPTY",
        "ACCESS_NAMESPACE",
        "CLUSTER_NO_ADMIN",
        "MANAGED_POLICY_UNREAD",
        "ROLE_POLICIES",
        "TAG_DISCOVERY",
    }


def test_policies_that_are_known() -> None:
    known = facts.eks()["access_policies"]
    assert ADMIN_POLICY in known["names"]
    assert known["names"] == sorted(set(known["names"]) - set(known["service_linked"]))
