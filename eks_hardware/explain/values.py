"""Resolved values as short lines for people, and as plain data for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from eks_hardware import resolve
from eks_hardware.catalogue import EfaInterface, efa_count

EMPTY = "-"
"""Text for a missing value."""


def lines(value: object) -> tuple[str, ...]:
    """Return a value in as few readable lines as possible; at least one."""
    return tuple(_lines(value)) or (EMPTY,)


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif value is None or value == "":
        return
    elif isinstance(value, Enum):
        yield str(value.value)
    elif isinstance(value, Mapping):
        yield from _mapping(value)
    elif isinstance(value, tuple | list):
        yield from _sequence(value)
    elif writer := _WRITERS.get(type(value)):
        written = writer(value)
        yield from [written] if isinstance(written, str) else written
    elif isinstance(value, BaseModel):
        yield from _mapping({name: each for name, each in value.model_dump().items() if each not in (None, "")})
    else:
        yield str(value)


def _mapping(value: Mapping[str, object]) -> Iterator[str]:
    """Yield ``key=value`` lines, or YAML if the mapping is nested."""
    if any(isinstance(item, Mapping | list | tuple) for item in value.values()):
        from eks_hardware.kubernetes.yaml_text import yaml_text

        yield from yaml_text(value).splitlines()
        return
    for key, each in value.items():
        yield f"{key}={lines(each)[0]}"


def _sequence(value: Sequence[Any]) -> Iterator[str]:
    if not value:
        return
    if all(isinstance(item, EfaInterface) for item in value):
        yield from interfaces(value)
    elif all(isinstance(item, Mapping) and "Sid" in item for item in value):
        yield from (f"{item['Sid']}: {len(_listed(item.get('Action')))} actions" for item in value)
    elif all(isinstance(item, tuple) and len(item) == 2 for item in value):
        yield from (f"{low}" if low == high else f"{low}-{high}" for low, high in value)
    else:
        for item in value:
            yield from _lines(item)


def _listed(value: Any) -> Sequence[object]:
    return [value] if isinstance(value, str) else (value or ())


def interfaces(layout: Sequence[EfaInterface]) -> Iterator[str]:
    """Yield the layout of network interfaces as (card,device), with equal consecutive cards in one line.

    >>> list(interfaces([EfaInterface(0, 0, "interface"), EfaInterface(0, 1, "efa-only"),
    ...                  EfaInterface(1, 0, "efa-only"), EfaInterface(2, 0, "efa-only")]))
    ['4 interfaces, 3 EFA', '(0,0) interface', '(0,1) efa-only', '(1..2,0) efa-only']
    """
    yield f"{len(layout)} interface{'' if len(layout) == 1 else 's'}, {efa_count(layout)} EFA"
    # Consecutive cards have increasing indices in the layout.
    alike = groupby(
        enumerate(layout), lambda item: (item[1].network_card_index - item[0], item[1].device_index, item[1].is_efa)
    )
    for _, run in alike:
        group = [each for _, each in run]
        first, last = group[0], group[-1]
        cards = f"{first.network_card_index}"
        if first is not last:
            cards += f"..{last.network_card_index}"
        yield f"({cards},{first.device_index}) {first.interface_type}"


def _disk(disk: resolve.BlockDevice) -> Iterator[str]:
    parts = [f"{disk.device_name} {disk.size_gib} GiB {disk.volume_type}"]
    if disk.iops:
        parts.append(f"{disk.iops:,} IOPS")
    if disk.throughput_mibps:
        parts.append(f"{disk.throughput_mibps} MiB/s")
    yield ", ".join([*parts, "encrypted"])
    if disk.kms_key_arn:
        yield f"  with {disk.kms_key_arn}"


def _taint(taint: resolve.ResolvedTaint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _existing(existing: resolve.ExistingSubnets) -> Iterator[str]:
    yield existing.vpc_id
    roles = {"private": existing.private, "control-plane": existing.control_plane, "pod": existing.pod}
    for role, subnets in roles.items():
        yield from (f"{role}-{zone} {subnet_id}" for zone, subnet_id in subnets.items())


def _access(entry: resolve.ResolvedAccessEntry) -> Iterator[str]:
    yield f"{entry.key}: {entry.principal_arn}"
    for arn, namespaces in entry.policies:
        where = f" in {', '.join(namespaces)}" if namespaces else ""
        yield f"  {arn.rpartition('/')[2]}{where}"
    if entry.kubernetes_groups:
        yield f"  groups {', '.join(entry.kubernetes_groups)}"


def _budget(budget: resolve.DisruptionBudget) -> str:
    parts = [f"{budget.nodes} nodes"]
    if budget.reasons:
        parts.append(f"for {', '.join(budget.reasons)}")
    if budget.schedule:
        parts.append(f"at {budget.schedule} for {budget.duration}")
    return " ".join(parts)


def _reservation(selector: resolve.ReservationSelector) -> str:
    owner = f" of {selector.owner_account_id}" if selector.owner_account_id else ""
    return f"{selector.id or _pairs(selector.tags)}{owner}"


def _overlay(overlay: resolve.CapacityOverlay) -> str:
    return f"{overlay.name}: {_pairs(overlay.capacity)} for {', '.join(overlay.instance_types)}"


def _policy(policy: resolve.ServicePolicy) -> str:
    return f"{policy.name}: {', '.join(str(statement.get('Sid')) for statement in policy.statements)}"


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


_WRITERS: Mapping[type, Callable[[Any], str | Iterable[str]]] = {
    resolve.BlockDevice: _disk,
    resolve.CapacityOverlay: _overlay,
    resolve.CapacityTarget: lambda target: target.reservation_id or target.resource_group_arn or "",
    resolve.DisruptionBudget: _budget,
    resolve.ExistingSubnets: _existing,
    resolve.GpuShares: lambda shares: f"{shares.config}: {shares.shares_per_gpu} x {shares.resource} per GPU",
    resolve.InterruptionRule: lambda rule: f"{rule.key}: {rule.detail_type}",
    resolve.ReservationSelector: _reservation,
    resolve.ResolvedAccessEntry: _access,
    resolve.ResolvedBucket: lambda bucket: f"{bucket.name} {'read only' if bucket.read_only else 'read and write'}",
    resolve.ResolvedSubnet: lambda subnet: f"{subnet.key} {subnet.cidr}",
    resolve.ResolvedTaint: _taint,
    resolve.ResolvedTeam: lambda team: f"{team.name}: {_pairs(team.quota) or 'no quota'}",
    resolve.ServicePolicy: _policy,
}


def plain(value: object) -> object:
    """Return a value as JSON types: maps, lists, texts, numbers, booleans, null."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, resolve.Resolved):
        return {name: plain(each) for name, each, _ in value.explained()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value
