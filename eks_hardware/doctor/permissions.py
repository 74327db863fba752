"""Check: the caller may do what Terraform does, as far as IAM's simulation can tell.

What is asked stands in ``config/facts/account.json``, by the resource types of the stack. The simulation knows the
caller's policies, permissions boundary and (for roles and users of an organization's member) service control policies,
but no resource policies, no session policies, and no condition on tags of what does not exist yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from eks_hardware import facts
from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.resolve import ResolvedStrategy, SubnetRole
from eks_hardware.suggestions import some

NAME = "permissions"
CALLS: tuple[str, ...] = ("iam:GetRole", "iam:SimulatePrincipalPolicy")

_SHOWN = 6

_Refused = tuple[str, Mapping[str, Any]]
"""A resource, and what the simulation says of an action on it."""

# The rows of facts/account.json that a strategy needs.
CONDITIONS: Mapping[str, Callable[[ResolvedStrategy], bool]] = {
    "always": lambda _: True,
    "logs": lambda resolved: bool(resolved.cluster.log_types),
    "access_entries": lambda resolved: bool(resolved.cluster.access_entries or resolved.karpenter),
    "own_key": lambda resolved: resolved.cluster.secrets_encrypted and resolved.cluster.kms_key_arn is None,
    "volume_keys": lambda resolved: bool(_volume_key(resolved)),
    "own_network": lambda resolved: resolved.network.existing is None,
    "public": lambda resolved: bool(resolved.network.of_role(SubnetRole.PUBLIC)),
    "nat": lambda resolved: bool(resolved.network.nat_zone_ids),
    "pod_network": lambda resolved: resolved.network.pod_cidr is not None,
    "flow_logs": lambda resolved: resolved.network.flow_logs is not None,
    "security_groups": lambda resolved: bool(
        resolved.efa_security_group_name
        or resolved.network.interface_endpoints
        or resolved.storage.efs
        or resolved.storage.fsx_lustre
    ),
    "discovery_tags": lambda resolved: resolved.karpenter is not None,
    "subnet_tags": lambda resolved: bool(resolved.network.existing and resolved.network.existing.tag),
    "placement_groups": lambda resolved: (
        any(each.placement_group_name for each in resolved.node_groups)
        or any(each.placement_group_name for each in resolved.node_pools)
    ),
    "autoscaled": lambda resolved: any(each.autoscaled for each in resolved.node_groups),
    "policies": lambda resolved: bool(resolved.karpenter or resolved.kubernetes.service_roles),
    "queue": lambda resolved: bool(resolved.karpenter and resolved.karpenter.queue_name),
    "instance_profile": lambda resolved: bool(resolved.karpenter and resolved.karpenter.instance_profile_name),
    "efs": lambda resolved: resolved.storage.efs is not None,
    "fsx": lambda resolved: resolved.storage.fsx_lustre is not None,
}


def _volume_key(resolved: ResolvedStrategy) -> str:
    keys = (device.kms_key_arn for group in resolved.node_groups for device in group.block_devices)
    return next((each for each in keys if each), "")


def probes(subject: Subject) -> Iterator[Probe]:
    """One for each field of the strategy; none for the root user, whom nothing limits."""
    if subject.caller.is_root:
        return
    for path, by_resource in _asked(subject).items():
        yield Probe(path, f"permissions for {path}", partial(_allowed, subject, path, by_resource))


def _asked(subject: Subject) -> dict[str, dict[str, list[str]]]:
    """Actions by field and by resource."""
    resolved = subject.resolved
    karpenter = resolved.karpenter
    values = {
        "account": subject.caller.account,
        "cluster": resolved.name,
        "partition": resolved.partition,
        "path": resolved.provider.iam_path,
        "queue": (karpenter.queue_name if karpenter else None) or "",
        "region": resolved.region,
        "role": resolved.cluster.role_name,
        "volume_key": _volume_key(resolved),
    }
    asked: dict[str, dict[str, list[str]]] = {}
    for row in facts.account()["permissions"]["rows"]:
        if CONDITIONS[row["when"]](resolved):
            resource = row["resource"].format(**values)
            actions = asked.setdefault(row["path"], {}).setdefault(resource, [])
            actions += [each for each in row["actions"] if each not in actions]
    return asked


def _allowed(subject: Subject, path: str, by_resource: Mapping[str, Sequence[str]], aws: Aws) -> Iterator[Diagnosis]:
    source = caller_policy_source(subject, aws)
    if source is None:
        return
    refused = [
        (resource, result)
        for resource, actions in by_resource.items()
        for result in simulated(aws, source, actions, resource)
        if result["EvalDecision"] != "allowed"
    ]
    # What depends on a condition key that only the real call has is not sure.
    sure = [each for each in refused if not each[1].get("MissingContextValues")]
    unsure = [each for each in refused if each[1].get("MissingContextValues")]
    if sure:
        message = f"the caller may not {_actions(sure)}{_why(sure)}; have it allowed"
        yield subject.error("PERMISSION_MISSING", path, message, _simulate(source, sure))
    if unsure:
        keys = sorted({key for _, result in unsure for key in result["MissingContextValues"]})
        yield subject.warning(
            "PERMISSION_UNSURE",
            path,
            f"whether the caller may {_actions(unsure)} depends on {', '.join(keys)}, which only the real call has",
            _simulate(source, unsure),
        )


def _actions(refused: Sequence[_Refused]) -> str:
    return some(list(dict.fromkeys(result["EvalActionName"] for _, result in refused)), _SHOWN)


def _why(refused: Sequence[_Refused]) -> str:
    results = [result for _, result in refused]
    if any(not each.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True) for each in results):
        return " (a service control policy of the organization)"
    boundary = (each.get("PermissionsBoundaryDecisionDetail", {}) for each in results)
    if any(not each.get("AllowedByPermissionsBoundary", True) for each in boundary):
        return " (the caller's permissions boundary)"
    if any(each["EvalDecision"] == "explicitDeny" for each in results):
        return " (a policy denies it)"
    return ""


def _simulate(source: str, refused: Sequence[_Refused]) -> str:
    """The simulation of what is refused on the first resource."""
    resource, _ = refused[0]
    return aws_command(
        "iam",
        "simulate-principal-policy",
        policy_source_arn=source,
        action_names=[result["EvalActionName"] for each, result in refused if each == resource],
        resource_arns=resource,
        query="EvaluationResults[].[EvalActionName,EvalDecision]",
    )


# --- the simulation, also for other checks


def caller_policy_source(subject: Subject, aws: Aws) -> str | None:
    """The ARN whose policies are simulated: the user, or the role of a session; None for whom IAM simulates nothing."""
    caller = subject.caller
    if caller.is_root or (caller.role_name is None and ":user/" not in caller.arn):
        return None
    if caller.role_name is None:
        return caller.arn
    try:
        # A session's ARN leaves out the path of the role, which roles of IAM Identity Center have.
        arn: str = aws.call("iam", "get_role", RoleName=caller.role_name)["Role"]["Arn"]
    except (CallError, DeniedError):
        return f"arn:{subject.resolved.partition}:iam::{caller.account}:role/{caller.role_name}"
    return arn


def simulated(
    aws: Aws, source: str, actions: Sequence[str], resource: str, context: Mapping[str, str] | None = None
) -> list[Mapping[str, Any]]:
    """What IAM says about each action on a resource."""
    given: dict[str, Any] = {"PolicySourceArn": source, "ActionNames": list(actions), "ResourceArns": [resource]}
    if context:
        given["ContextEntries"] = [
            {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
            for key, value in context.items()
        ]
    return aws.pages("iam", "simulate_principal_policy", "EvaluationResults", **given)
