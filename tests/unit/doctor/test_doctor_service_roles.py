"""Service-linked roles: moto's IAM for existing ones, the simulation for the permission to create them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from eks_hardware.doctor import service_roles
from eks_hardware.doctor.aws import Caller
from helpers.doctor import ACCOUNT, RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group, pools

EVERY = ("AmazonEKS", "AmazonEKSNodegroup", "AutoScaling", "EC2Spot", "AmazonFSx")
KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/12345678-1234-1234-1234-123456789012"
SPOT = {"name": "spot", "instance_families": ["m7i"], "capacity": ["spot", "on-demand"], "limits": {"cpu": 8}}


def account_with_roles(*there: str, decision: str = "allowed", answers: Mapping[str, Any] | None = None) -> Any:
    def role(params: dict[str, Any]) -> Any:
        name = params["RoleName"]
        if name.removeprefix("AWSServiceRoleFor") not in there:
            return RefusedError("NoSuchEntity")
        arn = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/x.amazonaws.com/{name}"
        return {"Role": {**_ROLE, "RoleName": name, "Arn": arn}}

    def simulated(params: dict[str, Any]) -> dict[str, Any]:
        assert params["ActionNames"] == ["iam:CreateServiceLinkedRole"]
        assert params["ContextEntries"][0]["ContextKeyName"] == "iam:AWSServiceName"
        return {"EvaluationResults": [{"EvalActionName": "iam:CreateServiceLinkedRole", "EvalDecision": decision}]}

    return answering({"iam:GetRole": role, "iam:SimulatePrincipalPolicy": simulated, **(answers or {})})


_ROLE = {"Path": "/aws-service-role/", "RoleId": "AROAEXAMPLEEXAMPLE", "CreateDate": "2026-01-01T00:00:00Z"}


def test_all_there() -> None:
    batch = group("m6i.xlarge", name="batch", disk={"kms_key_arn": KEY})
    outcome = look(service_roles, account_with_roles(*EVERY), batch, **pools(SPOT), storage={"fsx_lustre": {}})
    assert codes(outcome.findings) == []


@pytest.mark.parametrize("capacity", [["spot"], ["spot", "on-demand"]])
def test_spot_of_karpenter(capacity: list[str]) -> None:
    outcome = look(
        service_roles, account_with_roles(*(set(EVERY) - {"EC2Spot"})), **pools({**SPOT, "capacity": capacity})
    )
    assert codes(outcome.findings) == [("SPOT_ROLE_MISSING", "karpenter.node_pools[spot].capacity")]
    assert outcome.findings[0].command == "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"


def test_spot_is_not_needed_otherwise() -> None:
    spot_group = group("m6i.xlarge", name="batch", capacity="spot")
    assert codes(look(service_roles, account_with_roles(*(set(EVERY) - {"EC2Spot"})), spot_group).findings) == []


def test_auto_scaling_for_a_grant_on_the_volume_key() -> None:
    batch = group("m6i.xlarge", name="batch", disk={"kms_key_arn": KEY})
    outcome = look(service_roles, account_with_roles(*(set(EVERY) - {"AutoScaling"})), batch)
    assert codes(outcome.findings) == [("AUTOSCALING_ROLE_MISSING", "node_groups[batch].disk.kms_key_arn")]


def test_services_make_theirs_for_who_may() -> None:
    assert codes(look(service_roles, account_with_roles(), storage={"fsx_lustre": {}}).findings) == []


def test_services_cannot_make_theirs_for_who_may_not() -> None:
    outcome = look(service_roles, account_with_roles(decision="implicitDeny"), storage={"fsx_lustre": {}})
    assert codes(outcome.findings) == [("SERVICE_ROLE_MISSING", "aws")] * 4
    assert {each.severity.value for each in outcome.findings} == {"warning"}
    assert [each.command.rpartition(" ")[2] for each in outcome.findings] == [
        "eks.amazonaws.com",
        "eks-nodegroup.amazonaws.com",
        "autoscaling.amazonaws.com",
        "fsx.amazonaws.com",
    ]


def test_simulation_that_is_denied_may_as_well_be_a_no() -> None:
    aws = account_with_roles(answers={"iam:SimulatePrincipalPolicy": RefusedError("AccessDenied")})
    assert [code for code, _ in codes(look(service_roles, aws).findings)] == ["SERVICE_ROLE_MISSING"] * 3


def test_root_may_everything() -> None:
    aws = account_with_roles(answers={"iam:SimulatePrincipalPolicy": RefusedError("ValidationError")})
    assert codes(look(service_roles, aws, caller=Caller(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root")).findings) == []


def test_denied() -> None:
    outcome = look(service_roles, answering({}, otherwise=RefusedError("AccessDenied")), **pools(SPOT))
    assert [code for code, _ in codes(outcome.findings)] == ["CHECK_DENIED"]
    assert "iam:GetRole" in outcome.findings[0].message
