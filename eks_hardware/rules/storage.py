"""Rules about shared storage: nodes that can mount it, and zones."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.printable import joined
from eks_hardware.resolve import zones
from eks_hardware.resolve.addons import storage_addons
from eks_hardware.resolve.node import ami_family
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path, warning


@warning("FSX_BOTTLEROCKET")
def _bottlerocket(context: Context) -> Iterator[Breach]:
    if context.strategy.storage.fsx_lustre is None:
        return
    # Kernels 6.1 and 6.12 have it; 5.x and the first 6.1 releases did not: bottlerocket-os/bottlerocket#3459.
    why = "Bottlerocket's newer kernels have a Lustre client, but AWS does not document it"
    training = [node for node in context.nodes if node.purpose == "training" and ami_family(node) == "bottlerocket"]
    for node in training:
        yield (
            node_path(node, "ami"),
            f"{why}, and {node.name} is for training; test the mount first, or use AL2023 here",
        )
    workers = _workers(context)
    if workers and all(ami_family(node) == "bottlerocket" for node in workers) and not training:
        yield (
            "storage.fsx_lustre",
            f"{why}, and only system groups and pools have AL2023; test the mount first, or use AL2023 for another "
            "group or pool",
        )


def _workers(context: Context) -> list[Node]:
    return [node for node in context.nodes if node.purpose != "system"]


@error("FSX_NO_NODE")
def _no_node(context: Context) -> Iterator[Breach]:
    if context.strategy.storage.fsx_lustre and not _workers(context):
        yield (
            "storage.fsx_lustre",
            "the strategy has only system nodes; add a group or pool for the pods that use the file system, or remove "
            "this",
        )


@error("FSX_ZONE")
def _fsx_zone(context: Context) -> Iterator[Breach]:
    fsx = context.strategy.storage.fsx_lustre
    if fsx is None or fsx.zone is None or not context.region_known:
        return
    choice = context.zone_choice()
    if fsx.zone not in choice.zone_ids:
        yield (
            "storage.fsx_lustre.zone",
            f"the network has no subnet in {fsx.zone}; use one of {', '.join(choice.zone_ids)}, or add the zone to the "
            "network",
        )


def zones_by_node(context: Context) -> list[tuple[Node, tuple[str, ...]]]:
    """Return the zones of each group and pool with known types, those with EFA first."""
    region, choice = context.strategy.region, context.zone_choice()
    # Other rules cover unknown types.
    known = [each for each in context.nodes if len(context.types(each)) >= max(1, len(each.instance_types))]
    found = [(each, zones.zones_of(context.demand(each), choice, region, context.catalogue)) for each in known]
    return sorted(((each, ids) for each, ids in found if ids), key=lambda each: not each[0].efa)


def lustre_zone(context: Context) -> str | None:
    """Return the zone of the Lustre file system; None if there is none or it is unknown."""
    if context.strategy.storage.fsx_lustre is None or not context.region_known:
        return None
    return zones.fsx_zone(
        context.strategy.storage, [(str(each.workload), ids) for each, ids in context.once(zones_by_node)]
    )


@warning("FSX_ZONE_FAR")
def _fsx_zone_far(context: Context) -> Iterator[Breach]:
    fsx, zone = context.strategy.storage.fsx_lustre, lustre_zone(context)
    # FSX_ZONE covers a zone without a subnet.
    if fsx is None or zone is None or zone not in context.zone_choice().zone_ids:
        return
    # FSX_LOCAL_ZONE advises a zone of the region for nodes in a Local Zone.
    with_efa = [
        (each, in_region)
        for each, ids in context.once(zones_by_node)
        if each.efa and (in_region := {zone_id for zone_id in ids if not zones.is_edge(zone_id)})
    ]
    if far := [(each, ids) for each, ids in with_efa if zone not in ids]:
        places = ", ".join(f"{each.name} in {joined(sorted(ids), 'or')}" for each, ids in far)
        common = sorted(set.intersection(*(ids for _, ids in with_efa)))
        fix = f"set zone: {common[0]}" if common else _nearer(context, [each for each, _ in far], zone)
        yield (
            "storage.fsx_lustre.zone" if fsx.zone else "storage.fsx_lustre",
            f"nodes with EFA ({places}) are not in {zone}, the file system's zone, so reads take longer and are billed "
            f"as traffic between zones; {fix}",
        )


def _nearer(context: Context, far: list[Node], zone: str) -> str:
    """Return the fix for nodes with EFA in several zones: those whose types the zone offers can use it."""
    region = context.strategy.region
    movable = [
        each.name for each in far if zone in zones.offered_zones(context.catalogue, context.demand(each), region)
    ]
    if not movable:
        return f"{zone} does not offer their types, so ignore this if you accept the cost"
    return f"use {zone} for {joined(movable, 'and')} if it has the capacity, or ignore this"


@error("STORAGE_ADDON_OFF")
def _addon_off(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    given = {str(name): addon for name, addon in strategy.cluster.addons.items()}
    for name in storage_addons(strategy.storage, partition=facts.partition(strategy.region)):
        if name in given and not given[name].enabled:
            yield (
                f"cluster.addons.{name}.enabled",
                f"pods mount the storage in 'storage' through {name}; remove this line, or that storage",
            )
