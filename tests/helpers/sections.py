"""Sections of a strategy file, as fields of a document."""

from __future__ import annotations

from typing import Any

from helpers.strategies import SYSTEM, group


def at_path(path: str, value: Any) -> dict[str, Any]:
    """Return a value below names such as ``service.port`` or ``podLabels[team]``."""
    for name in reversed(path.replace("[", ".").replace("]", "").split(".")):
        value = {name: value}
    return dict(value)


def node_groups(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the system group with additional groups, and other sections."""
    return {"node_groups": [SYSTEM, *groups], **fields}


def one_group(instance_types: str | list[str] = "m6i.xlarge", **fields: Any) -> dict[str, Any]:
    """Return the system group and one other group."""
    return node_groups(group(instance_types, **fields))


def cluster(**fields: Any) -> dict[str, Any]:
    """Return the section ``cluster`` with an administrator."""
    return {"cluster": {"creator_is_admin": True, **fields}}


def on_kubernetes(version: str) -> dict[str, Any]:
    """Return the section ``cluster`` with a version of Kubernetes."""
    return cluster(kubernetes_version=version)


def configured(addon: str, **configuration: Any) -> dict[str, Any]:
    """Return the section ``cluster`` with an add-on's configuration."""
    return cluster(addons={addon: {"configuration": configuration}})


def network(**fields: Any) -> dict[str, Any]:
    return {"network": fields}


def existing_network(*zones: str, **fields: Any) -> dict[str, Any]:
    """Return the section ``network`` with an existing VPC and a private subnet for each zone ID."""
    return network(existing={"vpc_id": "vpc-01234567", "private_subnets": subnets(*zones), **fields})


def subnets(*zones: str) -> dict[str, str]:
    """Return a subnet ID for each zone ID."""
    return {zone: f"subnet-{index:08x}" for index, zone in enumerate(zones)}


def kubernetes(**fields: Any) -> dict[str, Any]:
    """Return the section ``kubernetes``; Terraform installs nothing, so rules about delivery do not apply."""
    return {"kubernetes": {"delivery": "manifests", **fields}}


def with_groups(*groups: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return additional groups, and the section ``kubernetes`` with these fields."""
    return {**node_groups(*groups), **kubernetes(**fields)}
