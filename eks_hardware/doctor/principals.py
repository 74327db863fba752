"""Check: the strategy's IAM roles, users and policies exist."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eks_hardware import field_paths
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject

NAME = "principals"
CALLS: tuple[str, ...] = ("iam:GetPolicy", "iam:GetRole", "iam:GetUser")

_NOT_THERE = ("NoSuchEntity",)


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for each principal of this account, and one for each policy."""
    strategy = subject.strategy
    admins = [(field_paths.item("cluster.admins", index), arn) for index, arn in enumerate(strategy.cluster.admins)]
    entries = [
        (f"{field_paths.item('cluster.access_entries', entry.name)}.principal_arn", entry.principal_arn)
        for entry in strategy.cluster.access_entries
    ]
    for path, arn in (*admins, *entries):
        # IAM cannot look up principals of other accounts.
        if arn.split(":")[4] == subject.caller.account:
            about = f"{_kind(arn)} {arn.rpartition('/')[2]}"
            yield Probe(path, about, partial(_principal, subject, path, arn))
    if boundary := strategy.aws.permissions_boundary_arn:
        yield _of_policy(subject, "aws.permissions_boundary_arn", boundary, "BOUNDARY_MISSING")
    for index, arn in enumerate(strategy.karpenter.node_policies if strategy.karpenter else ()):
        yield _of_policy(subject, field_paths.item("karpenter.node_policies", index), arn, "POLICY_MISSING")


def _of_policy(subject: Subject, path: str, arn: str, code: str) -> Probe:
    return Probe(path, f"policy {arn.rpartition('/')[2]}", partial(_policy, subject, path, arn, code))


def _kind(arn: str) -> str:
    """Return ``role`` or ``user``."""
    return arn.split(":")[5].partition("/")[0]


def _principal(subject: Subject, path: str, arn: str, aws: Aws) -> Iterator[Diagnosis]:
    kind, name = _kind(arn), arn.rpartition("/")[2]
    operation, argument = ("get_role", "RoleName") if kind == "role" else ("get_user", "UserName")
    every = aws_command("iam", f"list-{kind}s", query=f"{kind.title()}s[].Arn", output="text")
    answer = aws.found(_NOT_THERE, "iam", operation, **{argument: name})
    if answer is None:
        message = f"the account has no {kind} {name}, so EKS rejects its access entry; choose an existing {kind}"
        yield subject.error("PRINCIPAL_MISSING", path, message, every)
    elif (found := answer[kind.title()]["Arn"]) != arn:
        yield subject.error(
            "PRINCIPAL_MISSING", path, f"the ARN of {kind} {name} is {found}, not {arn}; correct it", every
        )


def _policy(subject: Subject, path: str, arn: str, code: str, aws: Aws) -> Iterator[Diagnosis]:
    if aws.found(_NOT_THERE, "iam", "get_policy", PolicyArn=arn) is None:
        message = f"the policy {arn} does not exist, and IAM rejects roles that use it; choose an existing policy"
        every = aws_command("iam", "list-policies", scope="Local", query="Policies[].Arn", output="text")
        yield subject.error(code, path, message, every)
