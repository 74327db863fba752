"""A stack with its state, and the resources found in the account."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_REFERENCE = re.compile(r"\$\{(\w+)\.([\w-]+)\.(\w+)\}")


@dataclass(frozen=True)
class Found:
    """A resource in the account.

    Attributes:
        kind: its Terraform type.
        id: its id for ``terraform import``.
        address: its address in the stack; empty if it is not in the stack.
        delete: the AWS commands that delete it, if it has no address.
    """

    kind: str
    id: str
    address: str = ""
    delete: tuple[str, ...] = ()


@dataclass(frozen=True)
class Orphan:
    """A resource that is not in the Terraform state, and the commands that import or delete it."""

    kind: str
    id: str
    address: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """All orphans, in an order in which they can be deleted. ``not_checked`` lists the calls that AWS refused."""

    account: str
    region: str
    orphans: tuple[Orphan, ...]
    not_checked: tuple[str, ...] = ()


class Stack:
    """A synthesized stack and its state.

    Args:
        document: the content of ``cdk.tf.json``.
        state: the output of ``terraform state pull``; empty if there is none.
    """

    def __init__(self, document: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._resources: Mapping[str, Mapping[str, Any]] = document.get("resource", {})
        self._attributes: dict[str, Mapping[str, object]] = {
            f"{resource['type']}.{resource['name']}": instance.get("attributes") or {}
            for resource in state.get("resources", ())
            if resource.get("mode") == "managed"
            for instance in resource["instances"]
        }

    def missing(self, kind: str, existing: Collection[str] | None = None) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the address and arguments of each resource of a type that is in the stack but not in the state.

        With ``existing``, also those with another id in the state. Terraform replaces what an interrupted apply was
        creating, and a state restored from before that has the id of a resource that is gone.
        """
        for name, body in self._resources.get(kind, {}).items():
            address = f"{kind}.{name}"
            id_ = self.id_of(address)
            if address not in self._attributes or (existing is not None and id_ and id_ not in existing):
                yield address, body

    def id_of(self, address: str) -> str:
        """Return the id at an address in the state; empty if it has none."""
        return str(self._attributes.get(address, {}).get("id") or "")

    def has(self, kind: str) -> bool:
        """Return whether the stack or its state has resources of a type."""
        return kind in self._resources or any(attribute.startswith(f"{kind}.") for attribute in self._attributes)

    def known(self, kind: str) -> frozenset[str]:
        """Return the ids of all resources of a type in the state, including those no longer in the stack."""
        attributes_of = {
            each: attributes for each, attributes in self._attributes.items() if each.startswith(f"{kind}.")
        }
        return frozenset(str(attributes.get("id")) for attributes in attributes_of.values())

    def value(self, argument: object) -> str | None:
        """Return an argument's value, following a reference to another resource; None if the value is unknown."""
        text = str(argument)
        if match := _REFERENCE.fullmatch(text):
            attribute = self._attributes.get(f"{match[1]}.{match[2]}", {}).get(match[3])
            return None if attribute is None else str(attribute)
        return None if "${" in text else text

    def values(self, body: Mapping[str, Any], names: Sequence[str]) -> list[str] | None:
        """Return the values of several arguments; None if one is missing or unknown."""
        found = [self.value(body[name]) if name in body else None for name in names]
        known = [orphan for orphan in found if orphan is not None]
        return known if len(known) == len(found) else None
