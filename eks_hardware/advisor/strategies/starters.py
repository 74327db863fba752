"""Groups of a first strategy for a kind of hardware (``policy/starters.json``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from eks_hardware import facts
from eks_hardware.advisor.strategies.strategy_text import Group, WriteError
from eks_hardware.advisor.strategies.write import last_sdk
from eks_hardware.catalogue import load
from eks_hardware.printable import joined

Kind = Literal["gpu", "trainium", "inferentia", "cpu", "mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def purposes(kind: Kind) -> tuple[str, ...]:
    """Return the workloads with a group for a kind of hardware; none for ``mixed``, which has several groups."""
    return () if kind == "mixed" else tuple(facts.starters()["groups"][kind])


def refuse_purpose(kind: Kind, purpose: str | None) -> None:
    """Raise a WriteError if the hardware has no group for a purpose."""
    if kind != "mixed" and purpose not in purposes(kind):
        raise WriteError(f"the task for {kind} must be {joined(purposes(kind), 'or')}, got {purpose}")


def starter_types(kind: Kind, purpose: str | None, region: str) -> tuple[str, ...]:
    """Return the instance types to choose from, best first; none for ``mixed``.

    Raises:
        WriteError: the hardware does not support the purpose, or the region does not offer it.
    """
    refuse_purpose(kind, purpose)
    if purpose is None or kind == "mixed":
        return ()
    offered = _offered(kind, purpose, region)
    if not offered:
        names = facts.starters()["groups"][kind][purpose]["instance_types"]
        where = sorted({each for name in names for each in load().offered_regions(name)})
        raise WriteError(f"{region} offers none of {', '.join(names)}; choose another region: {', '.join(where)}")
    return offered


def starter_groups(kind: Kind, purpose: str | None, region: str, *, pick: int = 1) -> tuple[Group, ...]:
    """Return the groups of a first strategy. For ``mixed``, without a purpose, those that the region offers.

    ``pick`` is the number of one of the :func:`starter_types`.

    Raises:
        WriteError: the hardware does not support the purpose, or the region does not offer it.
    """
    types = starter_types(kind, purpose, region)
    if purpose is not None and types:
        return (_group(kind, purpose, types[pick - 1]),)
    return tuple(_group(*each, offered[0]) for each, offered in _mixed(region))


def mixed_types(region: str) -> Mapping[str, tuple[str, ...]]:
    """Return the instance types for each group of ``mixed`` that a region offers, best first."""
    return {_name(*each): offered for each, offered in _mixed(region)}


def _mixed(region: str) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    for kind, purpose in facts.starters()["mixed"]:
        if offered := _offered(kind, purpose, region):
            yield (kind, purpose), offered


def _name(kind: str, purpose: str) -> str:
    return f"{kind}-{purpose}"


def _offered(kind: str, purpose: str, region: str) -> tuple[str, ...]:
    names = facts.starters()["groups"][kind][purpose]["instance_types"]
    return tuple(name for name in names if load().offered(name, region))


def _group(kind: str, purpose: str, name: str) -> Group:
    row = facts.starters()["groups"][kind][purpose]
    needs = dict(row.get("needs", {}))
    if sdk := last_sdk(load().get(name), needs.get("framework"), purpose):
        needs["neuron_sdk"] = sdk
    return Group(
        name=_name(kind, purpose),
        workload=purpose,
        instance_types=(name,),
        most=row["most"],
        efa=row.get("efa", False),
        needs=needs,
        comments=(row["why"],),
        scaling_comment="add desired: n to start n nodes",
    )
