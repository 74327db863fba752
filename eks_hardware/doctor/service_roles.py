"""Check: the service-linked roles that are not made on the way are there."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.doctor.permissions import caller_policy_source, simulated

NAME = "service-roles"
CALLS: tuple[str, ...] = ("iam:GetRole", "iam:SimulatePrincipalPolicy")

_MAKE = "iam:CreateServiceLinkedRole"


def probes(subject: Subject) -> Iterator[Probe]:
    """EC2 Spot for Karpenter, Auto Scaling for volume keys, and those that a service makes if the caller may."""
    pools = subject.strategy.karpenter.node_pools if subject.strategy.karpenter else ()
    spot = [pool for pool in pools if "spot" in pool.capacity]
    if spot:
        yield _needed(
            subject,
            "spot",
            f"karpenter.node_pools[{spot[0].name}].capacity",
            "SPOT_ROLE_MISSING",
            "Karpenter may not make it, and gets no spot node without",
        )
    keyed = [group for group in subject.strategy.node_groups if group.disk.kms_key_arn]
    if keyed:
        yield _needed(
            subject,
            "autoscaling",
            f"node_groups[{keyed[0].name}].disk.kms_key_arn",
            "AUTOSCALING_ROLE_MISSING",
            "the grant on the volume key is made for it, and KMS refuses a grant for a role that is not there",
        )
    for key in ("eks", "nodegroup", *(() if keyed else ("autoscaling",)), *(("fsx",) if _fsx(subject) else ())):
        yield _made_on_the_way(subject, key)


def _fsx(subject: Subject) -> bool:
    return subject.strategy.storage.fsx_lustre is not None


def _role(key: str) -> tuple[str, str]:
    row = facts.account()["service_linked_roles"]["roles"][key]
    return row["name"], row["service"]


def _there(aws: Aws, name: str) -> bool:
    try:
        aws.call("iam", "get_role", RoleName=name)
    except CallError as error:
        if error.code == "NoSuchEntity":
            return False
        raise
    return True


def _create(service: str) -> str:
    return aws_command("iam", "create-service-linked-role", aws_service_name=service)


def _needed(subject: Subject, key: str, path: str, code: str, why: str) -> Probe:
    name, service = _role(key)

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        if not _there(aws, name):
            yield subject.error(code, path, f"the account has no role {name}: {why}; make it once", _create(service))

    return Probe(path, f"role {name}", ask)


def _made_on_the_way(subject: Subject, key: str) -> Probe:
    name, service = _role(key)

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        if _there(aws, name) or _may_make(subject, aws, name, service):
            return
        yield subject.warning(
            "SERVICE_ROLE_MISSING",
            "",
            f"the account has no role {name}; {service} makes it for a caller with {_MAKE}, which you seem not to have",
            _create(service),
        )

    return Probe("", f"role {name}", ask)


def _may_make(subject: Subject, aws: Aws, name: str, service: str) -> bool:
    source = caller_policy_source(subject, aws)
    if source is None:
        return True
    arn = f"arn:{subject.resolved.partition}:iam::{subject.caller.account}:role/aws-service-role/{service}/{name}"
    try:
        results = simulated(aws, source, [_MAKE], arn, {"iam:AWSServiceName": service})
    except (CallError, DeniedError):
        return False
    return all(each["EvalDecision"] == "allowed" for each in results)
