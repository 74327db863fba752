"""Rules about shared storage: nodes that can mount it, and zones."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
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


@warning("FSX_ZONE_FAR")
def _fsx_zone_far(context: Context) -> Iterator[Breach]:
    fsx = context.strategy.storage.fsx_lustre
    if fsx is None or fsx.zone is None or not context.region_known:
        return
    region, choice = context.strategy.region, context.zone_choice()
    # FSX_ZONE covers a zone without a subnet; other rules cover unknown types.
    known = [each for each in context.nodes if each.efa and context.types(each)]
    known = [each for each in known if len(context.types(each)) >= len(each.instance_types)]
    found = {each.name: zones.zones_of(context.demand(each), choice, region, context.catalogue) for each in known}
    # FSX_LOCAL_ZONE advises a zone of the region for nodes in a Local Zone.
    with_efa = sorted({zone for zone_ids in found.values() for zone in zone_ids if not zones.is_edge(zone)})
    if with_efa and fsx.zone in choice.zone_ids and fsx.zone not in with_efa:
        yield (
            "storage.fsx_lustre.zone",
            f"nodes with EFA ({', '.join(found)}) are in {', '.join(with_efa)}, not in {fsx.zone}, so reads take "
            "longer and are billed as traffic between zones; remove this line",
        )


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
