"""Groups of a first strategy for a kind of hardware (``policy/starters.json``)."""

from __future__ import annotations

from typing import Literal, get_args

from eks_hardware import facts
from eks_hardware.advisor.strategies.strategy_text import Group, WriteError
from eks_hardware.advisor.strategies.write import last_sdk
from eks_hardware.catalogue import Catalogue, load

Kind = Literal["gpu", "trainium", "inferentia", "cpu", "mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def purposes(kind: Kind) -> tuple[str, ...]:
    """Return the workloads with a group for a kind of hardware; none for ``mixed``, which has several groups."""
    return () if kind == "mixed" else tuple(facts.starters()["groups"][kind])


def starter_groups(kind: Kind, purpose: str | None, region: str) -> tuple[Group, ...]:
    """Return the groups of a first strategy. For ``mixed``, without a purpose, those that the region offers.

    Raises:
        WriteError: the hardware does not support the purpose, or the region does not offer it.
    """
    catalogue = load()
    if kind == "mixed":
        found = [_group(hardware, task, region, catalogue) for hardware, task in facts.starters()["mixed"]]
        return tuple(each for each in found if each)
    if purpose not in purposes(kind):
        raise WriteError(f"there is no starter for {kind} and {purpose}; choose {' or '.join(purposes(kind))}")
    group = _group(kind, purpose, region, catalogue)
    if group is None:
        names = facts.starters()["groups"][kind][purpose]["instance_types"]
        where = sorted({each for name in names for each in catalogue.offered_regions(name)})
        raise WriteError(f"{region} offers none of {', '.join(names)}; choose another region: {', '.join(where)}")
    return (group,)


def _group(kind: str, purpose: str, region: str, catalogue: Catalogue) -> Group | None:
    row = facts.starters()["groups"][kind][purpose]
    name = next((each for each in row["instance_types"] if catalogue.offered(each, region)), None)
    if name is None:
        return None
    needs = dict(row.get("needs", {}))
    if sdk := last_sdk(catalogue.get(name), needs.get("framework"), purpose):
        needs["neuron_sdk"] = sdk
    return Group(
        name=f"{kind}-{purpose}",
        workload=purpose,
        instance_types=(name,),
        most=row["most"],
        efa=row.get("efa", False),
        needs=needs,
        comments=(row["why"],),
        scaling_comment="add desired: n to start n nodes",
    )
