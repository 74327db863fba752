"""Roles with their policies, as ``constructs/iam/role.py`` defines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware.aws_names import told_apart
from eks_hardware.diff.inventory.resource import Inventory, Path, Reference
from eks_hardware.iam_policies.document import assumed_by_pods
from eks_hardware.resolve import ResolvedProvider

ACCOUNT = "${account}"
"""Stands for the account in documents, which are only compared."""


@dataclass(frozen=True)
class Role:
    """A role of the inventory.

    Attributes:
        path: of its construct; policies are attached beside it.
        name: known before there is a role, so that who uses it does not wait for it.
    """

    path: Path
    name: str

    @property
    def arn(self) -> Reference:
        """What a user of the role refers to."""
        return Reference((*self.path, "Resource"), "arn")


def add_role(
    inventory: Inventory,
    path: Path,
    owner: str,
    *,
    name: str,
    provider: ResolvedProvider,
    trust: str,
    policy_arns: Sequence[str] = (),
    description: str = "",
) -> Role:
    """Add a role with its managed policies.

    Args:
        trust: its trust policy, or what tells it from another one.
    """
    inventory.add(
        "aws_iam_role",
        (*path, "Resource"),
        owner,
        {
            "name": name,
            "path": provider.iam_path,
            "description": description,
            "assume_role_policy": trust,
            "permissions_boundary": provider.permissions_boundary_arn,
        },
        name=name,
    )
    role = Role(path, name)
    taken: set[str] = set()
    for arn in policy_arns:
        id_ = arn.rpartition("/")[2]
        # Two paths, or AWS and the account, can hold policies of one name.
        id_ = told_apart(id_, arn) if id_ in taken else id_
        taken.add(id_)
        attach(inventory, role, id_, arn, owner)
    return role


def attach(inventory: Inventory, role: Role, id_: str, policy_arn: Any, owner: str) -> None:
    """Attach a managed policy to a role under an id."""
    arguments = {"role": role.name, "policy_arn": policy_arn}
    inventory.add("aws_iam_role_policy_attachment", (*role.path, id_), owner, arguments, name=id_)


def add_policy(
    inventory: Inventory,
    path: Path,
    owner: str,
    *,
    name: str,
    provider: ResolvedProvider,
    document: Any,
    description: str,
) -> Reference:
    """Add a managed policy; returns its ARN."""
    arguments = {"name": name, "path": provider.iam_path, "description": description, "policy": document}
    return Reference(inventory.add("aws_iam_policy", path, owner, arguments, name=name), "arn")


def add_pod_identity(
    inventory: Inventory, path: Path, owner: str, *, cluster_name: str, role: Role, of: Mapping[str, Any]
) -> None:
    """Add a Pod Identity association; ``of`` has ``namespace`` and ``service_account``."""
    arguments = {"cluster_name": cluster_name, "role_arn": role.arn, **of}
    name = f"{of['namespace']}/{of['service_account']}"
    inventory.add("aws_eks_pod_identity_association", path, owner, arguments, name=name)


POD_TRUST = assumed_by_pods()
