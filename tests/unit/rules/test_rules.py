"""Each rule with a strategy that breaks it and a similar one that does not."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.catalogue import Catalogue, UnknownInstanceTypeError, load
from eks_hardware.findings import Severity
from eks_hardware.loader import parse_strategy
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import RULES, check, check_loaded
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, module_of, rules_of, shown_codes, warnings_of
from helpers.sections import cluster, existing_network, network, on_kubernetes, one_group, subnets
from helpers.strategies import SHIPPED, SYSTEM, TODAY, document, gpu_pool, group, pools, shipped

ADMIN = "arn:aws:iam::111122223333:role/admin"
RESERVATION = {"id": "cr-01234567", "zone": "usw2-az1"}
MINIMAL = {"strategy": "minimal"}
EVERY_ENDPOINT = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts"]


def storage(**fields: Any) -> dict[str, Any]:
    return {"storage": fields}


def key_in(region: str) -> str:
    return f"arn:aws:kms:{region}:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab"


GPU = "node_groups[gpu]"
FIRST = f"{GPU}.instance_types[0]"
BOTTLEROCKET = {"family": "bottlerocket"}

CRITICAL = {"key": "CriticalAddonsOnly", "value": "true"}
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane"}


def only_tainted(*taints: dict[str, Any]) -> dict[str, Any]:
    """Return a cluster whose only nodes have taints."""
    return {"node_groups": [group(scaling={"min": 2, "max": 2}, taints=list(taints))]}


def coredns(*tolerations: Any) -> dict[str, Any]:
    """Return the add-on with tolerations."""
    return cluster(addons={"coredns": {"configuration": {"tolerations": list(tolerations)}}})


def s3_backend(**fields: Any) -> dict[str, Any]:
    return {"backend": {"type": "s3", "bucket": "example-state", **fields}}


def efa_groups(*zone_ids: str) -> list[dict[str, Any]]:
    """Return a group with EFA in each zone: a, b and so on."""
    return [
        group("p5.48xlarge", name=name, efa=True, zones=[zone]) for name, zone in zip("abc", zone_ids, strict=False)
    ]


CASES = [
    Case("REGION_UNKNOWN", "region", {"region": "us-iso-east-1"}, {"region": "us-east-1"}),
    Case("REGION_UNKNOWN", "region", {"region": "us-west-9"}, {}),
    Case("REGION_UNKNOWN", "region", {"region": "eusc-de-east-1"}, {}),
    Case("REGION_UNKNOWN", "backend.region", s3_backend(region="us-west-9"), s3_backend(region="us-west-1")),
    Case("STATE_UNSAFE", "backend.lock", s3_backend(lock=False), s3_backend(lock=True)),
    Case(
        "STATE_UNSAFE",
        "backend.bucket",
        s3_backend(bucket="state--usw2-az1--x-s3"),
        s3_backend(bucket="state-usw2-az1"),
    ),
    Case(
        "STATE_UNSAFE",
        "backend.bucket",
        {**s3_backend(bucket="acme"), "storage": {"s3_buckets": [{"name": "acme"}]}},
        {**s3_backend(bucket="acme"), "storage": {"s3_buckets": [{"name": "acme-data"}]}},
    ),
    Case("STATE_PARTITION", "backend.region", s3_backend(region="cn-north-1"), s3_backend(region="eu-west-1")),
    Case(
        "STATE_PARTITION",
        "backend.region",
        s3_backend(region="us-gov-west-1"),
        s3_backend(region="us-gov-west-1", profile="gov"),
    ),
    Case("REGION_OFFERINGS_UNREAD", "region", {"region": "mx-central-1"}, {"region": "us-east-1"}),
    Case("REGION_OFFERINGS_UNREAD", "region", {"region": "us-gov-west-1"}, {"region": "us-east-1"}),
    Case("KUBERNETES_VERSION_UNSUPPORTED", "cluster.kubernetes_version", on_kubernetes("1.30"), on_kubernetes("1.36")),
    Case("KUBERNETES_VERSION_UNSUPPORTED", "cluster.kubernetes_version", on_kubernetes("1.29"), on_kubernetes("1.37")),
    Case("KUBERNETES_VERSION_UNREAD", "cluster.kubernetes_version", on_kubernetes("1.37"), on_kubernetes("1.36")),
    Case("KUBERNETES_VERSION_UNREAD", "cluster.kubernetes_version", on_kubernetes("1.99"), on_kubernetes("1.30")),
    Case("KUBERNETES_VERSION_ENDING", "cluster.kubernetes_version", on_kubernetes("1.34"), on_kubernetes("1.35")),
    Case(
        "PROVIDER_VERSION_IMPOSSIBLE",
        "aws.version",
        {"aws": {"version": ">= 6.2, < 6.2"}},
        {"aws": {"version": ">= 6.2, <= 6.2"}},
    ),
    Case(
        "KMS_KEY_REGION",
        "backend.kms_key_arn",
        {"backend": {"type": "s3", "bucket": "acme-terraform", "kms_key_arn": key_in("eu-west-1")}},
        {
            "backend": {
                "type": "s3",
                "bucket": "acme-terraform",
                "kms_key_arn": key_in("eu-west-1"),
                "region": "eu-west-1",
            }
        },
    ),
    Case("PROVIDER_VERSION_TOO_LOW", "aws.version", {"aws": {"version": ">= 5.99.0"}}, {"aws": {"version": "5.100.0"}}),
    Case(
        "KMS_KEY_REGION",
        "cluster.secrets_encryption.kms_key_arn",
        cluster(secrets_encryption={"kms_key_arn": key_in("eu-west-1")}),
        cluster(secrets_encryption={"kms_key_arn": key_in("us-west-2")}),
    ),
    Case(
        "KMS_KEY_REGION",
        f"{GPU}.disk.kms_key_arn",
        one_group(disk={"kms_key_arn": key_in("us-east-1")}),
        one_group(disk={"kms_key_arn": key_in("us-west-2")}),
    ),
    Case("INSTANCE_TYPE_UNKNOWN", FIRST, one_group("p5.49xlarge"), one_group("p5.48xlarge")),
    Case("INSTANCE_TYPE_UNKNOWN", FIRST, one_group("trn3.48xlarge"), one_group("trn1.32xlarge")),
    Case("INSTANCE_TYPE_UNKNOWN", f"{GPU}.instance_types[1]", one_group(["m6i.xlarge", "zz9.metal"]), one_group()),
    Case(
        "ACCELERATOR_NO_DRIVER",
        f"{GPU}.instance_types",
        one_group("f2.6xlarge"),
        one_group("f2.6xlarge", ami={"image_id": "ami-0123456789abcdef0"}),
    ),
    Case("ACCELERATOR_NO_DRIVER", f"{GPU}.instance_types", one_group("vt1.3xlarge"), one_group("c7i.4xlarge")),
    Case("INSTANCE_TYPE_UNSUPPORTED", FIRST, one_group("mac-m4pro.metal"), one_group("m8g.metal-24xl")),
    Case("INSTANCE_TYPE_UNSUPPORTED", FIRST, one_group("t1.micro"), one_group("t2.medium")),
    Case("INSTANCE_TYPE_WITHDRAWN", FIRST, one_group("p3.2xlarge"), one_group("p4d.24xlarge")),
    # The source of withdrawn types does not cover China.
    Case(
        "INSTANCE_TYPE_WITHDRAWN",
        FIRST,
        one_group("g3s.xlarge", ami={"image_id": "ami-01234567"}),
        {"region": "cn-north-1", **one_group("g3s.xlarge", ami={"image_id": "ami-01234567"})},
    ),
    Case("INSTANCE_TYPE_NOT_OFFERED", FIRST, {**one_group("g6.xlarge"), "region": "eu-west-1"}, one_group("g6.xlarge")),
    Case(
        "GROUP_MIXED_ARCHITECTURE",
        f"{GPU}.instance_types",
        one_group(["m6i.xlarge", "m7g.xlarge"]),
        one_group(["m6i.xlarge", "m7i.xlarge"]),
    ),
    Case(
        "GROUP_MIXED_ARCHITECTURE",
        f"{GPU}.instance_types",
        one_group(["g5g.xlarge", "inf2.xlarge"]),
        one_group("g5g.xlarge"),
        frozenset({"GROUP_MIXED_HARDWARE"}),
    ),
    Case(
        "GROUP_MIXED_HARDWARE",
        f"{GPU}.instance_types",
        one_group(["g5.xlarge", "m6i.xlarge"]),
        one_group(["g5.xlarge"]),
    ),
    Case(
        "GROUP_MIXED_HARDWARE",
        f"{GPU}.instance_types",
        one_group(["trn1.2xlarge", "inf2.xlarge"]),
        one_group(["inf2.xlarge", "inf2.8xlarge"]),
    ),
    Case("AMI_NONE", FIRST, one_group("g7.2xlarge", ami=BOTTLEROCKET), one_group("g7.2xlarge")),
    Case(
        "AMI_NONE",
        FIRST,
        {**one_group("hpc7a.96xlarge", ami=BOTTLEROCKET), "region": "us-east-2"},
        {**one_group("hpc7a.96xlarge"), "region": "us-east-2"},
    ),
    Case(
        "AMI_TYPE_MISMATCH",
        f"{GPU}.ami.type",
        one_group("g5g.xlarge", ami={"type": "AL2023_x86_64_NVIDIA"}),
        one_group("g5g.xlarge", ami={"type": "AL2023_ARM_64_NVIDIA"}),
    ),
    Case(
        "AMI_TYPE_MISMATCH",
        f"{GPU}.ami.type",
        one_group("trn1.32xlarge", ami={"type": "AL2023_x86_64_NVIDIA"}),
        one_group("trn1.32xlarge", ami={"type": "BOTTLEROCKET_x86_64"}),
    ),
    Case("EFA_UNSUPPORTED", FIRST, one_group("g5.xlarge", efa=True), one_group("g5.8xlarge", efa=True)),
    Case("EFA_UNSUPPORTED", FIRST, one_group("inf2.48xlarge", efa=True), one_group("inf2.48xlarge", efa=False)),
    Case(
        "EFA_ONE_TYPE",
        f"{GPU}.instance_types",
        one_group(["p4d.24xlarge", "p5.48xlarge"], efa=True),
        one_group(["g5.8xlarge", "g5.12xlarge"], efa=True),
    ),
    Case(
        "EFA_ONE_ZONE",
        f"{GPU}.zones",
        one_group("p5.48xlarge", efa=True, zones=["usw2-az1", "usw2-az2"]),
        one_group("p5.48xlarge", efa=True, zones=["usw2-az2"]),
    ),
    Case(
        "PLACEMENT_GROUP_ONE_ZONE",
        f"{GPU}.zones",
        one_group("c6i.8xlarge", placement_group="cluster", zones=["usw2-az1", "usw2-az2"]),
        one_group("c6i.8xlarge", placement_group="cluster", zones=["usw2-az2"]),
    ),
    Case(
        "EFA_TRAINING",
        f"{GPU}.efa",
        one_group("p5.48xlarge", workload="training", scaling={"max": 2}),
        one_group("p5.48xlarge", workload="training", scaling={"max": 1}),
    ),
    Case(
        "EFA_TRAINING",
        f"{GPU}.efa",
        one_group("trn1.32xlarge", workload="training", scaling={"max": 2}),
        one_group("trn1.32xlarge", workload="training", scaling={"max": 2}, efa=False),
    ),
    Case(
        "EFA_SPOT",
        f"{GPU}.capacity",
        one_group("p5.48xlarge", efa=True, capacity="spot"),
        one_group("p5.48xlarge", efa=False, capacity="spot"),
    ),
    Case(
        "PLACEMENT_GROUP_UNSUPPORTED",
        f"{GPU}.placement_group",
        one_group("t3.large", placement_group="cluster"),
        one_group("c6i.8xlarge", placement_group="cluster"),
    ),
    Case(
        "PLACEMENT_GROUP_RESERVED",
        f"{GPU}.placement_group",
        one_group(
            "p5.48xlarge", placement_group="cluster", capacity="reserved", reservation=RESERVATION, update=MINIMAL
        ),
        one_group("p5.48xlarge", placement_group="auto", capacity="reserved", reservation=RESERVATION),
    ),
    Case(
        "POD_NETWORK_NO_INTERFACE",
        FIRST,
        {**network(pod_cidr="100.64.0.0/16"), **one_group("p5.48xlarge", efa=True)},
        {**network(pod_cidr="100.64.0.0/16"), **one_group("p5.48xlarge", efa=False)},
    ),
    Case(
        "POD_NETWORK_NO_INTERFACE",
        FIRST,
        {
            **existing_network("usw2-az1", "usw2-az2", pod_subnets=subnets("usw2-az1", "usw2-az2")),
            **one_group("p5.48xlarge", efa=True),
        },
        {**existing_network("usw2-az1", "usw2-az2"), **one_group("p5.48xlarge", efa=True)},
    ),
    Case(
        "INSTANCE_STORE_UNSUPPORTED",
        f"{GPU}.instance_store",
        one_group("g5.xlarge", ami=BOTTLEROCKET, instance_store="mount"),
        one_group("g5.xlarge", ami=BOTTLEROCKET, instance_store="raid0"),
    ),
    Case(
        "INSTANCE_STORE_UNSUPPORTED",
        f"{GPU}.instance_store",
        one_group("g5.xlarge", ami={"type": "BOTTLEROCKET_x86_64_NVIDIA"}, instance_store="mount"),
        one_group("g5.xlarge", instance_store="mount"),
    ),
    Case(
        "ZONE_NOT_OFFERED",
        f"{GPU}.zones",
        one_group("trn1.32xlarge", zones=["usw2-az2"]),
        one_group("trn1.32xlarge", zones=["usw2-az4"]),
    ),
    Case(
        "ZONE_NOT_RECORDED",
        f"{GPU}.reservation.zone",
        one_group(
            "trn1.32xlarge",
            capacity="capacity-block",
            reservation={**RESERVATION, "zone": "usw2-az3"},
            update=MINIMAL,
        ),
        one_group("trn1.32xlarge", capacity="capacity-block", reservation=RESERVATION),
    ),
    Case(
        "GROUP_NO_ZONE",
        f"{GPU}.instance_types",
        {**network(zones=["usw2-az2", "usw2-az3"]), **one_group("trn1.32xlarge")},
        {**network(zones=["usw2-az2", "usw2-az4"]), **one_group("trn1.32xlarge")},
    ),
    Case(
        "GROUP_NO_ZONE",
        f"{GPU}.instance_types",
        {**existing_network("usw2-az2", "usw2-az3"), **one_group("trn1.32xlarge")},
        {**network(zones=2), **one_group("trn1.32xlarge"), "region": "us-east-1"},
    ),
    Case(
        "NODES_ALL_TAINTED",
        "node_groups",
        {"node_groups": [group("g5.xlarge", scaling={"min": 1, "max": 2})]},
        {"node_groups": [group("g5.xlarge", scaling={"min": 1, "max": 2}, accelerator_taint=False)]},
    ),
    Case(
        "NODES_ALL_TAINTED",
        f"{GPU}.scaling",
        {"node_groups": [group("m6i.xlarge", scaling={"max": 2})]},
        {"node_groups": [group("m6i.xlarge", scaling={"desired": 1, "max": 2})]},
    ),
    Case(
        "NODES_ALL_TAINTED",
        "node_groups",
        {"node_groups": [group(scaling={"min": 1, "max": 2}, taints=[{"key": "a"}])]},
        {"node_groups": [group(scaling={"min": 1, "max": 2}, taints=[{"key": "a", "effect": "PREFER_NO_SCHEDULE"}])]},
    ),
    # CoreDNS's own tolerations.
    Case("NODES_ALL_TAINTED", "node_groups", only_tainted(CRITICAL, {"key": "a"}), only_tainted(CRITICAL)),
    Case(
        "NODES_ALL_TAINTED",
        "node_groups",
        only_tainted({**CONTROL_PLANE, "effect": "NoExecute"}),
        only_tainted({**CONTROL_PLANE, "effect": "NO_SCHEDULE"}),
    ),
    # Tolerations from the strategy.
    *(
        Case(
            "NODES_ALL_TAINTED",
            "node_groups",
            {**only_tainted({"key": "team", "value": "a"}), **coredns(bad)},
            {**only_tainted({"key": "team", "value": "a"}), **coredns(good)},
            frozenset({"ADDON_VALUE"} if isinstance(bad, list) else ()),
        )
        for bad, good in [
            ({"key": "other", "operator": "Exists"}, {"operator": "Exists"}),
            ({"key": "team", "value": "b"}, {"key": "team", "operator": "Equal", "value": "a"}),
            ({"key": "team", "operator": "Equal"}, {"key": "team", "operator": "Exists"}),
            (
                {"key": "team", "operator": "Exists", "effect": "NoExecute"},
                {"key": "team", "operator": "Exists", "effect": "NoSchedule"},
            ),
            (["team"], {"operator": "Exists", "key": None, "effect": None}),
        ]
    ),
    Case(
        "NODES_ALL_TAINTED",
        f"{GPU}.scaling",
        {"node_groups": [group(taints=[CRITICAL])]},
        {"node_groups": [group(taints=[CRITICAL], scaling={"desired": 1, "max": 2})]},
    ),
    Case(
        "FSX_BOTTLEROCKET",
        f"{GPU}.ami",
        {**storage(fsx_lustre={}), **one_group("g5.xlarge", workload="training", ami=BOTTLEROCKET)},
        {**storage(efs={}), **one_group("g5.xlarge", workload="training", ami=BOTTLEROCKET)},
    ),
    Case(
        "FSX_BOTTLEROCKET",
        f"{GPU}.ami",
        {**storage(fsx_lustre={}), **one_group("c7i.xlarge", workload="training", ami={"type": "BOTTLEROCKET_x86_64"})},
        {**storage(fsx_lustre={}), **one_group("c7i.xlarge", workload="training")},
    ),
    Case(
        "FSX_BOTTLEROCKET",
        "karpenter.node_pools[pool].ami",
        {**storage(fsx_lustre={}), **pools(gpu_pool(instance_families=["g6"], workload="training", ami=BOTTLEROCKET))},
        {**storage(fsx_lustre={}), **pools(gpu_pool(instance_families=["g6"], workload="inference", ami=BOTTLEROCKET))},
    ),
    Case(
        "FSX_BOTTLEROCKET",
        "storage.fsx_lustre",
        {
            **storage(fsx_lustre={}),
            "node_groups": [{**SYSTEM, "workload": "system"}, group("g5.xlarge", ami=BOTTLEROCKET)],
        },
        {**storage(fsx_lustre={}), "node_groups": [{**SYSTEM, "workload": "system"}, group("g5.xlarge")]},
    ),
    Case(
        "FSX_NO_NODE",
        "storage.fsx_lustre",
        {**storage(fsx_lustre={}), "node_groups": [{**SYSTEM, "workload": "system"}]},
        {
            **storage(fsx_lustre={}),
            "node_groups": [{**SYSTEM, "workload": "system"}],
            **pools(gpu_pool(instance_families=["g6"])),
        },
    ),
    Case(
        "FSX_ZONE",
        "storage.fsx_lustre.zone",
        {**network(zones=["usw2-az1", "usw2-az2"]), **storage(fsx_lustre={"zone": "usw2-az3"})},
        {**network(zones=["usw2-az1", "usw2-az2"]), **storage(fsx_lustre={"zone": "usw2-az2"})},
    ),
    Case(
        "FSX_ZONE_FAR",
        "storage.fsx_lustre.zone",
        {**storage(fsx_lustre={"zone": "usw2-az1"}), **one_group("p5.48xlarge", efa=True, zones=["usw2-az2"])},
        {**storage(fsx_lustre={"zone": "usw2-az2"}), **one_group("p5.48xlarge", efa=True, zones=["usw2-az2"])},
    ),
    # one of two groups, in each order, and without a given zone
    *(
        Case(
            "FSX_ZONE_FAR",
            f"storage.fsx_lustre{'.zone' if fsx else ''}",
            {**storage(fsx_lustre=fsx), "node_groups": [SYSTEM, *far]},
            {**storage(fsx_lustre=fsx), "node_groups": [SYSTEM, *near]},
        )
        for fsx in ({"zone": "usw2-az1"}, {})
        for far, near in [
            (efa_groups("usw2-az1", "usw2-az2"), efa_groups("usw2-az1", "usw2-az1")),
            (efa_groups("usw2-az2", "usw2-az1"), efa_groups("usw2-az1")),
        ]
    ),
    Case(
        "STORAGE_ADDON_OFF",
        "cluster.addons.aws-efs-csi-driver.enabled",
        {**storage(efs={}), **cluster(addons={"aws-efs-csi-driver": {"enabled": False}})},
        {**storage(efs={}), **cluster(addons={"aws-efs-csi-driver": {}, "aws-fsx-csi-driver": {"enabled": False}})},
    ),
    Case(
        "KMS_KEY_REGION",
        "storage.efs.kms_key_arn",
        storage(efs={"kms_key_arn": key_in("us-east-1")}),
        storage(efs={"kms_key_arn": key_in("us-west-2")}),
    ),
]

# EFA_UNKNOWN_LAYOUT: every type of the catalogue has a layout; test_efa_unknown_layout removes one. The second has its
# case with those of the other pools.
OWN_TEST = {"EFA_UNKNOWN_LAYOUT", "POOL_EFA_UNSUPPORTED"}


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


# Modules of eks_hardware/rules whose rules are in this table; the others have a table in a separate file.
HERE = ("cluster", "hardware", "storage", "taints")
ELSEWHERE = {
    "access": "access",
    "addon_values": "values",
    "addons": "addons",
    "budget": "budget",
    "capacity": "node_settings",
    "chart_needs": "values",
    "charts": "charts",
    "containerd": "kubelet",
    "corefile": "values",
    "delivery": "delivery",
    "drivers": "needs",
    "edge_zones": "edge_zones",
    "frameworks": "needs",
    "gpu": "gpu",
    "idle": "room",
    "ignore": "ignore",
    "images": "images",
    "identifiers": "identifiers",
    "karpenter": "karpenter",
    "quantities": "quantities",
    "kubelet": "kubelet",
    "kubelet_flags": "kubelet",
    "kubelet_settings": "kubelet",
    "needs": "needs",
    "network": "network",
    "node_pools": "karpenter",
    "node_settings": "node_settings",
    "overlap": "karpenter",
    "placement": "values",
    "running": "values",
    "platform": "platform",
    "system_room": "room",
    "unused": "room",
    "user_data": "user_data",
    "user_data_overrides": "user_data",
    "workload": "needs",
}


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} | OWN_TEST == rules_of(*HERE)


def test_every_module_of_rules_has_a_table() -> None:
    assert {module_of(rule) for rule in RULES.values()} == {*HERE, *ELSEWHERE}
    for table in ELSEWHERE.values():
        assert (Path(__file__).parent / f"test_rules_{table}.py").is_file()


def test_rules_are_described() -> None:
    for code, rule in RULES.items():
        assert code == rule.code
        assert code.isupper()
        assert isinstance(rule.severity, Severity)


WARNINGS = {
    "ACCELERATOR_NO_DRIVER",
    "EFA_SPOT",
    "EFA_TRAINING",
    "FSX_BOTTLEROCKET",
    "FSX_ZONE_FAR",
    "KUBERNETES_VERSION_ENDING",
    "KUBERNETES_VERSION_UNREAD",
    "PLACEMENT_GROUP_RESERVED",
    "REGION_OFFERINGS_UNREAD",
    "STATE_UNSAFE",
    "ZONE_NOT_RECORDED",
}


def test_which_rules_warn() -> None:
    assert warnings_of(*HERE) == WARNINGS


class OneTypeWithoutLayout(Catalogue):
    def find(self, name: str) -> Any:
        found = super().find(name)
        return dataclasses.replace(found, efa_interfaces=()) if found and name == "p5.48xlarge" else found


def test_efa_unknown_layout() -> None:
    given = Strategy.model_validate(document(group("p5.48xlarge", efa=True), group("p4d.24xlarge", "a", efa=True)))
    found = check(given, OneTypeWithoutLayout(), today=TODAY)
    assert [(finding.code, finding.path) for finding in found] == [("EFA_UNKNOWN_LAYOUT", FIRST)]


@in_one_test("name", SHIPPED)
def test_shipped_strategies_have_one_finding(name: str) -> None:
    """Their API is open, so that the first apply works from anywhere; the warning says to narrow it."""
    assert [finding.code for finding in check(shipped(name), today=TODAY)] == ["ENDPOINT_OPEN"]


# --- dates


@in_one_test(
    ("kubernetes_version", "today", "expected"),
    [
        ("1.34", "2026-09-02", set()),
        ("1.34", "2026-09-03", {"KUBERNETES_VERSION_ENDING"}),  # 90 days before 2026-12-02
        ("1.34", "2026-12-02", {"KUBERNETES_VERSION_ENDING"}),
        ("1.34", "2027-12-02", {"KUBERNETES_VERSION_ENDING"}),  # the last day of extended support
        ("1.34", "2027-12-03", {"KUBERNETES_VERSION_UNSUPPORTED"}),
        ("1.31", "2026-11-26", {"KUBERNETES_VERSION_ENDING"}),
        ("1.31", "2026-11-27", {"KUBERNETES_VERSION_UNSUPPORTED"}),
        ("1.36", "2030-01-01", {"KUBERNETES_VERSION_ENDING"}),  # the end of extended support is unknown
        ("1.35", "2026-12-26", set()),
        ("1.35", "2026-12-27", {"KUBERNETES_VERSION_ENDING"}),
    ],
)
def test_versions_end(kubernetes_version: str, today: str, expected: set[str]) -> None:
    given = Strategy.model_validate(document(**on_kubernetes(kubernetes_version)))
    found = check(given, today=datetime.date.fromisoformat(today))
    assert expected == {finding.code for finding in found}


@in_one_test("name", SHIPPED)
def test_a_version_that_was_not_read_can_be_resolved(name: str) -> None:
    given = shipped(name)
    newer = given.cluster.model_copy(update={"kubernetes_version": "1.37"})
    assert resolve(given.model_copy(update={"cluster": newer})).cluster.kubernetes_version == "1.37"


# --- provider versions


@in_one_test(
    ("wanted", "enough"),
    [
        ("~> 6.0", True),
        ("= 5.100.0", True),
        ("5.100.0", True),
        (">= 5.100", True),
        ("> 5.100.0", True),
        (">6", True),
        (">= 5.100.0, < 7.0.0, != 6.1.0", True),
        ("< 7, >= 6", True),
        (" ~>  5.100 ", True),
        ("< 7", False),
        ("<= 6.9.0", False),
        ("!= 6.1", False),
        ("!= 6.1, < 7", False),
        (">= 5, < 7", False),
        ("~> 5.0", False),
        ("= 5.99.0", False),
        ("5", False),
        ("> 5.99.0", False),
    ],
)
def test_provider_range(wanted: str, enough: bool) -> None:
    assert ([] if enough else [("PROVIDER_VERSION_TOO_LOW", "aws.version")]) == shown_codes(
        {"aws": {"version": wanted}}
    )


@in_one_test(
    ("wanted", "empty"),
    [
        (">= 6, < 5", True),
        ("> 6.1, < 6.1.1", True),
        ("> 6.1, < 6.1.2", False),
        (">= 6.1, <= 6.1", False),
        (">= 6.1, <= 6.1, != 6.1.0", True),
        (">= 6.1, < 6.1.3, != 6.1.0, != 6.1.1", False),
        ("~> 6.1, >= 7", True),
        ("~> 6.1, >= 6.9", False),
        ("~> 6.1.0, >= 6.2", True),
        ("~> 6, >= 7", False),
        ("6.1, 6.2", True),
        ("= 6.1, 6.1.0", False),
        ("!= 6.1", False),
        (" >=6.9 ,  <6.8", True),
    ],
)
def test_provider_range_without_a_version(wanted: str, empty: bool) -> None:
    found = {code for code, _ in shown_codes({"aws": {"version": wanted}})}
    assert empty == ("PROVIDER_VERSION_IMPOSSIBLE" in found)


@in_one_test(
    ("setting", "wanted", "enough"),
    [
        ({"deletion_protection": False}, ">= 6.0", False),
        ({"deletion_protection": False}, ">= 6.9", True),
        ({"control_plane_tier": "tier-xl"}, "~> 6.9", False),
        ({"control_plane_tier": "tier-xl"}, "~> 6.23", True),
    ],
)
def test_provider_range_of_a_setting(setting: dict[str, Any], wanted: str, enough: bool) -> None:
    found = shown_codes({**cluster(**setting), "aws": {"version": wanted}})
    assert ([] if enough else [("PROVIDER_VERSION_TOO_LOW", "aws.version")]) == found


# --- all at once


def test_mistakes_do_not_hide_each_other() -> None:
    groups = [
        SYSTEM,
        group("p5.49xlarge", "unknown", efa=True, zones=["usw2-az7", "usw2-az1"]),
        group(["g5.xlarge", "m7g.xlarge"], "mixed", efa=True),
        group("p3.2xlarge", "withdrawn"),
        group("g7.2xlarge", "image", ami=BOTTLEROCKET),
        group("trn1.32xlarge", "zone", zones=["usw2-az3"]),
    ]
    found = shown_codes(
        {
            "node_groups": groups,
            "cluster": {"kubernetes_version": "1.29", "service_cidr": "8.0.0.0/16"},
            "network": {"cidr": "10.0.0.0/24", "pod_cidr": "10.1.0.0/16"},
            "aws": {"version": "< 7"},
        }
    )
    assert {
        ("KUBERNETES_VERSION_UNSUPPORTED", "cluster.kubernetes_version"),
        ("CLUSTER_NO_ADMIN", "cluster"),
        ("SERVICE_CIDR", "cluster.service_cidr"),
        ("NETWORK_CIDR_SIZE", "network.cidr"),
        ("NETWORK_POD_CIDR", "network.pod_cidr"),
        ("PROVIDER_VERSION_TOO_LOW", "aws.version"),
        ("INSTANCE_TYPE_UNKNOWN", "node_groups[unknown].instance_types[0]"),
        ("EFA_ONE_ZONE", "node_groups[unknown].zones"),
        ("ZONE_UNKNOWN", "node_groups[unknown].zones"),
        ("GROUP_MIXED_ARCHITECTURE", "node_groups[mixed].instance_types"),
        ("GROUP_MIXED_HARDWARE", "node_groups[mixed].instance_types"),
        ("EFA_UNSUPPORTED", "node_groups[mixed].instance_types[0]"),
        ("EFA_UNSUPPORTED", "node_groups[mixed].instance_types[1]"),
        ("INSTANCE_TYPE_WITHDRAWN", "node_groups[withdrawn].instance_types[0]"),
        ("AMI_NONE", "node_groups[image].instance_types[0]"),
        ("ZONE_NOT_OFFERED", "node_groups[zone].zones"),
    } == set(found)


@in_one_test(
    ("withdrawn", "current"),
    [("u-12tb1.112xlarge", "u-3tb1, u-6tb1, u7i"), ("i3.metal", "i3, i3en"), ("p2.xlarge", "p3dn, p4d")],
)
def test_a_withdrawn_type_leads_to_current_families_that_are_alike(withdrawn: str, current: str) -> None:
    given = Strategy.model_validate({**document(), **one_group(withdrawn)})
    (found,) = (each for each in check(given, today=TODAY) if each.code == "INSTANCE_TYPE_WITHDRAWN")
    assert f"choose a current family, such as {current}" in found.message


def test_errors_come_before_warnings() -> None:
    given = Strategy.model_validate(document(group("p5.49xlarge"), cluster={}))
    found = check(given, today=TODAY)
    assert [finding.code for finding in found] == ["INSTANCE_TYPE_UNKNOWN", "CLUSTER_NO_ADMIN"]


TEXT = """\
version: 1
name: demo
region: us-west-2
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
  - name: gpu
    instance_types: [p5.48xlarge, p5.49xlarge]
    scaling: {max: 4}
kubernetes: {delivery: manifests}
"""


def test_findings_have_their_place_in_the_file() -> None:
    loaded = parse_strategy(TEXT, file="demo.yaml")
    found = {finding.code: finding.position for finding in check_loaded(loaded)}
    assert found["INSTANCE_TYPE_UNKNOWN"] is not None
    assert found["INSTANCE_TYPE_UNKNOWN"] == ("demo.yaml", 7, 35)


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (one_group("dl2q.24xlarge"), "; build an image and set ami.image_id"),
        ({**one_group("hpc7a.96xlarge", ami=BOTTLEROCKET), "region": "us-east-2"}, "; set ami.family to al2023"),
    ],
    ids=["no image of EKS", "another family has one"],
)
def test_the_fix_for_a_type_without_an_image(given: dict[str, Any], fix: str) -> None:
    message = finding_message("AMI_NONE", given)
    assert message.endswith(fix)


@in_one_test(
    ("name", "chip"),
    [("trn3.48xlarge", "Trainium3"), ("p6e-gb300.36xlarge", "GB300"), ("u7inh-32tb.480xlarge", "U7inh")],
)
def test_a_type_that_exists_and_is_not_listed(name: str, chip: str) -> None:
    message = finding_message("INSTANCE_TYPE_UNKNOWN", one_group(name))
    said = f"{chip} instances exist, but are not in this toolkit's catalogue; ask AWS for access to them"
    assert message == f"{name} is not in the catalogue; {said}"
    with pytest.raises(UnknownInstanceTypeError, match=f"{chip} instances exist") as error:
        load().get(name)
    assert error.value.suggestions == ()


@in_one_test(
    ("system", "fix"),
    [
        (group("m7i.xlarge", "system", scaling={"max": 4}), "set its scaling.min to 2"),
        (group("m7i.xlarge", "system", scaling={"max": 1}), "set its scaling.min and scaling.max to 2"),
        (
            group("m7i.xlarge", "system", scaling={"desired": 0, "max": 2}),
            "set its scaling.min and scaling.desired to 2",
        ),
        (group("g6.xlarge", "gpu", scaling={"min": 2, "max": 4}), "such as {name: system, "),
        (group("g6.xlarge", "system", scaling={"min": 2, "max": 4}), "such as {name: system-2, "),
    ],
)
def test_the_fix_for_nodes_that_coredns_cannot_use(system: dict[str, Any], fix: str) -> None:
    """Otherwise the next finding is about a name that is taken, or about the order of the sizes."""
    message = finding_message("NODES_ALL_TAINTED", {"node_groups": [system]})
    assert fix in message


@in_one_test(("read_only", "access"), [(True, "read"), (False, "read and overwrite")])
def test_the_warning_says_what_pods_can_do_with_the_state(read_only: bool, access: str) -> None:
    given = {**s3_backend(bucket="acme"), "storage": {"s3_buckets": [{"name": "acme", "read_only": read_only}]}}
    message = finding_message("STATE_UNSAFE", given)
    assert message.startswith(f"storage.s3_buckets lets pods {access} everything in this bucket")


def test_far_nodes_are_named_with_a_fix_that_is_possible() -> None:
    def message(zone: str | None, *groups: dict[str, Any]) -> str:
        fsx = {"zone": zone} if zone else {}
        return finding_message("FSX_ZONE_FAR", {**storage(fsx_lustre=fsx), "node_groups": [SYSTEM, *groups]})

    two = message("usw2-az1", *efa_groups("usw2-az1", "usw2-az2"))
    assert "nodes with EFA (b in usw2-az2) are not in usw2-az1" in two
    assert two.endswith("; use usw2-az1 for b if it has the capacity, or ignore this")
    assert "(b in usw2-az2)" in message(None, *efa_groups("usw2-az1", "usw2-az2"))
    both = message("usw2-az1", *efa_groups("usw2-az2", "usw2-az2"))
    assert "(a in usw2-az2, b in usw2-az2)" in both
    assert both.endswith("; set zone: usw2-az2")
    h200 = group("p5en.48xlarge", name="h200", efa=True, zones=["usw2-az2"])  # the first zone does not offer it
    elsewhere = message("usw2-az1", *efa_groups("usw2-az1"), h200)
    assert elsewhere.endswith("; usw2-az1 does not offer their types, so ignore this if you accept the cost")
