"""A resource as Terraform will hold it: address, arguments, references to other resources."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eks_hardware import facts

Path = tuple[str, ...]
"""A construct's path below its stack."""


@dataclass(frozen=True)
class Reference:
    """An attribute of another resource that only AWS knows: an id, an ARN.

    Attributes:
        path: of the resource in the same stack.
        attribute: its name in Terraform.
    """

    path: Path
    attribute: str = "id"


@dataclass(frozen=True)
class Resource:
    """A resource of a stack.

    Attributes:
        type: ``aws_eks_node_group``.
        path: of its construct: ``("platform", "nodes-gpu", "Resource")``.
        owner: the field of the strategy that it follows from: ``node_groups[gpu]``.
        name: what it is called in its owner: ``private-usw2-az1``; empty where its kind says it all.
        arguments: values by the names that ``facts/replacements.json`` gives them; may hold references at any depth.
        stack: suffix of the stack's name; empty for the first stack.
    """

    type: str
    path: Path
    owner: str
    name: str
    arguments: Mapping[str, Any]
    stack: str = ""

    @property
    def key(self) -> tuple[str, str, Path]:
        """What tells it from every other resource, and stays the same from one plan to the next."""
        return self.stack, self.type, self.path

    @cached_property
    def address(self) -> str:
        """Terraform's address, as CDKTF makes it of the construct's path.

        Source: https://github.com/hashicorp/terraform-cdk/blob/v0.21.0/packages/cdktf/lib/private/unique.ts
        """
        digest = hashlib.md5("/".join(self.path).encode(), usedforsecurity=False).hexdigest()[:8].upper()
        parts = (re.sub(r"[^A-Za-z0-9_-]", "", part) for part in self.path if part != "Resource")
        return f"{self.type}.{'_'.join(part for part in parts if part)}_{digest}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of its type."""
        return of_type(self.type)


def of_type(type_: str) -> Mapping[str, Any]:
    """The row of a type in ``facts/replacements.json``."""
    row: Mapping[str, Any] = facts.replacements()["resources"][type_]
    return row


def references_in(value: Any) -> Iterator[Reference]:
    """Every reference in an argument's value."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from references_in(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from references_in(each)


TAGS = "tags_all"
"""The argument that stands for a resource's tags together with the provider's default tags."""


class Inventory:
    """Collects the resources of one stack.

    Args:
        default_tags: of the provider.
        stack: suffix of the stack's name.
    """

    def __init__(self, default_tags: Mapping[str, str], stack: str = "") -> None:
        self._default_tags = default_tags
        self._stack = stack
        self.resources: list[Resource] = []

    def add(
        self,
        type_: str,
        path: Path,
        owner: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        of: object = None,
        name: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> Path:
        """Add a resource and return its path, for references to it.

        Args:
            type_: type of the resource.
            path: of its construct.
            owner: field of the strategy.
            arguments: by name, those that ``of`` has aside.
            of: the resolved object that arguments with a ``field`` are read from.
            name: what it is called in its owner.
            tags: its own tags.

        Raises:
            KeyError: for an argument that ``facts/replacements.json`` does not know.
        """
        row = of_type(type_)
        known: Mapping[str, Any] = row["arguments"]
        given = arguments or {}
        if unknown := set(given) - set(known):
            raise KeyError(f"{type_}: {', '.join(sorted(unknown))}")
        values = {
            key: given[key] if key in given else getattr(of, fact["field"])
            for key, fact in known.items()
            if key in given or (of is not None and "field" in fact)
        }
        if row["tagged"]:
            values[TAGS] = {**self._default_tags, **(tags or {})}
        self.resources.append(Resource(type_, path, owner, name, values, self._stack))
        return path
