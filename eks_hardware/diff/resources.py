"""The resources of a strategy, read from its Terraform JSON: addresses, arguments, references."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from eks_hardware import facts

Document = Mapping[str, Any]
"""The Terraform JSON of a stack."""

TAGS = "tags_all"
"""The argument with a resource's tags and the provider's default tags."""

_META_ARGUMENTS = frozenset(
    {"//", "connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"}
)
_CHARTS_STACK = "kubernetes"

# An address and its attribute: `aws_eks_cluster.main` and `.vpc_config[0].cluster_security_group_id`.
_REFERENCE = re.compile(r"(?<![\w.-])([a-z]\w*\.[A-Za-z_][\w-]*)((?:\.[a-z_]\w*|\[\d+\])+)")
_INTERPOLATION = re.compile(rf"(?<!\$)\$\{{{_REFERENCE.pattern}\}}")

# Values set by an autoscaler are read back from AWS and change nothing (docs/adr/0007).
_READ_BACK = "data.aws_autoscaling_group."

# The strategy's field for a construct, by the construct's path. The first match applies.
_FIELDS: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"platform/network", "network"),
        (r"platform/cluster/addon-([^/]+)", "cluster.addons.{}"),
        (r"platform/cluster/access-(.+?)(?=-Amazon\w+$|$)", "cluster.access_entries[{}]"),
        (r"platform/cluster(?=/secrets-key)", "cluster.secrets_encryption"),
        (r"platform/cluster", "cluster"),
        (r"platform/nodes-([^/]+)", "node_groups[{}]"),
        (r"platform(?=/node-role)", "node_groups"),
        (r"platform/efa", "efa"),
        (r"platform/karpenter/placement-group-([^/]+)", "karpenter.node_pools[{}]"),
        (r"platform/karpenter", "karpenter"),
        (r"platform/service-role-([^/]+)", "kubernetes.charts.{}"),
        (r"platform/lustre", "storage.fsx_lustre"),
        (r"platform/efs", "storage.efs"),
    )
)


@dataclass(frozen=True)
class Reference:
    """An attribute of another resource that only AWS knows. ``name`` is its display name."""

    address: str
    attribute: str
    name: str = field(compare=False, default="")


@dataclass(frozen=True)
class Resource:
    """A resource. ``stack`` is the suffix of its stack's name (empty for the first stack).

    Attributes:
        owner: the strategy's field that it is derived from: ``node_groups[gpu]``.
        name: its name within the owner: ``private-usw2-az1``; empty if its kind is enough.
        arguments: values by name. Those in a block that ``facts/replacements.json`` covers are named ``block.name``.
            A reference to a configured argument has its value; other references are :class:`Reference`.
        ignored: arguments that Terraform does not change (``lifecycle.ignore_changes``).
    """

    address: str
    owner: str
    name: str
    arguments: Mapping[str, Any]
    ignored: frozenset[str] = frozenset()
    stack: str = ""

    @property
    def type(self) -> str:
        """The Terraform type, such as ``aws_eks_node_group``."""
        return self.address.partition(".")[0]

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the resource, the same in every plan."""
        return self.stack, self.address

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The row of its type in ``facts/replacements.json``."""
        return _of_type(self.type)


def resources(documents: Sequence[Document]) -> tuple[Resource, ...]:
    """Return the resources of a strategy's stack, and of its charts' stack if there is one."""
    return tuple(
        resource
        for document, stack in zip(documents, ("", _CHARTS_STACK), strict=False)
        for resource in _Stack(document, stack).resources()
    )


def references_in(value: object) -> Iterator[Reference]:
    """Yield every reference in an argument's value."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references_in(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from references_in(item)
    elif isinstance(value, str) and "${" in value:
        yield from (Reference(*found) for found in _REFERENCE.findall(value))


def _of_type(type_: str) -> Mapping[str, Any]:
    """Return the row of a type in ``facts/replacements.json``, or a minimal row for types that extensions add."""
    rows: Mapping[str, Mapping[str, object]] = facts.replacements()["resources"]
    unknown = {"noun": type_.replace("_", " "), "tagged": False, "arguments": {}}
    return rows.get(type_, unknown)


class _Stack:
    """Reads the resources of one document."""

    def __init__(self, document: Document, stack: str) -> None:
        self._stack = stack
        self._bodies: dict[str, Mapping[str, Any]] = {
            f"{type_}.{id_}": body
            for type_, bodies in document.get("resource", {}).items()
            for id_, body in bodies.items()
        }
        self._default_tags: Mapping[str, str] = {}
        for provider in document.get("provider", {}).get("aws", ()):
            for block in _blocks(provider.get("default_tags")):
                self._default_tags = block["tags"]

    def resources(self) -> Iterator[Resource]:
        for address, body in self._bodies.items():
            owner, name = _place(_path(address, body), body)
            lifecycle = body.get("lifecycle", {}).get("ignore_changes", ())
            ignored = frozenset(re.sub(r"\[\d+\]", "", each) for each in lifecycle)
            arguments = self._arguments(address.partition(".")[0], body, ignored)
            yield Resource(address, owner, name, arguments, ignored, self._stack)

    def _arguments(self, type_: str, body: Mapping[str, Any], ignored: Iterable[str]) -> dict[str, Any]:
        row = _of_type(type_)
        blocks = {key.partition(".")[0] for key in (*row["arguments"], *ignored) if "." in key}
        arguments: dict[str, object] = {}
        for key, value in body.items():
            if key in _META_ARGUMENTS or (key == "tags" and row["tagged"]):
                continue
            if key in blocks:
                for block in _blocks(value):
                    arguments |= {f"{key}.{name}": self._value(each) for name, each in block.items()}
            else:
                arguments[key] = self._value(value)
        if row["tagged"]:
            arguments[TAGS] = {**self._default_tags, **body.get("tags", {})}
        return arguments

    def _value(self, value: object) -> object:
        """Return a value with references to configured arguments replaced by their values."""
        if isinstance(value, Mapping):
            return {key: self._value(each) for key, each in value.items()}
        if isinstance(value, list):
            return tuple(map(self._value, value))
        if not isinstance(value, str) or "${" not in value:
            return value
        if _READ_BACK in value:
            return None
        whole = _INTERPOLATION.fullmatch(value)
        if whole and whole[1] in self._bodies:
            return self._referred(whole)
        text = _INTERPOLATION.sub(lambda match: self._known(match, str), value)
        # Other references are within functions.
        return _REFERENCE.sub(lambda match: self._known(match, json.dumps), text)

    def _known(self, reference: re.Match[str], written: Callable[[str], str]) -> str:
        """Return the value of a reference in a text if it is known, otherwise the reference."""
        referred = self._referred(reference) if reference[1] in self._bodies else None
        return written(referred) if isinstance(referred, str) else reference[0]

    def _referred(self, reference: re.Match[str]) -> object:
        """Return the value of a reference, or a :class:`Reference` to an attribute that only AWS knows."""
        address, path = reference[1], re.findall(r"[a-z_]\w*", reference[2])
        value: object = self._bodies[address]
        for name in path:
            block: Mapping[str, object] = next(iter(_blocks(value)), {})
            if name not in block:
                return Reference(address, ".".join(path), _path(address, self._bodies[address]).rpartition("/")[2])
            value = block[name]
        return self._value(value)


def _blocks(value: object) -> Sequence[Any]:
    """Return a block, which is an object or a list of objects, as a list."""
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def _path(address: str, body: Mapping[str, Any]) -> str:
    """Return the path of the construct below its stack: ``platform/network/vpc``."""
    path: str | None = body.get("//", {}).get("metadata", {}).get("path")
    # CDKTF omits this name of a construct's main resource from the address.
    return path.partition("/")[2].removesuffix("/Resource") if path else address


def _place(path: str, body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the strategy's field for a construct, and its name within that field."""
    if path.startswith("kubernetes/"):
        # Our own objects are in a local chart, without a repository.
        field = "kubernetes.charts" if "repository" in body else "kubernetes"
        return f"{field}.{path.rpartition('/')[2]}", ""
    for pattern, owner in _FIELDS:
        if match := pattern.match(path):
            rest = path[match.end() :].lstrip("-/")
            return owner.format(*match.groups()), rest.rpartition("/")[2]
    return path, ""
