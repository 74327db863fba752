"""Rules about pools and groups that match the same pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import zones
from eks_hardware.resolve.node import taints
from eks_hardware.rules.registry import Breach, Context, Node, error, hardware_field, node_path, noun, warning
from eks_hardware.spellings import keeps_pods_off
from eks_hardware.suggestions import several


class _Place(NamedTuple):
    """A group or pool as its pods see it; ``for_whom`` (workload, labels, taints) distinguishes places."""

    node: Node
    types: frozenset[str]
    zones: frozenset[str]
    for_whom: tuple[str, frozenset[tuple[str, str]], frozenset[tuple[str, str, str]]]


def _places(context: Context, nodes: Iterable[Node]) -> list[_Place]:
    choice, region = context.zone_choice(), context.strategy.region
    places = []
    for node in nodes:
        if kinds := context.types(node):
            there = zones.zones_of(context.demand(node), choice, region, context.catalogue)
            # PreferNoSchedule does not keep pods off.
            hard = [taint for taint in taints(node, kinds[0].hardware) if keeps_pods_off(taint.effect)]
            keeps_off = frozenset((each.key, each.value, each.effect) for each in hard)
            for_whom = (node.purpose, frozenset(node.labels.items()), keeps_off)
            places.append(_Place(node, frozenset(kind.name for kind in kinds), frozenset(there), for_whom))
    return places


def _alike(one: _Place, other: _Place) -> frozenset[str]:
    """Return the types that both can launch for the same pods; none if taints, labels, weights or zones differ."""
    weights = {each.node.weight for each in (one, other) if isinstance(each.node, NodePoolSpec)}
    apart = one.for_whom != other.for_whom or one.zones.isdisjoint(other.zones) or len(weights) > 1
    return frozenset() if apart else one.types & other.types


def _resource(node: Node) -> str:
    """Return how pods get the node's GPUs: whole, shared, or under another resource name.

    MIG counts as shared on AL2023 too, although such a node has whole GPUs until they are partitioned.
    """
    sharing = node.gpu_sharing
    if sharing is None:
        return "whole"
    return "renamed" if sharing.time_slicing and sharing.time_slicing.rename else "shared"


def _difference(one: Node, other: Node) -> str:
    """Return a difference between two nodes of one type that matters to pods; empty if there is none."""
    if {_resource(one), _resource(other)} == {"whole", "shared"}:
        return _SHARING
    return _EFA if one.efa != other.efa else ""


_SHARING, _EFA = "GPU sharing", "EFA"


@warning("POOL_OVERLAP")
def _overlap(context: Context) -> Iterator[Breach]:
    places = _places(context, context.pools)
    for index, place in enumerate(places):
        shared = {
            other.node.name: both
            for other in places[:index]
            if not _difference(other.node, place.node) and (both := _alike(other, place))
        }
        if shared:
            types = sorted(frozenset[str]().union(*shared.values()))
            yield (
                node_path(place.node, hardware_field(place.node)),
                f"{_makes(list(shared))} {several(types)} for the same pods, so Karpenter may use either; give one of "
                "them a weight, a taint or a label",
            )


def _makes(names: list[str]) -> str:
    return f"pool {names[0]} creates" if len(names) == 1 else f"pools {several(names)} create"


@error("POOL_OVERLAP_UNLIKE")
def _overlap_unlike(context: Context) -> Iterator[Breach]:
    for path, same in _that_differ(context, _SHARING):
        yield (
            path,
            f"{same}, but GPUs are whole in one and shared in the other, so a pod may get either; give one of them a "
            "taint or a label",
        )


@warning("POOL_OVERLAP_EFA")
def _overlap_efa(context: Context) -> Iterator[Breach]:
    for path, same in _that_differ(context, _EFA):
        yield (
            path,
            f"{same}, but only one has EFA, so pods that do not request vpc.amazonaws.com/efa may fill the nodes with "
            "EFA; give one of them a taint or a label",
        )


def _that_differ(context: Context, difference: str) -> Iterator[tuple[str, str]]:
    """Yield pools that match the same pods and types as an earlier group or pool, but differ in one way.

    Each item is the path of the pool's hardware, and the start of the message.
    """
    pools = _places(context, context.pools)
    groups = _places(context, context.strategy.node_groups) if pools else []
    for index, place in enumerate(pools):
        for other in (*groups, *pools[:index]):
            if _difference(other.node, place.node) == difference and (types := _alike(other, place)):
                yield (
                    node_path(place.node, hardware_field(place.node)),
                    f"{noun(other.node)} {other.node.name} has {several(sorted(types))} for the same pods",
                )
                # One at a time: the same taint or label also separates it from the others.
                break
