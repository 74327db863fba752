"""Control plane, access entries, add-ons, provider, backend, Karpenter's AWS resources."""

from __future__ import annotations

from typing import Any

from eks_hardware.models import LocalBackendSpec, RemoteBackendSpec, S3BackendSpec
from eks_hardware.resolve import InterruptionRule, ResolvedCluster, SubnetRole, provider_floor, resolve
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.strategies import OVERLAYS, SHIPPED, TODAY, resolved_shipped, shipped, strategy

ACCOUNT = "111122223333"
NODE_POLICIES = tuple(
    f"arn:aws:iam::aws:policy/{name}"
    for name in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
)


def resolved_cluster(network: dict[str, Any] | None = None, **fields: Any) -> ResolvedCluster:
    return resolve(strategy(cluster=fields, network=network or {})).cluster


def test_defaults_are_private_logged_and_encrypted() -> None:
    resolved = resolved_cluster()
    assert (
        resolved.public_cidrs,
        resolved.creator_is_admin,
        resolved.log_types,
        resolved.log_group_name,
        resolved.log_retention_days,
        resolved.log_group_kept,
        resolved.secrets_encrypted,
        resolved.kms_key_arn,
        resolved.kms_alias,
        resolved.support_type,
        resolved.role_name,
    ) == (
        (),
        False,
        ("api", "audit", "authenticator", "controllerManager", "scheduler"),
        "/aws/eks/demo/cluster",
        365,
        False,
        True,
        None,
        "alias/eks-demo",
        "STANDARD",
        "demo-us-west-2-cluster",
    )


@in_one_test("name", SHIPPED)
def test_shipped_strategies_can_be_deployed_from_anywhere(name: str) -> None:
    """Terraform is outside a VPC that the same apply creates: a private API would stop the first apply halfway."""
    resolved = resolved_shipped(name)
    assert resolved.kubernetes.delivery == "helm"
    assert resolved.cluster.public_cidrs == ("0.0.0.0/0",)
    assert all(group.metadata_hop_limit == 1 for group in resolved.node_groups)


def test_the_api_is_private_unless_stated() -> None:
    assert resolved_cluster().public_cidrs == ()


@in_one_test("overlay", OVERLAYS)
@in_one_test("name", SHIPPED)
def test_overlays_on_every_shipped_strategy(name: str, overlay: str) -> None:
    given = shipped(name, overlay)
    # Every shipped strategy installs charts, and an overlay cannot know a team's mirror.
    expected = {"KUBERNETES_PRIVATE_CHARTS"} if overlay == "private" else {"ENDPOINT_OPEN"}
    assert {finding.code for finding in check(given, today=TODAY)} == expected
    network = resolve(given).network
    if overlay == "private":
        assert network.nat_zone_ids == ()
        assert network.of_role(SubnetRole.PUBLIC) == ()
        assert {"ecr.api", "ecr.dkr", "eks", "eks-auth", "ec2", "sts"} <= set(network.interface_endpoints)


# --- add-ons


def test_addons_and_phases() -> None:
    phases = {addon.name: addon.before_nodes for addon in resolved_cluster().addons}
    assert phases == {
        "vpc-cni": True,
        "kube-proxy": True,
        "eks-pod-identity-agent": True,
        "coredns": False,
        "metrics-server": False,
        "eks-node-monitoring-agent": False,
    }


@in_one_test(
    ("addon", "account", "namespace", "policy"),
    [
        ("vpc-cni", "aws-node", "kube-system", "AmazonEKS_CNI_Policy"),
        ("aws-ebs-csi-driver", "ebs-csi-controller-sa", "kube-system", "service-role/AmazonEBSCSIDriverPolicy"),
        ("aws-efs-csi-driver", "efs-csi-controller-sa", "kube-system", "service-role/AmazonEFSCSIDriverPolicy"),
        ("aws-fsx-csi-driver", "fsx-csi-controller-sa", "kube-system", "AmazonFSxFullAccess"),
        ("amazon-cloudwatch-observability", "cloudwatch-agent", "amazon-cloudwatch", "CloudWatchAgentServerPolicy"),
        ("coredns", None, None, None),
        ("snapshot-controller", None, None, None),
    ],
)
def test_addon_identity(addon: str, account: str | None, namespace: str | None, policy: str | None) -> None:
    # trap: atlassian-labs/data-center-terraform#474
    resolved = next(each for each in resolved_cluster(addons={addon: {}}).addons if each.name == addon)
    arns = (f"arn:aws:iam::aws:policy/{policy}",) if policy else ()
    role = f"demo-us-west-2-{addon}" if account else None
    assert (account, namespace, arns, role) == (
        resolved.service_account,
        resolved.namespace,
        resolved.policy_arns,
        resolved.role_name,
    )


def test_addon_settings() -> None:
    resolved = resolved_cluster(
        addons={
            "coredns": {"version": "v1.12.4-eksbuild.1", "configuration": {"replicaCount": 3}},
            "metrics-server": {"enabled": False},
            "vpc-cni": {"configuration": {"env": {"WARM_PREFIX_TARGET": "2"}}},
        }
    )
    by_name = {addon.name: addon for addon in resolved.addons}
    assert "metrics-server" not in by_name
    assert (by_name["coredns"].version, by_name["coredns"].configuration) == ("v1.12.4-eksbuild.1", {"replicaCount": 3})
    assert by_name["vpc-cni"].configuration == {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "2"},
    }


def test_pod_subnets_switch_custom_networking_on() -> None:
    resolved = resolved_cluster(network={"pod_cidr": "100.64.0.0/16"})
    environment = next(addon for addon in resolved.addons if addon.name == "vpc-cni").configuration["env"]
    assert resolved.custom_networking
    assert environment["AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"] == "true"
    assert environment["ENI_CONFIG_LABEL_DEF"] == "topology.kubernetes.io/zone"


# --- access


def test_access_entries() -> None:
    admin = f"arn:aws:iam::{ACCOUNT}:role/admin"
    reader = f"arn:aws:iam::{ACCOUNT}:user/reader"
    policies = [{"policy": "AmazonEKSViewPolicy", "namespaces": ["a", "b"]}]
    resolved = resolved_cluster(
        admins=[admin, admin],
        access_entries=[
            {"name": "reader", "principal_arn": reader, "kubernetes_groups": ["readers"], "policies": policies}
        ],
    )
    of_admin, of_reader = resolved.access_entries
    policy = "arn:aws:eks::aws:cluster-access-policy/"
    assert (admin, (), ((f"{policy}AmazonEKSClusterAdminPolicy", ()),)) == (
        of_admin.principal_arn,
        of_admin.kubernetes_groups,
        of_admin.policies,
    )
    assert ("reader", reader, ("readers",), ((f"{policy}AmazonEKSViewPolicy", ("a", "b")),)) == (
        of_reader.key,
        of_reader.principal_arn,
        of_reader.kubernetes_groups,
        of_reader.policies,
    )


def test_keys_of_admins_are_unique_and_stay() -> None:
    arns = [
        f"arn:aws:iam::{account}:{path}"
        for account in (ACCOUNT, "444455556666")
        for path in ("role/admin", "user/admin", "role/team/admin", "role/team-admin", "role/team.admin", "role/a/b")
    ]
    keys = {entry.principal_arn: entry.key for entry in resolved_cluster(admins=arns).access_entries}
    assert set(arns) == set(keys)
    assert len(set(keys.values())) == len(arns)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys.values())
    assert keys == {entry.principal_arn: entry.key for entry in resolved_cluster(admins=arns[::-1]).access_entries}


# --- provider and backend


@in_one_test(
    ("fields", "floor", "reason"),
    [
        ({}, "5.100.0", "the lowest release that the tests cover"),
        ({"deletion_protection": False}, "6.9.0", "cluster.deletion_protection requires it"),
        (
            {"deletion_protection": True, "control_plane_tier": "tier-xl"},
            "6.23.0",
            "cluster.control_plane_tier requires it",
        ),
        ({"control_plane_tier": "standard"}, "5.100.0", "the lowest release that the tests cover"),
    ],
)
def test_provider_range(fields: dict[str, Any], floor: str, reason: str) -> None:
    given = strategy(cluster=fields)
    assert provider_floor(given) == (floor, reason)
    assert resolve(given).provider.version == f">= {floor}, < 7.0.0"


def test_stated_provider_settings() -> None:
    aws = {
        "version": "~> 6.10",
        "profile": "dev",
        "account_id": ACCOUNT,
        "iam_path": "/teams/ai/",
        "permissions_boundary_arn": f"arn:aws:iam::{ACCOUNT}:policy/boundary",
        "assume_role": {"role_arn": f"arn:aws:iam::{ACCOUNT}:role/deploy", "session_name": "ci"},
    }
    provider = resolve(strategy(aws=aws, tags={"team": "ai"})).provider
    assert provider.assume_role is not None
    assert aws == {
        **{name: getattr(provider, name) for name in aws if name != "assume_role"},
        "assume_role": provider.assume_role.model_dump(exclude_unset=True),
    }
    assert provider.default_tags == {"eks-hardware/strategy": "demo", "team": "ai"}


@in_one_test(
    ("given", "expected"),
    [
        (None, LocalBackendSpec(path="../../../terraform.demo.tfstate")),
        ({"type": "local", "path": "x.tfstate"}, LocalBackendSpec(path="x.tfstate")),
        (
            {"type": "s3", "bucket": "state"},
            S3BackendSpec(type="s3", bucket="state", key="eks-hardware/demo.tfstate", region="us-west-2"),
        ),
        (
            {"type": "s3", "bucket": "state", "key": "k", "region": "eu-west-1"},
            S3BackendSpec(type="s3", bucket="state", key="k", region="eu-west-1"),
        ),
        (
            {"type": "remote", "organization": "acme"},
            RemoteBackendSpec(type="remote", organization="acme", workspace="demo"),
        ),
    ],
)
def test_backend(given: dict[str, Any] | None, expected: object) -> None:
    assert expected == resolve(strategy(**({"backend": given} if given else {}))).backend


def test_workspace_of_a_long_name() -> None:
    backend = resolve(strategy(name="a" * 100, backend={"type": "remote", "organization": "acme"})).backend
    assert isinstance(backend, RemoteBackendSpec)
    assert RemoteBackendSpec.model_validate(backend.model_dump()) == backend


# --- Karpenter


def test_karpenter() -> None:
    own = f"arn:aws:iam::{ACCOUNT}:policy/own"
    resolved = resolve(strategy(karpenter={"node_policies": [own, NODE_POLICIES[0]]})).karpenter
    assert resolved is not None
    assert resolved.node_policy_arns == (*NODE_POLICIES, own)
    assert (
        resolved.namespace,
        resolved.service_account,
        resolved.controller_role_name,
        resolved.node_role_name,
        resolved.queue_name,
        list(resolved.policy_names),
    ) == (
        "kube-system",
        "karpenter",
        "demo-us-west-2-karpenter-controller",
        "demo-us-west-2-karpenter-node",
        "demo-karpenter",
        ["node-lifecycle", "iam", "eks", "interruption", "zonal-shift", "discovery"],
    )
    assert resolved.rules == tuple(
        InterruptionRule(key, f"demo-karpenter-{key}", source, detail_type)
        for key, source, detail_type in (
            ("health-event", "aws.health", "AWS Health Event"),
            ("spot-interruption", "aws.ec2", "EC2 Spot Instance Interruption Warning"),
            ("rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"),
            ("state-change", "aws.ec2", "EC2 Instance State-change Notification"),
            ("reservation-interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
        )
    )


def test_karpenter_without_queue() -> None:
    resolved = resolve(strategy(karpenter={"interruption_queue": False, "namespace": "karpenter"})).karpenter
    assert resolved is not None
    assert (resolved.namespace, resolved.queue_name, resolved.rules) == ("karpenter", None, ())
    assert "interruption" not in resolved.policy_names


def test_karpenter_has_a_policy_for_the_keys_of_its_volumes() -> None:
    first, second = (f"arn:aws:kms:us-west-2:{ACCOUNT}:key/{each * 8}-1111-2222-3333-444444444444" for each in "ab")
    pools = [
        {"name": f"p{i}", "instance_types": ["m6i.large"], "limits": {"cpu": 8}, "disk": {"kms_key_arn": key}}
        for i, key in enumerate((first, second, first, None))
    ]
    resolved = resolve(strategy(karpenter={"node_pools": pools})).karpenter
    assert resolved is not None
    assert resolved.volume_key_arns == (first, second)
    assert resolved.policy_names["volume-keys"] == "demo-us-west-2-karpenter-volume-keys"


def test_no_karpenter() -> None:
    assert resolve(strategy()).karpenter is None
