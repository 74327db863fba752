"""Run all checks of a strategy, with their probes in parallel."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import NamedTuple

from eks_hardware.catalogue import load
from eks_hardware.doctor import (
    account,
    images,
    keys,
    kubernetes,
    network,
    offerings,
    permissions,
    principals,
    quotas,
    reservations,
    service_roles,
)
from eks_hardware.doctor.aws import Aws, Caller, CallError, DeniedError, RoleNotAssumedError, connect
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import CREDENTIALS, Check, Diagnosis, Outcome, Probe, Report, Subject
from eks_hardware.loader import LoadedStrategy
from eks_hardware.resolve import resolve
from eks_hardware.suggestions import some

CHECKS: tuple[Check, ...] = (
    account,
    quotas,
    offerings,
    reservations,
    network,
    keys,
    principals,
    kubernetes,
    images,
    service_roles,
    permissions,
)
"""All checks, in the order of the report. The first decides whether the others run."""

_WORKERS = 8
_SHOWN = 3


def examine(loaded: LoadedStrategy, *, profile: str | None = None, aws: Aws | None = None) -> Report:
    """Run all checks for a strategy that passed the rules.

    ``profile`` defaults to the strategy's profile, then the environment's. The credentials determine the account.

    Raises:
        AwsError: AWS cannot be queried.
    """
    started = time.monotonic()
    strategy = loaded.strategy
    try:
        asked = aws or connect(
            strategy.region, profile=profile or strategy.aws.profile, assume_role=strategy.aws.assume_role
        )
        caller = asked.caller()
    except RoleNotAssumedError as refused:
        outcome = Outcome(account.NAME, 1, (_role_not_assumed(loaded, refused),))
        return Report((outcome,), None, strategy.region, time.monotonic() - started)
    subject = Subject(loaded, resolve(strategy), load(), caller, profile or strategy.aws.profile)
    first, *rest = CHECKS
    first_outcomes = outcomes(subject, asked, [first])
    # In the wrong account, no other result would mean anything.
    if not first_outcomes[0].findings:
        first_outcomes += outcomes(subject, asked, rest)
    return Report(tuple(first_outcomes), caller, strategy.region, time.monotonic() - started)


def _role_not_assumed(loaded: LoadedStrategy, refused: RoleNotAssumedError) -> Diagnosis:
    path = "aws.assume_role.role_arn"
    role = loaded.strategy.aws.assume_role
    assert role is not None
    return Diagnosis(
        "ROLE_NOT_ASSUMED",
        path,
        f"the role {role.role_arn} cannot be assumed ({refused}), so Terraform would fail, too; check the role's trust "
        "policy and your permission sts:AssumeRole",
        position=loaded.source.locate(path),
        command=aws_command("sts", "assume-role", role_arn=role.role_arn, role_session_name="test"),
        check=account.NAME,
    )


class _Answer(NamedTuple):
    """The result of a probe: findings, and the error that ended it."""

    probe: Probe
    findings: list[Diagnosis]
    error: DeniedError | CallError | None = None


def outcomes(subject: Subject, aws: Aws, checks: Iterable[Check]) -> list[Outcome]:
    """Run checks, and return their outcomes in the same order.

    Raises:
        AwsError: AWS cannot be queried.
    """
    with ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="doctor") as pool:
        asked = [(check, [pool.submit(_answer, probe, aws) for probe in check.probes(subject)]) for check in checks]
        every = [future for _, futures in asked for future in futures]
        wait(every, return_when=FIRST_EXCEPTION)
        failed = next((future for future in every if future.done() and future.exception()), None)
        if failed:
            pool.shutdown(cancel_futures=True)
            failed.result()
    return [_outcome(subject, check.NAME, [future.result() for future in futures]) for check, futures in asked]


def _answer(probe: Probe, aws: Aws) -> _Answer:
    findings: list[Diagnosis] = []
    try:
        for finding in probe.ask(aws):  # one by one: findings before a refused call are kept
            findings.append(finding)
    except (DeniedError, CallError) as error:
        return _Answer(probe, findings, error)
    return _Answer(probe, findings)


def _outcome(subject: Subject, name: str, answers: list[_Answer]) -> Outcome:
    findings = [finding for answer in answers for finding in answer.findings]
    findings += [*_denied(subject, answers), *_failed(subject, answers)]
    unique = dict.fromkeys(findings)
    return Outcome(name, len(answers), tuple(replace(finding, check=name) for finding in unique))


def _denied(subject: Subject, answers: Iterable[_Answer]) -> Iterator[Diagnosis]:
    by_permission: dict[str, list[Probe]] = {}
    for answer in answers:
        if isinstance(answer.error, DeniedError):
            by_permission.setdefault(answer.error.permission, []).append(answer.probe)
    for permission, probes in by_permission.items():
        message = f"{_not_checked(probes)}; this requires the permission {permission}"
        yield subject.warning("CHECK_DENIED", _path(probes), message, _simulate(subject.caller, permission))


def _failed(subject: Subject, answers: Iterable[_Answer]) -> Iterator[Diagnosis]:
    by_error: dict[tuple[str, str], list[_Answer]] = {}
    for answer in answers:
        if isinstance(answer.error, CallError):
            by_error.setdefault((answer.error.action, answer.error.code), []).append(answer)
    for (action, code), failed in by_error.items():
        probes, text = [each.probe for each in failed], str(failed[0].error)
        reason = f"{code or 'an error'}{f': {text}' if text else ''}"
        yield subject.warning("CHECK_FAILED", _path(probes), f"{_not_checked(probes)}; {action} returned {reason}")


def _path(probes: list[Probe]) -> str:
    """Return the only probe's field; for several probes, the credentials' field, which `ignore` can name."""
    return probes[0].path or CREDENTIALS if len(probes) == 1 else CREDENTIALS


def _not_checked(probes: list[Probe]) -> str:
    return f"not checked: {some(list(dict.fromkeys(probe.about for probe in probes)), _SHOWN)}"


def _simulate(caller: Caller, permission: str) -> str:
    if caller.is_root or caller.role_name:
        return ""
    return aws_command("iam", "simulate-principal-policy", policy_source_arn=caller.arn, action_names=permission)
