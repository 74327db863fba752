"""Check: the IAM roles, users and policies that the strategy names exist."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.doctor.aws import Aws, CallError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject

NAME = "principals"
CALLS: tuple[str, ...] = ("iam:GetPolicy", "iam:GetRole", "iam:GetUser")


def probes(subject: Subject) -> Iterator[Probe]:
    """One for each principal of this account, and one for each policy."""
    strategy = subject.strategy
    admins = [(f"cluster.admins[{index}]", arn) for index, arn in enumerate(strategy.cluster.admins)]
    entries = [
        (f"cluster.access_entries[{entry.name}].principal_arn", entry.principal_arn)
        for entry in strategy.cluster.access_entries
    ]
    for path, arn in (*admins, *entries):
        # IAM says nothing about another account.
        if arn.split(":")[4] == subject.caller.account:
            yield _of_principal(subject, path, arn)
    boundary = strategy.aws.permissions_boundary_arn
    if boundary:
        yield _of_policy(subject, "aws.permissions_boundary_arn", boundary, "BOUNDARY_MISSING")
    for index, arn in enumerate(strategy.karpenter.node_policies if strategy.karpenter else ()):
        yield _of_policy(subject, f"karpenter.node_policies[{index}]", arn, "POLICY_MISSING")


def _of_principal(subject: Subject, path: str, arn: str) -> Probe:
    kind = arn.split(":")[5].partition("/")[0]
    name = arn.rpartition("/")[2]
    operation, argument = ("get_role", "RoleName") if kind == "role" else ("get_user", "UserName")

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        every = aws_command("iam", f"list-{kind}s", query=f"{kind.title()}s[].Arn", output="text")
        try:
            found = aws.call("iam", operation, **{argument: name})[kind.title()]["Arn"]
        except CallError as error:
            if error.code != "NoSuchEntity":
                raise
            yield subject.error(
                "PRINCIPAL_MISSING",
                path,
                f"the account has no {kind} {name}; EKS refuses an access entry for it: name one that exists",
                every,
            )
            return
        if found != arn:
            yield subject.error(
                "PRINCIPAL_MISSING", path, f"the {kind} {name} is {found}, not {arn}; write it so", every
            )

    return Probe(path, f"{kind} {name}", ask)


def _of_policy(subject: Subject, path: str, arn: str, code: str) -> Probe:
    def ask(aws: Aws) -> Iterator[Diagnosis]:
        try:
            aws.call("iam", "get_policy", PolicyArn=arn)
        except CallError as error:
            if error.code != "NoSuchEntity":
                raise
            yield subject.error(
                code,
                path,
                f"there is no policy {arn}; IAM refuses a role with it: name one that exists",
                aws_command("iam", "list-policies", scope="Local", query="Policies[].Arn", output="text"),
            )

    return Probe(path, f"policy {arn.rpartition('/')[2]}", ask)
