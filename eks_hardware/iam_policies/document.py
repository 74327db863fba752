"""Helpers for IAM policy documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "MANAGED_POLICY_SIZE",
    "Statement",
    "allow",
    "assumed_by_ec2",
    "assumed_by_pods",
    "assumed_by_service",
    "policy",
]

Statement = dict[str, object]
"""A policy statement, as in IAM."""

MANAGED_POLICY_SIZE = 6144
"""Maximum characters of a managed policy, without white space.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
"""


def allow(
    sid: str, actions: Sequence[str], resources: Sequence[str], condition: Mapping[str, object] | None = None
) -> Statement:
    """Return an Allow statement; a single action or resource is a string, because IAM counts characters."""
    statement: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": one_or_many(actions),
        "Resource": one_or_many(resources),
    }
    if condition:
        statement["Condition"] = dict(condition)
    return statement


def one_or_many(values: Sequence[str]) -> str | list[str]:
    """Return the values as a list, or a single value as a string."""
    return values[0] if len(values) == 1 else list(values)


def policy(*statements: Statement) -> str:
    """Return a policy document as compact JSON; read-only maps are accepted too."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, separators=(",", ":"), default=dict)


def statements(recorded: Iterable[Mapping[str, object]], **names: str | list[str]) -> list[Statement]:
    """Return recorded statements without their notes, with each ``{name}`` replaced by its value.

    A string that consists only of ``{name}`` may become a list.
    """
    return [_filled({key: value for key, value in statement.items() if key != "note"}, names) for statement in recorded]


def _filled(value: Any, names: Mapping[str, str | list[str]]) -> Any:
    if isinstance(value, Mapping):
        return {_filled(key, names): _filled(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, names) for item in value]
    for name, given in names.items():
        if isinstance(given, str):
            value = value.replace(f"{{{name}}}", given)
        elif value == f"{{{name}}}":
            return given
    return value


def assumed_by_service(service: str, *, account_id: str | None = None) -> str:
    """Return a trust policy for a service; the account ID prevents the confused deputy problem."""
    statement: Statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    if account_id is not None:
        statement["Condition"] = {"StringEquals": {"aws:SourceAccount": account_id}}
    return policy(statement)


def assumed_by_ec2(partition: str) -> str:
    """Return the trust policy of a node's role."""
    return assumed_by_service(ec2_service(partition))


def ec2_service(partition: str) -> str:
    """Return EC2's service principal.

    Source: https://github.com/aws/aws-cdk/blob/main/packages/aws-cdk-lib/region-info/lib/default.ts (servicePrincipal)
    """
    return "ec2.amazonaws.com.cn" if partition == "aws-cn" else "ec2.amazonaws.com"


def assumed_by_pods() -> str:
    """Return the trust policy of a role that pods assume through EKS Pod Identity.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
    """
    return policy(
        {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
    )
