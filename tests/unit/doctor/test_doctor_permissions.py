"""The caller's permissions, in the format of IAM's simulation, and the list of actions from the stacks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.doctor import permissions
from eks_hardware.doctor.aws import Caller
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, CALLER, RefusedError, answering, look
from helpers.findings import codes
from helpers.paths import GOLDEN, SHIPPED, SPECIAL
from helpers.strategies import resolved_of

ROWS = facts.account()["permissions"]["rows"]
STACKS = sorted(file.parent.name for file in GOLDEN.glob("*/addresses.txt"))


def account_with_permissions(
    asked: list[dict[str, Any]] | None = None, role: Any = None, **results: dict[str, Any]
) -> Any:
    """Return an account that allows everything except ``results``, by action with ``_`` for ``:``."""

    def simulated(params: dict[str, Any]) -> dict[str, Any]:
        if asked is not None:
            asked.append(params)
        return {
            "EvaluationResults": [
                {"EvalActionName": name, "EvalDecision": "allowed", **results.get(name.replace(":", "_"), {})}
                for name in params["ActionNames"]
            ]
        }

    return answering({"iam:SimulatePrincipalPolicy": simulated, "iam:GetRole": role or RefusedError("AccessDenied")})


def test_all_allowed() -> None:
    asked: list[dict[str, Any]] = []
    assert codes(look(permissions, account_with_permissions(asked)).findings) == []
    assert {each["PolicySourceArn"] for each in asked} == {CALLER}
    by_action = {action: each["ResourceArns"] for each in asked for action in each["ActionNames"]}
    assert by_action["eks:CreateCluster"] == [f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/demo"]
    assert by_action["iam:CreateRole"] == [f"arn:aws:iam::{ACCOUNT}:role/demo-us-west-2-cluster"]
    assert "ec2:CreateVpc" in by_action
    assert "fsx:CreateFileSystem" not in by_action


def test_only_what_the_strategy_needs() -> None:
    asked: list[dict[str, Any]] = []
    private = {"usw2-az1": "subnet-0aaaaaaaa", "usw2-az2": "subnet-0bbbbbbbb"}
    existing = {"vpc_id": "vpc-0aaaaaaaa", "private_subnets": private}
    look(permissions, account_with_permissions(asked), network={"existing": existing}, storage={"fsx_lustre": {}})
    actions = {action for each in asked for action in each["ActionNames"]}
    assert "fsx:CreateFileSystem" in actions
    assert not {"ec2:CreateVpc", "ec2:CreateNatGateway", "elasticfilesystem:CreateFileSystem"} & actions


@in_one_test(
    ("result", "word"),
    [
        ({}, "not allowed to call ec2:CreateVpc"),
        ({"EvalDecision": "explicitDeny"}, "a policy denies it"),
        ({"OrganizationsDecisionDetail": {"AllowedByOrganizations": False}}, "service control policy"),
        ({"PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False}}, "permissions boundary"),
    ],
)
def test_refused(result: dict[str, Any], word: str) -> None:
    outcome = look(permissions, account_with_permissions(ec2_CreateVpc={"EvalDecision": "implicitDeny", **result}))
    assert codes(outcome.findings) == [("PERMISSION_MISSING", "network")]
    (finding,) = outcome.findings
    assert word in finding.message
    assert finding.command.startswith(
        f"aws iam simulate-principal-policy --policy-source-arn {CALLER} --action-names ec2:CreateVpc --resource-arns "
    )


def test_refused_for_lack_of_context() -> None:
    result = {"EvalDecision": "implicitDeny", "MissingContextValues": ["aws:RequestTag/team"]}
    outcome = look(permissions, account_with_permissions(ec2_CreateVpc=result))
    assert codes(outcome.findings) == [("PERMISSION_UNSURE", "network")]
    assert outcome.findings[0].severity.value == "warning"
    assert "aws:RequestTag/team" in outcome.findings[0].message


def test_session_of_a_role_is_the_role() -> None:
    arn = f"arn:aws:iam::{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/Admin"
    role = {"Path": "/", "RoleName": "Admin", "RoleId": "AROAEXAMPLEEXAMPLE", "Arn": arn, "CreateDate": "2026-01-01"}
    session = Caller(ACCOUNT, f"arn:aws:sts::{ACCOUNT}:assumed-role/Admin/anna")
    for answer, source in (({"Role": role}, arn), (None, f"arn:aws:iam::{ACCOUNT}:role/Admin")):
        asked: list[dict[str, Any]] = []
        assert codes(look(permissions, account_with_permissions(asked, role=answer), caller=session).findings) == []
        assert {each["PolicySourceArn"] for each in asked} == {source}


@pytest.mark.parametrize("arn", [f"arn:aws:iam::{ACCOUNT}:root", f"arn:aws:sts::{ACCOUNT}:federated-user/anna"])
def test_nothing_is_simulated_for(arn: str) -> None:
    assert codes(look(permissions, answering({}), caller=Caller(ACCOUNT, arn)).findings) == []


def test_denied() -> None:
    outcome = look(permissions, answering({}, otherwise=RefusedError("AccessDenied")))
    assert [code for code, _ in codes(outcome.findings)] == ["CHECK_DENIED"]
    assert "iam:SimulatePrincipalPolicy" in outcome.findings[0].message


@in_one_test("name", STACKS)
def test_every_resource_type_of_a_stack_has_its_actions(name: str) -> None:
    """The golden files contain Terraform's resources; the strategy determines the checked actions."""
    folder = SHIPPED if (SHIPPED / f"{name}.yaml").exists() else SPECIAL
    resolved = resolved_of(folder / f"{name}.yaml")
    addresses = (GOLDEN / name / "addresses.txt").read_text(encoding="utf-8")
    types = set(re.findall(r"^(aws_\w+)\.", addresses, re.MULTILINE))
    assert types
    covered = {each for row in ROWS if permissions.CONDITIONS[row["when"]](resolved) for each in row["for"]}
    assert types - covered == set()


def test_rows_are_well_formed() -> None:
    assert {row["when"] for row in ROWS} == set(permissions.CONDITIONS)
    for row in ROWS:
        assert all(re.fullmatch(r"[a-z0-9-]+:[A-Z][A-Za-z]+", action) for action in row["actions"]), row
        assert len(set(row["actions"])) == len(row["actions"]), row
        assert row["resource"] == "*" or row["resource"].startswith(("arn:{partition}:", "{volume_key}")), row


def test_actions_are_known_to_botocore() -> None:
    """An action is the name of an API call, except for IAM's PassRole and calls with other names."""
    import botocore.session

    session = botocore.session.get_session()
    services = {"elasticfilesystem": "efs"}
    named_otherwise = {"iam:PassRole", "kms:CreateGrant"}
    for action in {action for row in ROWS for action in row["actions"]} - named_otherwise:
        service, _, operation = action.partition(":")
        model: Any = session.get_service_model(services.get(service, service))
        assert operation in model.operation_names, action
