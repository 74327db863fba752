"""Rules about how many nodes there are, how they are bought, and how they are replaced."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.findings import Severity
from eks_hardware.models import NodeGroupSpec
from eks_hardware.rules.hardware import capacities, is_open_to
from eks_hardware.rules.registry import Breach, Context, node_path, rule

_UPDATES = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html"
_SPOT = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html#managed-node-group-capacity-types"
_RESERVED = {"reserved", "capacity-block"}


# --- updates and repair


@rule(
    "UPDATE_ALL_NODES",
    "more nodes may be down at once than the group has",
    "https://github.com/aws/aws-cdk/blob/main/packages/aws-cdk-lib/aws-eks/lib/managed-nodegroup.ts",
    severity=Severity.WARNING,
)
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


@rule(
    "UPDATE_SURGE",
    "an update asks for more nodes than a reservation may have",
    _UPDATES,
    severity=Severity.WARNING,
)
def _surge(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.capacity in _RESERVED and group.update.strategy != "minimal":
            given = "update.strategy" if group.update.strategy else "capacity"
            yield (
                node_path(group, given),
                "an update starts new nodes before old ones go, and fails where the reservation has no room for both; "
                "set update.strategy: minimal",
            )


@rule(
    "NODE_REPAIR_RESERVED",
    "nodes of a reservation are replaced by themselves",
    "https://docs.aws.amazon.com/eks/latest/userguide/node-health.html",
    severity=Severity.WARNING,
)
def _repair(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        if group.node_repair and group.capacity in _RESERVED:
            yield (
                node_path(group, "node_repair"),
                "a node that EKS takes away may find no room in the reservation when it comes back, and a job loses "
                "it for good; remove this line, repair is off for reserved capacity",
            )


# --- capacity


@rule(
    "RESERVATION_ONE_TYPE",
    "a capacity reservation holds one instance type",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html",
)
def _reservation_one_type(context: Context) -> Iterator[Breach]:
    for group in context.strategy.node_groups:
        reservation, count = group.reservation, len(group.instance_types)
        # Of capacity blocks CAPACITY_BLOCK_ONE_TYPE says it.
        if group.capacity == "reserved" and reservation and reservation.id and count > 1:
            yield (
                node_path(group, "instance_types"),
                f"{reservation.id} holds one instance type, {count} are listed; keep its own, or give a resource "
                "group of reservations (reservation.resource_group_arn)",
            )


@rule("SPOT_ONE_TYPE", "spot nodes can be of one instance type only", _SPOT, severity=Severity.WARNING)
def _one_type(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        kinds = context.types(node)
        # With EFA it is EFA_SPOT that warns; who develops can wait.
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


@rule("SPOT_SYSTEM", "what the cluster needs runs on spot nodes", _SPOT, severity=Severity.WARNING)
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


@rule(
    "EFA_ONE_NODE",
    "EFA is asked for where there is one node",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    severity=Severity.WARNING,
)
def _efa_alone(context: Context) -> Iterator[Breach]:
    for node in context.nodes:
        most = node.scaling.max if isinstance(node, NodeGroupSpec) else node.limits.get("nodes")
        if node.efa and str(most) == "1":
            yield (
                node_path(node, "efa"),
                "EFA is for traffic between nodes, and there is one: it costs interfaces, huge pages and the choice "
                "of zones; set efa: false, or allow more nodes",
            )
