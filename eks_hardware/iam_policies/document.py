"""Small helpers to write IAM policy documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MANAGED_POLICY_SIZE", "Statement", "allow", "assumed_by_pods", "assumed_by_service", "policy"]

Statement = dict[str, Any]
"""A statement of a policy, as IAM writes it."""

MANAGED_POLICY_SIZE = 6144
"""Most characters of a managed policy, white space not counted.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
"""


def allow(
    sid: str, actions: Sequence[str], resources: Sequence[str], condition: Mapping[str, Any] | None = None
) -> Statement:
    """An Allow statement; a single action or resource is written as a string, as IAM counts characters."""
    statement: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": _one_or_many(actions),
        "Resource": _one_or_many(resources),
    }
    if condition:
        statement["Condition"] = dict(condition)
    return statement


def _one_or_many(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


def policy(*statements: Statement) -> str:
    """A policy document as compact JSON; read-only maps are maps too."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, separators=(",", ":"), default=dict)


def assumed_by_service(service: str, *, account_id: str | None = None) -> str:
    """Trust policy of a service's role; with an account id against the confused deputy."""
    statement: Statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    if account_id is not None:
        statement["Condition"] = {"StringEquals": {"aws:SourceAccount": account_id}}
    return policy(statement)


def assumed_by_pods() -> str:
    """Trust policy of a role that pods take through EKS Pod Identity.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
    """
    return policy(
        {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
    )
