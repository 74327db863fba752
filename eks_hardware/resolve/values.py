"""The base of resolved objects, and the small values in them that rules use, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from eks_hardware.resolve.mappings import frozen
from eks_hardware.suggestions import did_you_mean

R = TypeVar("R", bound="Resolved")


CHANGED = "changed by the caller"
"""Default reason for a value that a program changed."""


class Origin(str, Enum):
    """Origin of a resolved value; ``caller`` is the program that changed it after resolving.

    Examples:
        >>> resolved.why("region").origin
        <Origin.STRATEGY: 'strategy'>
    """

    STRATEGY = "strategy"
    DEFAULT = "default"
    CATALOGUE = "catalogue"
    RULE = "rule"
    CALLER = "caller"


@dataclass(frozen=True)
class Reason:
    """The reason for a value.

    Attributes:
        origin: kind of origin.
        text: the reason in words.
        source: row of a data file, or page, that documents it; None if there is none.

    Examples:
        >>> str(resolved.why("partition"))
        'the partition of us-west-2 [rule]'
    """

    origin: Origin
    text: str
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.text} [{self.origin.value}]"


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Base class of all resolved objects.

    Examples:
        >>> isinstance(resolved, Resolved), isinstance(resolved.network, Resolved)
        (True, True)
    """

    reasons: Mapping[str, Reason] = field(repr=False, compare=False)

    def why(self, field_name: str) -> Reason:
        """Return the reason for a field; raise ``KeyError`` for an unknown field."""
        return self.reasons[field_name]

    def explained(self) -> list[tuple[str, Any, Reason]]:
        """Return every field with its value and reason, in the order of the class."""
        return [(name, getattr(self, name), self.reasons[name]) for name in field_names(type(self))]

    def changed(self: R, *, because: str = CHANGED, place: str = "", **values: Any) -> R:
        """Return a copy with changed values and their reason; values that depend on them are not derived again.

        Args:
            because: the reason.
            place: name of this object in error messages; by default its class.
            values: values by field name; maps and lists are frozen.

        Raises:
            ValueError: ``SETTING_UNKNOWN`` for an unknown field, ``SETTING_TYPE`` for a value of the wrong type.

        Examples:
            >>> group = resolve(strategy).node_groups[0].changed(metadata_hop_limit=2, because="a sidecar asks IMDS")
            >>> group.metadata_hop_limit, str(group.why("metadata_hop_limit"))
            (2, 'a sidecar asks IMDS [caller]')
        """
        place = place or type(self).__name__
        checked = {name: self._checked(name, value, f"{place}.{name}") for name, value in values.items()}
        reasons = {**self.reasons, **{name: Reason(Origin.CALLER, because) for name in values}}
        return replace(self, **checked, reasons=MappingProxyType(reasons))

    def _checked(self, name: str, value: object, place: str) -> object:
        """Return a value converted to the type of its field."""
        known = field_names(type(self))
        if name not in known:
            raise ValueError(f"SETTING_UNKNOWN {place}: there is no such field; {did_you_mean(name, known)}")
        try:
            # mypy checks whether an object of the class is hashable, not whether the class is.
            adapter = _type_of(type(self), name)  # type: ignore[arg-type]
            return frozen(adapter.validate_python(value))
        except ValidationError as error:
            faults = "; ".join(f"{_inside(fault['loc'])}{fault['msg'].lower()}" for fault in error.errors())
            raise ValueError(f"SETTING_TYPE {place}: must have the field's type, got {value!r}: {faults}") from None


def after(name: str) -> Mapping[str, str]:
    """Return metadata that places a field, and the following fields of its class, after an inherited field."""
    return {"after": name}


def field_names(kind: type[Resolved]) -> tuple[str, ...]:
    """Return the fields of a class in the order in which they are printed, without ``reasons``."""
    # mypy checks whether an object of the class is hashable, not whether the class is.
    return _field_names(kind)  # type: ignore[arg-type]


@cache
def _field_names(kind: type[Resolved]) -> tuple[str, ...]:
    names: list[str] = []
    place = 0
    for each in fields(kind):
        if each.name == "reasons":
            continue
        place = names.index(each.metadata["after"]) + 1 if "after" in each.metadata else place
        names.insert(place, each.name)
        place += 1
    return tuple(names)


@cache
def _type_of(kind: type[object], name: str) -> TypeAdapter[object]:
    return TypeAdapter(get_type_hints(kind)[name])


def _inside(place: tuple[int | str, ...]) -> str:
    """Return where in a value an error is: ``[0].key: ``; empty for the whole value."""
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return f"{parts.lstrip('.')}: " if parts else ""


class SubnetRole(str, Enum):
    """Purpose of a subnet.

    Examples:
        >>> len(resolved.network.of_role(SubnetRole.PRIVATE))
        3
    """

    PUBLIC = "public"
    PRIVATE = "private"
    CONTROL_PLANE = "control-plane"
    POD = "pod"


@dataclass(frozen=True)
class BlockDevice:
    """An EBS volume of a node; always encrypted.

    Examples:
        >>> resolved.node_groups[0].block_devices[0].volume_type
        'gp3'
    """

    device_name: str
    size_gib: int
    volume_type: str
    iops: int | None
    throughput_mibps: int | None
    kms_key_arn: str | None


@dataclass(frozen=True)
class ResolvedTaint:
    """A taint, spelled as in Kubernetes (``NoSchedule``).

    Examples:
        >>> resolved.node_groups[1].taints[0].effect
        'NoSchedule'
    """

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class GpuShares:
    """How pods share the GPUs of a node.

    Attributes:
        config: name of the sharing configuration, also the value of its node label (``time-slicing-4``,
            ``all-1g.10gb``).
        resource: extended resource that pods request: ``nvidia.com/gpu``, ``nvidia.com/gpu.shared`` or
            ``nvidia.com/mig-1g.10gb``.
        shares_per_gpu: number of pods that can share one GPU.
        mig_profile: MIG profile such as ``1g.10gb``; None for time slicing.

    Examples:
        >>> resolved.node_pools[0].gpu_shares.config
        'time-slicing-2'
    """

    config: str
    resource: str
    shares_per_gpu: int
    mig_profile: str | None
