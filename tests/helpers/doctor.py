"""Strategies for the doctor, and AWS responses that a test defines.

The responses match botocore's models. They replace calls that moto does not support.
"""

from __future__ import annotations

import copy
import datetime
import os
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import boto3
import pytest
import yaml
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.model import OperationModel
from botocore.validate import ParamValidator

from eks_hardware.catalogue import load
from eks_hardware.doctor import run
from eks_hardware.doctor.aws import Aws, Caller
from eks_hardware.doctor.model import Check, Outcome, Subject
from eks_hardware.loader import LoadedStrategy, parse_strategy
from eks_hardware.rules import check as check_rules
from helpers.strategies import TODAY, document, resolved_once

ACCOUNT = "111122223333"
CALLER = f"arn:aws:iam::{ACCOUNT}:user/deployer"
REGION = "us-west-2"


class RefusedError(Exception):
    """Error response from AWS."""

    def __init__(self, code: str, message: str = "refused by the test") -> None:
        self.code = code
        self.message = message
        super().__init__(code)


Answer: TypeAlias = "Mapping[str, Any] | Exception | Callable[[dict[str, Any]], Mapping[str, Any] | Exception]"

_IDENTITY = {"sts:GetCallerIdentity": {"Account": ACCOUNT, "Arn": CALLER, "UserId": "AIDAEXAMPLE"}}


# Shared by all tests, because it caches models. Created here and not on first use, when a test may have replaced
# boto3's class.
_SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


def no_aws_settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Hide every AWS setting of this machine; ``folder`` has none."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@cache
def _first_client(service: str) -> Any:
    return _SESSION.client(service)


def _client_of(service: str) -> Any:
    """Return a client with its own handlers. It is a copy, because creating a client takes ten times as long."""
    first = _first_client(service)
    meta = copy.copy(first.meta)
    meta.events = copy.copy(meta.events)
    client = object.__new__(type(first))
    vars(client).update(vars(first), meta=meta)
    return client


def answering(answers: Mapping[str, Answer], *, otherwise: Answer | None = None) -> Aws:
    """Return an account that is defined by its responses.

    A response is a value such as ``{"ec2:DescribeVpcs": {"Vpcs": []}}``, an error, or a function of the parameters.

    Args:
        answers: responses by IAM action.
        otherwise: the response to every other call; without it, such a call fails the test.
    """
    known = {**_IDENTITY, **answers}

    def client(service: str) -> Any:
        made = _client_of(service)

        def note(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
            context["given"] = params

        def answer(model: OperationModel, context: dict[str, Any], **_: Any) -> tuple[AWSResponse, Any]:
            name = f"{made.meta.service_model.signing_name}:{model.name}"
            found = known.get(name, otherwise)
            assert found is not None, f"the test has no answer to {name}"
            said: Any = found(context["given"]) if callable(found) else found
            if isinstance(said, RefusedError):
                error = {"Error": {"Code": said.code, "Message": said.message}}
                return AWSResponse("", 400, {}, None), {**error, "ResponseMetadata": {"HTTPStatusCode": 400}}
            if isinstance(said, Exception):
                raise said
            report = ParamValidator().validate(dict(said), model.output_shape)
            assert not report.has_errors(), f"{name}: {report.generate_report()}"
            return AWSResponse("", 200, {}, None), {**said, "ResponseMetadata": {"HTTPStatusCode": 200}}

        made.meta.events.register("provide-client-params.*.*", note)
        made.meta.events.register_first("before-call.*.*", answer)
        return made

    return Aws(client)


def date(text: str) -> datetime.datetime:
    """Return a date as AWS does: ``2026-12-01`` at midnight UTC."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)


def of_moto() -> Aws:
    """Return moto's account, for use inside ``mock_aws``."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    return Aws(session.client)


def loaded(*groups: dict[str, Any], **fields: Any) -> LoadedStrategy:
    """Return a strategy without errors, as if it was loaded from a file."""
    return _without_errors(yaml.dump(document(*groups, **fields), Dumper=yaml.CSafeDumper))


# Most checks of a module look at the same strategy.
@cache
def _without_errors(text: str) -> LoadedStrategy:
    strategy = parse_strategy(text, file="demo.yaml")
    wrong = [each for each in check_rules(strategy.strategy, today=TODAY) if each.severity.value == "error"]
    assert not wrong, "\n".join(map(str, wrong))
    return strategy


def subject_of(strategy: LoadedStrategy, caller: Caller | None = None, profile: str | None = None) -> Subject:
    return Subject(strategy, resolved_once(strategy.strategy), load(), caller or Caller(ACCOUNT, CALLER), profile)


def look(check: Check, aws: Aws, /, *groups: dict[str, Any], caller: Caller | None = None, **fields: Any) -> Outcome:
    """Run one check of a strategy, and fail for calls that it does not declare."""
    outcome = run.outcomes(subject_of(loaded(*groups, **fields), caller), aws, [check])[0]
    assert aws.asked <= {*check.CALLS, "sts:GetCallerIdentity"}
    for finding in outcome.findings:
        if finding.code not in ("CHECK_DENIED", "CHECK_FAILED"):
            assert finding.command, f"{finding.code} names no command"
        if finding.command:
            check_command(finding.command)
    return outcome


_OF_THE_CLI = {"output", "profile", "query", "region"}


def check_command(command: str) -> None:
    """Assert that a command exists in the AWS CLI: the service, its operation and its options."""
    program, service, operation, *rest = shlex.split(command)
    assert program == "aws"
    options = {word.removeprefix("--") for word in rest if word.startswith("--")}
    assert options - _OF_THE_CLI <= _options(service, operation), command


@cache
def _options(service: str, operation: str) -> frozenset[str]:
    """Return the options of an operation, as the AWS CLI writes them."""
    session: Any = _SESSION._session
    model = session.get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    assert operation in names, f"aws {service} has no {operation}"
    return frozenset(xform_name(name, "-") for name in model.operation_model(names[operation]).input_shape.members)
