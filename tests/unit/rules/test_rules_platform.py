"""Rules about autoscalers, queues, teams and charts: a strategy that breaks each, and a similar one that does not."""

from __future__ import annotations

from typing import Any

from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, warnings_of
from helpers.sections import kubernetes, on_kubernetes, with_groups
from helpers.strategies import SYSTEM, group

AUTOSCALED = {"min": 0, "max": 4, "autoscaled": True}
FIXED = {**SYSTEM, "scaling": {"min": 2, "max": 2}}
CA = "kubernetes.cluster_autoscaler"


def autoscaled(**fields: Any) -> dict[str, Any]:
    groups = [FIXED, group("g5.xlarge", scaling=AUTOSCALED)]
    return {"node_groups": groups, **kubernetes(cluster_autoscaler=True, **fields)}


def team(**fields: Any) -> dict[str, Any]:
    return kubernetes(teams=[{"name": "research", **fields}])


TAINTS = [{"key": f"taint-{index}"} for index in range(9)]
SOFT = [{"key": "soft", "effect": "PreferNoSchedule"}]
UNSUPPORTED = frozenset({"KUBERNETES_VERSION_UNSUPPORTED"})
UNREAD = frozenset({"KUBERNETES_VERSION_UNREAD"})
NEUTRAL = {"container_defaults": {"requests": {"cpu": "1", "memory": "1Gi"}}}
NO_NAT = {"network": {"nat_gateways": "none"}}
NODES_NEED = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts"]


def endpoints(*more: str) -> dict[str, Any]:
    return {"network": {"nat_gateways": "none", "interface_endpoints": [*NODES_NEED, *more]}}


def shared(name: str, fields: dict[str, Any], *, quota: dict[str, Any]) -> dict[str, Any]:
    operator = "mig_profile" in fields.get("gpu_sharing", {}) and "ami" not in fields
    teams = [{"name": "research", "quota": quota}]
    return with_groups(group(name, **fields), gpu_operator=operator, teams=teams)


# The resource name of a GPU quota for each kind of sharing.
_GPU, _TURNS, _SLICE = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
_RENAMED, _MIG = {"time_slicing": {"replicas": 2, "rename": True}}, {"mig_profile": "1g.5gb"}
SHARED: list[tuple[str, dict[str, Any], str, str]] = [
    ("g5.xlarge", {}, _TURNS, _GPU),
    ("g5.xlarge", {"gpu_sharing": {"time_slicing": {"replicas": 2}}}, _TURNS, _GPU),
    ("g5.xlarge", {"gpu_sharing": _RENAMED}, _GPU, _TURNS),
    ("p4d.24xlarge", {"gpu_sharing": _MIG}, _GPU, _SLICE),
    ("p4d.24xlarge", {"gpu_sharing": _MIG}, "nvidia.com/mig-2g.10gb", _SLICE),
    ("p4d.24xlarge", {"gpu_sharing": _MIG, "ami": {"family": "bottlerocket"}}, _SLICE, _GPU),
]


CASES = [
    Case("AUTOSCALERS_BOTH", CA, {**autoscaled(), "karpenter": {}}, autoscaled()),
    Case(
        "AUTOSCALER_NO_GROUP",
        CA,
        {"node_groups": [FIXED], **kubernetes(cluster_autoscaler=True)},
        autoscaled(),
    ),
    Case(
        "AUTOSCALER_MISSING",
        "node_groups[gpu].scaling.autoscaled",
        {"node_groups": [SYSTEM, group(scaling=AUTOSCALED)]},
        {"node_groups": [SYSTEM, group()]},
    ),
    Case(
        "AUTOSCALER_MISSING",
        "node_groups[gpu].scaling.autoscaled",
        {"node_groups": [SYSTEM, group(scaling=AUTOSCALED)], "karpenter": {}, **kubernetes()},
        autoscaled(),
    ),
    Case(
        "AUTOSCALER_TAKES_GROUP",
        "node_groups[system].scaling",
        {**autoscaled(), "node_groups": [SYSTEM, group(scaling=AUTOSCALED)]},
        {**autoscaled(), "node_groups": [FIXED, group(scaling=AUTOSCALED)]},
    ),
    Case(
        "AUTOSCALER_VERSION",
        CA,
        {**autoscaled(), **on_kubernetes("1.30")},
        {**autoscaled(), **on_kubernetes("1.36")},
        UNSUPPORTED,
    ),
    Case(
        "AUTOSCALER_VERSION",
        CA,
        {**autoscaled(), **on_kubernetes("1.99")},
        {
            **autoscaled(charts={"cluster-autoscaler": {"values": {"image": {"tag": "v1.99.0"}}}}),
            **on_kubernetes("1.99"),
        },
        UNREAD,
    ),
    Case(
        "KUEUE_NO_NODES",
        "kubernetes.kueue",
        with_groups(kueue=True) | {"node_groups": [{**SYSTEM, "workload": "system"}]},
        with_groups(group(), kueue=True),
    ),
    Case(
        "KUEUE_TAINTS",
        "node_groups[gpu].taints",
        with_groups(group(taints=TAINTS), kueue=True),
        with_groups(group(taints=[*TAINTS[:8], *SOFT]), kueue=True),
    ),
    Case(
        "KUEUE_TAINTS",
        "node_groups[gpu].taints",
        with_groups(group(taints=TAINTS), kueue=True),
        with_groups(group(taints=TAINTS)),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[kube-system].name",
        kubernetes(teams=[{"name": "kube-system"}]),
        kubernetes(teams=[{"name": "system"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[default].name",
        kubernetes(teams=[{"name": "default"}]),
        kubernetes(teams=[{"name": "defaults"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[kueue-system].name",
        with_groups(group(), kueue=True, teams=[{"name": "kueue-system"}]),
        with_groups(group(), teams=[{"name": "kueue-system"}]),
    ),
    Case(
        "TEAM_NAMESPACE_RESERVED",
        "kubernetes.teams[autoscaling].name",
        {"karpenter": {"namespace": "autoscaling"}, **kubernetes(teams=[{"name": "autoscaling"}])},
        kubernetes(teams=[{"name": "autoscaling"}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[nvidia.com/gpu]",
        team(quota={"nvidia.com/gpu": 4}),
        with_groups(group("g5.xlarge"), teams=[{"name": "research", "quota": {"nvidia.com/gpu": 4}}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[aws.amazon.com/neuroncore]",
        team(quota={"aws.amazon.com/neuroncore": 4}),
        with_groups(group("inf2.xlarge"), teams=[{"name": "research", "quota": {"aws.amazon.com/neuroncore": 4}}]),
    ),
    Case(
        "TEAM_QUOTA_UNUSED",
        "kubernetes.teams[research].quota[vpc.amazonaws.com/efa]",
        with_groups(group("g5.8xlarge"), teams=[{"name": "research", "quota": {"vpc.amazonaws.com/efa": 4}}]),
        with_groups(group("g5.8xlarge", efa=True), teams=[{"name": "research", "quota": {"vpc.amazonaws.com/efa": 4}}]),
    ),
    *(
        Case(
            "TEAM_QUOTA_UNUSED",
            f"kubernetes.teams[research].quota[{wrong}]",
            shared(name, fields, quota={wrong: 4}),
            shared(name, fields, quota={right: 4}),
        )
        for name, fields, wrong, right in SHARED
    ),
    Case(
        "TEAM_QUOTA_NO_DEFAULT",
        "kubernetes.teams[research].quota.cpu",
        team(quota={"cpu": 8}, container_defaults={"requests": {"memory": "1Gi"}}),
        team(quota={"cpu": 8, "pods": 10}, **NEUTRAL),
    ),
    Case(
        "TEAM_QUOTA_NO_DEFAULT",
        "kubernetes.teams[research].quota.memory",
        team(quota={"memory": "8Gi"}),
        team(quota={"memory": "8Gi"}, container_defaults={"limits": {"memory": "1Gi"}}),
    ),
    Case(
        "TEAM_LIMIT_RANGE",
        "kubernetes.teams[research].container_defaults.requests.cpu",
        team(container_defaults={"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}}),
        team(container_defaults={"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}}),
    ),
    Case(
        "TEAM_LIMIT_RANGE",
        "kubernetes.teams[research].container_defaults.requests.memory",
        team(container_defaults={"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "1G"}}),
        team(container_defaults={"requests": {"cpu": "2", "memory": "1G"}, "limits": {"memory": "1Gi"}}),
    ),
    Case(
        "TEAM_QUOTA_QUANTITY",
        "kubernetes.teams[research].quota.pods",
        team(quota={"pods": "10.5"}),
        team(quota={"pods": "1k"}),
    ),
    Case(
        "TEAM_QUOTA_QUANTITY",
        "kubernetes.teams[research].quota.persistentvolumeclaims",
        team(quota={"persistentvolumeclaims": -1}),
        team(quota={"persistentvolumeclaims": 0}),
    ),
    Case(
        "TEAM_QUOTA_QUANTITY",
        "kubernetes.teams[research].quota[nvidia.com/gpu]",
        with_groups(group("g5.xlarge"), teams=[{"name": "research", "quota": {"nvidia.com/gpu": "500m"}}]),
        with_groups(group("g5.xlarge"), teams=[{"name": "research", "quota": {"nvidia.com/gpu": "5000m"}}]),
    ),
    Case(
        "CONTROLLER_NO_WAY_OUT",
        "network.interface_endpoints",
        {**autoscaled(), **endpoints("elasticloadbalancing")},
        {**autoscaled(), **endpoints("autoscaling")},
    ),
    Case(
        "CONTROLLER_NO_WAY_OUT",
        "network.interface_endpoints",
        {**kubernetes(load_balancer_controller=True), **endpoints()},
        {**kubernetes(load_balancer_controller=True), **NO_NAT},
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("platform")


def test_which_rules_warn() -> None:
    assert warnings_of("platform") == {
        "AUTOSCALERS_BOTH",
        "AUTOSCALER_MISSING",
        "AUTOSCALER_NO_GROUP",
        "AUTOSCALER_TAKES_GROUP",
        "AUTOSCALER_VERSION",
        "TEAM_QUOTA_NO_DEFAULT",
        "TEAM_QUOTA_UNUSED",
    }


@in_one_test(("name", "fields", "wrong", "right"), SHARED)
def test_a_quota_has_the_name_that_nodes_use(name: str, fields: dict[str, Any], wrong: str, right: str) -> None:
    message = finding_message("TEAM_QUOTA_UNUSED", shared(name, fields, quota={wrong: 4}))
    assert message.endswith(f"; use {right}, which its nodes advertise")
