"""One class derives each resolved class: a method for each field, with the field's type."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

from eks_hardware.resolve import Resolved
from eks_hardware.resolve.derived import Derived, Resolver
from helpers.cases import in_one_test


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


RESOLVERS = [each for each in _below(Resolver) if "kind" in vars(each)]


def test_every_resolved_class_has_a_resolver() -> None:
    assert sorted(each.kind.__name__ for each in RESOLVERS) == sorted(each.__name__ for each in _below(Resolved))


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
