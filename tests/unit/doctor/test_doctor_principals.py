"""Roles, users and policies that the strategy names."""

from __future__ import annotations

from typing import Any

import boto3
from moto import mock_aws

from eks_hardware.doctor import principals
from eks_hardware.doctor.aws import Caller
from helpers.doctor import ACCOUNT, CALLER, REGION, RefusedError, answering, found, look, of_moto

_MOTO = "123456789012"


def role(name: str, account: str = ACCOUNT) -> str:
    return f"arn:aws:iam::{account}:role/{name}"


def admins(*arns: str) -> dict[str, Any]:
    return {"cluster": {"admins": list(arns)}}


def test_nothing_named_asks_nothing() -> None:
    assert look(principals, answering({})).probes == 0


def test_other_accounts_are_left_alone() -> None:
    assert look(principals, answering({}), **admins(role("theirs", "999999999999"))).probes == 0


@mock_aws
def test_in_moto() -> None:
    iam = boto3.client("iam", REGION, aws_access_key_id="test", aws_secret_access_key="test")
    iam.create_role(RoleName="platform", Path="/teams/", AssumeRolePolicyDocument="{}")
    iam.create_user(UserName="anna")
    policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:List*", "Resource": "*"}]}'
    boundary = iam.create_policy(PolicyName="boundary", PolicyDocument=policy)["Policy"]["Arn"]
    caller = Caller(_MOTO, f"arn:aws:iam::{_MOTO}:user/anna")
    entry = {"name": "anna", "principal_arn": f"arn:aws:iam::{_MOTO}:user/anna"}
    right = {
        "cluster": {"admins": [role("teams/platform", _MOTO)], "access_entries": [entry]},
        "aws": {"permissions_boundary_arn": boundary},
        "karpenter": {"node_policies": [boundary]},
    }
    assert found(look(principals, of_moto(), caller=caller, **right)) == []
    wrong = {
        "cluster": {
            "admins": [role("platform", _MOTO), role("gone", _MOTO)],
            "access_entries": [{**entry, "principal_arn": f"arn:aws:iam::{_MOTO}:user/bert"}],
        },
        "aws": {"permissions_boundary_arn": f"{boundary}-gone"},
        "karpenter": {"node_policies": [f"{boundary}-gone"]},
    }
    outcome = look(principals, of_moto(), caller=caller, **wrong)
    assert found(outcome) == [
        ("PRINCIPAL_MISSING", "cluster.admins[0]"),
        ("PRINCIPAL_MISSING", "cluster.admins[1]"),
        ("PRINCIPAL_MISSING", "cluster.access_entries[anna].principal_arn"),
        ("BOUNDARY_MISSING", "aws.permissions_boundary_arn"),
        ("POLICY_MISSING", "karpenter.node_policies[0]"),
    ]
    assert role("teams/platform", _MOTO) in outcome.findings[0].message
    assert outcome.findings[1].command == "aws iam list-roles --query 'Roles[].Arn' --output text"
    assert outcome.findings[2].command == "aws iam list-users --query 'Users[].Arn' --output text"


def test_denied() -> None:
    fields = {
        **admins(role("platform"), CALLER),
        "aws": {"permissions_boundary_arn": f"arn:aws:iam::{ACCOUNT}:policy/b"},
    }
    outcome = look(principals, answering({}, otherwise=RefusedError("AccessDenied")), **fields)
    assert found(outcome) == [
        ("CHECK_DENIED", "cluster.admins[0]"),
        ("CHECK_DENIED", "cluster.admins[1]"),
        ("CHECK_DENIED", "aws.permissions_boundary_arn"),
    ]
    assert all(any(call in each.message for each in outcome.findings) for call in principals.CALLS)


def test_another_error_is_no_missing_role() -> None:
    aws = answering({"iam:GetRole": RefusedError("ServiceFailure", "try again")})
    assert found(look(principals, aws, **admins(role("platform")))) == [("CHECK_FAILED", "cluster.admins[0]")]
