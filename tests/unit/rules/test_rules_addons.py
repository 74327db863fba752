"""Rules about EKS add-ons: each with a strategy that breaks it and a similar one that does not."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, rules_of, shown_codes, warnings_of
from helpers.sections import cluster, configured, one_group
from helpers.strategies import SYSTEM, document, group, pool, pools

CNI = "cluster.addons.vpc-cni"
EFA = {"node_groups": [SYSTEM, group("p5.48xlarge", efa=True)]}
PODS = {"network": {"pod_cidr": "100.64.0.0/16"}}


def pinned_addon(name: str, version: str, kubernetes_version: str = "1.35") -> dict[str, Any]:
    return cluster(addons={name: {"version": f"v{version}-eksbuild.1"}}, kubernetes_version=kubernetes_version)


def cni_environment(**values: Any) -> dict[str, Any]:
    return configured("vpc-cni", env=values)


def monitoring(**fields: Any) -> dict[str, Any]:
    return {**cluster(addons={"eks-node-monitoring-agent": {"enabled": False}}), **fields}


def max_pods(most: int) -> dict[str, Any]:
    return {"node_groups": [{**SYSTEM, "kubelet": {"max_pods": most}}]}


PREFIXES_OFF = cni_environment(ENABLE_PREFIX_DELEGATION="false")

CASES = [
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.CLUSTER_NAME",
        cluster(addons={"vpc-cni": {"configuration": {"env": {"CLUSTER_NAME": "other"}}}}),
        cluster(addons={"vpc-cni": {"configuration": {"env": {"CLUSTER_NAME": document()["name"]}}}}),
    ),
    Case(
        "ADDON_WIRING",
        "cluster.addons.aws-ebs-csi-driver.configuration.controller.k8sTagClusterId",
        cluster(addons={"aws-ebs-csi-driver": {"configuration": {"controller": {"k8sTagClusterId": "other"}}}}),
        cluster(addons={"aws-ebs-csi-driver": {"configuration": {"controller": {"k8sTagClusterId": None}}}}),
    ),
    Case(
        "ADDON_REQUIRED",
        "cluster.addons.vpc-cni.enabled",
        cluster(addons={"vpc-cni": {"enabled": False}}),
        cluster(addons={"coredns": {"enabled": False}, "vpc-cni": {}}),
    ),
    Case(
        "ADDON_DNS_OFF",
        "cluster.addons.coredns.enabled",
        cluster(addons={"coredns": {"enabled": False}}),
        cluster(addons={"coredns": {"enabled": True}}),
    ),
    Case(
        "ADDON_VERSION",
        f"{CNI}.version",
        {**EFA, **pinned_addon("vpc-cni", "1.18.4")},
        {**EFA, **pinned_addon("vpc-cni", "1.18.5")},
    ),
    Case("ADDON_VERSION", f"{CNI}.version", pinned_addon("vpc-cni", "1.13.9"), pinned_addon("vpc-cni", "1.14.0")),
    Case(
        "ADDON_VERSION",
        "cluster.addons.aws-mountpoint-s3-csi-driver.version",
        pinned_addon("aws-mountpoint-s3-csi-driver", "1.15.0"),
        pinned_addon("aws-mountpoint-s3-csi-driver", "2.0.0"),
    ),
    Case(
        "ADDON_VERSION",
        "cluster.addons.kube-proxy.version",
        pinned_addon("kube-proxy", "1.36.0"),
        pinned_addon("kube-proxy", "1.35.3"),
    ),
    Case(
        "ADDON_VERSION",
        "cluster.addons.kube-proxy.version",
        pinned_addon("kube-proxy", "1.31.0"),
        pinned_addon("kube-proxy", "1.32.0"),
    ),
    Case(
        "ADDON_VERSION_BEHIND",
        "cluster.addons.kube-proxy.version",
        pinned_addon("kube-proxy", "1.34.9"),
        pinned_addon("kube-proxy", "1.35.0"),
    ),
    Case(
        "ADDON_ENVIRONMENT_TEXT",
        f"{CNI}.configuration.env.WARM_PREFIX_TARGET",
        cni_environment(WARM_PREFIX_TARGET=1),
        cni_environment(WARM_PREFIX_TARGET="1"),
    ),
    Case(
        "ADDON_ENVIRONMENT_TEXT",
        f"{CNI}.configuration.env.ENABLE_POD_ENI",
        cni_environment(ENABLE_POD_ENI=True),
        cni_environment(ENABLE_POD_ENI="true"),
    ),
    # m6i.xlarge: 4 interfaces with 15 addresses, one of them its own, and two pods on the node's network.
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.ENABLE_PREFIX_DELEGATION",
        {**PREFIXES_OFF, **max_pods(59)},
        {**PREFIXES_OFF, **max_pods(58)},
    ),
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.ENABLE_PREFIX_DELEGATION",
        PREFIXES_OFF,
        cni_environment(ENABLE_PREFIX_DELEGATION="true"),
    ),
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG",
        {**PODS, **cni_environment(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="false")},
        cni_environment(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="false"),
    ),
    Case(
        "ADDON_WIRING",
        "cluster.addons.coredns.configuration.replicaCount",
        configured("coredns", replicaCount=0),
        configured("coredns", replicaCount=1),
    ),
    Case(
        "ADDON_WIRING",
        "cluster.addons.coredns.configuration.replicaCount",
        configured("coredns", replicaCount=0, autoScaling={"enabled": False}),
        configured("coredns", replicaCount=0, autoScaling={"enabled": True}),
    ),
    # --- versions against the recorded ones
    Case(
        "ADDON_VERSION",
        "cluster.addons.coredns.version",
        pinned_addon("coredns", "1.8.7"),
        pinned_addon("coredns", "1.13.2"),
    ),
    Case(
        "ADDON_VERSION",
        "cluster.addons.metrics-server.version",
        pinned_addon("metrics-server", "3.12.2"),
        pinned_addon("metrics-server", "0.8.1"),
    ),
    Case(
        "ADDON_VERSION_UNREAD",
        "cluster.addons.aws-ebs-csi-driver.version",
        pinned_addon("aws-ebs-csi-driver", "1.99.0"),
        pinned_addon("aws-ebs-csi-driver", "1.64.0"),
    ),
    Case("ADDON_VERSION_UNREAD", f"{CNI}.version", pinned_addon("vpc-cni", "2.0.0"), pinned_addon("vpc-cni", "1.22.4")),
    Case(
        "ADDON_VERSION_UNREAD",
        "cluster.addons.coredns.version",
        pinned_addon("coredns", "1.15.0"),
        pinned_addon("coredns", "1.14.2"),
    ),
    *(
        Case(
            "ADDON_VERSION_UNREAD",
            f"cluster.addons.{name}.version",
            pinned_addon(name, older),
            pinned_addon(name, oldest),
        )
        for name, older, oldest in (
            ("vpc-cni", "1.18.4", "1.18.5"),
            ("metrics-server", "0.6.1", "0.7.2"),
            ("aws-ebs-csi-driver", "1.9.0", "1.35.0"),
            ("aws-efs-csi-driver", "1.3.0", "1.7.7"),
            ("snapshot-controller", "6.2.0", "6.3.2"),
            ("snapshot-controller", "8.9.0", "8.4.0"),
            ("amazon-cloudwatch-observability", "1.2.0", "4.4.0"),
            ("amazon-cloudwatch-observability", "6.9.0", "6.3.0"),
        )
    ),
    # --- the warm pool
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.MAX_ENI",
        {**cni_environment(MAX_ENI="1", ENABLE_PREFIX_DELEGATION="true"), **PODS},
        {**cni_environment(MAX_ENI="4", ENABLE_PREFIX_DELEGATION="true"), **PODS},
    ),
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.DISABLE_NETWORK_RESOURCE_PROVISIONING",
        cni_environment(DISABLE_NETWORK_RESOURCE_PROVISIONING="true"),
        cni_environment(DISABLE_NETWORK_RESOURCE_PROVISIONING="false"),
    ),
    Case(
        "ADDON_WIRING",
        f"{CNI}.configuration.env.AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG",
        cni_environment(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="true"),
        {**cni_environment(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="true"), **PODS},
    ),
    Case(
        "ADDON_WIRING",
        "cluster.addons.coredns.configuration.computeType",
        configured("coredns", computeType="Fargate"),
        configured("coredns", computeType="ec2"),
    ),
    *(
        Case(
            "ADDON_WARM_POOL",
            f"{CNI}.configuration.env.{name}",
            cni_environment(**{name: bad}, **others),
            cni_environment(**{name: good}, **others),
        )
        for name, bad, good, others in (
            ("WARM_IP_TARGET", "-2", "2", {}),
            ("WARM_IP_TARGET", "-2", "0", {"WARM_PREFIX_TARGET": "1"}),
            ("MINIMUM_IP_TARGET", "-5", "5", {"WARM_IP_TARGET": "2"}),
            ("WARM_PREFIX_TARGET", "-1", "1", {}),
        )
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.WARM_ENI_TARGET",
        {**cni_environment(WARM_ENI_TARGET="-1", ENABLE_PREFIX_DELEGATION="false"), **max_pods(20)},
        {**cni_environment(WARM_ENI_TARGET="1", ENABLE_PREFIX_DELEGATION="false"), **max_pods(20)},
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.MINIMUM_IP_TARGET",
        cni_environment(MINIMUM_IP_TARGET="10"),
        cni_environment(MINIMUM_IP_TARGET="10", WARM_IP_TARGET="2"),
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.WARM_PREFIX_TARGET",
        cni_environment(WARM_PREFIX_TARGET="0"),
        cni_environment(WARM_PREFIX_TARGET="0", WARM_IP_TARGET="5", MINIMUM_IP_TARGET="16"),
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.WARM_IP_TARGET",
        cni_environment(WARM_IP_TARGET="300"),
        cni_environment(WARM_IP_TARGET="16"),
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.WARM_PREFIX_TARGET",
        cni_environment(WARM_PREFIX_TARGET="10"),
        cni_environment(WARM_PREFIX_TARGET="2"),
    ),
    Case(
        "ADDON_WARM_POOL",
        f"{CNI}.configuration.env.WARM_ENI_TARGET",
        {**cni_environment(WARM_ENI_TARGET="3", ENABLE_PREFIX_DELEGATION="false"), **max_pods(20)},
        {**cni_environment(WARM_ENI_TARGET="1", ENABLE_PREFIX_DELEGATION="false"), **max_pods(20)},
    ),
    Case(
        "NODE_REPAIR_NO_AGENT",
        "cluster.addons.eks-node-monitoring-agent.enabled",
        monitoring(**one_group("g6.xlarge")),
        monitoring(**one_group("g6.xlarge", node_repair=False)),
    ),
    Case(
        "NODE_REPAIR_NO_AGENT",
        "cluster.addons.eks-node-monitoring-agent.enabled",
        monitoring(node_groups=[{**SYSTEM, "node_repair": True}]),
        monitoring(),
    ),
    Case(
        "NODE_REPAIR_NO_AGENT",
        "cluster.addons.eks-node-monitoring-agent.enabled",
        monitoring(**pools(pool(), feature_gates={"node_repair": True})),
        monitoring(**pools(pool())),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("addons")


def test_which_rules_warn() -> None:
    assert warnings_of("addons") == {
        "ADDON_DNS_OFF",
        "ADDON_VERSION_BEHIND",
        "ADDON_VERSION_UNREAD",
        "ADDON_WARM_POOL",
        "NODE_REPAIR_NO_AGENT",
    }


@in_one_test(
    "configuration",
    [
        {"env": None},
        {"env": ["ENABLE_PREFIX_DELEGATION"]},
        {"env": "ENABLE_PREFIX_DELEGATION=true"},
        {"env": {"WARM_PREFIX_TARGET": "1.5", "WARM_IP_TARGET": "-1", "MINIMUM_IP_TARGET": "99999999999"}},
        {"env": {"WARM_PREFIX_TARGET": "\u0663", "ENABLE_PREFIX_DELEGATION": ""}},
    ],
)
def test_odd_settings_trip_no_rule(configuration: dict[str, Any]) -> None:
    found = {code for code, _ in shown_codes(configured("vpc-cni", **configuration))}
    assert found <= {"ADDON_WIRING", "ADDON_VALUE", "ADDON_WARM_POOL", "FIELD_NO_EFFECT"}
    found = {code for code, _ in shown_codes(configured("coredns", replicaCount=None, autoScaling=[]))}
    assert found == {"ADDON_VALUE"}


def test_versions_belong_to_addons_that_are_known() -> None:
    known = facts.eks()["addon_versions"]
    assert {*known["lowest"], known["efa_only"]["addon"]} <= set(facts.addons())


def test_every_addon_has_a_record_of_versions() -> None:
    """``unknown`` says that no source was found; kube-proxy, CoreDNS and Mountpoint have bounds of their own."""
    known = facts.eks()["addon_versions"]
    bounded = {"kube-proxy", "coredns", *known["lowest"]}
    assert known["newest"]["versions"].keys() == facts.addons().keys() - {"kube-proxy"}
    assert known["oldest"]["versions"].keys() | bounded == facts.addons().keys()
