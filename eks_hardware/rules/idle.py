"""Rules about accelerated nodes that cost money without doing work: never removed, or taken by other pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eks_hardware import field_paths
from eks_hardware.catalogue import Hardware
from eks_hardware.models import NodeGroupSpec, NodePoolSpec
from eks_hardware.rules.cron import cron_fault, longest_minutes
from eks_hardware.rules.placement import certainly_selects, placed
from eks_hardware.rules.registry import Breach, Context, Node, node_path, noun, type_names, warning
from eks_hardware.rules.taints import is_open_to
from eks_hardware.units import go_seconds, seconds

_LONG_SECONDS = 24 * 3600
# A freeze from Friday evening to Monday morning is usual.
_LONG_FREEZE_MINUTES = 72 * 60


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
    budgets = [
        (path, budget)
        for path, budget in field_paths.items(node_path(pool, "disruption.budgets"), pool.disruption.budgets or ())
        if budget.nodes.rstrip("%").strip("0") == "" and (not budget.reasons or "Empty" in budget.reasons)
    ]
    advice = "add reasons without Empty, or a schedule with a shorter duration"
    for path, budget in budgets:
        if budget.schedule is None:
            text = "a budget of 0 without a schedule keeps empty nodes forever, at full price"
            yield f"{path}.nodes", f"{text}; {advice}"
    windows = {
        path: (budget.schedule, seconds(budget.duration or "0s") // 60)
        for path, budget in budgets
        if budget.schedule and cron_fault(budget.schedule) is None
    }
    if not windows or len(windows) < len(budgets):
        return
    longest = longest_minutes(windows.values())
    path = f"{next(iter(windows))}.nodes"
    if longest is None:
        leave = "schedule leaves" if len(windows) == 1 else "schedules together leave"
        yield (
            path,
            f"the {leave} no time at which Karpenter may remove empty nodes, so it keeps them forever, at full price; "
            f"{advice}",
        )
    elif longest >= _LONG_FREEZE_MINUTES:
        hours = longest // 60
        yield path, f"a budget of 0 keeps empty nodes for up to {hours} hours in a row, at full price; {advice}"


def _autoscaler(context: Context) -> Iterator[Breach]:
    name = "cluster-autoscaler"
    arguments = context.chart_values(name).get("extraArgs") if name in context.charts else None
    groups = [
        group.name
        for group in context.strategy.node_groups
        if group.scaling.autoscaled and _is_accelerated(context, group)
    ]
    if not groups or not isinstance(arguments, Mapping):
        return
    path, names = f"kubernetes.charts.{name}.values.extraArgs", ", ".join(groups)
    for argument, value in arguments.items():
        if argument == "scale-down-enabled" and str(value).lower() == "false":
            how = "never removes idle nodes of"
        elif argument in _THRESHOLDS and _is_zero(value):
            how = "removes only nodes whose utilization is below 0, so it never removes those of"
        elif argument in _DELAYS and (go_seconds(value) or 0) >= _LONG_SECONDS:
            how = f"waits {value} before it removes idle nodes of"
        else:
            continue
        yield (
            field_paths.below(path, argument),
            f"the autoscaler {how} {names}, which cost their full price; remove this line",
        )


_THRESHOLDS = ("scale-down-utilization-threshold", "scale-down-gpu-utilization-threshold")
_DELAYS = ("scale-down-unneeded-time", "scale-down-delay-after-add", "scale-down-delay-after-delete")


def _is_zero(value: object) -> bool:
    try:
        return float(str(value)) == 0
    except ValueError:
        return False


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
        launches = (
            "Karpenter may launch it for such a pod" if isinstance(node, NodePoolSpec) else "such pods keep it busy"
        )
        yield (
            node_path(node, "accelerator_taint"),
            f"any pod can run on this {noun(node)} with {type_names(context.types(node))}, and {launches}; remove this "
            "line, or add a taint",
        )
    yield from _tolerating(context)


def _tolerating(context: Context) -> Iterator[Breach]:
    """Yield tolerations by which the cluster's own software can run on accelerated nodes."""
    accelerated = [node for node in context.nodes if _is_accelerated(context, node) and not is_open_to(context, node)]
    karpenter = context.chart_values("karpenter") if "karpenter" in context.charts else {}
    for path, values in (*placed(context), ("kubernetes.charts.karpenter.values", karpenter)):
        given = values.get("tolerations")
        tolerations = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
        taken = [
            node
            for node in accelerated
            if tolerations
            and is_open_to(context, node, tolerations)
            and certainly_selects(context, node, values)
            # Karpenter never runs on its own nodes.
            and (values is not karpenter or isinstance(node, NodeGroupSpec))
        ]
        if taken:
            yield (
                field_paths.below(path, "tolerations"),
                f"these pods can run on {taken[0].name} with {type_names(context.types(taken[0]))}, and keep its nodes "
                "busy; tolerate only the taints of other nodes, or select other nodes",
            )
