"""A derived value with its reason, and how the values of one object are collected."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from eks_hardware.data import Cited
from eks_hardware.models.base import StrategyModel
from eks_hardware.resolve.mappings import frozen
from eks_hardware.resolve.model import Origin, Reason, Resolved

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Resolved)

Source = Cited[Any] | str
"""A row of a data file, read by ``cite``, or the address of a page."""


@dataclass(frozen=True)
class Derived(Generic[T_co]):
    """A value and the reason for it."""

    value: T_co
    reason: Reason


def _derived(value: T, origin: Origin, text: str, sources: tuple[Source, ...]) -> Derived[T]:
    return Derived(value, Reason(origin, text, "; ".join(map(str, sources)) or None))


def stated(value: T, text: str = "as the strategy says") -> Derived[T]:
    """A value that the strategy states."""
    return _derived(value, Origin.STRATEGY, text, ())


def default(value: T, text: str, *sources: Source) -> Derived[T]:
    """A value for which the strategy says nothing."""
    return _derived(value, Origin.DEFAULT, text, sources)


def from_catalogue(value: T, text: str, *sources: Source) -> Derived[T]:
    """A value that the catalogue has for an instance type."""
    return _derived(value, Origin.CATALOGUE, text, sources)


def rule(value: T, text: str, *sources: Source) -> Derived[T]:
    """A value that follows from other values."""
    return _derived(value, Origin.RULE, text, sources)


def stated_if(said: bool, value: T, otherwise: str, *sources: Source) -> Derived[T]:
    """A value that the strategy states where it has ``said`` something, or its default, with the reason for that."""
    return stated(value) if said else default(value, otherwise, *sources)


def stated_field(section: StrategyModel, field: str, otherwise: str, *sources: Source) -> Derived[Any]:
    """A field of a section of the strategy as it is, with the reason for its default where the strategy omits it."""
    return stated_if(field in section.model_fields_set, getattr(section, field), otherwise, *sources)


def optional(value: T | None, otherwise: str, *sources: Source) -> Derived[T | None]:
    """A value that the strategy may state; without it there is none, with the reason for that."""
    return stated_if(value is not None, value, otherwise, *sources)


def stated_or(value: T | None, row: Cited[T], otherwise: str) -> Derived[T]:
    """A value that the strategy states, or that of a row, with the reason for it."""
    return default(row.value, otherwise, row) if value is None else stated(value)


class Resolver(Generic[R]):
    """Derives one resolved object: a method for each field, with the field's name, and no other public method.

    The value of ``def max_pods(self) -> Derived[int | None]`` becomes the field ``max_pods``, with its reason; maps and
    lists are frozen on the way. ``tests/unit/resolve/test_resolvers.py`` compares methods and fields, and their types.

    Attributes:
        kind: the class of the resolved object.
    """

    kind: type[R]

    def collect(self) -> R:
        """Derive every field."""
        derived: dict[str, Derived[Any]] = {
            each.name: getattr(self, each.name)() for each in fields(self.kind) if each.name != "reasons"
        }
        values: dict[str, Any] = {name: frozen(each.value) for name, each in derived.items()}
        reasons = MappingProxyType({name: each.reason for name, each in derived.items()})
        return self.kind(**values, reasons=reasons)
