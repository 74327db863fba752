"""``facts/iam_policies.json`` and ``facts/managed_policies.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced


class Statement(TypedDict):
    note: NotRequired[str]
    Sid: str
    Effect: str
    Principal: NotRequired[str | dict[str, str]]
    Action: str | list[str]
    Resource: str | list[str]
    Condition: NotRequired[dict[str, dict[str, object]]]


class Policies(Sourced):
    policies: dict[str, list[Statement]]


class KarpenterPolicies(Policies):
    queue: list[Statement]


class ServiceRole(Policies):
    service_account: str


class VolumeKeys(Sourced):
    operations: list[str]


class ManagedPolicyNames(Sourced):
    by_path: dict[str, list[str]]


class ManagedPolicies(About):
    """``facts/managed_policies.json``."""

    managed: ManagedPolicyNames


class IamPolicies(About):
    karpenter: KarpenterPolicies
    service_roles: dict[str, ServiceRole]
    secrets_key: Policies
    volume_keys: VolumeKeys
