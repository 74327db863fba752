"""The whole command: the account comes first, AWS errors are translated, and the calls are checked."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import boto3
import botocore.exceptions
import pytest
from botocore import xform_name

from eks_hardware.doctor import CHECKS, AwsError, examine
from eks_hardware.doctor import aws as aws_module
from eks_hardware.doctor.aws import Aws, RoleNotAssumedError, connect
from eks_hardware.models import AssumeRole
from eks_hardware.rules.explanations import explanations
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, CALLER, RefusedError, answering, loaded
from helpers.paths import ROOT
from helpers.strategies import group, pools

KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/12345678-1234-1234-1234-123456789012"
GUIDE = ROOT / "docs" / "guides" / "doctor.md"


def strategy_for_every_check() -> Any:
    """Return a strategy for which every check makes a request."""
    given = {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "usw2-az2"}
    by_group = {"resource_group_arn": f"arn:aws:resource-groups:us-west-2:{ACCOUNT}:group/h100", "zone": "usw2-az2"}
    private = {"usw2-az1": "subnet-0aaaaaaaa", "usw2-az2": "subnet-0bbbbbbbb"}
    pool = {"name": "spot", "instance_families": ["m7i"], "capacity": ["spot"], "limits": {"cpu": 8}}
    return loaded(
        group("p5.48xlarge", name="h100", capacity="reserved", reservation=given),
        group("p4d.24xlarge", name="a100", capacity="reserved", reservation=by_group),
        group("m6i.xlarge", name="own", ami={"image_id": "ami-0123456789abcdef0"}, disk={"kms_key_arn": KEY}),
        aws={"account_id": ACCOUNT, "permissions_boundary_arn": f"arn:aws:iam::{ACCOUNT}:policy/boundary"},
        cluster={"admins": [f"arn:aws:iam::{ACCOUNT}:role/platform", CALLER]},
        network={"existing": {"vpc_id": "vpc-0aaaaaaaa", "private_subnets": private}},
        **pools(pool),
    )


def test_nothing_but_denials() -> None:
    """Without any permission, the output is one line per permission of each check, and no traceback."""
    aws = answering({}, otherwise=RefusedError("AccessDenied"))
    report = examine(strategy_for_every_check(), aws=aws)
    assert {each.code for each in report.findings} == {"CHECK_DENIED"}
    assert report.errors == ()
    said = {permission for each in report.findings for permission in re.findall(r"[a-z0-9-]+:[A-Z]\w+$", each.message)}
    assert said == aws.asked - {"sts:GetCallerIdentity"}
    assert {each.check for each in report.findings} == {check.NAME for check in CHECKS} - {"account"}


def test_another_account_stops_the_rest() -> None:
    strategy = loaded(aws={"account_id": "999999999999"})
    report = examine(strategy, aws=answering({}))
    assert [(each.code, each.path) for each in report.findings] == [("ACCOUNT_OTHER", "aws.account_id")]
    assert report.findings[0].command == "aws sts get-caller-identity"
    assert [outcome.name for outcome in report.outcomes] == ["account"]


@pytest.mark.parametrize(("given", "profile"), [("production", "production"), (None, "of-the-file")])
def test_profile_stands_in_the_commands(given: str | None, profile: str) -> None:
    strategy = loaded(aws={"account_id": "999999999999", "profile": "of-the-file"})
    report = examine(strategy, profile=given, aws=answering({}))
    assert report.findings[0].command == f"aws sts get-caller-identity --profile {profile}"


@in_one_test(
    ("error", "word"),
    [
        (RefusedError("ExpiredToken"), "expired"),
        (RefusedError("InvalidClientTokenId"), "rejected the credentials"),
        (RefusedError("AuthFailure"), "rejected the credentials"),
        (RefusedError("Throttling"), "throttles"),
        (botocore.exceptions.NoCredentialsError(), "no AWS credentials"),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="https://sts"), "no response"),
        (botocore.exceptions.ConnectTimeoutError(endpoint_url="https://sts"), "no response"),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="https://sts"), "no response"),
        (botocore.exceptions.UnauthorizedSSOTokenError(), "sign-in has expired"),
    ],
)
@in_one_test("call", ["sts:GetCallerIdentity", "ec2:DescribeAvailabilityZones"])
def test_nothing_can_be_asked(call: str, error: Exception, word: str) -> None:
    aws = answering({call: error}, otherwise=RefusedError("AccessDenied"))
    with pytest.raises(AwsError, match=word):
        examine(loaded(), aws=aws)


def test_unknown_profile() -> None:
    with pytest.raises(AwsError, match="nobody"):
        connect("us-west-2", profile="nobody")


def test_without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(AwsError, match=r"boto3 is not installed: .*pip install .*\[doctor\]"):
        connect("us-west-2")


def test_no_credentials() -> None:
    with pytest.raises(AwsError, match="no AWS credentials"):
        examine(loaded())


def test_role_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Aws:
        raise RoleNotAssumedError("sts:AssumeRole")

    monkeypatch.setattr("eks_hardware.doctor.run.connect", refused)
    arn = f"arn:aws:iam::{ACCOUNT}:role/deployer"
    report = examine(loaded(aws={"assume_role": {"role_arn": arn}}))
    assert [(each.code, each.path) for each in report.findings] == [("ROLE_NOT_ASSUMED", "aws.assume_role.role_arn")]
    assert report.caller is None


def test_assume_role_is_refused() -> None:
    class Session:
        def __init__(self, **_: Any) -> None:
            pass

        def client(self, service: str, **_: Any) -> Any:
            return answering({"sts:AssumeRole": RefusedError("AccessDenied")})._make(service)

    role = AssumeRole(role_arn=f"arn:aws:iam::{ACCOUNT}:role/deployer")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boto3, "Session", Session)
        with pytest.raises(RoleNotAssumedError):
            connect("us-west-2", assume_role=role)


def test_each_call_is_made_once() -> None:
    made: list[dict[str, Any]] = []

    def zones(params: dict[str, Any]) -> Any:
        made.append(params)
        return {"AvailabilityZones": []}

    aws = answering({"ec2:DescribeAvailabilityZones": zones})
    for _ in range(3):
        aws.pages("ec2", "describe_availability_zones", "AvailabilityZones")
    assert made == [{}]


def test_pages_are_put_together() -> None:
    def clusters(params: dict[str, Any]) -> dict[str, Any]:
        return {"clusters": ["b"]} if "nextToken" in params else {"clusters": ["a"], "nextToken": "more"}

    assert answering({"eks:ListClusters": clusters}).pages("eks", "list_clusters", "clusters") == ["a", "b"]


def test_call_that_boto3_does_not_know() -> None:
    with pytest.raises(aws_module.CallError, match="too old"):
        answering({}).call("eks", "describe_tomorrow")


def test_codes_are_explained() -> None:
    """Every code in the sources has an entry with its severity, and every entry has a code."""
    source = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "eks_hardware" / "doctor").glob("*.py"))
    explained = {code: each for code, each in explanations().items() if each.area == "doctor"}
    severities = {
        code: severity for severity, code in re.findall(r"subject\.(error|warning)\(\s*\"([A-Z_]+)\"", source)
    }
    for code in re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', source):
        if code in explained:
            severities.setdefault(code, "error")
    assert set(severities) == set(explained)
    assert {code: each.severity.value for code, each in explained.items()} == severities
    assert all(each.example for each in explained.values())


def test_guide_names_every_call() -> None:
    """The policy in the guide matches the checks' declarations, and only reads."""
    guide = GUIDE.read_text(encoding="utf-8")
    calls = {call for check in CHECKS for call in check.CALLS}
    policy = re.search(r"```json\n(\{.*?\n\})\n```", guide, re.DOTALL)
    assert policy
    (statement,) = json.loads(policy[1])["Statement"]
    assert statement["Action"] == sorted(calls - {"sts:GetCallerIdentity"})
    reading = re.compile(r"[a-z0-9-]+:(Describe|Get|List|Simulate)\w+")
    assert all(reading.fullmatch(call) for call in calls)
    for check in CHECKS:
        assert f"`{check.NAME}`" in guide


def test_every_declared_call_is_made() -> None:
    """``look`` fails for an undeclared call; here it fails for a declared call that is never made."""
    folder = ROOT / "eks_hardware" / "doctor"
    shared = (folder / "permissions.py").read_text(encoding="utf-8") + (folder / "aws.py").read_text(encoding="utf-8")
    for check in CHECKS:
        text = (folder / f"{check.NAME.replace('-', '_')}.py").read_text(encoding="utf-8") + shared
        for call in check.CALLS:
            assert f'"{xform_name(call.partition(":")[2])}"' in text, (check.NAME, call)
