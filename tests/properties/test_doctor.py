"""``eks-hardware doctor`` for every strategy, in an account that denies everything and in an empty one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from eks_hardware.doctor import examine
from eks_hardware.validation import load_strategy
from helpers.cases import in_one_test
from helpers.doctor import Answer, RefusedError, answering, check_command
from helpers.paths import SHIPPED, SPECIAL

_NO = RefusedError("NoSuchEntity")
EMPTY: dict[str, Answer] = {
    "ec2:DescribeAddresses": {"Addresses": []},
    "ec2:DescribeAvailabilityZones": {"AvailabilityZones": []},
    "ec2:DescribeCapacityReservations": {"CapacityReservations": []},
    "ec2:DescribeImages": {"Images": []},
    "ec2:DescribeInstanceTypeOfferings": {"InstanceTypeOfferings": []},
    "ec2:DescribeInstances": {"Reservations": []},
    "ec2:DescribeInternetGateways": {"InternetGateways": []},
    "ec2:DescribeNatGateways": {"NatGateways": []},
    "ec2:DescribeSubnets": {"Subnets": []},
    "ec2:DescribeVpcAttribute": RefusedError("InvalidVpcID.NotFound"),
    "ec2:DescribeVpcs": {"Vpcs": []},
    "eks:DescribeAddonVersions": {"addons": []},
    "eks:DescribeCluster": RefusedError("ResourceNotFoundException"),
    "eks:DescribeClusterVersions": {"clusterVersions": []},
    "eks:ListClusters": {"clusters": []},
    "iam:GetPolicy": _NO,
    "iam:GetRole": _NO,
    "iam:GetUser": _NO,
    "iam:SimulatePrincipalPolicy": lambda params: {
        "EvaluationResults": [
            {"EvalActionName": name, "EvalDecision": "implicitDeny"} for name in params["ActionNames"]
        ]
    },
    "kms:DescribeKey": RefusedError("NotFoundException"),
    "resource-groups:ListGroupResources": RefusedError("NotFoundException"),
    "servicequotas:GetServiceQuota": {"Quota": {"Value": 0.0}},
    "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota": {"RequestedQuotas": []},
    "ssm:GetParameters": lambda params: {"InvalidParameters": params["Names"]},
}
STRATEGIES = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml")])


_strategy = cache(load_strategy)


@in_one_test("file", STRATEGIES, ids=lambda file: file.stem)
@in_one_test("answers", [{}, EMPTY], ids=["denied", "empty"])
def test_every_strategy_is_examined(file: Path, answers: dict[str, Answer]) -> None:
    """In an account that denies everything and in an empty one, each finding has a position and a command."""
    report = examine(_strategy(file), aws=answering(answers, otherwise=RefusedError("AccessDenied")))
    assert report.findings
    assert bool(report.errors) is bool(answers)
    for finding in report.findings:
        assert finding.position
        assert finding.position.line
        if finding.command:
            check_command(finding.command)
