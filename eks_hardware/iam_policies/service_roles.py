"""Permissions of charts that call AWS, given to their service accounts through Pod Identity."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from eks_hardware.iam_policies.document import Statement, allow


@dataclass(frozen=True)
class ServiceRoleFact:
    """What a chart's service account may do.

    Attributes:
        service_account: name of the account, as the chart's values set it.
        source: where the permissions are documented.
        policies: managed policies by the key that is part of their Terraform address, each as statements for the
            cluster of a name; ``{partition}``, ``{region}`` and ``{account}`` stand for what they say.
    """

    service_account: str
    source: str
    policies: Callable[[str], Mapping[str, Sequence[Statement]]]


def document(statements: Sequence[Mapping[str, Any]], *, partition: str, region: str, account_id: str) -> str:
    """A policy document as compact JSON; ``account_id`` may be a Terraform reference."""
    # default=dict: what is resolved is frozen.
    whole = {"Version": "2012-10-17", "Statement": list(statements)}
    text = json.dumps(whole, separators=(",", ":"), default=dict)
    for name, value in {"partition": partition, "region": region, "account": account_id}.items():
        text = text.replace(f"{{{name}}}", value)
    return text


# --- Cluster Autoscaler

_AUTOSCALER = (
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/"
    "cluster-autoscaler/cloudprovider/aws/README.md"
)


def _cluster_autoscaler(cluster: str) -> Mapping[str, Sequence[Statement]]:
    return {"scaling": _scaling(cluster)}


def _scaling(cluster: str) -> list[Statement]:
    return [
        allow(
            "Describe",
            [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeLaunchConfigurations",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:GetInstanceTypesFromInstanceRequirements",
            ],
            # None of them has resource-level permissions:
            # https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2autoscaling.html
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": "{region}"}},
        ),
        allow(
            # Labels, taints and resources of a group without nodes.
            "DescribeNodeGroups",
            ["eks:DescribeNodegroup"],
            [f"arn:{{partition}}:eks:{{region}}:{{account}}:nodegroup/{cluster}/*/*"],
        ),
        allow(
            "Scale",
            ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            ["arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/*"],
            # EKS tags the Auto Scaling group of every managed node group so:
            # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
            {"StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster}": "owned"}},
        ),
    ]


# --- AWS Load Balancer Controller

_LOAD_BALANCER_CONTROLLER = (
    "https://kubernetes-sigs.github.io/aws-load-balancer-controller/v3.5/deploy/installation/#configure-iam"
)

# The controller puts this tag, with the cluster's name, on whatever it makes.
_CLUSTER_TAG = "elbv2.k8s.aws/cluster"

_EC2 = "arn:{partition}:ec2:{region}:{account}"
_ELB = "arn:{partition}:elasticloadbalancing:{region}:{account}"
_SECURITY_GROUPS = f"{_EC2}:security-group/*"
# A shared VPC belongs to another account.
_VPCS = "arn:{partition}:ec2:{region}:*:vpc/*"
_TAGGED_WHEN_MADE = [f"{_ELB}:targetgroup/*/*", f"{_ELB}:loadbalancer/net/*/*", f"{_ELB}:loadbalancer/app/*/*"]
_LISTENERS = [f"{_ELB}:{kind}/{of}/*" for kind in ("listener", "listener-rule") for of in ("net", "app")]


def _load_balancer_controller(cluster: str) -> Mapping[str, Sequence[Statement]]:
    """As AWS's published policy, but each condition names this cluster and each resource the region and account.

    Two policies, because one passes IAM's size with a long cluster name. Left out are certificates and Global
    Accelerator: the controller has both off unless they are asked for.
    """
    return {"reading": _reading(), "balancing": _balancing(cluster)}


def _reading() -> list[Statement]:
    """Resources as narrow as AWS has them.

    Source: https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
    """
    in_region = {"StringEquals": {"aws:RequestedRegion": "{region}"}}
    return [
        allow(
            "Read",
            [
                *(
                    f"ec2:{action}"
                    for action in (
                        "DescribeAccountAttributes",
                        "DescribeAddresses",
                        "DescribeAvailabilityZones",
                        "DescribeCoipPools",
                        "DescribeInstances",
                        "DescribeInternetGateways",
                        "DescribeIpamPools",
                        "DescribeNetworkInterfaces",
                        "DescribeRouteTables",
                        "DescribeSecurityGroups",
                        "DescribeSubnets",
                        "DescribeTags",
                        "DescribeVpcPeeringConnections",
                        "DescribeVpcs",
                    )
                ),
                *(
                    f"elasticloadbalancing:Describe{what}"
                    for what in (
                        "CapacityReservation",
                        "ListenerAttributes",
                        "ListenerCertificates",
                        "Listeners",
                        "LoadBalancerAttributes",
                        "LoadBalancers",
                        "Rules",
                        "SSLPolicies",
                        "Tags",
                        "TargetGroupAttributes",
                        "TargetGroups",
                        "TargetHealth",
                        "TrustStores",
                    )
                ),
                "acm:ListCertificates",
            ],
            ["*"],
            in_region,
        ),
        # IAM and Shield have no region.
        allow(
            "Global", ["iam:ListServerCertificates", "shield:CreateProtection", "shield:GetSubscriptionState"], ["*"]
        ),
        # Pools of addresses, certificates, user pools and web ACLs are the account's, not the cluster's.
        allow("AddressPools", ["ec2:GetCoipPoolUsage"], [f"{_EC2}:coip-pool/*"]),
        allow("Vpcs", ["ec2:GetSecurityGroupsForVpc"], [_VPCS]),
        allow("Certificates", ["acm:DescribeCertificate"], ["arn:{partition}:acm:{region}:{account}:certificate/*"]),
        allow(
            "ServerCertificates",
            ["iam:GetServerCertificate"],
            ["arn:{partition}:iam::{account}:server-certificate/*"],
        ),
        allow(
            "UserPools",
            ["cognito-idp:DescribeUserPoolClient"],
            ["arn:{partition}:cognito-idp:{region}:{account}:userpool/*"],
        ),
        allow(
            "WebAcls",
            [
                f"{service}:{action}"
                for service in ("waf-regional", "wafv2")
                for action in ("AssociateWebACL", "DisassociateWebACL", "GetWebACL", "GetWebACLForResource")
            ],
            [
                f"{_ELB}:loadbalancer/app/*/*",
                "arn:{partition}:waf-regional:{region}:{account}:webacl/*",
                "arn:{partition}:wafv2:{region}:{account}:regional/webacl/*/*",
            ],
        ),
        allow("SetWebAcl", ["elasticloadbalancing:SetWebAcl"], ["*"], in_region),
        allow(
            "Protections",
            ["shield:DeleteProtection", "shield:DescribeProtection"],
            ["arn:{partition}:shield::{account}:protection/*"],
        ),
    ]


def _balancing(cluster: str) -> list[Statement]:
    ours = {"StringEquals": {f"aws:ResourceTag/{_CLUSTER_TAG}": cluster}}
    made_for_us = {f"aws:RequestTag/{_CLUSTER_TAG}": cluster}
    # The tag of a resource that is ours already stays as it is.
    retag = {**ours, "Null": {f"aws:RequestTag/{_CLUSTER_TAG}": "true"}}
    ingress = ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"]
    return [
        allow(
            "ServiceLinkedRole",
            ["iam:CreateServiceLinkedRole"],
            [
                "arn:{partition}:iam::{account}:role/aws-service-role/elasticloadbalancing.amazonaws.com/*",
            ],
            {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
        ),
        allow("MakeSecurityGroup", ["ec2:CreateSecurityGroup"], [_SECURITY_GROUPS, _VPCS]),
        allow(
            "TagNewSecurityGroup",
            ["ec2:CreateTags"],
            [_SECURITY_GROUPS],
            {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup", **made_for_us}},
        ),
        allow("TagSecurityGroup", ["ec2:CreateTags", "ec2:DeleteTags"], [_SECURITY_GROUPS], retag),
        allow("ChangeSecurityGroup", [*ingress, "ec2:DeleteSecurityGroup"], [_SECURITY_GROUPS], ours),
        allow(
            # The nodes': EKS tags the cluster security group so.
            # https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
            "OpenNodes",
            ingress,
            [_SECURITY_GROUPS],
            {"StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{cluster}": "owned"}},
        ),
        allow(
            "Make",
            ["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"],
            [f"{_ELB}:*"],
            {"StringEquals": made_for_us},
        ),
        allow(
            "TagNew",
            ["elasticloadbalancing:AddTags"],
            _TAGGED_WHEN_MADE,
            {
                "StringEquals": {
                    "elasticloadbalancing:CreateAction": ["CreateLoadBalancer", "CreateTargetGroup"],
                    **made_for_us,
                }
            },
        ),
        allow("Tag", ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"], _TAGGED_WHEN_MADE, retag),
        allow(
            # Older versions of the controller left listeners and rules without tags.
            "Listen",
            [
                *(
                    f"elasticloadbalancing:{action}"
                    for action in (
                        "AddListenerCertificates",
                        "CreateListener",
                        "CreateRule",
                        "DeleteListener",
                        "DeleteRule",
                        "ModifyListener",
                        "ModifyRule",
                        "RemoveListenerCertificates",
                        "SetRulePriorities",
                    )
                ),
            ],
            [f"{_ELB}:*"],
        ),
        allow("TagListeners", ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"], _LISTENERS),
        allow(
            "Change",
            [
                *(
                    f"elasticloadbalancing:{action}"
                    for action in (
                        "DeleteLoadBalancer",
                        "DeleteTargetGroup",
                        "ModifyCapacityReservation",
                        "ModifyIpPools",
                        "ModifyListenerAttributes",
                        "ModifyLoadBalancerAttributes",
                        "ModifyTargetGroup",
                        "ModifyTargetGroupAttributes",
                        "SetIpAddressType",
                        "SetSecurityGroups",
                        "SetSubnets",
                    )
                ),
            ],
            [f"{_ELB}:*"],
            ours,
        ),
        allow(
            # A target group of someone else's is bound with a TargetGroupBinding.
            "Register",
            ["elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:RegisterTargets"],
            [f"{_ELB}:targetgroup/*/*"],
        ),
    ]


ROLES: Mapping[str, ServiceRoleFact] = MappingProxyType(
    {
        "aws-load-balancer-controller": ServiceRoleFact(
            "aws-load-balancer-controller", _LOAD_BALANCER_CONTROLLER, _load_balancer_controller
        ),
        "cluster-autoscaler": ServiceRoleFact("cluster-autoscaler", _AUTOSCALER, _cluster_autoscaler),
    }
)
"""By the key of the chart."""
