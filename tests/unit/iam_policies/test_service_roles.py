"""Permissions of charts: within IAM's size limit, with the documented actions, and restricted to the cluster."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from eks_hardware import aws_names
from eks_hardware.iam_policies.document import MANAGED_POLICY_SIZE
from eks_hardware.iam_policies.service_roles import document, policies
from eks_hardware.iam_policies.service_roles import roles as recorded_roles
from eks_hardware.resolve import ServiceRole, resolve
from helpers.cases import in_one_test
from helpers.policies import as_list
from helpers.strategies import strategy

ACCOUNT = "111122223333"
LOAD_BALANCERS, AUTOSCALER = "aws-load-balancer-controller", "cluster-autoscaler"
BOTH = {"load_balancer_controller": True, "cluster_autoscaler": True}


def text(key: str, policy: str, *, cluster: str = "demo", region: str = "us-west-2", partition: str = "aws") -> str:
    return document(policies(key, cluster)[policy], partition=partition, region=region, account_id=ACCOUNT)


def role_statements(key: str, **where: Any) -> dict[str, Any]:
    """Return all statements of a role by Sid."""
    return {
        each["Sid"]: each
        for name in policies(key, "demo")
        for each in json.loads(text(key, name, **where))["Statement"]
    }


EVERY = [(key, policy) for key, role in recorded_roles().items() for policy in role["policies"]]

# https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/docs/install/iam_policy.json (v3.5, 2026-08)
LOAD_BALANCER_ACTIONS = [
    "acm:DescribeCertificate",
    "acm:ListCertificates",
    "cognito-idp:DescribeUserPoolClient",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateSecurityGroup",
    "ec2:CreateTags",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteTags",
    "ec2:DescribeAccountAttributes",
    "ec2:DescribeAddresses",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeCoipPools",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeIpamPools",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVpcPeeringConnections",
    "ec2:DescribeVpcs",
    "ec2:GetCoipPoolUsage",
    "ec2:GetSecurityGroupsForVpc",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddListenerCertificates",
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateRule",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteRule",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DescribeCapacityReservation",
    "elasticloadbalancing:DescribeListenerAttributes",
    "elasticloadbalancing:DescribeListenerCertificates",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeSSLPolicies",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DescribeTrustStores",
    "elasticloadbalancing:ModifyCapacityReservation",
    "elasticloadbalancing:ModifyIpPools",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyListenerAttributes",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyRule",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:RemoveListenerCertificates",
    "elasticloadbalancing:RemoveTags",
    "elasticloadbalancing:SetIpAddressType",
    "elasticloadbalancing:SetRulePriorities",
    "elasticloadbalancing:SetSecurityGroups",
    "elasticloadbalancing:SetSubnets",
    "elasticloadbalancing:SetWebAcl",
    "iam:CreateServiceLinkedRole",
    "iam:GetServerCertificate",
    "iam:ListServerCertificates",
    "shield:CreateProtection",
    "shield:DeleteProtection",
    "shield:DescribeProtection",
    "shield:GetSubscriptionState",
    "waf-regional:AssociateWebACL",
    "waf-regional:DisassociateWebACL",
    "waf-regional:GetWebACL",
    "waf-regional:GetWebACLForResource",
    "wafv2:AssociateWebACL",
    "wafv2:DisassociateWebACL",
    "wafv2:GetWebACL",
    "wafv2:GetWebACLForResource",
]

# .../cluster-autoscaler/cloudprovider/aws/README.md, "Full Cluster Autoscaler Features Policy"
AUTOSCALER_ACTIONS = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
]


@pytest.mark.parametrize(
    ("key", "expected"), [(LOAD_BALANCERS, LOAD_BALANCER_ACTIONS), (AUTOSCALER, AUTOSCALER_ACTIONS)]
)
def test_actions_are_those_of_the_documentation(key: str, expected: list[str]) -> None:
    found = {action for each in role_statements(key).values() for action in as_list(each["Action"])}
    assert sorted(found) == sorted(expected)


@in_one_test(("key", "policy"), EVERY)
@in_one_test(
    ("region", "partition"),
    [("ap-southeast-2", "aws"), ("us-gov-west-1", "aws-us-gov"), ("cn-northwest-1", "aws-cn")],
)
def test_size_with_the_longest_names(key: str, policy: str, region: str, partition: str) -> None:
    found = text(key, policy, cluster="c" * 100, region=region, partition=partition)
    assert len(found) < MANAGED_POLICY_SIZE


@in_one_test(("key", "policy"), EVERY)
def test_placeholders_are_filled_in(key: str, policy: str) -> None:
    found = text(key, policy, region="cn-north-1", partition="aws-cn")
    assert not re.search(r"\{\w+\}", found)
    assert "arn:aws:" not in found
    assert "us-west-2" not in found


# Statements that AWS does not allow to narrow: tests/security/policies.yaml has each action with its reference.
EVERYWHERE = {LOAD_BALANCERS: {"Read", "Global", "SetWebAcl"}, AUTOSCALER: {"Describe"}}


@pytest.mark.parametrize("key", recorded_roles())
def test_nothing_is_broader_than_it_has_to_be(key: str) -> None:
    for sid, statement in role_statements(key).items():
        assert statement["Effect"] == "Allow"
        assert not any("*" in action for action in as_list(statement["Action"])), sid
        assert ("*" in as_list(statement["Resource"])) == (sid in EVERYWHERE[key]), sid
        for resource in as_list(statement["Resource"]):
            assert resource == "*" or resource.split(":")[4] in (ACCOUNT, "*"), sid
            assert resource == "*" or resource.split(":")[3] in ("us-west-2", ""), sid


def test_reading_is_all_that_is_allowed_everywhere() -> None:
    read = role_statements(LOAD_BALANCERS)["Read"]["Action"] + role_statements(AUTOSCALER)["Describe"]["Action"]
    assert all(re.match(r"[a-z0-9]+:(Describe|Get|List)", action) for action in read)


def test_the_autoscaler_scales_its_own_groups() -> None:
    found = role_statements(AUTOSCALER)
    assert found["Scale"]["Condition"] == {"StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/demo": "owned"}}
    assert found["DescribeNodeGroups"]["Resource"] == f"arn:aws:eks:us-west-2:{ACCOUNT}:nodegroup/demo/*/*"


# Statements that change ELB or EC2 resources, and how each is restricted to the cluster.
OURS = {"aws:ResourceTag/elbv2.k8s.aws/cluster": "demo"}
MADE = {"aws:RequestTag/elbv2.k8s.aws/cluster": "demo"}


@in_one_test(
    ("sid", "tags"),
    [
        ("TagNewSecurityGroup", MADE),
        ("TagSecurityGroup", OURS),
        ("ChangeSecurityGroup", OURS),
        ("OpenNodes", {"aws:ResourceTag/kubernetes.io/cluster/demo": "owned"}),
        ("Make", MADE),
        ("TagNew", MADE),
        ("Tag", OURS),
        ("Change", OURS),
    ],
)
def test_the_cluster_is_in_every_condition_on_writes(sid: str, tags: dict[str, str]) -> None:
    condition = role_statements(LOAD_BALANCERS)[sid]["Condition"]["StringEquals"]
    assert tags.items() <= condition.items()


def test_which_writes_have_no_condition() -> None:
    """Listeners and rules can have no tags; target groups, web ACLs and protections can belong to others."""
    found = {
        sid
        for sid, each in role_statements(LOAD_BALANCERS).items()
        if "Condition" not in each
        and not all(re.match(r"[a-z0-9-]+:(Describe|Get|List)", action) for action in as_list(each["Action"]))
    }
    assert found == {"Global", "WebAcls", "Protections", "MakeSecurityGroup", "Listen", "TagListeners", "Register"}


# --- resolved


def roles(name: str = "demo", region: str = "us-west-2", /, **kubernetes: Any) -> tuple[ServiceRole, ...]:
    return resolve(strategy(name=name, region=region, kubernetes=kubernetes)).kubernetes.service_roles


def test_a_role_for_each_controller_that_is_installed() -> None:
    assert roles() == ()
    assert [each.key for each in roles(cluster_autoscaler=True)] == [AUTOSCALER]
    assert [each.key for each in roles(**BOTH)] == [LOAD_BALANCERS, AUTOSCALER]


def test_names() -> None:
    balancers, autoscaler = roles(**BOTH)
    assert balancers.role_name == "demo-us-west-2-aws-load-balancer-controller"
    assert (autoscaler.namespace, autoscaler.service_account) == ("kube-system", "cluster-autoscaler")
    assert {each.key: each.name for each in balancers.policies} == {
        "reading": "demo-us-west-2-aws-load-balancer-controller-reading",
        "balancing": "demo-us-west-2-aws-load-balancer-controller-balancing",
    }


def test_long_names_fit_and_differ() -> None:
    found = [*roles("c" * 100, "ap-southeast-2", **BOTH), *roles("c" * 99 + "d", "ap-southeast-2", **BOTH)]
    policies = [each.name for role in found for each in role.policies]
    assert max(len(each.role_name) for each in found) <= aws_names.longest("iam_role").value
    assert max(map(len, policies)) <= aws_names.longest("iam_policy").value
    assert len({each.role_name for each in found}) == 4
    assert len(set(policies)) == 6
