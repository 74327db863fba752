"""Permissions of charts that call AWS, given to their service accounts through Pod Identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eks_hardware import facts
from eks_hardware.iam_policies.document import Statement, policy, statements

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.iam_policies import ServiceRole


def roles() -> Mapping[str, ServiceRole]:
    """What the service accounts of charts may do, by the key of the chart."""
    return facts.iam_policies()["service_roles"]


def policies(key: str, cluster: str) -> dict[str, list[Statement]]:
    """The policies of a chart, by the key that is part of their Terraform address, for the cluster of a name.

    ``{partition}``, ``{region}`` and ``{account}`` are left for :func:`document`.
    """
    return {name: statements(each, cluster=cluster) for name, each in roles()[key]["policies"].items()}


def document(given: Sequence[Mapping[str, Any]], *, partition: str, region: str, account_id: str) -> str:
    """A policy document as compact JSON; ``account_id`` may be a Terraform reference."""
    return policy(*statements(given, partition=partition, region=region, account=account_id))
