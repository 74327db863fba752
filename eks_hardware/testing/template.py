"""Assertions about a synthesized stack.

A :class:`Template` is the Terraform JSON of one stack. It finds resources by type and compares them with the expected
values. A failing check shows the closest candidate and every difference::

    template = Template.of(stack)
    template.has("aws_eks_node_group", {"node_group_name": "gpu", "taint": [{"key": "nvidia.com/gpu"}]})

    AssertionError: no aws_eks_node_group matches; of 2 the closest is
      aws_eks_node_group.platform_nodes-gpu_284AE618 (demo/platform/nodes-gpu/Resource)
        taint[0].key: expected 'nvidia.com/gpu', got 'aws.amazon.com/neuron'

An expected value may be any JSON value. Only the given keys of a map are compared, at every depth. Lists are compared
item by item, and all other values must be equal. For other comparisons, use :data:`Absent`, :class:`AnyOrder`,
:class:`Contains`, :class:`Matches` or :class:`Json` as the expected value.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard

__all__ = ["Absent", "AnyOrder", "Contains", "Difference", "Json", "Matcher", "Matches", "Template", "differences"]

Body = dict[str, Any]
"""The content of a resource, data source or output, without CDKTF's ``//`` notes."""

_SHOWN_DIFFERENCES = 12
_SHOWN_CHARACTERS = 300
_DATA = "data."

# An address inside an expression: aws_vpc.network_vpc_7092732B, data.aws_region.current.
_ADDRESS = re.compile(r"(?<![\w.-])(?:data\.)?[a-z]\w*\.[A-Za-z_][\w-]*")

# Arguments with addresses outside of ${...}.
_BARE_REFERENCES = frozenset({"depends_on", "replace_triggered_by"})


class Stack(Protocol):
    """The methods of a ``TerraformStack`` that :meth:`Template.of` calls."""

    def prepare_stack(self) -> None: ...
    def run_all_validations(self) -> None: ...
    def to_terraform(self) -> Any: ...


@dataclass(frozen=True)
class Difference:
    """A place where the actual value differs from the expected one.

    Attributes:
        path: the path of the value, such as ``scaling_config.min_size`` or ``taint[0].key``; empty for the whole.
        expected: the expected value.
        actual: the actual value; :data:`Absent` if there is none.

    Examples:
        >>> [str(each) for each in differences({"min_size": 1}, {"min_size": 2})]
        ['min_size: expected 1, got 2']
    """

    path: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"{self.path or '(all of it)'}: expected {_shown(self.expected)}, got {_shown(self.actual)}"


class Matcher(ABC):
    """An expected value that is not a plain value.

    Examples:
        >>> isinstance(Matches("^ip-"), Matcher), isinstance(Absent, Matcher)
        (True, True)
    """

    @abstractmethod
    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place below ``path`` where ``actual`` differs from the expected value."""


class _Absent(Matcher):
    """Expects a missing value or null; also represents a missing value."""

    def __init__(self, text: str) -> None:
        self._text = text

    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place where ``actual`` differs."""
        if actual is not None and actual is not self:
            yield Difference(path, self, actual)

    def __repr__(self) -> str:
        return self._text


Absent = _Absent("nothing")
"""Expects that a key is missing: ``{"iam_instance_profile": Absent}``."""

_NOTHING_MORE = _Absent("nothing more")


@dataclass(frozen=True)
class Matches(Matcher):
    """Expects a string in which a regular expression finds a match.

    Examples:
        >>> differences(Matches("^ip-[0-9]+$"), "ip-10")
        []
    """

    pattern: str

    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place where ``actual`` differs."""
        if not isinstance(actual, str) or not re.search(self.pattern, actual):
            yield Difference(path, self, actual)


class _ItemsMatcher(Matcher):
    def __init__(self, *items: object) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.items))})"


class AnyOrder(_ItemsMatcher):
    """Expects a list of exactly these items, in any order.

    Examples:
        >>> differences(AnyOrder("a", "b"), ["b", "a"])
        []
    """

    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place where ``actual`` differs."""
        if not _is_list(actual):
            yield Difference(path, self, actual)
            return
        partners = _partners(self.items, actual)
        taken = set(partners.values())
        unmatched = [item for index, item in enumerate(self.items) if index not in partners]
        left = [item for index, item in enumerate(actual) if index not in taken]
        if len(unmatched) == len(left) == 1:
            yield from differences(unmatched[0], left[0], f"{path}[{actual.index(left[0])}]")
        elif unmatched or left:
            yield Difference(path, AnyOrder(*unmatched) if unmatched else _NOTHING_MORE, left or _NOTHING_MORE)


class Contains(_ItemsMatcher):
    """Expects a list with at least these items, or a string with these parts, in any order.

    Examples:
        >>> differences(Contains({"key": "a"}), [{"key": "b"}, {"key": "a", "value": 1}])
        []
        >>> differences(Contains("eks"), "aws-eks-cluster")
        []
    """

    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place where ``actual`` differs."""
        if isinstance(actual, str):
            missing = [item for item in self.items if str(item) not in actual]
        elif _is_list(actual):
            missing = [item for item in self.items if not any(_agrees(item, each) for each in actual)]
        else:
            missing = list(self.items)
        if missing:
            yield Difference(path, Contains(*missing), actual)


@dataclass(frozen=True)
class Json(Matcher):
    """Expects a string of JSON with matching content, such as a policy, an add-on configuration or an event pattern.

    Examples:
        >>> differences(Json({"a": 1}), '{"a": 1, "b": 2}')
        []
    """

    value: object

    def differences(self, actual: object, path: str) -> Iterator[Difference]:
        """Yield every place where ``actual`` differs."""
        if not isinstance(actual, str):
            yield Difference(path, self, actual)
            return
        try:
            read = json.loads(actual)
        except ValueError as error:
            yield Difference(path, self, f"{actual} ({error})")
            return
        yield from differences(self.value, read, f"{path}<json>")


def differences(expected: object, actual: object, path: str = "") -> list[Difference]:
    """Return the differences between a value and the expected value; an empty list if they match."""
    if isinstance(expected, Matcher):
        return list(expected.differences(actual, path))
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            return [Difference(path, expected, actual)]
        return [
            found
            for key, value in expected.items()
            for found in differences(value, actual.get(key, Absent), _below(path, key))
        ]
    if _is_list(expected):
        if not _is_list(actual):
            return [Difference(path, expected, actual)]
        return list(_item_differences(expected, actual, path))
    # In Python, True == 1; in Terraform, they differ. Objects with their own __eq__, such as dirty-equals', decide.
    is_plain = isinstance(expected, (bool, int, float))
    same = expected == actual and (not is_plain or isinstance(expected, bool) is isinstance(actual, bool))
    return [] if same else [Difference(path, expected, actual)]


class Template:
    """The Terraform JSON of one stack.

    Addresses are as in ``terraform state list``: ``aws_vpc.network_vpc_7092732B``, with the prefix ``data.`` for a data
    source. A type is the part of the address before the name; ``data.aws_region`` is the type of a data source.

    Args:
        document: the content of ``cdk.tf.json``.

    Examples:
        >>> template = Template({"resource": {"aws_vpc": {"main": {"cidr_block": "10.0.0.0/16"}}}})
        >>> template.has("aws_vpc", {"cidr_block": "10.0.0.0/16"})
        >>> template.address("aws_vpc")
        'aws_vpc.main'
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths: dict[str, str] = {}
        self._bodies: dict[str, Body] = {}
        for section, prefix in (("resource", ""), ("data", _DATA)):
            for type_, named in sorted(document.get(section, {}).items()):
                for name, body in sorted(named.items()):
                    address = f"{prefix}{type_}.{name}"
                    self._paths[address] = body.get("//", {}).get("metadata", {}).get("path", "")
                    self._bodies[address] = _without_notes(body)
        self._document: Body = _without_notes(document)

    @classmethod
    def of(cls, stack: Stack) -> Template:
        """Synthesize a ``TerraformStack`` in memory, with cross-stack references and validations.

        Raises:
            RuntimeError: if a validation fails, such as a resource without a provider.
        """
        # Without this call, references to other stacks are not resolved.
        stack.prepare_stack()
        stack.run_all_validations()
        return cls(stack.to_terraform())

    @classmethod
    def from_json(cls, source: Path | str | Mapping[str, object]) -> Template:
        """Create a template from the path of a ``cdk.tf.json``, or from its content."""
        if isinstance(source, Mapping):
            return cls(source)
        return cls(json.loads(Path(source).read_text(encoding="utf-8")))

    @property
    def document(self) -> Body:
        """The whole document, without CDKTF's ``//`` notes."""
        return self._document

    @property
    def terraform(self) -> Body:
        """The ``terraform`` block: backend and required providers."""
        terraform: Body = self._document.get("terraform", {})
        return terraform

    @property
    def outputs(self) -> dict[str, Any]:
        """The values of all outputs, by name."""
        return {name: body.get("value") for name, body in self._document.get("output", {}).items()}

    def providers(self, name: str) -> list[Body]:
        """Return the configurations of a provider."""
        bodies: list[Body] = self._document.get("provider", {}).get(name, [])
        return bodies

    def addresses(self) -> dict[str, str]:
        """The construct paths of all resources and data sources, by address."""
        return dict(self._paths)

    def resources(self, type_: str | None = None, where: object = None) -> dict[str, Body]:
        """Return the matching resources of a type, by address; without a type, all resources except data sources."""
        of_type = {
            address: body
            for address, body in self._bodies.items()
            if (not address.startswith(_DATA) if type_ is None else address.rpartition(".")[0] == type_)
        }
        if where is None:
            return of_type
        return {address: body for address, body in of_type.items() if _agrees(where, body)}

    def data(self, type_: str, where: object = None) -> dict[str, Body]:
        """Return the matching data sources of a type, by address."""
        return self.resources(_DATA + type_, where)

    def address(self, type_: str, where: object = None, *, address_contains: str = "") -> str:
        """Return the address of the single matching resource of a type.

        Args:
            where: expected content.
            address_contains: part of the address, such as construct ids.

        Raises:
            AssertionError: if none or several match; lists the matches, or the closest resource's differences.
        """
        candidates = {address: body for address, body in self.resources(type_).items() if address_contains in address}
        addresses = [address for address, body in candidates.items() if where is None or _agrees(where, body)]
        if len(addresses) == 1:
            return addresses[0]
        called = f"{type_} with {address_contains!r} in its address" if address_contains else type_
        if addresses:
            raise AssertionError(f"expected one {called}, got {len(addresses)}:{self._listed(addresses)}")
        raise AssertionError(self._nothing_matches(called, where, candidates, type_))

    def resource(self, type_: str, where: object = None, *, address_contains: str = "") -> Body:
        """Return the single matching resource of a type; see :meth:`address`."""
        return self._bodies[self.address(type_, where, address_contains=address_contains)]

    def only(self, type_: str) -> Body:
        """Return the only resource of a type."""
        return self.resource(type_)

    def has(self, type_: str, where: object) -> None:
        """Assert that at least one resource of a type matches."""
        candidates = self.resources(type_)
        if not any(_agrees(where, body) for body in candidates.values()):
            raise AssertionError(self._nothing_matches(type_, where, candidates, type_))

    def has_no(self, type_: str, where: object = None) -> None:
        """Assert that no resource of a type matches."""
        self.count(type_, 0, where)

    def count(self, type_: str, number: int, where: object = None) -> None:
        """Assert the number of matching resources of a type."""
        resources = self.resources(type_, where)
        if len(resources) != number:
            raise AssertionError(f"expected {number} {type_}, got {len(resources)}:{self._listed(resources)}")

    def references(self, address: str) -> frozenset[str]:
        """Return the resources and data sources that a resource references, in expressions and ``depends_on``."""
        return frozenset(_references(self._bodies[address], False)) & frozenset(self._bodies)

    def dependencies(self, address: str) -> frozenset[str]:
        """Return everything that is created before a resource and destroyed after it; in a cycle, also the resource."""
        names: set[str] = set()
        waiting = list(self.references(address))
        while waiting:
            each = waiting.pop()
            if each not in names:
                names.add(each)
                waiting.extend(self.references(each))
        return frozenset(names)

    def _nothing_matches(self, called: str, where: object, candidates: Mapping[str, Body], type_: str) -> str:
        if not candidates:
            others = self.resources(type_)
            return f"there is no {called}" + (f"; there are:{self._listed(others)}" if others else "")
        by_address = {address: differences(where, body) for address, body in candidates.items()}
        closest = min(by_address, key=lambda address: (len(by_address[address]), address))
        lines = [f"no {called} matches; of {len(candidates)} the closest is", f"  {self.named(closest)}"]
        lines += [f"    {found}" for found in by_address[closest][:_SHOWN_DIFFERENCES]]
        more = len(by_address[closest]) - _SHOWN_DIFFERENCES
        return "\n".join(lines + ([f"    and {more} more"] if more > 0 else []))

    def _listed(self, addresses: Sequence[str] | Mapping[str, Body]) -> str:
        return "".join(f"\n  {self.named(address)}" for address in addresses) or " none"

    def named(self, address: str) -> str:
        """Return an address with its construct path, for messages."""
        path = self._paths[address]
        return f"{address} ({path})" if path else address


def _agrees(expected: object, actual: object) -> bool:
    return not differences(expected, actual)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _below(path: str, key: object) -> str:
    text = str(key)
    if not re.fullmatch(r"[\w-]+", text):
        return f"{path}[{text!r}]"
    return f"{path}.{text}" if path else text


def _item_differences(expected: Sequence[object], actual: Sequence[object], path: str) -> Iterator[Difference]:
    for index, (item, other) in enumerate(zip(expected, actual, strict=False)):
        yield from differences(item, other, f"{path}[{index}]")
    shorter = min(len(expected), len(actual))
    for index, item in enumerate(expected[shorter:], shorter):
        yield Difference(f"{path}[{index}]", item, Absent)
    for index, other in enumerate(actual[shorter:], shorter):
        yield Difference(f"{path}[{index}]", Absent, other)


def _partners(expected: Sequence[object], actual: Sequence[object]) -> dict[int, int]:
    """Pair as many expected items as possible, each with its own actual item (augmenting paths)."""
    by_actual: dict[int, int] = {}

    def assign(index: int, seen: set[int]) -> bool:
        for candidate in range(len(actual)):
            if candidate in seen or not _agrees(expected[index], actual[candidate]):
                continue
            seen.add(candidate)
            if candidate not in by_actual or assign(by_actual[candidate], seen):
                by_actual[candidate] = index
                return True
        return False

    for index in range(len(expected)):
        assign(index, set())
    return {index: candidate for candidate, index in by_actual.items()}


def _references(value: object, bare: bool) -> Iterator[str]:
    if isinstance(value, str):
        # $${ is a literal ${.
        if bare or "${" in value.replace("$${", ""):
            yield from _ADDRESS.findall(value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _references(each, key in _BARE_REFERENCES)
    elif _is_list(value):
        for each in value:
            yield from _references(each, bare)


def _without_notes(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_notes(each) for key, each in value.items() if key != "//"}
    if isinstance(value, list):
        return [_without_notes(item) for item in value]
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"
