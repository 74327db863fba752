"""Rules about accelerated nodes that cost money without work: never removed, or taken by other pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eks_hardware import field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.models import NodeGroupSpec, NodePoolSpec
from eks_hardware.rules.hardware import is_open_to
from eks_hardware.rules.registry import Breach, Context, Node, node_path, noun, type_names, warning
from eks_hardware.units import seconds

_LONG_SECONDS = 24 * 3600


def _is_accelerated(context: Context, node: Node) -> bool:
    kinds = context.types(node)
    return bool(kinds) and kinds[0].hardware is not Hardware.CPU


@warning("IDLE_NODES_KEPT")
def _kept(context: Context) -> Iterator[Breach]:
    for pool in context.pools:
        if not _is_accelerated(context, pool):
            continue
        after = pool.disruption.consolidate_after
        if after and (after == "never" or seconds(after) >= _LONG_SECONDS):
            how = "forever" if after == "never" else f"for {after}"
            yield (
                node_path(pool, "disruption.consolidate_after"),
                f"Karpenter keeps empty nodes with {type_names(context.types(pool))} {how}, at full price; set 5m or "
                "similar",
            )
        yield from _blocked(pool)
    yield from _autoscaler(context)


def _blocked(pool: NodePoolSpec) -> Iterator[Breach]:
    for path, budget in field_paths.items(node_path(pool, "disruption.budgets"), pool.disruption.budgets or ()):
        none = budget.nodes.rstrip("%").strip("0") == ""
        always = budget.schedule is None or _covers_all_time(budget.schedule, seconds(budget.duration or "0s"))
        if none and always and (not budget.reasons or "Empty" in budget.reasons):
            how = "without a schedule" if budget.schedule is None else "whose duration lasts until its next start"
            yield (
                f"{path}.nodes",
                f"a budget of 0 {how} keeps empty nodes forever, at full price; add reasons without "
                "Empty, or a schedule with a shorter duration",
            )


def _covers_all_time(schedule: str, length: int) -> bool:
    """Return whether a budget's duration lasts until its next start."""
    if schedule.startswith("@"):
        return length >= _PERIODS.get(schedule, length + 1)
    minute, hour, *days = schedule.split()
    if days != ["*", "*", "*"]:
        return False
    period = 24 * 3600 if hour != "*" else 3600 if minute != "*" else 60
    return length >= period


_PERIODS = {"@hourly": 3600, "@daily": 24 * 3600, "@midnight": 24 * 3600, "@weekly": 7 * 24 * 3600}


def _autoscaler(context: Context) -> Iterator[Breach]:
    name = "cluster-autoscaler"
    chart = {str(key): each for key, each in context.strategy.kubernetes.charts.items()}.get(name)
    arguments = chart.values.get("extraArgs") if chart and name in context.charts else None
    groups = [
        group.name
        for group in context.strategy.node_groups
        if group.scaling.autoscaled and _is_accelerated(context, group)
    ]
    if not groups or not isinstance(arguments, Mapping):
        return
    if str(arguments.get("scale-down-enabled", "true")).lower() == "false":
        yield (
            field_paths.below(f"kubernetes.charts.{name}.values.extraArgs", "scale-down-enabled"),
            f"the autoscaler never removes idle nodes of {', '.join(groups)}, which cost their full price; remove it",
        )


@warning("ACCELERATOR_OPEN")
def _open(context: Context) -> Iterator[Breach]:
    others = [
        node
        for node in context.nodes
        if context.types(node) and not _is_accelerated(context, node) and is_open_to(context, node)
    ]
    for node in context.nodes:
        if node.accelerator_taint or not _is_accelerated(context, node) or not is_open_to(context, node):
            continue
        # Without other nodes, the system's pods have to run here.
        if not any(isinstance(other, NodeGroupSpec) for other in others):
            continue
        launches = "Karpenter may launch it for such a pod" if isinstance(node, NodePoolSpec) else "they keep it busy"
        yield (
            node_path(node, "accelerator_taint"),
            f"any pod can run on this {noun(node)} with {type_names(context.types(node))}, and {launches}; remove this "
            "line, or add a taint",
        )
