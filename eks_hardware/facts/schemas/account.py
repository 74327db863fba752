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


Permission = TypedDict(
    "Permission", {"when": str, "path": str, "resource": str, "for": list[str], "actions": list[str]}
)


class Permissions(Sourced):
    rows: list[Permission]


class Account(About):
    service_linked_roles: ServiceLinkedRoles
    image_parameters: ImageParameters
    control_plane_addresses: ControlPlaneAddresses
    permissions: Permissions
