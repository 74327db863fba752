"""Check: the credentials belong to the strategy's account."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject

NAME = "account"
CALLS: tuple[str, ...] = ("sts:GetCallerIdentity",)


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe if the strategy names its account."""
    if wanted := subject.strategy.aws.account_id:
        yield Probe("aws.account_id", "the account", partial(_account, subject, wanted))


def _account(subject: Subject, wanted: str, aws: Aws) -> Iterator[Diagnosis]:
    caller = aws.caller()
    if caller.account != wanted:
        yield subject.error(
            "ACCOUNT_OTHER",
            "aws.account_id",
            f"the credentials belong to account {caller.account} ({caller.arn}), not to {wanted}; choose others "
            "with --profile, AWS_PROFILE or aws.profile. No other check ran",
            aws_command("sts", "get-caller-identity"),
        )
