"""Rules about room for the system, idle accelerated nodes, and fields without effect: each broken and kept."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.models import Strategy
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, shown_codes, warnings_of
from helpers.sections import cluster, configured, kubernetes, network
from helpers.strategies import SYSTEM, TODAY, document, gpu_pool, group, pool, pools

TYPES = "node_groups[system].instance_types"
POOL = "karpenter.node_pools[pool]"
NO_ROOM = frozenset({"KARPENTER_NO_ROOM"})


def system_group(instance_types: str, nodes: int = 2, **fields: Any) -> dict[str, Any]:
    return group(instance_types, "system", **{"scaling": {"min": nodes, "max": 4}, **fields})


def with_system(instance_types: str, nodes: int = 2, **others: Any) -> dict[str, Any]:
    return {"node_groups": [system_group(instance_types, nodes)], **others}


def gpu_group(**fields: Any) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group("g6.xlarge", **fields)]}


def disruption(**fields: Any) -> dict[str, Any]:
    return pools(gpu_pool(instance_families=["g6"], disruption=fields))


def reserved_memory(family: str, memory: str) -> dict[str, Any]:
    """Return user data that reserves memory for the kubelet, or for the system."""
    if family == "bottlerocket":
        return {"kubernetes": {"system-reserved": {"memory": memory}}}
    return {"kubelet": {"config": {"kubeReserved": {"memory": memory}}}}


def with_memory_policy(policy: str = "Static", reserved: dict[str, Any] | None = None) -> dict[str, Any]:
    memory = {"memory-manager-reserved-memory": reserved} if reserved else {}
    return {"ami": {"family": "bottlerocket"}, "user_data": {"kubernetes": {"memory-manager-policy": policy, **memory}}}


def off(path: str, bad: dict[str, Any], good: dict[str, Any], also: frozenset[str] = frozenset()) -> Case:
    return Case("FIELD_NO_EFFECT", path, bad, good, also)


def with_needs(instance_type: str = "g6.12xlarge", ami: Any = None, **needs: str) -> dict[str, Any]:
    return {"node_groups": [SYSTEM, group(instance_type, needs=needs, **({"ami": ami} if ami else {}))]}


SEVERAL = {"distributed": "single-node"}
DRIVER = {"nvidia_driver": "580"}
OWN = {"image_id": "ami-0123456789abcdef0"}
RELEASE = {"al2023": "v20260810"}
SPOT_GATE = {"spot_to_spot_consolidation": True}
CPU_POOL = pools(pool())
GPU_POOL = pools(gpu_pool(instance_families=["g6"]))
MANY = {"resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"memory": "8Gi"}}}
AUTOSCALED = {**gpu_group(scaling={"max": 4, "autoscaled": True})}
AUTOSCALER = "kubernetes.charts.cluster-autoscaler.values.extraArgs"


def autoscaler(**arguments: Any) -> dict[str, Any]:
    values = {"extraArgs": arguments}
    return {**AUTOSCALED, **kubernetes(cluster_autoscaler=True, charts={"cluster-autoscaler": {"values": values}})}


def frozen(schedule: str, duration: str) -> dict[str, str]:
    return {"nodes": "0", "schedule": schedule, "duration": duration}


CPUS = {"requests": {"cpu": "1900m"}}


def on_hardware(kind: str) -> dict[str, Any]:
    return {"nodeSelector": {"hardware-type": kind}, "tolerations": [{"operator": "Exists"}]}


EVERYWHERE = kubernetes(charts={"karpenter": {"values": {"tolerations": [{"operator": "Exists"}]}}})


NO_DNS = cluster(addons={"coredns": {"enabled": False}})


def launching(**values: Any) -> dict[str, Any]:
    return {**CPU_POOL, **kubernetes(charts={"karpenter": {"values": values}})}


def manager(replicas: int = 1, **fields: Any) -> dict[str, Any]:
    values = {"controllerManager": {"replicas": replicas, "manager": fields}}
    return kubernetes(kueue=True, charts={"kueue": {"values": values}})


PROMETHEUS = "kubernetes.charts.kube-prometheus-stack.values"


def prometheus(**values: Any) -> dict[str, Any]:
    return kubernetes(prometheus=True, charts={"kube-prometheus-stack": {"values": values}})


def operator(**values: Any) -> dict[str, Any]:
    return {**gpu_group(), **kubernetes(gpu_operator=True, charts={"gpu-operator": {"values": values}})}


CASES = [
    # --- room
    Case("SYSTEM_NO_ROOM", TYPES, with_system("t3.micro", 1), with_system("t3.large", 1)),
    Case("SYSTEM_NO_ROOM", TYPES, with_system("t3.micro", **GPU_POOL), with_system("t3.medium", **GPU_POOL)),
    Case(
        "SYSTEM_NO_ROOM",
        TYPES,
        with_system("m6i.large", **configured("coredns", **MANY)),
        with_system("m6i.4xlarge", **configured("coredns", **MANY)),
    ),
    Case(
        "SYSTEM_NO_ROOM",
        TYPES,
        with_system("m6i.large", **configured("coredns", replicaCount=40)),
        with_system("m6i.large", **configured("coredns", replicaCount=4)),
    ),
    Case(
        "SYSTEM_NO_ROOM",
        TYPES,
        {"node_groups": [system_group("m6i.large", kubelet={"max_pods": 5})]},
        {"node_groups": [system_group("m6i.large", kubelet={"max_pods": 20})]},
    ),
    Case(
        "SYSTEM_NO_ROOM",
        TYPES,
        {"node_groups": [system_group("m6i.large", kubelet={"kube_reserved": {"cpu": "1900m"}})]},
        {"node_groups": [system_group("m6i.large", kubelet={"kube_reserved": {"cpu": "200m"}})]},
    ),
    *(
        Case(
            "SYSTEM_NO_ROOM",
            TYPES,
            {"node_groups": [system_group("m6i.large", user_data=reserved_memory(family, "7400Mi"), ami=ami)]},
            {"node_groups": [system_group("m6i.large", user_data=reserved_memory(family, "1Gi"), ami=ami)]},
            frozenset({"USER_DATA_OVERRIDES"}),
        )
        for family in ("al2023", "bottlerocket")
        for ami in [{"family": family}]
    ),
    Case(
        "SYSTEM_TIGHT",
        TYPES,
        with_system("m6i.large", 1, **CPU_POOL, **configured("coredns", replicaCount=12)),
        with_system("m6i.xlarge", 2, **CPU_POOL, **configured("coredns", replicaCount=12)),
        NO_ROOM,
    ),
    Case(
        "SYSTEM_NO_ROOM",
        TYPES,
        with_system("m6i.large", **launching(controller={"resources": CPUS}), **NO_DNS),
        with_system("m6i.large", **launching(controller={"resources": {"requests": {"cpu": "1"}}}), **NO_DNS),
        frozenset({"ADDON_DNS_OFF"}),
    ),
    *(
        Case("SYSTEM_NO_ROOM", TYPES, with_system("m6i.large", **bad), with_system("m6i.large", **good))
        for bad, good in [
            (
                launching(controller={"resources": CPUS}),
                launching(controller={"resources": {"requests": {"cpu": "1"}}}),
            ),
            ({**CPU_POOL, **configured("coredns", **MANY)}, {**CPU_POOL, **configured("metrics-server", **MANY)}),
        ]
    ),
    *(
        Case("SYSTEM_NO_ROOM", TYPES, with_system("m6i.large", **bad), with_system("m6i.large", **good))
        for bad, good in [
            (configured("vpc-cni", resources=CPUS), configured("vpc-cni", resources={"requests": {"cpu": "50m"}})),
            (
                prometheus(prometheus={"prometheusSpec": {"resources": {"requests": {"memory": "64Gi"}}}}),
                prometheus(prometheus={"prometheusSpec": {"resources": {"requests": {"memory": "2Gi"}}}}),
            ),
            (
                configured("aws-ebs-csi-driver", node={"resources": CPUS}),
                configured("aws-ebs-csi-driver", node={"resources": {"requests": {"cpu": "50m"}}}),
            ),
            (
                configured("aws-efs-csi-driver", controller={"resources": CPUS}),
                configured("aws-efs-csi-driver", controller={"resources": CPUS, "create": False}),
            ),
            (
                prometheus(**{"prometheus-node-exporter": {"resources": CPUS}}),
                prometheus(**{"prometheus-node-exporter": {"resources": {"requests": {"cpu": "50m"}}}}),
            ),
            (
                configured("coredns", autoScaling={"enabled": True, "minReplicas": 60}),
                configured("coredns", autoScaling={"enabled": True, "minReplicas": 4}),
            ),
            (manager(replicas=7), manager(replicas=2)),
            (manager(resources={"requests": {"cpu": "3"}}), manager(resources={"requests": {"cpu": "1"}})),
        ]
    ),
    Case(
        "PODS_TOO_FEW",
        "node_groups[gpu].kubelet.max_pods",
        gpu_group(kubelet={"max_pods": 6}),
        gpu_group(kubelet={"max_pods": 7}),
    ),
    Case(
        "PODS_TOO_FEW",
        f"{POOL}.kubelet.max_pods",
        {**pools(pool(kubelet={"max_pods": 5})), **kubernetes(prometheus=True)},
        pools(pool(kubelet={"max_pods": 5})),
    ),
    # the derived number: that of the type with the fewest addresses, alone and among others
    Case(
        "PODS_TOO_FEW",
        "node_groups[gpu].instance_types[0]",
        {"node_groups": [SYSTEM, group("t2.micro")]},
        {"node_groups": [SYSTEM, group("t2.small")]},
    ),
    Case(
        "PODS_TOO_FEW",
        "node_groups[gpu].instance_types[1]",
        {"node_groups": [SYSTEM, group(["t3.large", "t2.micro"])]},
        {"node_groups": [SYSTEM, group(["t3.large", "t3.micro"])]},
    ),
    Case(
        "PODS_TOO_FEW",
        f"{POOL}.instance_families",
        pools(pool(instance_families=["t2", "t3"])),
        pools(pool(instance_families=["t2", "t3"], instance_sizes=["small", "medium", "large"])),
    ),
    # --- idle
    Case(
        "IDLE_NODES_KEPT",
        f"{POOL}.disruption.consolidate_after",
        disruption(consolidate_after="never"),
        disruption(consolidate_after="10m"),
    ),
    Case(
        "IDLE_NODES_KEPT",
        f"{POOL}.disruption.consolidate_after",
        disruption(consolidate_after="72h"),
        disruption(consolidate_after="2h"),
    ),
    Case(
        "IDLE_NODES_KEPT",
        f"{POOL}.disruption.budgets[0].nodes",
        disruption(budgets=[{"nodes": "0"}]),
        disruption(budgets=[{"nodes": "0", "reasons": ["Drifted"]}]),
    ),
    Case(
        "IDLE_NODES_KEPT",
        f"{POOL}.disruption.budgets[1].nodes",
        disruption(budgets=[{"nodes": "10%"}, {"nodes": "0%", "reasons": ["Empty"]}]),
        disruption(budgets=[{"nodes": "0%", "schedule": "0 8 * * mon-fri", "duration": "8h"}]),
    ),
    Case(
        "IDLE_NODES_KEPT",
        f"{POOL}.disruption.budgets[0].nodes",
        disruption(budgets=[{"nodes": "0", "schedule": "@daily", "duration": "24h"}]),
        disruption(budgets=[{"nodes": "0", "schedule": "@weekly", "duration": "24h"}]),
    ),
    *(
        Case(
            "IDLE_NODES_KEPT",
            f"{POOL}.disruption.budgets[0].nodes",
            disruption(budgets=[frozen(*window) for window in wrong]),
            disruption(budgets=[frozen(*window) for window in right]),
        )
        for wrong, right in [
            ([("0 0 * * *", "12h"), ("0 12 * * *", "12h")], [("0 0 * * *", "12h"), ("0 13 * * *", "10h")]),
            ([("0 */6 * * *", "6h")], [("0 */6 * * *", "5h")]),
            ([("0 0 * * mon", "120h")], [("0 18 * * fri", "62h")]),
            ([("@monthly", "744h")], [("0 0 1 * *", "24h")]),
        ]
    ),
    *(
        Case(
            "IDLE_NODES_KEPT",
            f"{AUTOSCALER}.{argument}",
            autoscaler(**{argument: wrong}),
            autoscaler(**{argument: right}),
            frozenset({"AUTOSCALER_TAKES_GROUP"}),
        )
        for argument, wrong, right in [
            ("scale-down-enabled", False, True),
            ("scale-down-unneeded-time", "720h", "20m"),
            ("scale-down-utilization-threshold", 0, 0.5),
        ]
    ),
    Case(
        "ACCELERATOR_OPEN",
        "cluster.addons.coredns.configuration.tolerations",
        {**gpu_group(), **configured("coredns", **on_hardware("nvidia-gpu"))},
        {**gpu_group(), **configured("coredns", **on_hardware("cpu"))},
    ),
    Case(
        "ACCELERATOR_OPEN",
        "kubernetes.charts.karpenter.values.tolerations",
        {**gpu_group(), **EVERYWHERE, **pools()},
        {**EVERYWHERE, **GPU_POOL},
    ),
    Case("ACCELERATOR_OPEN", "node_groups[gpu].accelerator_taint", gpu_group(accelerator_taint=False), gpu_group()),
    *(
        Case(
            "ACCELERATOR_OPEN",
            "cluster.addons.coredns.configuration.tolerations",
            {**gpu_group(), **configured("coredns", tolerations=[wrong])},
            {**gpu_group(), **configured("coredns", tolerations=[right])},
        )
        for wrong, right in [
            ({"operator": "Exists"}, {"key": "CriticalAddonsOnly", "operator": "Exists"}),
            ({"key": "nvidia.com/gpu", "operator": "Exists"}, {"key": "nvidia.com/gpu", "value": "false"}),
        ]
    ),
    Case(
        "ACCELERATOR_OPEN",
        f"{POOL}.accelerator_taint",
        pools(gpu_pool(instance_families=["g6"], accelerator_taint=False)),
        pools(gpu_pool(instance_families=["g6"], accelerator_taint=False, taints=[{"key": "team"}])),
    ),
    Case(
        "ACCELERATOR_OPEN",
        "node_groups[gpu].accelerator_taint",
        gpu_group(accelerator_taint=False, taints=[{"key": "team", "effect": "PreferNoSchedule"}]),
        gpu_group(accelerator_taint=False, taints=[{"key": "team", "effect": "NoExecute"}]),
    ),
    # --- without effect
    off(
        "kubernetes.teams[ml].container_defaults",
        kubernetes(teams=[{"name": "ml", "container_defaults": {}}]),
        kubernetes(teams=[{"name": "ml", "container_defaults": {"requests": {"cpu": "1"}}}]),
    ),
    off(
        "karpenter.node_policies[0]",
        pools(node_policies=["arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"]),
        pools(node_policies=["arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"]),
    ),
    off(
        "karpenter.feature_gates.spot_to_spot_consolidation",
        pools(pool(), feature_gates=SPOT_GATE),
        pools(pool(capacity=["spot"]), feature_gates=SPOT_GATE),
    ),
    off(
        "cluster.logging.retention_days",
        cluster(logging={"types": [], "retention_days": 30}),
        cluster(logging={"types": ["api"], "retention_days": 30}),
    ),
    off(
        "network.flow_logs.traffic",
        network(flow_logs={"enabled": False, "traffic": "ALL"}),
        network(flow_logs={"traffic": "ALL"}),
    ),
    off(
        "cluster.secrets_encryption.kms_key_arn",
        cluster(
            secrets_encryption={
                "enabled": False,
                "kms_key_arn": "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab",
            }
        ),
        cluster(
            secrets_encryption={
                "kms_key_arn": "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-44cd-96ef-1234567890ab"
            }
        ),
    ),
    off(
        "cluster.addons.metrics-server.configuration",
        cluster(addons={"metrics-server": {"enabled": False, "configuration": {"replicas": 2}}}),
        cluster(addons={"metrics-server": {"enabled": False}}),
    ),
    off(
        "cluster.addons.snapshot-controller.version",
        cluster(addons={"snapshot-controller": {"enabled": False, "version": "v8.3.0-eksbuild.1"}}),
        cluster(addons={"snapshot-controller": {"version": "v8.3.0-eksbuild.1"}}),
    ),
    off(
        "cluster.addons.coredns.configuration.replicaCount",
        configured("coredns", replicaCount=3, autoScaling={"enabled": True}),
        configured("coredns", autoScaling={"enabled": True}),
    ),
    off(
        "cluster.addons.coredns.configuration.autoScaling.minReplicas",
        configured("coredns", autoScaling={"enabled": False, "minReplicas": 3}),
        configured("coredns", autoScaling={"enabled": True, "minReplicas": 3}),
    ),
    off(
        "cluster.addons.kube-proxy.configuration.ipvs",
        configured("kube-proxy", ipvs={"scheduler": "rr"}),
        configured("kube-proxy", mode="ipvs", ipvs={"scheduler": "rr"}),
    ),
    off(
        "cluster.addons.vpc-cni.configuration.eniConfig",
        configured("vpc-cni", eniConfig={"create": True}),
        configured("vpc-cni", eniConfig={"create": True}, env={"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true"}),
    ),
    off(
        "cluster.addons.vpc-cni.configuration.env.WARM_PREFIX_TARGET",
        configured("vpc-cni", env={"WARM_PREFIX_TARGET": "1", "WARM_IP_TARGET": "5", "MINIMUM_IP_TARGET": "10"}),
        configured("vpc-cni", env={"WARM_IP_TARGET": "5", "MINIMUM_IP_TARGET": "10"}),
    ),
    off(
        "cluster.addons.vpc-cni.configuration.env.WARM_ENI_TARGET",
        configured("vpc-cni", env={"WARM_ENI_TARGET": "2"}),
        configured("vpc-cni", env={"WARM_PREFIX_TARGET": "2"}),
    ),
    off(
        "cluster.addons.vpc-cni.configuration.env.POD_SECURITY_GROUP_ENFORCING_MODE",
        configured("vpc-cni", env={"POD_SECURITY_GROUP_ENFORCING_MODE": "standard"}),
        configured("vpc-cni", env={"POD_SECURITY_GROUP_ENFORCING_MODE": "standard", "ENABLE_POD_ENI": "true"}),
    ),
    off(
        "cluster.addons.vpc-cni.configuration.nodeAgent.enablePolicyEventLogs",
        configured("vpc-cni", enableNetworkPolicy="false", nodeAgent={"enablePolicyEventLogs": "true"}),
        configured("vpc-cni", nodeAgent={"enablePolicyEventLogs": "true"}),
    ),
    *(
        off(f"{PROMETHEUS}.{path}", prometheus(**bad), prometheus(**good))
        for path, bad, good in (
            (
                "kube-state-metrics.replicas",
                {"kubeStateMetrics": {"enabled": False}, "kube-state-metrics": {"replicas": 2}},
                {"kubeStateMetrics": {"enabled": False}, "kube-state-metrics": {"nameOverride": "own-metrics"}},
            ),
            (
                "prometheus-node-exporter.hostNetwork",
                {"nodeExporter": {"enabled": False}, "prometheus-node-exporter": {"hostNetwork": False}},
                {"nodeExporter": {"enabled": True}, "prometheus-node-exporter": {"hostNetwork": False}},
            ),
            (
                "prometheus-windows-exporter.hostNetwork",
                {"prometheus-windows-exporter": {"hostNetwork": True}},
                {"windowsMonitoring": {"enabled": True}, "prometheus-windows-exporter": {"hostNetwork": True}},
            ),
            (
                "defaultRules.rules",
                {"defaultRules": {"create": False, "rules": {"etcd": False}}},
                {"defaultRules": {"create": True, "rules": {"etcd": False}}},
            ),
            (
                "grafana.defaultDashboardsEnabled",
                {"grafana": {"enabled": False, "defaultDashboardsEnabled": True}},
                {"grafana": {"enabled": False, "defaultDashboardsEnabled": True, "forceDeployDashboards": True}},
            ),
            (
                "kube-state-metrics.prometheus.monitor.interval",
                {"kube-state-metrics": {"prometheus": {"monitor": {"enabled": False, "interval": "30s"}}}},
                {"kube-state-metrics": {"prometheus": {"monitor": {"enabled": True, "interval": "30s"}}}},
            ),
        )
    ),
    *(
        off(f"kubernetes.charts.gpu-operator.values.{path}", operator(**bad), operator(**good))
        for path, bad, good in (
            ("driver.version", {"driver": {"version": "580.82.07"}}, {"driver": {"rdma": {"enabled": True}}}),
            ("toolkit.version", {"toolkit": {"version": "v1.17.8"}}, {"gfd": {"version": "v0.17.1"}}),
        )
    ),
    off(
        f"{PROMETHEUS}.grafana.replicas",
        prometheus(grafana={"enabled": False, "replicas": 2}),
        prometheus(grafana={"replicas": 2}),
    ),
    off(
        "node_groups[gpu].accelerator_taint",
        {"node_groups": [SYSTEM, group("m6i.xlarge", accelerator_taint=True)]},
        gpu_group(accelerator_taint=True),
    ),
    off(
        f"{POOL}.disruption.consolidation",
        pools(pool(disruption={"consolidate_after": "never", "consolidation": "when-empty"})),
        pools(pool(disruption={"consolidation": "when-empty"})),
    ),
    off(
        f"{POOL}.disruption.budgets[0].reasons",
        pools(
            pool(disruption={"consolidation": "when-empty", "budgets": [{"nodes": "1", "reasons": ["Underutilized"]}]})
        ),
        pools(pool(disruption={"consolidation": "when-empty", "budgets": [{"nodes": "1", "reasons": ["Empty"]}]})),
    ),
    off(
        "network.gateway_endpoints",
        {"network": {"gateway_endpoints": []}},
        {"network": {"gateway_endpoints": ["dynamodb"]}},
    ),
    off(
        "kubernetes.dcgm_exporter",
        {**gpu_group(), "kubernetes": {"gpu_operator": True, "dcgm_exporter": True}},
        {**gpu_group(), "kubernetes": {"gpu_operator": True}},
    ),
    off("karpenter.ami_versions.al2023", pools(ami_versions=RELEASE), pools(pool(), ami_versions=RELEASE)),
    off("node_groups[gpu].needs.precision", with_needs("m6i.xlarge", precision="bf16"), with_needs(precision="bf16")),
    off(
        f"{POOL}.needs.distributed",
        pools(pool(needs=SEVERAL)),
        pools(gpu_pool(instance_types=["g6.12xlarge"], needs=SEVERAL)),
    ),
    off("node_groups[gpu].needs.distributed", with_needs("m6i.xlarge", distributed="multi-node"), with_needs()),
    off("node_groups[gpu].needs.nvidia_driver", with_needs(**DRIVER, ami=OWN), with_needs(**DRIVER)),
    off(
        "node_groups[gpu].needs.neuron_sdk",
        with_needs("trn1.2xlarge", neuron_sdk="2.29", ami=OWN),
        with_needs("trn1.2xlarge", neuron_sdk="2.29", framework="jax", ami=OWN),
    ),
    off(
        "karpenter.ami_versions.bottlerocket",
        pools(pool(), ami_versions={"bottlerocket": "v1.50.0"}),
        pools(pool(ami={"family": "bottlerocket"}), ami_versions={"bottlerocket": "v1.50.0"}),
    ),
    off(
        "node_groups[gpu].user_data.kubernetes.memory-manager-policy",
        gpu_group(**with_memory_policy()),
        gpu_group(**with_memory_policy(reserved={"0": {"enabled": True, "memory": "1Gi"}})),
    ),
    off(
        f"{POOL}.user_data.kubernetes.memory-manager-policy",
        pools(pool(**with_memory_policy())),
        pools(pool(**with_memory_policy("None"))),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("system_room", "idle", "unused")


def test_which_rules_warn() -> None:
    assert warnings_of("system_room", "idle", "unused") == {
        "ACCELERATOR_OPEN",
        "FIELD_NO_EFFECT",
        "IDLE_NODES_KEPT",
        "SYSTEM_TIGHT",
    }


@in_one_test(
    "changes",
    [
        with_system("t3.medium"),
        with_system("t3.medium", **CPU_POOL),
        with_system("m6i.large", **CPU_POOL, **kubernetes(load_balancer_controller=True)),
        with_system("t3.large", **cluster(addons={"aws-ebs-csi-driver": {}, "aws-efs-csi-driver": {}})),
        {"node_groups": [group("g6.xlarge", accelerator_taint=False, scaling={"min": 1, "max": 2})]},
        gpu_group(labels={"a": "b"}, scaling={"min": 1, "max": 2}),
    ],
)
def test_usual_sizes_pass(changes: dict[str, Any]) -> None:
    assert not {code for code, _ in shown_codes(changes)} & rules_of("system_room", "idle", "unused")


def test_what_no_field_changes_is_only_removed() -> None:
    def remedies(**values: Any) -> dict[str, str]:
        changes = {**gpu_group(), **kubernetes(gpu_operator=True, charts={"gpu-operator": {"values": values}})}
        found = check(Strategy.model_validate(document(**changes)), today=TODAY)
        return {each.path: each.message.rpartition("; ")[2] for each in found if each.code == "FIELD_NO_EFFECT"}

    above = "kubernetes.charts.gpu-operator.values"
    assert remedies(driver={"version": "570"}, toolkit={"version": "1"}) == {
        f"{above}.driver.version": "remove it",
        f"{above}.toolkit.version": "remove it",
    }
    assert remedies(dcgmExporter={"enabled": False, "version": "4"}) == {
        f"{above}.dcgmExporter.version": "remove it, or change that"
    }


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        # No t3.micro has room for Karpenter's GiB.
        (with_system("t3.micro", 4, **GPU_POOL), "use larger types"),
        (
            with_system("m7i.large", **GPU_POOL, **configured("coredns", replicaCount=40)),
            "use larger types, or raise scaling.min",
        ),
    ],
)
def test_more_nodes_are_advised_where_they_help(changes: dict[str, Any], fix: str) -> None:
    message = finding_message("SYSTEM_NO_ROOM", changes)
    assert message.rpartition("; ")[2] == fix


FOR_ALL = ", which is the limit for all types here"
NO_PREFIXES = "t2.micro has addresses for 4 pods (without prefix delegation, which requires a Nitro type)"


@pytest.mark.parametrize(
    ("changes", "limit", "fix"),
    [
        (gpu_group(kubelet={"max_pods": 6}), "the limit is 6", "set at least 7, or remove this line"),
        ({"node_groups": [SYSTEM, group("t2.micro")]}, NO_PREFIXES, "choose another type"),
        # A higher number would exceed the type's addresses.
        (
            {"node_groups": [SYSTEM, group("t2.micro", kubelet={"max_pods": 4})]},
            NO_PREFIXES,
            "choose another type, and remove this line",
        ),
        ({"node_groups": [SYSTEM, group(["t3.large", "t2.micro"])]}, NO_PREFIXES + FOR_ALL, "leave out t2.micro"),
        (
            pools(pool(instance_families=["t2", "t3"])),
            NO_PREFIXES.replace("micro", "nano") + FOR_ALL,
            "leave out t2.nano, t2.micro: set instance_sizes without nano, micro",
        ),
        (
            pools(pool(instance_families=["t2"], instance_sizes=["micro"])),
            NO_PREFIXES,
            "choose another family or other instance_sizes",
        ),
    ],
)
def test_the_advice_about_too_few_pods_fits_the_type(changes: dict[str, Any], limit: str, fix: str) -> None:
    message = finding_message("PODS_TOO_FEW", changes)
    assert f"), but {limit}, so no other pod can run; {fix}" in message
    assert message.endswith(fix)
