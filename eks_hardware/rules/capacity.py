"""Rules about the number of nodes, the purchase option, and node replacement.

``models/nodes.py`` refuses a reservation that does not fit the purchase option, such as one of a Spot group.
"""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware import facts
from eks_hardware.models import NodeGroupSpec
from eks_hardware.rules.hardware import capacities
from eks_hardware.rules.registry import Breach, Context, error, node_path, type_names, warning
from eks_hardware.rules.taints import is_open_to
from eks_hardware.spellings import RESERVED

# --- updates and repair


@warning("UPDATE_ALL_NODES")
def _unavailable(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        most, given = group.scaling.max, group.update.max_unavailable
        if given is not None and given > most:
            yield (
                node_path(group, "update.max_unavailable"),
                f"max_unavailable is {given}, but the group has at most {most} {'node' if most == 1 else 'nodes'}, so "
                f"an update may drain all of them at once; use {'1' if most <= 2 else f'1 to {most - 1}'}",
            )


@warning("UPDATE_SURGE")
def _surge(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity in RESERVED and group.update.strategy != "minimal":
            given = "update.strategy" if group.update.strategy else "capacity"
            since = facts.eks()["provider_versions"]["since"]["update_strategy"]["version"]
            yield (
                node_path(group, given),
                "an update launches new nodes before it terminates old ones, and fails if the reservation has no room "
                f"for both; set update.strategy: minimal, which needs AWS provider {since} or newer",
            )


@warning("NODE_REPAIR_RESERVED")
def _repair(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.node_repair and group.capacity in RESERVED:
            yield (
                node_path(group, "node_repair"),
                "the reservation may have no room for a node's replacement, so a job may lose the node permanently; "
                "remove this line, because repair is off by default for reserved capacity",
            )


# --- capacity


@error("CAPACITY_UNSUPPORTED")
def _capacity(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        sold = [kind for kind in context.types(group) if not kind.withdrawn]
        unsold = [kind for kind in sold if group.capacity not in kind.usage_classes]
        if unsold and group.capacity in ("spot", "capacity-block"):
            ways = " or ".join(unsold[0].usage_classes)
            yield (
                node_path(group, "capacity"),
                f"EC2 does not sell {type_names(unsold)} as {group.capacity}; set this to {ways}, or to reserved with "
                "a reservation",
            )


@error("CAPACITY_BLOCK_ONE_TYPE")
def _capacity_block(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity == "capacity-block" and len(group.instance_types) > 1:
            yield (
                node_path(group, "instance_types"),
                f"a Capacity Block reserves one instance type, got {len(group.instance_types)}; keep the reserved type",
            )


@warning("CAPACITY_BLOCK_MINIMUM")
def _capacity_block_minimum(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity == "capacity-block" and group.scaling.min > 0:
            yield (
                node_path(group, "scaling.min"),
                "EKS removes the nodes before the block ends, and then tries to replace them because min is "
                f"{group.scaling.min}; set min to 0 and raise desired while the block runs",
            )


@error("RESERVATION_ONE_TYPE")
def _reservation_one_type(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        reservation, count = group.reservation, len(group.instance_types)
        # CAPACITY_BLOCK_ONE_TYPE covers Capacity Blocks.
        if group.capacity == "reserved" and reservation and reservation.id and count > 1:
            yield (
                node_path(group, "instance_types"),
                f"{reservation.id} reserves one instance type, got {count}; keep the reserved type, or set "
                "reservation.resource_group_arn to a resource group of reservations",
            )


@warning("SPOT_ONE_TYPE")
def _one_type(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds = context.types(node)
        # EFA_SPOT covers nodes with EFA; development can wait for capacity.
        if set(capacities(node)) == {"spot"} and len(kinds) == 1 and not node.efa and node.purpose != "development":
            fix = (
                "list more types of the same size"
                if isinstance(node, NodeGroupSpec)
                else "allow more types, or add on-demand"
            )
            yield (
                node_path(node, "capacity"),
                f"when a zone runs out of Spot capacity for {kinds[0].name}, all these nodes are interrupted at once "
                f"and cannot be replaced; {fix}",
            )


@warning("SPOT_SYSTEM")
def _spot_system(context: Context) -> Iterator[Breach]:
    open_groups = [
        group for group in context.strategy.node_groups if group.scaling.initial and is_open_to(context, group)
    ]
    all_spot = bool(open_groups) and all(group.capacity == "spot" for group in open_groups)
    for group in open_groups:
        if group.capacity == "spot" and (all_spot or group.purpose == "system"):
            yield (
                node_path(group, "capacity"),
                "CoreDNS and the controllers run here, and Spot interruptions may remove all nodes within two minutes; "
                "use on-demand for the nodes that run the cluster's own pods",
            )


@warning("EFA_ONE_NODE")
def _efa_alone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        most = node.scaling.max if isinstance(node, NodeGroupSpec) else node.limits.get("nodes")
        if node.efa and str(most) == "1":
            yield (
                node_path(node, "efa"),
                "EFA has no effect with a single node, but still uses network interfaces and huge pages and limits "
                "the choice of zones; set efa: false, or allow more nodes",
            )
