"""Rules about the settings of groups and pools: pods, labels, disks, kubelet, updates, Spot."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.catalogue import load
from eks_hardware.models import Strategy
from eks_hardware.resolve.max_pods import pods_per_node
from eks_hardware.rules import RULES
from eks_hardware.rules.registry import Context
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, shown_codes, warnings_of
from helpers.sections import one_group
from helpers.strategies import SYSTEM, TODAY, document, group, pool, pools, strategy

GPU = "node_groups[gpu]"
POOL = "karpenter.node_pools[pool]"
RESERVED = {"capacity": "reserved", "reservation": {"id": "cr-01234567", "zone": "usw2-az1"}}
BLOCK = {**RESERVED, "capacity": "capacity-block"}
MINIMAL = {"update": {"strategy": "minimal"}}
PODS_ELSEWHERE = {"network": {"pod_cidr": "100.64.0.0/16"}}
BOTTLEROCKET = {"ami": {"family": "bottlerocket"}}


def pods(count: int, instance_types: str | list[str] = "m6i.xlarge", **fields: Any) -> dict[str, Any]:
    return one_group(instance_types, kubelet={"max_pods": count}, **fields)


def labels(**given: str) -> dict[str, Any]:
    return one_group(labels=given)


def bottlerocket_labels(**given: str) -> dict[str, Any]:
    return one_group(ami={"family": "bottlerocket"}, user_data={"kubernetes": {"node-labels": given}})


def flag(text: str) -> dict[str, Any]:
    return one_group(user_data={"kubelet": {"flags": [text]}})


def system(**fields: Any) -> dict[str, Any]:
    return {**SYSTEM, "workload": "system", **fields}


def reserve(instance_types: str | list[str] = "m6i.xlarge", **given: dict[str, str]) -> dict[str, Any]:
    return one_group(instance_types, kubelet={f"{name}_reserved": each for name, each in given.items()})


TURNS = {"gpu_sharing": {"time_slicing": {"replicas": 4}}}
CONFIG = "nvidia.com/device-plugin.config"

TWO_P5 = ["p5.48xlarge", "p5en.48xlarge"]
IN_GROUP = {
    "capacity": "reserved",
    "reservation": {
        "resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/p5",
        "zone": "usw2-az2",
    },
}
IN_ONE = {**IN_GROUP, "reservation": {"id": "cr-01234567", "zone": "usw2-az2"}}

CASES = [
    # --- what EC2 sells
    Case(
        "CAPACITY_UNSUPPORTED",
        f"{GPU}.capacity",
        one_group("g5.xlarge", **BLOCK, **MINIMAL),
        one_group("p5.48xlarge", **BLOCK),
    ),
    Case(
        "CAPACITY_UNSUPPORTED",
        f"{GPU}.capacity",
        {**one_group("hpc7a.96xlarge", capacity="spot", workload="development"), "region": "us-east-2"},
        {**one_group("hpc7a.96xlarge"), "region": "us-east-2"},
    ),
    # --- one reservation, one type
    Case(
        "CAPACITY_BLOCK_ONE_TYPE",
        f"{GPU}.instance_types",
        one_group(["p4d.24xlarge", "p5.48xlarge"], **BLOCK, **MINIMAL),
        one_group("p5.48xlarge", **BLOCK, **MINIMAL),
    ),
    Case(
        "CAPACITY_BLOCK_MINIMUM",
        f"{GPU}.scaling.min",
        one_group("p5.48xlarge", **BLOCK, scaling={"min": 1, "max": 2}, **MINIMAL),
        one_group("p5.48xlarge", **BLOCK, scaling={"max": 2}),
    ),
    Case(
        "RESERVATION_ONE_TYPE",
        f"{GPU}.instance_types",
        one_group(TWO_P5, **IN_ONE, **MINIMAL),
        one_group(TWO_P5, **IN_GROUP, **MINIMAL),
    ),
    Case(
        "RESERVATION_ONE_TYPE",
        f"{GPU}.instance_types",
        one_group(["m6i.xlarge", "m7i.xlarge"], **IN_ONE, **MINIMAL),
        one_group(["m6i.xlarge"], **IN_ONE, **MINIMAL),
    ),
    # --- pods: 4 interfaces with 15 addresses, in prefixes of 16
    Case("MAX_PODS_ADDRESSES", f"{GPU}.kubelet.max_pods", pods(100, "t3.nano"), pods(34, "t3.nano")),
    Case("MAX_PODS_ADDRESSES", f"{GPU}.kubelet.max_pods", pods(12, "t2.small"), pods(11, "t2.small")),
    # of two types, the one with fewer addresses counts
    Case(
        "MAX_PODS_ADDRESSES",
        f"{GPU}.kubelet.max_pods",
        pods(100, ["t3.nano", "m6i.xlarge"]),
        pods(100, ["t3.large", "m6i.xlarge"]),
    ),
    # the primary interface is not for pods
    Case(
        "MAX_PODS_ADDRESSES",
        f"{GPU}.kubelet.max_pods",
        {**pods(20, "t3.nano"), **PODS_ELSEWHERE},
        {**pods(18, "t3.nano"), **PODS_ELSEWHERE},
    ),
    Case("MAX_PODS_RECOMMENDED", f"{GPU}.kubelet.max_pods", pods(111), pods(110)),
    Case(
        "MAX_PODS_RECOMMENDED",
        f"{GPU}.kubelet.max_pods",
        pods(251, "m6i.8xlarge"),
        pods(250, "m6i.8xlarge"),
    ),
    Case(
        "MAX_PODS_RECOMMENDED",
        f"{POOL}.kubelet.max_pods",
        pools(pool(kubelet={"max_pods": 200})),
        pools(pool(instance_types=["m7i.8xlarge"], kubelet={"max_pods": 200})),
    ),
    # --- labels
    Case(
        "LABEL_RESERVED",
        f"{GPU}.labels[node-role.kubernetes.io/worker]",
        labels(**{"node-role.kubernetes.io/worker": "true"}),
        labels(**{"node.kubernetes.io/worker": "true"}),
    ),
    Case("LABEL_RESERVED", f"{GPU}.labels[k8s.io/a]", labels(**{"k8s.io/a": "b"}), labels(**{"xk8s.io/a": "b"})),
    Case(
        "LABEL_RESERVED",
        f"{GPU}.labels[kubernetes.io/arch]",
        labels(**{"kubernetes.io/arch": "amd64"}),
        labels(**{"k8s.amazonaws.com/accelerator": "none"}),
    ),
    Case(
        "LABEL_RESERVED",
        f"{GPU}.labels[node.kubernetes.io/instance-type]",
        labels(**{"node.kubernetes.io/instance-type": "m6i.xlarge"}),
        labels(**{"x.kubelet.kubernetes.io/a": "b"}),
    ),
    Case(
        "LABEL_RESERVED",
        f"{GPU}.labels[eks.amazonaws.com/nodegroup]",
        labels(**{"eks.amazonaws.com/nodegroup": "gpu"}),
        # Karpenter sets such a label when the node exists
        pools(pool(labels={"node-role.kubernetes.io/worker": "true"})),
    ),
    Case(
        "LABEL_RESERVED",
        f"{GPU}.user_data.kubernetes.node-labels[node-role.kubernetes.io/worker]",
        bottlerocket_labels(**{"node-role.kubernetes.io/worker": "true"}),
        bottlerocket_labels(**{"node.kubernetes.io/worker": "true"}),
        frozenset({"USER_DATA_LABELS"}),
    ),
    Case(
        "LABEL_RESERVED",
        f"{GPU}.user_data.kubelet.flags[0]",
        flag("--node-labels=a=b,node-role.kubernetes.io/worker="),
        flag("--node-labels=a=b,node.kubernetes.io/worker="),
        frozenset({"USER_DATA_LABELS"}),
    ),
    Case(
        "LABEL_LIMIT",
        f"{GPU}.labels[{'a' * 60}.b/c]",
        labels(**{f"{'a' * 60}.b/c": "d"}),
        labels(**{f"{'a' * 59}.b/c": "d"}),
    ),
    Case("LABEL_LIMIT", f"{GPU}.labels[team]", labels(team=""), pools(pool(labels={"team": ""}))),
    Case(
        "LABEL_SHARING",
        f"{GPU}.labels[{CONFIG}]",
        one_group("g6.xlarge", labels={CONFIG: "mine"}, **TURNS),
        one_group("g6.xlarge", labels={CONFIG: "time-slicing-4"}, **TURNS),
    ),
    Case(
        "LABEL_SHARING",
        f"{GPU}.labels[{CONFIG}]",
        one_group("g6.xlarge", labels={CONFIG: "mine"}, **TURNS),
        one_group("g6.xlarge", labels={CONFIG: "mine"}),
    ),
    # --- disks
    Case(
        "DISK_IOPS_RATIO",
        f"{GPU}.disk.iops",
        one_group(disk={"iops": 10001, "size_gib": 20}),
        one_group(disk={"iops": 10000, "size_gib": 20}),
    ),
    # the derived size, and that of accelerated nodes
    Case(
        "DISK_IOPS_RATIO",
        f"{GPU}.disk.iops",
        one_group(disk={"iops": 25001}),
        one_group("g6.xlarge", disk={"iops": 80000}),
    ),
    Case(
        "DISK_IOPS_RATIO",
        f"{POOL}.disk.iops",
        pools(pool(disk={"type": "io2", "iops": 30001, "size_gib": 30})),
        pools(pool(disk={"type": "io2", "iops": 30000, "size_gib": 30})),
    ),
    Case(
        "DISK_SMALL",
        f"{GPU}.disk.size_gib",
        one_group("inf2.xlarge", disk={"size_gib": 99}),
        one_group("inf2.xlarge", disk={"size_gib": 100}),
    ),
    # images on local disks; CPU nodes
    Case(
        "DISK_SMALL",
        f"{GPU}.disk.size_gib",
        one_group("g6.xlarge", disk={"size_gib": 50}, instance_store="none"),
        one_group("g6.xlarge", disk={"size_gib": 50}),
    ),
    Case(
        "DISK_SMALL",
        f"{GPU}.disk.size_gib",
        one_group("g6.xlarge", disk={"size_gib": 20}, instance_store="mount"),
        one_group("m6i.xlarge", disk={"size_gib": 20}),
    ),
    Case(
        "INSTANCE_STORE_MISSING",
        f"{GPU}.instance_store",
        one_group("m6i.xlarge", instance_store="raid0"),
        one_group("m6id.xlarge", instance_store="raid0"),
    ),
    Case(
        "INSTANCE_STORE_MISSING",
        f"{GPU}.instance_store",
        one_group(["m6id.xlarge", "m6i.xlarge"], instance_store="mount"),
        one_group(["m6id.xlarge", "m6i.xlarge"], instance_store="none"),
    ),
    # local disks that are not NVMe, alone and next to NVMe disks
    Case(
        "INSTANCE_STORE_MISSING",
        f"{GPU}.instance_store",
        one_group("d2.xlarge", instance_store="raid0"),
        one_group("d3.xlarge", instance_store="raid0"),
    ),
    Case(
        "INSTANCE_STORE_MISSING",
        f"{POOL}.instance_store",
        pools(pool(instance_types=["m3.xlarge", "m6id.xlarge"], instance_store="raid0")),
        pools(pool(instance_types=["m3.xlarge", "m6id.xlarge"])),
    ),
    # --- metadata and kubelet
    Case("PODS_USE_IMDS", f"{GPU}.pods_use_imds", one_group(pods_use_imds=True), one_group(pods_use_imds=False)),
    Case("PODS_USE_IMDS", f"{POOL}.pods_use_imds", pools(pool(pods_use_imds=True)), pools(pool())),
    Case(
        "KUBELET_RESERVED",
        f"{GPU}.kubelet.system_reserved.memory",
        reserve(system={"memory": "16Gi"}),
        reserve(system={"memory": "15Gi"}),
    ),
    # the smallest type counts, with the sum of both amounts
    Case(
        "KUBELET_RESERVED",
        f"{GPU}.kubelet.kube_reserved.cpu",
        reserve(["m6i.xlarge", "m6i.large"], system={"cpu": "500m"}, kube={"cpu": "1500m"}),
        reserve(["m6i.xlarge", "m6i.2xlarge"], system={"cpu": "500m"}, kube={"cpu": "1500m"}),
    ),
    # --- updates and repair
    Case(
        "UPDATE_ALL_NODES",
        f"{GPU}.update.max_unavailable",
        one_group(update={"max_unavailable": 5}),
        one_group(update={"max_unavailable": 4}),
    ),
    Case(
        "UPDATE_SURGE",
        f"{GPU}.capacity",
        one_group("p5.48xlarge", **RESERVED),
        one_group("p5.48xlarge", **RESERVED, **MINIMAL),
    ),
    Case(
        "UPDATE_SURGE",
        f"{GPU}.update.strategy",
        one_group("p5.48xlarge", **BLOCK, update={"strategy": "default"}),
        one_group("p5.48xlarge", update={"strategy": "default"}),
    ),
    Case(
        "NODE_REPAIR_RESERVED",
        f"{GPU}.node_repair",
        one_group("p5.48xlarge", **RESERVED, **MINIMAL, node_repair=True),
        one_group("p5.48xlarge", **RESERVED, **MINIMAL, node_repair=False),
    ),
    Case(
        "NODE_REPAIR_RESERVED",
        f"{GPU}.node_repair",
        one_group("p5.48xlarge", **BLOCK, **MINIMAL, node_repair=True),
        one_group("p5.48xlarge", node_repair=True),
    ),
    # --- Spot and EFA
    Case(
        "SPOT_ONE_TYPE",
        f"{GPU}.capacity",
        one_group("g6.xlarge", capacity="spot"),
        one_group(["g6.xlarge", "g5.xlarge"], capacity="spot"),
    ),
    Case(
        "SPOT_ONE_TYPE",
        f"{POOL}.capacity",
        pools(pool(instance_types=["c7i.xlarge"], capacity=["spot"])),
        pools(pool(instance_types=["c7i.xlarge"], capacity=["spot", "on-demand"])),
    ),
    Case(
        "SPOT_ONE_TYPE",
        f"{GPU}.capacity",
        one_group("g6.xlarge", capacity="spot"),
        one_group("g6.xlarge", capacity="spot", workload="development"),
    ),
    Case(
        "SPOT_SYSTEM",
        "node_groups[system].capacity",
        {
            "node_groups": [
                system(capacity="spot", instance_types=["m6i.xlarge", "m7i.xlarge"]),
                group(scaling={"min": 1, "max": 2}),
            ]
        },
        {"node_groups": [system(), group(["m6i.xlarge", "m7i.xlarge"], capacity="spot", scaling={"min": 1, "max": 2})]},
    ),
    # CoreDNS has no other node, whatever the group is for
    Case(
        "SPOT_SYSTEM",
        "node_groups[system].capacity",
        {"node_groups": [{**SYSTEM, "capacity": "spot", "instance_types": ["m6i.xlarge", "m7i.xlarge"]}]},
        {"node_groups": [SYSTEM]},
    ),
    Case(
        "EFA_ONE_NODE",
        f"{GPU}.efa",
        one_group("g6.8xlarge", efa=True, scaling={"max": 1}),
        one_group("g6.8xlarge", efa=True, scaling={"max": 2}),
    ),
    Case(
        "EFA_ONE_NODE",
        f"{POOL}.efa",
        pools(pool(instance_types=["c6in.32xlarge"], efa=True, limits={"cpu": 512, "nodes": 1})),
        pools(pool(instance_types=["c6in.32xlarge"], efa=True, limits={"cpu": 512, "nodes": 2})),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_the_message_about_a_reserved_label_names_its_key() -> None:
    changes = flag("--node-labels=a=b,node-role.kubernetes.io/worker=yes")
    message = finding_message("LABEL_RESERVED", changes)
    assert message.startswith("node-role.kubernetes.io/worker is reserved: EKS rejects it")


@pytest.mark.parametrize(
    ("instance_type", "most", "how"),
    [
        ("t3.nano", 34, "with prefix delegation"),
        ("t2.small", 11, "without prefix delegation, which requires a Nitro type"),
    ],
)
def test_the_message_about_addresses_says_whether_they_come_in_prefixes(
    instance_type: str, most: int, how: str
) -> None:
    assert finding_message("MAX_PODS_ADDRESSES", pods(100, instance_type)) == (
        f"{instance_type} has addresses for {most} pods ({how}), got 100, and the other pods stay in "
        f"ContainerCreating; set at most {most}, or choose a type with more addresses"
    )


@pytest.mark.parametrize(
    ("instance_types", "message"),
    [
        (["m6i.large"], "m6i.large has no local disks, so this has no effect there; remove this line"),
        (
            ["d2.xlarge", "d2.2xlarge"],
            "images set up NVMe disks only, and the local disks of d2.xlarge, d2.2xlarge are not NVMe, so this has no "
            "effect there; remove this line",
        ),
        (
            ["m6i.large", "d2.xlarge", "m6id.large"],
            "m6i.large has no local disks; images set up NVMe disks only, and the local disks of d2.xlarge are not "
            "NVMe, so this has no effect there; other nodes have such disks, so pods cannot rely on them",
        ),
    ],
)
def test_the_message_about_local_disks_says_why_they_are_not_used(instance_types: list[str], message: str) -> None:
    changes = one_group(instance_types, instance_store="raid0")
    assert finding_message("INSTANCE_STORE_MISSING", changes) == message


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("capacity", "node_settings")


def test_which_rules_warn() -> None:
    assert warnings_of("capacity", "node_settings") == {
        "CAPACITY_BLOCK_MINIMUM",
        "DISK_SMALL",
        "EFA_ONE_NODE",
        "INSTANCE_STORE_MISSING",
        "MAX_PODS_RECOMMENDED",
        "NODE_REPAIR_RESERVED",
        "PODS_USE_IMDS",
        "SPOT_ONE_TYPE",
        "SPOT_SYSTEM",
        "UPDATE_ALL_NODES",
        "UPDATE_SURGE",
    }


def test_an_update_that_needs_a_newer_provider_says_so() -> None:
    """Otherwise the advice ends in an unknown argument."""
    message = finding_message("UPDATE_SURGE", one_group("p5.48xlarge", **RESERVED))
    assert message.endswith("set update.strategy: minimal, which needs AWS provider 6.26.0 or newer")


@pytest.mark.parametrize("custom_networking", [False, True])
def test_what_is_derived_is_never_too_much(custom_networking: bool) -> None:
    """The number of pods that resolve computes for a type would look like the strategy's own."""
    groups = []
    template = strategy(group()).node_groups[1]
    for index, kind in enumerate(map(load().get, load().names)):
        of_type = template.model_copy(update={"instance_types": (kind.name,)})
        derived = pods_per_node(of_type, (kind,), custom_networking=custom_networking)
        if derived is not None and derived >= 4:
            groups.append(group(kind.name, f"g{index}", kubelet={"max_pods": derived}))
    given = document(node_groups=[SYSTEM, *groups], **(PODS_ELSEWHERE if custom_networking else {}))
    context = Context(Strategy.model_validate(given), load(), TODAY)
    assert len(groups) > 100
    for code in ("MAX_PODS_ADDRESSES", "MAX_PODS_RECOMMENDED"):
        assert list(RULES[code].check(context)) == []


@pytest.mark.parametrize("fields", [{"kubelet": {"max_pods": 700, "system_reserved": {"cpu": "999"}}}, {"efa": True}])
def test_no_rule_trips_over_unknown_types(fields: dict[str, Any]) -> None:
    """Another rule reports the mistake."""
    found = shown_codes({**one_group("p5.49xlarge", **fields), **pools(pool(instance_families=["zz9"], **fields))})
    assert {"INSTANCE_TYPE_UNKNOWN", "POOL_FAMILY_UNKNOWN"} <= {code for code, _ in found}
