"""Rules about Karpenter and its node pools: a strategy that breaks each and a similar one that does not.

``test_rules`` has the cases with groups for rules that also apply to node groups; this file has those with pools.
"""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from eks_hardware.loader import parse_strategy
from eks_hardware.rules import check_loaded
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, shown_codes, warnings_of
from helpers.sections import existing_network, on_kubernetes
from helpers.strategies import SYSTEM, gpu_pool, group, pool, pools

RESERVATION = {"id": "cr-01234567", "zone": "usw2-az1"}
BOTTLEROCKET = {"family": "bottlerocket"}
PRIVATE = {"network": {"private": True}}
# Karpenter's release has no price of this type, and the catalogue has one.
G7 = {"instance_types": ["g7.2xlarge"], "ami": {"image_id": "ami-0123456789abcdef0"}}
ALSO_PRIVATE = frozenset({"KUBERNETES_PRIVATE_CHARTS"})
KEY = "arn:aws:kms:{region}:111122223333:key/1234abcd"

POOL = "karpenter.node_pools[pool]"
FIRST = f"{POOL}.instance_types[0]"


def gpus(*types: str, **fields: Any) -> dict[str, Any]:
    """Return a strategy with a GPU pool with some types, or with the hardware in the fields."""
    return pools(gpu_pool(**({"instance_types": list(types)} if types else {}), **fields))


def neurons(*types: str, **fields: Any) -> dict[str, Any]:
    return pools(pool(instance_types=list(types), limits={"aws.amazon.com/neuron": 64}, **fields))


def cpus(**fields: Any) -> dict[str, Any]:
    return pools(pool(**fields))


def karpenter_version(text: str, *given: dict[str, Any], kubernetes: str = "1.35", **karpenter: Any) -> dict[str, Any]:
    """Return a strategy with another version of Karpenter."""
    return {
        **pools(*given, **karpenter),
        "cluster": {"creator_is_admin": True, "kubernetes_version": kubernetes},
        "kubernetes": {"charts": {"karpenter": {"version": text}}},
    }


def chart_versions(**versions: str) -> dict[str, Any]:
    chosen = {name.replace("_", "-"): {"version": each} for name, each in versions.items()}
    return {**pools(), "kubernetes": {"charts": chosen}}


def reserved(*reservations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"capacity": ["reserved"], "reservations": list(reservations or (RESERVATION,)), **fields}


G5, G6 = {"instance_families": ["g5"]}, {"instance_families": ["g6"]}
P5 = {"instance_types": ["p5.48xlarge"]}
G6_EFA = {"instance_types": ["g6.8xlarge"]}
NO_EFA = {"instance_types": ["g5.xlarge"]}
TWICE = (gpu_pool("a", **G5), gpu_pool("pool", **G5))
VERSION = "kubernetes.charts.karpenter.version"
TAGGED = {"tags": {"team": "a"}}
BUDGET = f"{POOL}.disruption.budgets[0].schedule"


BY_DAY = {"schedule": "0 6 * * mon-fri", "duration": "12h"}


def during(schedule: str) -> dict[str, Any]:
    return cpus(disruption={"budgets": [{"nodes": "0", "schedule": schedule, "duration": "8h"}]})


def tainted_nodes(key: str) -> dict[str, Any]:
    """Return two nodes with one taint."""
    return group(scaling={"min": 2, "max": 2}, taints=[{"key": key}])


CASES = [
    # --- selection of types
    Case("POOL_FAMILY_UNKNOWN", f"{POOL}.instance_families[1]", gpus(instance_families=["g5", "g99"]), gpus(**G5)),
    Case("POOL_FAMILY_UNKNOWN", f"{POOL}.instance_families[0]", gpus(instance_families=["gpu"]), gpus(**G6)),
    Case("POOL_ACCELERATOR_UNKNOWN", f"{POOL}.accelerator", gpus(accelerator="h1000"), gpus(accelerator="h100")),
    Case(
        "POOL_SIZE_UNKNOWN",
        f"{POOL}.instance_sizes[1]",
        gpus(**G5, instance_sizes=["xlarge", "9xlarge"]),
        gpus(**G5, instance_sizes=["xlarge", "8xlarge"]),
    ),
    Case(
        "POOL_SIZE_UNKNOWN",
        f"{POOL}.instance_sizes[0]",
        gpus(accelerator="h100", instance_sizes=["24xlarge"]),
        gpus(accelerator="h100", instance_sizes=["48xlarge"]),
    ),
    Case("POOL_NO_TYPE", f"{POOL}.instance_families", gpus(instance_families=["p3"]), gpus(**G5)),  # withdrawn
    Case("POOL_NO_TYPE", f"{POOL}.accelerator", gpus(accelerator="gb200"), gpus(accelerator="b200")),
    Case(
        "POOL_NO_TYPE",
        f"{POOL}.instance_families",
        gpus(instance_families=["g7"], ami={"family": "bottlerocket"}),
        gpus(instance_families=["g7"]),
    ),
    Case(
        "POOL_NO_TYPE",  # no EFA
        f"{POOL}.instance_families",
        gpus(**G5, instance_sizes=["xlarge"], efa=True),
        gpus(**G5, instance_sizes=["xlarge"]),
    ),
    Case(
        "POOL_NO_TYPE",  # bare metal
        f"{POOL}.instance_families",
        cpus(instance_families=["m7i"], instance_sizes=["metal-24xl"]),
        cpus(instance_families=["m7i"], instance_sizes=["24xlarge"]),
    ),
    Case("POOL_NO_TYPE", f"{POOL}.instance_families", {**gpus(**G6), "region": "eu-west-1"}, gpus(**G6)),
    Case("POOL_FAMILY_EMPTY", f"{POOL}.instance_families[1]", gpus(instance_families=["g5", "p2"]), gpus(**G5)),
    Case(
        "POOL_TYPE_UNSUPPORTED",
        FIRST,
        neurons("trn2u.48xlarge"),
        neurons("trn1.32xlarge"),
        frozenset({"INSTANCE_TYPE_NOT_OFFERED"}),
    ),
    Case(
        "POOL_TYPE_UNSUPPORTED",
        FIRST,
        cpus(instance_types=["f2.6xlarge"]),
        cpus(instance_types=["m7i.xlarge"]),
        frozenset({"ACCELERATOR_NO_DRIVER"}),
    ),
    Case(
        "POOL_BOTH_ARCHITECTURES",
        f"{POOL}.instance_families",
        cpus(instance_families=["m7i", "m7g"]),
        cpus(instance_families=["m7i", "m7a"]),
    ),
    Case("POOL_MIXED_ARCHITECTURE", f"{POOL}.instance_types", gpus("g5.xlarge", "g5g.xlarge"), gpus("g5g.xlarge")),
    Case(
        "POOL_MIXED_ARCHITECTURE",
        f"{POOL}.instance_families",
        cpus(instance_families=["m7i", "m7g"], ami={"image_id": "ami-0123456789abcdef0"}),
        cpus(instance_families=["m7i"], ami={"image_id": "ami-0123456789abcdef0"}),
    ),
    Case(
        "POOL_MIXED_HARDWARE",
        f"{POOL}.instance_families",
        pools(pool(instance_families=["trn1", "inf2"], limits={"aws.amazon.com/neuron": 64})),
        pools(pool(instance_families=["inf2"], limits={"aws.amazon.com/neuron": 64})),
    ),
    Case(
        "POOL_MIXED_HARDWARE", f"{POOL}.instance_types", gpus("g5.xlarge", "m7i.xlarge"), gpus("g5.xlarge", "g6.xlarge")
    ),
    Case(
        "POOL_NO_ZONE",
        f"{POOL}.instance_types",
        {**existing_network("usw2-az2", "usw2-az3"), **neurons("trn1.2xlarge")},
        {**existing_network("usw2-az2", "usw2-az4"), **neurons("trn1.2xlarge")},
    ),
    Case(
        "POOL_EFA_UNSUPPORTED",
        f"{POOL}.instance_types",
        {**cpus(instance_types=["hpc6id.32xlarge"], efa=True), "region": "us-east-2"},
        {**cpus(instance_types=["hpc6id.32xlarge"]), "region": "us-east-2"},
    ),
    # --- limits
    Case("POOL_LIMIT_MISSING", f"{POOL}.limits", gpus(**G5, limits={"cpu": 64}), gpus(**G5)),
    Case("POOL_LIMIT_MISSING", f"{POOL}.limits", gpus(**G5, limits={"memory": "1Ti"}), gpus(**G5, limits={"nodes": 4})),
    Case(
        "POOL_LIMIT_MISSING",
        f"{POOL}.limits",
        gpus(**G5, limits={"cpu": -5}),
        gpus(**G5, limits={"cpu": -5, "nodes": 4}),
        frozenset({"POOL_LIMIT_QUANTITY"}),
    ),
    Case("POOL_LIMIT_MISSING", f"{POOL}.limits", cpus(limits={}), cpus(limits={"memory": "1Ti"})),
    Case("POOL_LIMIT_MISSING", f"{POOL}.limits", gpus(**G5, limits={}), gpus(**G5, limits={"nvidia.com/gpu": "8"})),
    Case(
        "POOL_LIMIT_FOREIGN",
        f"{POOL}.limits[aws.amazon.com/neuron]",
        gpus(**G5, limits={"nvidia.com/gpu": 8, "aws.amazon.com/neuron": 8}),
        gpus(**G5, limits={"nvidia.com/gpu": 8, "nodes": 8}),
    ),
    Case("POOL_LIMIT_FOREIGN", f"{POOL}.limits[nvidia.com/gpu]", cpus(limits={"cpu": 64, "nvidia.com/gpu": 1}), cpus()),
    Case(
        "POOL_LIMIT_QUANTITY",
        f"{POOL}.limits[nvidia.com/gpu]",
        gpus(**G5, limits={"nvidia.com/gpu": "1k"}),
        gpus(**G5, limits={"nvidia.com/gpu": "1000"}),
        frozenset({"SUBNET_PODS"}),
    ),
    Case("POOL_LIMIT_QUANTITY", f"{POOL}.limits.nodes", cpus(limits={"cpu": 64, "nodes": "1.5"}), cpus()),
    Case("POOL_LIMIT_QUANTITY", f"{POOL}.limits.cpu", cpus(limits={"cpu": -1}), cpus(limits={"cpu": "64.5"})),
    Case(
        "POOL_LIMIT_SMALL",
        f"{POOL}.limits[nvidia.com/gpu]",
        gpus("p5.48xlarge", limits={"nvidia.com/gpu": 7}),
        gpus("p5.48xlarge", limits={"nvidia.com/gpu": 8}),
    ),
    Case(
        "POOL_LIMIT_SMALL",
        f"{POOL}.limits.cpu",
        gpus("p5.48xlarge", limits={"nvidia.com/gpu": 8, "cpu": "191"}),
        gpus("p5.48xlarge", limits={"nvidia.com/gpu": 8, "cpu": "192000m"}),
    ),
    Case(
        "POOL_LIMIT_SMALL",
        f"{POOL}.limits.memory",
        cpus(instance_types=["m7i.xlarge", "m7i.2xlarge"], limits={"cpu": 64, "memory": "14Gi"}),
        cpus(instance_types=["m7i.xlarge", "m7i.2xlarge"], limits={"cpu": 64, "memory": "15Gi"}),
    ),
    Case(
        "POOL_LIMIT_SMALL",  # Karpenter subtracts 64 MiB from the 16 GiB of a Graviton node, then 7.5%
        f"{POOL}.limits.memory",
        cpus(instance_types=["m7g.xlarge"], limits={"cpu": 64, "memory": "15095Mi"}),
        cpus(instance_types=["m7g.xlarge"], limits={"cpu": 64, "memory": "15096Mi"}),
    ),
    Case(
        "POOL_LIMIT_SMALL",
        f"{POOL}.limits.nodes",
        cpus(limits={"cpu": 64, "nodes": 0}),
        cpus(limits={"cpu": 64, "nodes": 1}),
    ),
    Case(
        "POOL_LIMIT_SMALL",  # c7i.2xlarge is within the GiB limit, r7i.xlarge within the CPU limit, none within both
        f"{POOL}.limits",
        cpus(instance_types=["c7i.2xlarge", "r7i.xlarge"], limits={"cpu": 4, "memory": "16Gi"}),
        cpus(instance_types=["c7i.2xlarge", "r7i.xlarge"], limits={"cpu": 4, "memory": "32Gi"}),
    ),
    # --- capacity
    Case(
        "POOL_CAPACITY_UNSOLD",
        f"{POOL}.capacity[0]",
        gpus("g5.xlarge", capacity=["capacity-block"], reservations=[RESERVATION]),
        gpus("p5.48xlarge", capacity=["capacity-block"], reservations=[RESERVATION]),
    ),
    Case(
        "POOL_CAPACITY_UNSOLD",
        f"{POOL}.capacity[1]",
        {
            **cpus(instance_families=["hpc7a"], limits={"cpu": 192}, capacity=["on-demand", "spot"]),
            "region": "us-east-2",
        },
        {**cpus(instance_families=["hpc7a"], limits={"cpu": 192}), "region": "us-east-2"},
    ),
    Case(
        "POOL_TYPE_UNSOLD",
        f"{POOL}.instance_types[1]",
        gpus("p5.48xlarge", "g5.48xlarge", capacity=["capacity-block"], reservations=[{"tags": {"a": "b"}}]),
        gpus("p5.48xlarge", "g5.48xlarge", capacity=["capacity-block", "spot"], reservations=[{"tags": {"a": "b"}}]),
    ),
    Case(
        "POOL_RESERVATION_ZONE",
        f"{POOL}.reservations[0].zone",
        gpus(**P5, **reserved(zones=["usw2-az2"])),
        gpus(**P5, **reserved(zones=["usw2-az1"])),
    ),
    Case(
        "POOL_RESERVATION_ZONE",  # the first zone with p5.48xlarge would be a guess
        f"{POOL}.reservations[0]",
        gpus(**P5, efa=True, **reserved(TAGGED)),
        gpus(**P5, efa=True, **reserved({**TAGGED, "zone": "usw2-az1"})),
    ),
    Case(
        "POOL_RESERVATION_ZONE",
        f"{POOL}.reservations[0]",
        gpus(**P5, efa=True, **reserved(TAGGED)),
        gpus(**P5, efa=True, **reserved(TAGGED, zones=["usw2-az1"])),
    ),
    Case(
        "POOL_RESERVATION_ZONE",
        f"{POOL}.reservations[0]",
        gpus(**P5, efa=True, **reserved(TAGGED)),
        gpus(**P5, **reserved(TAGGED)),
    ),
    Case(
        "POOL_RESERVATION_TAGS",
        f"{POOL}.reservations[0].tags[team]",
        gpus(**P5, **reserved({"tags": {"team": ""}})),
        gpus(**P5, **reserved({"tags": {"team": "a"}})),
    ),
    Case(
        "POOL_RESERVATION_TAGS",
        f"{POOL}.reservations[0].tags",
        gpus(**P5, **reserved({"tags": {f"t{index}": "a" for index in range(21)}})),
        gpus(**P5, **reserved({"tags": {f"t{index}": "a" for index in range(20)}})),
    ),
    Case(
        "POOL_RESERVATION_DUPLICATE",
        f"{POOL}.reservations[1].id",
        gpus(**P5, **reserved(RESERVATION, RESERVATION)),
        gpus(**P5, **reserved(RESERVATION, {**RESERVATION, "id": "cr-01234568"})),
    ),
    Case(
        "POOL_RESERVATION_DUPLICATE",
        f"{POOL}.reservations[1].zone",
        gpus(**P5, **reserved(RESERVATION, {**RESERVATION, "zone": "usw2-az2"})),
        gpus(**P5, **reserved(RESERVATION, {"id": "cr-01234568", "zone": "usw2-az2"})),
    ),
    Case(
        "POOL_RESERVATION_DUPLICATE",
        f"{POOL}.reservations[2].id",
        gpus(**P5, **reserved(TAGGED, RESERVATION, RESERVATION)),
        # Tags name no single reservation: two of them may be in two zones.
        gpus(**P5, **reserved({**TAGGED, "zone": "usw2-az1"}, {"tags": {"team": "b"}, "zone": "usw2-az2"})),
    ),
    Case(
        "POOL_RESERVATION_DUPLICATE",
        f"{POOL}.reservations[0].zone",
        pools(
            gpu_pool("a", **P5, **reserved()),
            gpu_pool(**P5, **reserved({**RESERVATION, "zone": "usw2-az2"}), weight=2),
        ),
        pools(gpu_pool("a", **P5, **reserved()), gpu_pool(**P5, **reserved(), weight=2)),
    ),
    Case(
        "POOL_RESERVATION_TYPES",
        f"{POOL}.instance_types",
        gpus("p5.48xlarge", "p4d.24xlarge", **reserved()),
        gpus("p5.48xlarge", "p4d.24xlarge", **reserved(capacity=["reserved", "on-demand"])),
    ),
    Case(
        "POOL_RESERVATION_TYPES",
        f"{POOL}.accelerator",
        gpus(accelerator="h100", **reserved()),
        gpus(accelerator="h100", **reserved({"tags": {"team": "a"}})),
    ),
    # --- disruption, labels
    Case(
        "KARPENTER_NO_QUEUE",
        "karpenter.interruption_queue",
        pools(pool(capacity=["spot", "on-demand"]), interruption_queue=False),
        pools(pool(), interruption_queue=False),
    ),
    Case(
        "POOL_DISRUPTION_TRAINING",
        f"{POOL}.disruption.termination_grace_period",
        gpus(**G5, workload="training", disruption={"termination_grace_period": "1h"}),
        gpus(**G5, workload="inference", disruption={"termination_grace_period": "1h"}),
    ),
    Case(
        "POOL_DISRUPTION_TRAINING",
        f"{POOL}.disruption.budgets",
        gpus(**G5, workload="training", disruption={"budgets": [{"nodes": "10%"}]}),
        gpus(**G5, workload="training", disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}),
    ),
    Case(
        "POOL_DISRUPTION_TRAINING",
        f"{POOL}.disruption.budgets",
        gpus(**G5, workload="training", disruption={"budgets": []}),
        gpus(**G5, workload="training", disruption={"budgets": [{"nodes": "0%", **BY_DAY}, {"nodes": "1"}]}),
    ),
    Case(
        "POOL_DISRUPTION_TRAINING",
        f"{POOL}.disruption.consolidation",
        gpus(**G5, workload="training", disruption={"consolidation": "when-empty-or-underutilized"}),
        gpus(**G5, workload="inference", disruption={"consolidation": "when-empty-or-underutilized"}),
    ),
    Case(
        "POOL_DISRUPTION_TRAINING",
        f"{POOL}.disruption.expire_after",
        gpus(**G5, workload="training", disruption={"expire_after": "720h"}),
        gpus(**G5, workload="training", disruption={"expire_after": "never", "consolidation": "when-empty"}),
    ),
    Case(
        "POOL_LABEL_RESTRICTED",
        f"{POOL}.labels[karpenter.sh/team]",
        cpus(labels={"karpenter.sh/team": "a"}),
        cpus(labels={"notkarpenter.sh/team": "a"}),
    ),
    Case(
        "POOL_LABEL_RESTRICTED",
        f"{POOL}.labels[my.karpenter.k8s.aws/a]",
        cpus(labels={"my.karpenter.k8s.aws/a": "b"}),
        cpus(),
    ),
    Case(
        "POOL_LABEL_RESTRICTED",
        f"{POOL}.labels[topology.kubernetes.io/zone]",
        cpus(labels={"topology.kubernetes.io/zone": "us-west-2a"}),
        cpus(labels={"topology.example.com/zone": "us-west-2a", "team": "a"}),
    ),
    Case(
        "POOL_TAG_RESTRICTED",
        f"{POOL}.tags[karpenter.sh/nodepool]",
        cpus(tags={"karpenter.sh/nodepool": "a"}),
        cpus(tags={"karpenter.sh/team": "a"}),
    ),
    Case(
        "POOL_TAG_RESTRICTED",
        f"{POOL}.tags[kubernetes.io/cluster/demo]",
        cpus(tags={"kubernetes.io/cluster/demo": "owned"}),
        {"node_groups": [SYSTEM, group(tags={"kubernetes.io/cluster/demo": "owned"})]},
    ),
    Case(
        "POOL_TAG_RESTRICTED",
        "tags[eks:eks-cluster-name]",
        {**cpus(), "tags": {"eks:eks-cluster-name": "demo"}},
        {"tags": {"eks:eks-cluster-name": "demo"}},
    ),
    Case("POOL_BUDGET_SCHEDULE", BUDGET, during("99 99 * * *"), during("59 23 * * *")),
    Case("POOL_BUDGET_SCHEDULE", BUDGET, during("0 8 * * 7"), during("0 8 * * mon-fri")),
    # --- pools that are too similar
    Case("POOL_OVERLAP", f"{POOL}.instance_families", pools(*TWICE), pools(TWICE[0], {**TWICE[1], "weight": 10})),
    Case("POOL_OVERLAP", f"{POOL}.instance_families", pools(*TWICE), pools(TWICE[0], gpu_pool(**G6))),
    Case(
        "POOL_OVERLAP",
        f"{POOL}.instance_families",
        pools(*TWICE),
        pools(TWICE[0], {**TWICE[1], "taints": [{"key": "team"}]}),
    ),
    Case(
        "POOL_OVERLAP",
        f"{POOL}.instance_families",
        pools(*TWICE),
        pools(TWICE[0], {**TWICE[1], "labels": {"team": "a"}}),
    ),
    Case(
        "POOL_OVERLAP",  # a taint that only requests other nodes keeps no pods away
        f"{POOL}.instance_families",
        pools(TWICE[0], {**TWICE[1], "taints": [{"key": "team", "effect": "PreferNoSchedule"}]}),
        pools({**TWICE[0], "zones": ["usw2-az1"]}, {**TWICE[1], "zones": ["usw2-az2"]}),
    ),
    Case(
        "POOL_OVERLAP_EFA",
        f"{POOL}.instance_types",
        pools(gpu_pool("a", **P5, efa=True), gpu_pool(**P5)),
        pools(gpu_pool("a", **P5, efa=True), gpu_pool(**P5, workload="inference")),
    ),
    Case(
        "POOL_OVERLAP_UNLIKE",  # the more serious of both differences is reported
        f"{POOL}.instance_types",
        pools(gpu_pool("a", **G6_EFA, efa=True), gpu_pool(**G6_EFA, gpu_sharing={"time_slicing": {"replicas": 4}})),
        pools(gpu_pool("a", **G6_EFA, efa=True), gpu_pool(**G6_EFA)),
    ),
    Case(
        "POOL_OVERLAP_EFA",
        f"{POOL}.accelerator",
        {"node_groups": [SYSTEM, group("p5.48xlarge", efa=True)], **pools(gpu_pool(accelerator="h100"))},
        {"node_groups": [SYSTEM, group("p5.48xlarge")], **pools(gpu_pool(accelerator="h100"))},
    ),
    Case(
        "POOL_OVERLAP_UNLIKE",
        f"{POOL}.instance_families",
        pools(gpu_pool("a", **G5), gpu_pool(**G5, gpu_sharing={"time_slicing": {"replicas": 4}})),
        pools(gpu_pool("a", **G5, weight=1), gpu_pool(**G5, gpu_sharing={"time_slicing": {"replicas": 4}})),
    ),
    # --- Karpenter's version
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.10.2", gpu_pool(**P5, efa=True)),
        karpenter_version("1.10.2", gpu_pool(**NO_EFA)),
    ),
    Case(
        # Its interfaces are also listed, so that Karpenter does not offer EFA.
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.10.2", gpu_pool(**P5)),
        karpenter_version("1.11.0", gpu_pool(**P5)),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.10.9", gpu_pool(**P5, efa=True)),
        karpenter_version("v1.11.0", gpu_pool(**P5, efa=True)),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.10.0", pool(placement_group="cluster", instance_types=["c6i.4xlarge"])),
        karpenter_version("1.11.0", pool(placement_group="cluster", instance_types=["c6i.4xlarge"])),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.2.9", gpu_pool(**NO_EFA, **reserved()), kubernetes="1.32"),
        karpenter_version("1.3.0", gpu_pool(**NO_EFA, **reserved()), kubernetes="1.32"),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.5.0", gpu_pool(**P5, **reserved(capacity=["capacity-block"])), kubernetes="1.33"),
        karpenter_version("1.11.0", gpu_pool(**P5, **reserved(capacity=["capacity-block"])), kubernetes="1.33"),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version(
            "1.6.9", gpu_pool(**NO_EFA, gpu_sharing={"time_slicing": {"replicas": 4}}), kubernetes="1.34"
        ),
        karpenter_version(
            "1.7.0", gpu_pool(**NO_EFA, gpu_sharing={"time_slicing": {"replicas": 4}}), kubernetes="1.34"
        ),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.6.9", gpu_pool(instance_families=["g6f"]), kubernetes="1.34"),
        karpenter_version("1.6.9", gpu_pool(**NO_EFA), kubernetes="1.34"),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        karpenter_version("1.7.0", kubernetes="1.34", feature_gates={"static_capacity": True}),
        karpenter_version("1.7.0", kubernetes="1.34", feature_gates={"static_capacity": False}),
        frozenset({"KUBERNETES_VERSION_ENDING"}),
    ),
    Case("KARPENTER_VERSION_KUBERNETES", VERSION, karpenter_version("1.8.6"), karpenter_version("1.9.0")),
    Case(
        "KARPENTER_VERSION_KUBERNETES",
        VERSION,
        karpenter_version("1.12.1", kubernetes="1.36"),
        karpenter_version("1.13.0", kubernetes="1.36"),
    ),
    Case(
        "KARPENTER_VERSION_CRD",
        "kubernetes.charts.karpenter-crd.version",
        chart_versions(karpenter="1.14.0", karpenter_crd="1.14.1"),
        chart_versions(karpenter="1.14.0", karpenter_crd="1.14.0"),
    ),
    Case(
        "KARPENTER_VERSION_CRD",
        "kubernetes.charts.karpenter-crd.version",
        chart_versions(karpenter_crd="1.13.0"),
        chart_versions(karpenter="1.13.0"),
    ),
    Case(
        "KARPENTER_OVERLAY_OFF",
        "karpenter.feature_gates.node_overlay",
        pools(gpu_pool(**G5, gpu_sharing={"time_slicing": {"replicas": 4}}), feature_gates={"node_overlay": False}),
        pools(gpu_pool(**G5, gpu_sharing={"time_slicing": {"replicas": 4}}), feature_gates={"node_overlay": True}),
    ),
    Case(
        "KARPENTER_OVERLAY_OFF",
        "karpenter.feature_gates.node_overlay",
        pools(gpu_pool(instance_families=["g6f"]), feature_gates={"node_overlay": False}),
        pools(gpu_pool(**G6), feature_gates={"node_overlay": False}),
    ),
    Case(
        # The price of these types comes from a NodeOverlay.
        "KARPENTER_OVERLAY_OFF",
        "karpenter.feature_gates.node_overlay",
        {**PRIVATE, **pools(gpu_pool(**G7), feature_gates={"node_overlay": False})},
        {**PRIVATE, **pools(gpu_pool(**G6), feature_gates={"node_overlay": False})},
        ALSO_PRIVATE,
    ),
    Case(
        "KARPENTER_VERSION_FEATURE",
        VERSION,
        {**PRIVATE, **karpenter_version("1.13.0", gpu_pool(**G7))},
        {**PRIVATE, **karpenter_version("1.14.0", gpu_pool(**G7))},
        ALSO_PRIVATE,
    ),
    # --- capacity and prices
    Case(
        "KARPENTER_NO_ROOM",
        "karpenter.replicas",
        {"node_groups": [group(scaling={"min": 1, "max": 2})], **pools()},
        {"node_groups": [group(scaling={"min": 1, "max": 2})], **pools(replicas=1)},
    ),
    Case("KARPENTER_NO_ROOM", "karpenter.replicas", pools(replicas=3), pools(replicas=2)),
    # CoreDNS fits on either, Karpenter only on the second.
    Case(
        "KARPENTER_NO_ROOM",
        "karpenter.replicas",
        {**pools(), "node_groups": [tainted_nodes("node-role.kubernetes.io/control-plane")]},
        {**pools(), "node_groups": [tainted_nodes("CriticalAddonsOnly")]},
    ),
    Case(
        "KARPENTER_PRIVATE_PRICE",
        f"{POOL}.instance_types",
        {**PRIVATE, **gpus("p5e.48xlarge")},
        {**PRIVATE, **gpus("p5e.48xlarge", **reserved({"tags": {"a": "b"}}))},
        ALSO_PRIVATE,
    ),
    Case(
        "KARPENTER_PRIVATE_PRICE",
        f"{POOL}.instance_types",
        {**PRIVATE, **gpus("p5e.48xlarge")},
        {**PRIVATE, **gpus(**G7)},
        ALSO_PRIVATE,
    ),
    Case(
        "KARPENTER_PRIVATE_PRICE_SOME",
        f"{POOL}.accelerator",
        {**PRIVATE, **gpus(accelerator="h200")},
        gpus(accelerator="h200"),
        ALSO_PRIVATE,
    ),
    # --- images
    Case(
        "POOL_AMI_LATEST", f"{POOL}.ami.version", gpus(**G5, ami={"version": "latest"}), cpus(ami={"version": "latest"})
    ),
    Case(
        "POOL_AMI_LATEST",
        "karpenter.ami_versions.al2023",
        pools(gpu_pool("a", **G5), gpu_pool(**G6), ami_versions={"al2023": "latest"}),
        pools(gpu_pool(**G5, ami={"image_id": "ami-01234567"}), ami_versions={"al2023": "latest"}),
    ),
    Case(
        "POOL_AMI_FORMAT", f"{POOL}.ami.version", cpus(ami={"version": "v1.67.0"}), cpus(ami={"version": "v20260810"})
    ),
    Case(
        "POOL_AMI_FORMAT",
        f"{POOL}.ami.version",
        cpus(ami={**BOTTLEROCKET, "version": "v20260810"}),
        cpus(ami={**BOTTLEROCKET, "version": "v1.67.0"}),
    ),
    Case(
        "POOL_AMI_FORMAT",
        "karpenter.ami_versions.bottlerocket",
        pools(pool(ami=BOTTLEROCKET), ami_versions={"bottlerocket": "v20260810"}),
        pools(pool(), ami_versions={"al2023": "v20260810"}),
    ),
    Case(
        "POOL_AMI_FORMAT",  # no such day
        f"{POOL}.ami.version",
        cpus(ami={"version": "v20261399"}),
        cpus(ami={"version": "v20260810"}),
    ),
    Case(
        "POOL_AMI_FORMAT",  # the future, as of TODAY
        "karpenter.ami_versions.al2023",
        pools(pool(), ami_versions={"al2023": "v20261121"}),
        pools(pool(), ami_versions={"al2023": "v20261120"}),
    ),
    Case(
        "AMI_CONFLICT",
        f"{POOL}.ami.version",
        cpus(ami={"image_id": "ami-01234567", "version": "v20260810"}),
        cpus(ami={"image_id": "ami-01234567"}),
    ),
    Case(
        "POOL_AMI_KUBERNETES",
        f"{POOL}.ami.version",
        cpus(ami={"version": "v20240101"}),
        cpus(ami={"version": "v20260114"}),
    ),
    Case(
        "POOL_AMI_KUBERNETES",
        f"{POOL}.ami.version",
        cpus(ami={**BOTTLEROCKET, "version": "v1.52.0"}),
        cpus(ami={**BOTTLEROCKET, "version": "v1.53.0"}),
    ),
    Case(
        "POOL_AMI_BAD",
        f"{POOL}.ami.version",
        gpus(**G5, ami={"version": "v20260818"}),
        cpus(ami={"version": "v20260818"}),
    ),
    Case(
        "POOL_AMI_BAD",
        "karpenter.ami_versions.al2023",
        pools(gpu_pool("a", **G5), gpu_pool(**G6), ami_versions={"al2023": "v20260818"}),
        pools(gpu_pool(**G5, ami=BOTTLEROCKET), ami_versions={"al2023": "v20260818"}),
    ),
    Case(
        "POOL_AMI_DOUBTFUL",
        f"{POOL}.ami.version",
        cpus(ami={"version": "v20260505"}),
        cpus(ami={"version": "v20260728"}),
    ),
    Case(
        "POOL_AMI_KUBERNETES",
        f"{POOL}.ami.version",
        {**cpus(ami={**BOTTLEROCKET, "version": "v1.64.0"}), **on_kubernetes("1.30")},
        {**cpus(ami={**BOTTLEROCKET, "version": "v1.61.0"}), **on_kubernetes("1.30")},
        frozenset({"KUBERNETES_VERSION_UNSUPPORTED"}),
    ),
    # --- rules that also apply to node groups
    Case("INSTANCE_TYPE_UNKNOWN", FIRST, gpus("p5.49xlarge"), gpus("p5.48xlarge")),
    Case("INSTANCE_TYPE_WITHDRAWN", FIRST, gpus("p3.2xlarge"), gpus("p4d.24xlarge")),
    Case("INSTANCE_TYPE_NOT_OFFERED", FIRST, {**gpus("g6.xlarge"), "region": "eu-west-1"}, gpus("g6.xlarge")),
    Case(
        "POOL_TYPE_NOT_OFFERED",
        FIRST,
        {**gpus("g6.xlarge", "g5.xlarge"), "region": "eu-west-1"},
        {**gpus("g6.xlarge"), "region": "eu-west-1"},
    ),
    Case("AMI_NONE", FIRST, gpus("g7.2xlarge", ami={"family": "bottlerocket"}), gpus("g7.2xlarge")),
    Case("EFA_UNSUPPORTED", FIRST, gpus("g5.xlarge", efa=True), gpus("g5.8xlarge", efa=True)),
    Case(
        "EFA_ONE_TYPE",
        f"{POOL}.accelerator",
        gpus(accelerator="h100", efa=True),
        gpus(accelerator="h100", efa=True, instance_sizes=["48xlarge"]),
    ),
    Case("EFA_ONE_ZONE", f"{POOL}.zones", gpus(**P5, efa=True, zones=["usw2-az1", "usw2-az2"]), gpus(**P5, efa=True)),
    Case(
        "EFA_ONE_ZONE",
        f"{POOL}.reservations",
        gpus(**P5, efa=True, **reserved(RESERVATION, {"id": "cr-01234568", "zone": "usw2-az2"})),
        gpus(**P5, efa=True, **reserved(RESERVATION, {"id": "cr-01234568", "zone": "usw2-az1"})),
    ),
    Case(
        "EFA_SPOT",
        f"{POOL}.capacity",
        gpus(**P5, efa=True, capacity=["spot", "on-demand"]),
        gpus(**P5, capacity=["spot"]),
    ),
    Case(
        "PLACEMENT_GROUP_UNSUPPORTED",
        f"{POOL}.placement_group",
        cpus(instance_families=["t3", "t3a"], placement_group="cluster"),
        cpus(instance_families=["c6i"], placement_group="cluster"),
    ),
    Case(
        "PLACEMENT_GROUP_ONE_ZONE",
        f"{POOL}.zones",
        cpus(instance_families=["c6i"], placement_group="cluster", zones=["usw2-az1", "usw2-az2"]),
        cpus(instance_families=["c6i"], placement_group="cluster"),
    ),
    Case(
        "PLACEMENT_GROUP_RESERVED",
        f"{POOL}.placement_group",
        gpus(**P5, placement_group="cluster", **reserved()),
        gpus(**P5, **reserved()),
    ),
    Case(
        "POD_NETWORK_NO_INTERFACE",
        FIRST,
        {"network": {"pod_cidr": "100.64.0.0/16"}, **gpus(**P5, efa=True)},
        {"network": {"pod_cidr": "100.64.0.0/16"}, **gpus(**P5)},
    ),
    Case(
        "INSTANCE_STORE_UNSUPPORTED",
        f"{POOL}.instance_store",
        gpus(**G5, ami=BOTTLEROCKET, instance_store="mount"),
        gpus(**G5, instance_store="mount"),
    ),
    Case("ZONE_UNKNOWN", f"{POOL}.zones", gpus(**G5, zones=["usw2-az8"]), gpus(**G5)),
    Case(
        "ZONE_UNKNOWN",
        f"{POOL}.reservations[0].zone",
        gpus(**P5, **reserved({**RESERVATION, "zone": "usw2-az8"})),
        gpus(**P5, **reserved()),
    ),
    Case(
        "ZONE_NOT_IN_NETWORK",
        f"{POOL}.zones",
        {"network": {"zones": ["usw2-az1", "usw2-az2"]}, **gpus(**G5, zones=["usw2-az3"])},
        {"network": {"zones": ["usw2-az1", "usw2-az2"]}, **gpus(**G5, zones=["usw2-az2"])},
    ),
    Case(
        "ZONE_NOT_IN_NETWORK",
        f"{POOL}.reservations[0].zone",
        {**existing_network("usw2-az2", "usw2-az3"), **gpus(**P5, **reserved(capacity=["reserved", "on-demand"]))},
        {**existing_network("usw2-az2", "usw2-az1"), **gpus(**P5, **reserved(capacity=["reserved", "on-demand"]))},
    ),
    Case(
        "ZONE_NOT_OFFERED",
        f"{POOL}.zones",
        neurons("trn1.2xlarge", "trn1.32xlarge", zones=["usw2-az2"]),
        neurons("trn1.2xlarge", "trn1.32xlarge", zones=["usw2-az4"]),
    ),
    Case(
        "ZONE_NOT_RECORDED",
        f"{POOL}.reservations[0].zone",
        neurons(
            "trn1.32xlarge",
            zones=["usw2-az2"],
            capacity=["reserved"],
            reservations=[{"id": "cr-01234567", "zone": "usw2-az2"}],
        ),
        neurons(
            "trn1.32xlarge",
            zones=["usw2-az4"],
            capacity=["reserved"],
            reservations=[{"id": "cr-01234567", "zone": "usw2-az4"}],
        ),
    ),
    Case(
        "KMS_KEY_REGION",
        f"{POOL}.disk.kms_key_arn",
        cpus(disk={"kms_key_arn": KEY.format(region="us-east-1")}),
        cpus(disk={"kms_key_arn": KEY.format(region="us-west-2")}),
    ),
]

# INSTANCE_TYPE_UNKNOWN and similar codes are rules of `hardware` and `cluster`.
MODULES = ("karpenter", "node_pools", "overlap")


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert rules_of(*MODULES) <= {case.code for case in CASES}


def test_which_rules_warn() -> None:
    assert warnings_of(*MODULES) == {
        "KARPENTER_NO_QUEUE",
        "KARPENTER_NO_ROOM",
        "KARPENTER_PRIVATE_PRICE_SOME",
        "POOL_AMI_DOUBTFUL",
        "POOL_AMI_LATEST",
        "POOL_BOTH_ARCHITECTURES",
        "POOL_DISRUPTION_TRAINING",
        "POOL_FAMILY_EMPTY",
        "POOL_LIMIT_MISSING",
        "POOL_OVERLAP",
        "POOL_OVERLAP_EFA",
        "POOL_RESERVATION_TYPES",
        "POOL_TYPE_NOT_OFFERED",
        "POOL_TYPE_UNSOLD",
    }


# --- suggestions in messages


@in_one_test(
    ("changes", "code", "says"),
    [
        (gpus(instance_families=["g6x"]), "POOL_FAMILY_UNKNOWN", "g6"),
        (gpus(accelerator="l40"), "POOL_ACCELERATOR_UNKNOWN", "l40s"),
        (gpus(accelerator="zzz"), "POOL_ACCELERATOR_UNKNOWN", "trainium2"),
        (gpus(**G5, instance_sizes=["x8large"]), "POOL_SIZE_UNKNOWN", "8xlarge"),
        (gpus("p5.49xlarge"), "INSTANCE_TYPE_UNKNOWN", "p5.48xlarge"),
        (gpus(instance_families=["p3"]), "POOL_NO_TYPE", "withdrawn"),
        (gpus(instance_families=["g7"], ami={"family": "bottlerocket"}), "POOL_NO_TYPE", "no Bottlerocket image"),
        (gpus(accelerator="gb200"), "POOL_NO_TYPE", "not offered in us-west-2"),
        (gpus(**G5, instance_sizes=["xlarge"], efa=True), "POOL_NO_TYPE", "no EFA"),
        (gpus(**G5, limits={}), "POOL_LIMIT_MISSING", "nvidia.com/gpu: 8"),
        (gpus(**G5, limits={"cpu": 512}), "POOL_LIMIT_MISSING", "up to 128 with g5.xlarge"),
        # A limit that only one of the kinds of hardware has.
        (gpus("g5.xlarge", "inf2.xlarge", limits={"aws.amazon.com/neuron": 8}), "POOL_LIMIT_MISSING", "nvidia.com/gpu"),
        (gpus(**P5, limits={"nvidia.com/gpu": 1}), "POOL_LIMIT_SMALL", "at least 8, enough for one p5.48xlarge"),
        (
            karpenter_version("1.5.0", gpu_pool(**P5, efa=True, **reserved())),
            "KARPENTER_VERSION_FEATURE",
            "1.11 or newer",
        ),
        (karpenter_version("1.6.0", gpu_pool(instance_families=["g6f"])), "KARPENTER_VERSION_FEATURE", "NodeOverlay ("),
        (
            karpenter_version("1.5.0", gpu_pool(**P5, efa=True, **reserved())),
            "KARPENTER_VERSION_FEATURE",
            "networkInterfaces (",
        ),
        (gpus(**G5, ami={"version": "v20260818"}), "POOL_AMI_BAD", "issues/2790"),
    ],
)
def test_message(changes: dict[str, Any], code: str, says: str) -> None:
    assert says in finding_message(code, changes)


def test_one_finding_names_all_that_a_version_lacks() -> None:
    given = karpenter_version(
        "1.2.0", gpu_pool(**P5, efa=True, **reserved(capacity=["capacity-block"])), kubernetes="1.32"
    )
    said = finding_message("KARPENTER_VERSION_FEATURE", given)
    since = facts.karpenter()["versions"]["since"]
    assert all(since[key] in said for key in ("reserved_capacity", "capacity_blocks", "network_interfaces"))


def test_the_suggested_images_are_good() -> None:
    for ami in ({"family": "al2023"}, BOTTLEROCKET):
        for hardware in (gpu_pool(**G5, ami=ami), pool(ami=ami)):
            assert shown_codes(pools(hardware)) == []


@in_one_test("release", ["v20260403", "v20260409", "v20260415", "v20260423", "v20260505", "v20260520"])
def test_releases_that_fail_in_some_cases_only_warn(release: str) -> None:
    found = shown_codes(cpus(ami={"version": release}))
    assert {code for code, _ in found} == {"POOL_AMI_DOUBTFUL"}


def test_pools_that_are_alike_are_named_once_each() -> None:
    found = shown_codes(pools(*(gpu_pool(f"pool-{index}", **G5, limits={"nvidia.com/gpu": 1}) for index in range(100))))
    assert found == sorted(
        ("POOL_OVERLAP", f"karpenter.node_pools[pool-{index}].instance_families") for index in range(1, 100)
    )


def test_a_pool_names_all_that_are_like_it() -> None:
    alike = pools(gpu_pool("a", **G5), gpu_pool("b", **G6), gpu_pool(instance_families=["g5", "g6"]))
    said = finding_message("POOL_OVERLAP", alike)
    assert "pools a, b" in said


def test_mistakes_do_not_hide_each_other() -> None:
    found = shown_codes(
        pools(
            gpu_pool("family", instance_families=["g55"], zones=["usw2-az7"]),
            gpu_pool("type", instance_types=["p5.49xlarge"], ami={"version": "v1"}),
            gpu_pool("limit", **G5, limits={"cpu": 1}, labels={"karpenter.sh/a": "b"}),
            pool("mixed", instance_families=["m7i", "g6"], limits={"cpu": 64}),
        )
    )
    assert {
        ("POOL_FAMILY_UNKNOWN", "karpenter.node_pools[family].instance_families[0]"),
        ("ZONE_UNKNOWN", "karpenter.node_pools[family].zones"),
        ("INSTANCE_TYPE_UNKNOWN", "karpenter.node_pools[type].instance_types[0]"),
        ("POOL_AMI_FORMAT", "karpenter.node_pools[type].ami.version"),
        ("POOL_LIMIT_MISSING", "karpenter.node_pools[limit].limits"),
        ("POOL_LIMIT_SMALL", "karpenter.node_pools[limit].limits.cpu"),
        ("POOL_LABEL_RESTRICTED", "karpenter.node_pools[limit].labels[karpenter.sh/a]"),
        ("POOL_MIXED_HARDWARE", "karpenter.node_pools[mixed].instance_families"),
    } == set(found)


# --- positions in the file

TEXT = """\
version: 1
name: demo
region: us-west-2
cluster: {creator_is_admin: true}
node_groups:
  - {name: system, instance_types: [m6i.xlarge], scaling: {min: 2, max: 4}}
karpenter:
  node_pools:
    - name: gpu
      instance_families: [g5, g66]
      limits: {nvidia.com/gpu: 8, aws.amazon.com/neuron: 8}
      labels: {karpenter.sh/a: b}
"""


def test_findings_have_their_place_in_the_file() -> None:
    found = {finding.code: finding.position for finding in check_loaded(parse_strategy(TEXT, file="demo.yaml"))}
    assert found["POOL_FAMILY_UNKNOWN"] == ("demo.yaml", 10, 31)
    assert found["POOL_LIMIT_FOREIGN"] == ("demo.yaml", 11, 58)
    assert found["POOL_LABEL_RESTRICTED"] == ("demo.yaml", 12, 32)
