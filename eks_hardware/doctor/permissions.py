"""Check: the caller has Terraform's permissions, as far as IAM's policy simulation shows.

``config/facts/account.json`` lists the permissions by the stack's resource types. The simulation includes the caller's
policies, permissions boundary and (for members of an organization) service control policies. It does not include
resource policies, session policies, or conditions on tags of resources that do not exist yet.
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
"""A resource, and the simulation's result for an action on it."""

# Conditions of the permission rows in facts/account.json.
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
        any(group.placement_group_name for group in resolved.node_groups)
        or any(pool.placement_group_name for pool in resolved.node_pools)
    ),
    "autoscaled": lambda resolved: any(group.autoscaled for group in resolved.node_groups),
    "policies": lambda resolved: bool(resolved.karpenter or resolved.kubernetes.service_roles),
    "queue": lambda resolved: bool(resolved.karpenter and resolved.karpenter.queue_name),
    "instance_profile": lambda resolved: bool(resolved.karpenter and resolved.karpenter.instance_profile_name),
    "efs": lambda resolved: resolved.storage.efs is not None,
    "fsx": lambda resolved: resolved.storage.fsx_lustre is not None,
}


def _volume_key(resolved: ResolvedStrategy) -> str:
    keys = (device.kms_key_arn for group in resolved.node_groups for device in group.block_devices)
    return next((key for key in keys if key), "")


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for each field of the strategy; none for the root user, which no policy limits."""
    if subject.caller.is_root:
        return
    for path, by_resource in _asked(subject).items():
        yield Probe(path, f"permissions for {path}", partial(_allowed, subject, path, by_resource))


def _asked(subject: Subject) -> dict[str, dict[str, list[str]]]:
    """Return the required actions by field, then by resource."""
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
            actions += [action for action in row["actions"] if action not in actions]
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
    # Results that depend on condition keys of the real call are uncertain.
    sure = [refusal for refusal in refused if not refusal[1].get("MissingContextValues")]
    unsure = [refusal for refusal in refused if refusal[1].get("MissingContextValues")]
    if sure:
        message = f"the caller is not allowed to call {_actions(sure)}{_why(sure)}; grant what is missing"
        yield subject.error("PERMISSION_MISSING", path, message, _simulate(source, sure))
    if unsure:
        keys = sorted({key for _, result in unsure for key in result["MissingContextValues"]})
        yield subject.warning(
            "PERMISSION_UNSURE",
            path,
            f"whether the caller can call {_actions(unsure)} depends on {', '.join(keys)}, which only the real call "
            "sets",
            _simulate(source, unsure),
        )


def _actions(refused: Sequence[_Refused]) -> str:
    return some(list(dict.fromkeys(result["EvalActionName"] for _, result in refused)), _SHOWN)


def _why(refused: Sequence[_Refused]) -> str:
    results = [result for _, result in refused]
    if any(
        not evaluation.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True)
        for evaluation in results
    ):
        return " (a service control policy of the organization)"
    boundary = (evaluation.get("PermissionsBoundaryDecisionDetail", {}) for evaluation in results)
    if any(not evaluation.get("AllowedByPermissionsBoundary", True) for evaluation in boundary):
        return " (the caller's permissions boundary)"
    if any(evaluation["EvalDecision"] == "explicitDeny" for evaluation in results):
        return " (a policy denies it)"
    return ""


def _simulate(source: str, refused: Sequence[_Refused]) -> str:
    """Return the command that simulates the refused actions on the first resource."""
    resource, _ = refused[0]
    return aws_command(
        "iam",
        "simulate-principal-policy",
        policy_source_arn=source,
        action_names=[result["EvalActionName"] for each, result in refused if each == resource],
        resource_arns=resource,
        query="EvaluationResults[].[EvalActionName,EvalDecision]",
    )


# --- simulation, also for other checks


def caller_policy_source(subject: Subject, aws: Aws) -> str | None:
    """Return the ARN to simulate: the user, or the role of a session; None if IAM has no policies for the caller."""
    caller = subject.caller
    if caller.is_root or (caller.role_name is None and ":user/" not in caller.arn):
        return None
    if caller.role_name is None:
        return caller.arn
    try:
        # A session's ARN omits the path of the role, and roles of IAM Identity Center have a path.
        arn: str = aws.call("iam", "get_role", RoleName=caller.role_name)["Role"]["Arn"]
    except (CallError, DeniedError):
        return f"arn:{subject.resolved.partition}:iam::{caller.account}:role/{caller.role_name}"
    return arn


def simulated(
    aws: Aws, source: str, actions: Sequence[str], resource: str, context: Mapping[str, str] | None = None
) -> list[Mapping[str, Any]]:
    """Return IAM's simulation result for each action on a resource."""
    given: dict[str, Any] = {"PolicySourceArn": source, "ActionNames": list(actions), "ResourceArns": [resource]}
    if context:
        given["ContextEntries"] = [
            {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
            for key, value in context.items()
        ]
    return aws.pages("iam", "simulate_principal_policy", "EvaluationResults", **given)
