"""One class derives each resolved class: a method for each field, with the field's type."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from typing import Any, get_args, get_origin, get_type_hints

from eks_hardware import resolve as resolve_package
from eks_hardware.resolve import Resolved, ResolvedNodeGroup, ResolvedNodePool, ResolvedNodes
from eks_hardware.resolve.derived import Derived, Resolver
from eks_hardware.resolve.node_fields import NodeFields
from eks_hardware.resolve.strategy import ResolvedStrategy
from eks_hardware.resolve.values import after, field_names
from helpers.cases import in_one_test


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


RESOLVERS = [each for each in _below(Resolver) if "kind" in vars(each)]


def _own(kind: type[Any]) -> set[str]:
    """Return the names that a class declares itself: methods of a resolver, fields of a resolved class."""
    return {name for name in (*vars(kind), *get_annotations(kind)) if not name.startswith("_")} - {"kind"}


def test_every_resolved_class_has_a_resolver() -> None:
    ours = (each for each in _below(Resolved) if each.__module__.startswith("eks_hardware."))
    resolved = {each.__name__ for each in ours} - {ResolvedNodes.__name__}
    assert ResolvedStrategy.__name__ in resolved
    assert sorted(each.kind.__name__ for each in RESOLVERS) == sorted(resolved)


def test_what_groups_and_pools_share_is_written_once() -> None:
    shared = {each.name for each in fields(ResolvedNodes)} - {"reasons"}
    group, pool = _own(ResolvedNodeGroup), _own(ResolvedNodePool)
    assert not shared & (group | pool)
    # A group's tags are those of the group and its template; a pool's tags are those of its instances.
    # Each reads its release from a field of its own. An EC2NodeClass has the number of pods in its kubelet settings.
    assert group & pool == {"tags", "ami_release", "max_pods"}
    derived = _own(NodeFields)
    assert derived <= shared
    assert shared - derived == {"instance_types", "image_id", "user_data"}, "each has its own rule"


def test_fields_are_in_the_order_that_is_printed() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Shared(Resolved):
        first: int
        last: int

    @dataclass(frozen=True, kw_only=True)
    class Own(Shared):
        second: int = field(metadata=after("first"))
        third: int
        fifth: int = field(metadata=after("last"))

    assert field_names(Own) == ("first", "second", "third", "last", "fifth")


@in_one_test("resolver", RESOLVERS, ids=lambda each: each.__name__)
def test_a_method_for_each_field_and_no_other(resolver: Any) -> None:
    inherited = {name for name, _ in inspect.getmembers(Resolver) if not name.startswith("_")}
    methods = {name for name, _ in inspect.getmembers(resolver) if not name.startswith("_")} - inherited - {"kind"}
    assert methods == {each.name for each in fields(resolver.kind)} - {"reasons"}


@in_one_test("resolver", RESOLVERS, ids=lambda each: each.__name__)
def test_a_method_has_the_type_of_its_field(resolver: Any) -> None:
    hints = get_type_hints(resolver.kind)
    for each in fields(resolver.kind):
        if each.name != "reasons":
            returned = get_type_hints(getattr(resolver, each.name))["return"]
            assert get_origin(returned) is Derived, each.name
            assert get_args(returned) == (hints[each.name],), each.name


def test_every_name_that_the_package_imports_on_first_use_exists() -> None:
    missing = [name for name in dir(resolve_package) if not hasattr(resolve_package, name)]
    assert missing == []
