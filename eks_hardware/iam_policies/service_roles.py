"""Permissions for charts that call AWS, granted to their service accounts through Pod Identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from eks_hardware import facts
from eks_hardware.iam_policies.document import Statement, policy, statements

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.iam_policies import ServiceRole


def roles() -> Mapping[str, ServiceRole]:
    """Return the permissions of charts' service accounts, by chart key."""
    return facts.iam_policies()["service_roles"]


def policies(key: str, cluster: str) -> dict[str, list[Statement]]:
    """Return a chart's policies for a cluster, by the key that is part of their Terraform address.

    ``{partition}``, ``{region}`` and ``{account}`` are not replaced; :func:`document` does that.
    """
    return {name: statements(each, cluster=cluster) for name, each in roles()[key]["policies"].items()}


def document(given: Sequence[Mapping[str, object]], *, partition: str, region: str, account_id: str) -> str:
    """Return a policy document as compact JSON; ``account_id`` may be a Terraform reference."""
    return policy(*statements(given, partition=partition, region=region, account=account_id))
