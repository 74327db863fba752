"""Check: service-linked roles that AWS does not create automatically exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from eks_hardware import facts, field_paths
from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import CREDENTIALS, Diagnosis, Probe, Subject
from eks_hardware.doctor.permissions import caller_policy_source, simulated

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.account import ServiceLinkedRole

NAME = "service-roles"
CALLS: tuple[str, ...] = ("iam:GetRole", "iam:SimulatePrincipalPolicy")

_MAKE = "iam:CreateServiceLinkedRole"


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield probes for the roles of Spot (Karpenter) and Auto Scaling (volume keys), and those that services create."""
    if spot := [pool.name for pool in subject.pools if "spot" in pool.capacity]:
        path = field_paths.node_pool(spot[0], "capacity")
        why = "Karpenter is not allowed to create it, and cannot launch Spot nodes without it"
        yield _probe("spot", path, partial(_needed, subject, path, "SPOT_ROLE_MISSING", why))
    if keyed := [group.name for group in subject.strategy.node_groups if group.disk.kms_key_arn]:
        path = field_paths.node_group(keyed[0], "disk", "kms_key_arn")
        why = "the grant on the volume key is for this role, and KMS rejects grants for roles that do not exist"
        yield _probe("autoscaling", path, partial(_needed, subject, path, "AUTOSCALING_ROLE_MISSING", why))
    others = {"eks": True, "nodegroup": True, "autoscaling": not keyed, "fsx": subject.strategy.storage.fsx_lustre}
    for key, used in others.items():
        if used:
            yield _probe(key, CREDENTIALS, partial(_made_on_the_way, subject))


def _probe(key: str, path: str, ask: Callable[[ServiceLinkedRole, Aws], Iterator[Diagnosis]]) -> Probe:
    role = facts.account()["service_linked_roles"]["roles"][key]
    return Probe(path, f"role {role['name']}", partial(ask, role))


def _there(aws: Aws, role: ServiceLinkedRole) -> bool:
    return aws.found(("NoSuchEntity",), "iam", "get_role", RoleName=role["name"]) is not None


def _create(role: ServiceLinkedRole) -> str:
    return aws_command("iam", "create-service-linked-role", aws_service_name=role["service"])


def _needed(subject: Subject, path: str, code: str, why: str, role: ServiceLinkedRole, aws: Aws) -> Iterator[Diagnosis]:
    if not _there(aws, role):
        yield subject.error(code, path, f"the account has no role {role['name']}: {why}; create it once", _create(role))


def _made_on_the_way(subject: Subject, role: ServiceLinkedRole, aws: Aws) -> Iterator[Diagnosis]:
    if not _there(aws, role) and not _may_make(subject, role, aws):
        yield subject.warning(
            "SERVICE_ROLE_MISSING",
            CREDENTIALS,
            f"the account has no role {role['name']}; {role['service']} creates it only for callers with {_MAKE}, "
            "which you do not seem to have",
            _create(role),
        )


def _may_make(subject: Subject, role: ServiceLinkedRole, aws: Aws) -> bool:
    source = caller_policy_source(subject, aws)
    if source is None:
        return True
    owner = f"arn:{subject.resolved.partition}:iam::{subject.caller.account}"
    arn = f"{owner}:role/aws-service-role/{role['service']}/{role['name']}"
    try:
        results = simulated(aws, source, [_MAKE], arn, {"iam:AWSServiceName": role["service"]})
    except (CallError, DeniedError):
        return False
    return all(evaluation["EvalDecision"] == "allowed" for evaluation in results)
