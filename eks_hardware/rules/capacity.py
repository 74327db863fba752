"""Rules about how many nodes there are, how they are bought, and how they are replaced."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.models import NodeGroupSpec
from eks_hardware.rules.hardware import capacities, is_open_to
from eks_hardware.rules.registry import Breach, Context, error, node_path, warning

_RESERVED = {"reserved", "capacity-block"}


# --- updates and repair


@warning("UPDATE_ALL_NODES")
def _unavailable(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        most, given = group.scaling.max, group.update.max_unavailable
        if given is not None and given > most:
            yield (
                node_path(group, "update.max_unavailable"),
                f"the group has {most} {'node' if most == 1 else 'nodes'} at most, and {given} may be down at once: "
                "this holds nothing back, and an update may drain all of them together; "
                f"set {'1' if most <= 2 else f'1 to {most - 1}'}",
            )


@warning("UPDATE_SURGE")
def _surge(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity in _RESERVED and group.update.strategy != "minimal":
            given = "update.strategy" if group.update.strategy else "capacity"
            yield (
                node_path(group, given),
                "an update starts new nodes before old ones go, and fails where the reservation has no room for both; "
                "set update.strategy: minimal",
            )


@warning("NODE_REPAIR_RESERVED")
def _repair(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.node_repair and group.capacity in _RESERVED:
            yield (
                node_path(group, "node_repair"),
                "a node that EKS takes away may find no room in the reservation when it comes back, and a job loses "
                "it for good; remove this line, repair is off for reserved capacity",
            )


# --- capacity


@error("RESERVATION_ONE_TYPE")
def _reservation_one_type(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        reservation, count = group.reservation, len(group.instance_types)
        # CAPACITY_BLOCK_ONE_TYPE is for capacity blocks.
        if group.capacity == "reserved" and reservation and reservation.id and count > 1:
            yield (
                node_path(group, "instance_types"),
                f"{reservation.id} holds one instance type, {count} are listed; keep its own, or give a resource "
                "group of reservations (reservation.resource_group_arn)",
            )


@warning("SPOT_ONE_TYPE")
def _one_type(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds = context.types(node)
        # EFA_SPOT warns if there is EFA; development can wait.
        if set(capacities(node)) == {"spot"} and len(kinds) == 1 and not node.efa and node.purpose != "development":
            fix = (
                "list more types of the same size"
                if isinstance(node, NodeGroupSpec)
                else "allow more types, or on-demand"
            )
            yield (
                node_path(node, "capacity"),
                f"when {kinds[0].name} is short in a zone all of these nodes go at once, and none comes back; {fix}",
            )


@warning("SPOT_SYSTEM")
def _spot_system(context: Context) -> Iterator[Breach]:
    open_groups = [
        group
        for group in context.strategy.node_groups
        if (group.scaling.desired or group.scaling.min) and is_open_to(context, group)
    ]
    all_spot = bool(open_groups) and all(group.capacity == "spot" for group in open_groups)
    for group in open_groups:
        if group.capacity == "spot" and (all_spot or group.purpose == "system"):
            yield (
                node_path(group, "capacity"),
                "CoreDNS and the controllers run here, and spot nodes may all go within two minutes; "
                "use on-demand for the nodes that the cluster itself needs",
            )


@warning("EFA_ONE_NODE")
def _efa_alone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        most = node.scaling.max if isinstance(node, NodeGroupSpec) else node.limits.get("nodes")
        if node.efa and str(most) == "1":
            yield (
                node_path(node, "efa"),
                "EFA is for traffic between nodes, and there is one: it costs interfaces, huge pages and the choice "
                "of zones; set efa: false, or allow more nodes",
            )
