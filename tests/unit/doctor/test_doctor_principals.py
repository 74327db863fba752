"""Roles, users and policies in the strategy."""

from __future__ import annotations

from typing import Any

from eks_hardware.doctor import principals
from helpers.doctor import ACCOUNT, CALLER, RefusedError, answering, date, look
from helpers.findings import codes


def role_arn(name: str, account: str = ACCOUNT) -> str:
    return f"arn:aws:iam::{account}:role/{name}"


def user(name: str) -> str:
    return f"arn:aws:iam::{ACCOUNT}:user/{name}"


def admins(*arns: str) -> dict[str, Any]:
    return {"cluster": {"admins": list(arns)}}


def test_nothing_named_asks_nothing() -> None:
    assert look(principals, answering({})).probes == 0


def test_other_accounts_are_left_alone() -> None:
    assert look(principals, answering({}), **admins(role_arn("theirs", "999999999999"))).probes == 0


_ROLE = {"Path": "/teams/", "RoleName": "platform", "RoleId": "AROAEXAMPLEEXAMPLE", "CreateDate": date("2026-01-01")}
_USER = {"Path": "/", "UserName": "anna", "UserId": "AIDAEXAMPLEEXAMPLE", "CreateDate": date("2026-01-01")}
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/boundary"


def account_with_principals() -> Any:
    """Return an account with the role ``/teams/platform``, the user ``anna`` and a policy."""
    there = {
        "platform": {"Role": {"Arn": role_arn("teams/platform"), **_ROLE}},
        "anna": {"User": {"Arn": user("anna"), **_USER}},
    }
    gone = RefusedError("NoSuchEntity")
    return answering(
        {
            "iam:GetRole": lambda params: there.get(params["RoleName"], gone),
            "iam:GetUser": lambda params: there.get(params["UserName"], gone),
            "iam:GetPolicy": lambda params: {"Policy": {}} if params["PolicyArn"] == BOUNDARY else gone,
        }
    )


def test_all_there() -> None:
    right: dict[str, Any] = {
        "cluster": {
            "admins": [role_arn("teams/platform")],
            "access_entries": [{"name": "anna", "principal_arn": user("anna")}],
        },
        "aws": {"permissions_boundary_arn": BOUNDARY},
        "karpenter": {"node_policies": [BOUNDARY]},
    }
    assert codes(look(principals, account_with_principals(), **right).findings) == []


def test_gone() -> None:
    wrong: dict[str, Any] = {
        "cluster": {
            "admins": [role_arn("platform"), role_arn("gone")],
            "access_entries": [{"name": "anna", "principal_arn": user("bert")}],
        },
        "aws": {"permissions_boundary_arn": f"{BOUNDARY}-gone"},
        "karpenter": {"node_policies": [f"{BOUNDARY}-gone"]},
    }
    outcome = look(principals, account_with_principals(), **wrong)
    assert codes(outcome.findings) == [
        ("PRINCIPAL_MISSING", "cluster.admins[0]"),
        ("PRINCIPAL_MISSING", "cluster.admins[1]"),
        ("PRINCIPAL_MISSING", "cluster.access_entries[anna].principal_arn"),
        ("BOUNDARY_MISSING", "aws.permissions_boundary_arn"),
        ("POLICY_MISSING", "karpenter.node_policies[0]"),
    ]
    assert role_arn("teams/platform") in outcome.findings[0].message
    assert outcome.findings[1].command == "aws iam list-roles --query 'Roles[].Arn' --output text"
    assert outcome.findings[2].command == "aws iam list-users --query 'Users[].Arn' --output text"


def test_denied() -> None:
    fields = {
        **admins(role_arn("platform"), CALLER),
        "aws": {"permissions_boundary_arn": f"arn:aws:iam::{ACCOUNT}:policy/b"},
    }
    outcome = look(principals, answering({}, otherwise=RefusedError("AccessDenied")), **fields)
    assert codes(outcome.findings) == [
        ("CHECK_DENIED", "cluster.admins[0]"),
        ("CHECK_DENIED", "cluster.admins[1]"),
        ("CHECK_DENIED", "aws.permissions_boundary_arn"),
    ]
    assert all(any(call in each.message for each in outcome.findings) for call in principals.CALLS)


def test_another_error_is_no_missing_role() -> None:
    aws = answering({"iam:GetRole": RefusedError("ServiceFailure", "try again")})
    assert codes(look(principals, aws, **admins(role_arn("platform"))).findings) == [
        ("CHECK_FAILED", "cluster.admins[0]")
    ]
