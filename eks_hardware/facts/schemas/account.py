"""``facts/account.json``."""

from __future__ import annotations

from typing_extensions import TypedDict

from eks_hardware.facts.schemas.base import About, Sourced


class ServiceLinkedRole(TypedDict):
    name: str
    service: str


class ServiceLinkedRoles(Sourced):
    roles: dict[str, ServiceLinkedRole]


class ImageParameter(TypedDict):
    path: str
    release: str
    newest: str


class ImageParameters(Sourced):
    by_family: dict[str, ImageParameter]
    variants: dict[str, str]


class ControlPlaneAddresses(Sourced):
    each_subnet: int


class ServiceDomains(Sourced):
    by_partition: dict[str, list[str]]


class NameLimit(Sourced):
    most: int


class NameLimits(TypedDict):
    """The characters that a name may contain."""

    iam_role: NameLimit
    iam_policy: NameLimit
    instance_profile: NameLimit
    event_rule: NameLimit
    sqs_queue: NameLimit
    launch_template: NameLimit
    placement_group: NameLimit
    security_group: NameLimit
    kms_alias: NameLimit
    tag_key: NameLimit
    tag_value: NameLimit
    efs_token: NameLimit
    terraform_workspace: NameLimit


Permission = TypedDict(
    "Permission", {"when": str, "path": str, "resource": str, "for": list[str], "actions": list[str]}
)


class Permissions(Sourced):
    rows: list[Permission]


class BucketNames(Sourced):
    prefixes: list[str]
    suffixes: dict[str, str]
    """Reserved suffixes, with their purpose."""
    directory_suffix: str


class DiscoveryTag(TypedDict):
    key: str
    """Ends with a slash if it is a prefix of keys."""
    effect: str


class DiscoveryTags(Sourced):
    keys: list[DiscoveryTag]


class RolePolicies(Sourced):
    most: int
    """The number of managed policies per role; the account's quota can be higher."""


class Account(About):
    service_linked_roles: ServiceLinkedRoles
    image_parameters: ImageParameters
    control_plane_addresses: ControlPlaneAddresses
    service_domains: ServiceDomains
    name_limits: NameLimits
    bucket_names: BucketNames
    discovery_tags: DiscoveryTags
    role_policies: RolePolicies
    permissions: Permissions
