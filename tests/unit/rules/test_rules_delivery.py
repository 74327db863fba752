"""Rules about chart delivery: each with a strategy that breaks it and a similar one that does not."""

from __future__ import annotations

from typing import Any

from eks_hardware.catalogue import load
from eks_hardware.kubernetes import bundle
from eks_hardware.models import Strategy
from eks_hardware.resolve import resolve
from eks_hardware.rules import Context
from eks_hardware.rules.delivery import helm_installs
from eks_hardware.validation import load_strategy
from helpers.cases import in_one_test
from helpers.paths import SPECIAL
from helpers.rules import Case, check_case, rules_of, warnings_of
from helpers.strategies import SHIPPED, SYSTEM, TODAY, group, shipped, strategy

ADMIN = "arn:aws:iam::111122223333:role/admin"
DEPLOYER = "arn:aws:iam::111122223333:role/ci/deploy"
HELM = {"delivery": "helm"}
OPEN = {"creator_is_admin": True, "endpoint": {"public_cidrs": ["93.184.216.0/24"]}}
API = frozenset({"KUBERNETES_API_PRIVATE"})
CHARTS = ("karpenter", "karpenter-crd")
NO_ADMIN = frozenset({"CLUSTER_NO_ADMIN"})


def installed_karpenter(cluster: dict[str, Any] = OPEN, **fields: Any) -> dict[str, Any]:
    """Return charts that Terraform installs through a reachable API, as an administrator."""
    return {"karpenter": {}, "kubernetes": HELM, "cluster": cluster, **fields}


def access(policy: str, *namespaces: str) -> dict[str, Any]:
    policies = [{"policy": policy, "namespaces": list(namespaces)}]
    return {
        **OPEN,
        "creator_is_admin": False,
        "access_entries": [{"name": "a", "principal_arn": ADMIN, "policies": policies}],
    }


def by_role(policy: str, *namespaces: str) -> dict[str, Any]:
    """Return the access entry of the role that deploys."""
    policies = [{"policy": policy, "namespaces": list(namespaces)}]
    return {"access_entries": [{"name": "deployer", "principal_arn": DEPLOYER, "policies": policies}]}


def deployed_by_role(cluster: dict[str, Any]) -> dict[str, Any]:
    access_settings = {**OPEN, "creator_is_admin": False, **cluster}
    return installed_karpenter(access_settings, aws={"assume_role": {"role_arn": DEPLOYER}})


def admin_role(**fields: Any) -> dict[str, Any]:
    return {"aws": {"assume_role": {"role_arn": ADMIN, **fields}}}


def mirrored(*names: str) -> dict[str, Any]:
    return {"charts": {name: {"repository": "oci://111122223333.dkr.ecr.us-west-2.amazonaws.com"} for name in names}}


PUBLIC_CIDRS = "cluster.endpoint.public_cidrs"
PRIVATE = {"network": {"private": True}}

CASES = [
    Case(
        "STACK_SEPARATE_UNUSED",
        "kubernetes.stack",
        {"kubernetes": {"delivery": "manifests", "stack": "separate"}},
        {"kubernetes": {"delivery": "helm", "stack": "separate"}},
    ),
    Case(
        "KUBERNETES_API_PRIVATE", PUBLIC_CIDRS, installed_karpenter({"creator_is_admin": True}), installed_karpenter()
    ),
    Case(
        "KUBERNETES_API_PRIVATE",
        PUBLIC_CIDRS,
        installed_karpenter({"creator_is_admin": True}),
        installed_karpenter({"creator_is_admin": True}, kubernetes={"delivery": "manifests"}),
    ),
    Case(
        "KUBERNETES_API_PRIVATE",
        PUBLIC_CIDRS,
        {"node_groups": [SYSTEM, group("g5.xlarge")], "kubernetes": HELM},
        # Bottlerocket includes its device plugin: nothing is installed.
        {"node_groups": [SYSTEM, group("g5.xlarge", ami={"family": "bottlerocket"})], "kubernetes": HELM},
    ),
    Case(
        "KUBERNETES_API_PRIVATE",
        PUBLIC_CIDRS,
        {"kubernetes": {**HELM, "teams": [{"name": "research"}]}},
        {"kubernetes": HELM},
    ),
    Case(
        "KUBERNETES_NO_ADMIN",
        "cluster",
        installed_karpenter({**OPEN, "creator_is_admin": False}),
        installed_karpenter({**OPEN, "creator_is_admin": False, "admins": [ADMIN]}),
        NO_ADMIN,
    ),
    Case(
        "KUBERNETES_NO_ADMIN",
        "cluster",
        installed_karpenter(access("AmazonEKSViewPolicy")),
        installed_karpenter(access("AmazonEKSClusterAdminPolicy")),
        NO_ADMIN,
    ),
    Case(
        "KUBERNETES_NO_ADMIN",
        "cluster",
        installed_karpenter(access("AmazonEKSClusterAdminPolicy", "default")),
        {"cluster": {}, "kubernetes": HELM},
        NO_ADMIN,
    ),
    *(
        Case("KUBERNETES_DEPLOYER_NO_ADMIN", "aws.assume_role.role_arn", deployed_by_role(bad), deployed_by_role(good))
        for bad, good in (
            ({"admins": [ADMIN]}, {"admins": [ADMIN, DEPLOYER]}),
            ({"admins": [ADMIN]}, {"admins": [ADMIN], "creator_is_admin": True}),
            ({"admins": [ADMIN, f"{DEPLOYER}s"]}, {"admins": [DEPLOYER]}),
            (
                {"admins": [ADMIN], **by_role("AmazonEKSAdminPolicy")},
                by_role("AmazonEKSClusterAdminPolicy"),
            ),
            (
                {"admins": [ADMIN], **by_role("AmazonEKSClusterAdminPolicy", "a")},
                by_role("AmazonEKSClusterAdminPolicy"),
            ),
        )
    ),
    Case(
        "KUBERNETES_EXTERNAL_ID",
        "aws.assume_role.external_id",
        installed_karpenter(**admin_role(external_id="ticket-1")),
        installed_karpenter(**admin_role(session_name="deploy")),
    ),
    Case(
        "KUBERNETES_EXTERNAL_ID",
        "aws.assume_role.external_id",
        installed_karpenter(**admin_role(external_id="ticket-1")),
        {**admin_role(external_id="ticket-1"), "kubernetes": HELM},
    ),
    Case(
        "KUBERNETES_PRIVATE_CHARTS",
        "network.private",
        installed_karpenter({"creator_is_admin": True}, **PRIVATE),
        installed_karpenter({"creator_is_admin": True}, **PRIVATE, kubernetes={**HELM, **mirrored(*CHARTS)}),
        API,
    ),
    Case(
        "KUBERNETES_PRIVATE_CHARTS",
        "network.private",
        # Also with manifests, because the nodes pull the images.
        {**PRIVATE, "karpenter": {}, "kubernetes": mirrored("karpenter")},
        {**PRIVATE, "kubernetes": {}},
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("delivery")


def test_which_rules_warn() -> None:
    assert warnings_of("delivery") == {"KUBERNETES_API_PRIVATE", "KUBERNETES_PRIVATE_CHARTS", "STACK_SEPARATE_UNUSED"}


OPTIONS: dict[str, Any] = {
    "prometheus": {"prometheus": True},
    "gpu-operator": {"gpu_operator": True},
    "dcgm-exporter": {"dcgm_exporter": True},
    "kueue": {"kueue": True},
    "load balancers": {"load_balancer_controller": True},
    "cluster autoscaler": {"cluster_autoscaler": True},
    "teams": {"teams": [{"name": "research"}]},
    "neuron monitor without Neuron": {"neuron_monitor": True},
}
STRATEGIES: dict[str, Strategy] = {
    **{name: shipped(name) for name in SHIPPED},
    **{file.stem: load_strategy(file).strategy for file in sorted(SPECIAL.glob("*.yaml"))},
    **{name: strategy(kubernetes={**HELM, **options}) for name, options in OPTIONS.items()},
    "nothing": strategy(kubernetes=HELM),
    "GPUs and their operator": strategy(
        group("g5.xlarge"), kubernetes={**HELM, "gpu_operator": True, "dcgm_exporter": True}
    ),
    "volumes": strategy(kubernetes=HELM, cluster={"addons": {"aws-ebs-csi-driver": {}}}),
    "no volumes": strategy(kubernetes=HELM, cluster={"addons": {"aws-ebs-csi-driver": {"enabled": False}}}),
    "EFS": strategy(kubernetes=HELM, storage={"efs": {}}),
    "buckets": strategy(kubernetes=HELM, storage={"s3_buckets": [{"name": "acme-datasets"}]}),
    "Inferentia": strategy(group("inf2.xlarge"), kubernetes=HELM),
    "EFA": strategy(group("c7gn.16xlarge", efa=True), kubernetes=HELM),
}


@in_one_test("name", STRATEGIES)
def test_rules_know_what_is_installed(name: str) -> None:
    """Rules also check strategies that cannot be resolved, so they find the charts themselves."""
    context = Context(STRATEGIES[name], load(), TODAY)
    resolved = resolve(STRATEGIES[name])
    assert context.charts == set(resolved.kubernetes.charts)
    helm = resolved.kubernetes.delivery == "helm"
    assert helm_installs(context) == (helm and bool(bundle(resolved).releases))
