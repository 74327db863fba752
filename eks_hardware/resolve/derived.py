"""A derived value with its reason, and the class that collects the values of one object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, TypeVar

from eks_hardware import aws_names
from eks_hardware.aws_names import NameKind
from eks_hardware.data import Cited
from eks_hardware.models.base import StrategyModel
from eks_hardware.resolve.mappings import frozen
from eks_hardware.resolve.values import Origin, Reason, Resolved, field_names

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Resolved)

Source = Cited[object] | str
"""A row of a data file, read by ``DataFile.cite``, or the address of a page."""


# Not frozen: creating a frozen object takes three times as long, and a strategy has a thousand of them.
@dataclass(slots=True)
class Derived(Generic[T_co]):
    """A value and the reason for it."""

    value: T_co
    reason: Reason


def _derived(value: T, origin: Origin, text: str, sources: tuple[Source, ...]) -> Derived[T]:
    source = None if not sources else str(sources[0]) if len(sources) == 1 else "; ".join(map(str, sources))
    return Derived(value, _reason(origin, text, source))


# Most groups and pools of a strategy have the same reasons.
@lru_cache(maxsize=4096)
def _reason(origin: Origin, text: str, source: str | None) -> Reason:
    return Reason(origin, text, source)


def stated(value: T, text: str = "as set in the strategy", *sources: Source) -> Derived[T]:
    """Return a value that the strategy states; ``sources`` are the sources of defaults within it."""
    return _derived(value, Origin.STRATEGY, text, sources)


def default(value: T, text: str, *sources: Source) -> Derived[T]:
    """Return a default, for a value that the strategy does not state."""
    return _derived(value, Origin.DEFAULT, text, sources)


def from_catalogue(value: T, text: str, *sources: Source) -> Derived[T]:
    """Return an instance type's value from the catalogue."""
    return _derived(value, Origin.CATALOGUE, text, sources)


def rule(value: T, text: str, *sources: Source) -> Derived[T]:
    """Return a value that follows from other values."""
    return _derived(value, Origin.RULE, text, sources)


def stated_if(is_set: bool, value: T, otherwise: str, *sources: Source) -> Derived[T]:
    """Return a value that the strategy states if ``is_set``, otherwise a default with the reason ``otherwise``."""
    return stated(value) if is_set else default(value, otherwise, *sources)


def chosen(is_set: bool, value: T, row: Cited[T], otherwise: str, *more: Source) -> Derived[T]:
    """Return a value that the strategy states if ``is_set``, otherwise a row's value with the reason ``otherwise``."""
    return stated(value) if is_set else default(row.value, otherwise, row, *more)


def stated_field(section: StrategyModel, field: str, row: Cited[T], otherwise: str) -> Derived[T]:
    """Return the value of a section's field if the strategy sets it, otherwise a row's value."""
    return chosen(field in section.model_fields_set, getattr(section, field), row, otherwise)


def optional(value: T | None, otherwise: str, *sources: Source) -> Derived[T | None]:
    """Return an optional value of the strategy; ``otherwise`` is the reason for None."""
    return stated_if(value is not None, value, otherwise, *sources)


def stated_or(value: T | None, row: Cited[T], otherwise: str) -> Derived[T]:
    """Return the strategy's value if it is set, otherwise a row's value with the reason ``otherwise``."""
    return default(row.value, otherwise, row) if value is None else stated(value)


def limited_name(text: str, *parts: str, limit: NameKind, separator: str = "-") -> Derived[str]:
    """Return a name of these parts that AWS accepts; ``text`` says what the parts are."""
    most = aws_names.longest(limit)
    name = aws_names.limited(*parts, limit=limit, separator=separator)
    return rule(name, f"{text}, at most {most.value} characters", most)


class Resolver(Generic[R]):
    """The derivation of one resolved object: one method per field, named like the field, and no other public method.

    The value of ``def max_pods(self) -> Derived[int | None]`` becomes the field ``max_pods``, with its reason.
    Maps and lists are frozen. ``tests/unit/resolve/test_resolvers.py`` compares methods and fields, and their types.

    Attributes:
        kind: the class of the resolved object.
    """

    kind: type[R]

    def collect(self) -> R:
        """Derive every field."""
        values: dict[str, object] = {}
        reasons: dict[str, Reason] = {}
        for name in field_names(self.kind):
            derived: Derived[object] = getattr(self, name)()
            values[name], reasons[name] = frozen(derived.value), derived.reason
        return self.kind(**values, reasons=MappingProxyType(reasons))
