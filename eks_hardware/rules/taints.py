"""Which nodes are open to pods: taints of groups and pools, and tolerations of pods."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from eks_hardware import facts
from eks_hardware.printable import joined
from eks_hardware.resolve.node import taints as node_taints
from eks_hardware.resolve.values import ResolvedTaint
from eks_hardware.rules.registry import Breach, Context, Node, error, node_path
from eks_hardware.spellings import keeps_pods_off, kubernetes_effect


def nodes_open_to(context: Context, tolerations: Iterable[object]) -> int:
    """Return the number of initial nodes in groups on which a pod with these tolerations can run."""
    given = tuple(tolerations)
    groups = [group for group in context.strategy.node_groups if is_open_to(context, group, given)]
    return sum(group.scaling.initial for group in groups)


def is_open_to(context: Context, group: Node, tolerations: Sequence[object] = ()) -> bool:
    """Return whether a pod with these tolerations can run on a group; False if the group's taints are unknown."""
    kinds = context.types(group)
    return bool(kinds) and all(
        not keeps_pods_off(taint.effect) or any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in node_taints(group, kinds[0].hardware)
    )


def _tolerates(toleration: object, taint: ResolvedTaint) -> bool:
    """Return whether a toleration, in Kubernetes syntax, matches a taint.

    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    if not isinstance(toleration, Mapping):
        return False
    key, operator, value = (toleration.get(name) or "" for name in ("key", "operator", "value"))
    effect = str(toleration.get("effect") or "")
    if effect and kubernetes_effect(effect) != taint.effect:
        return False
    if operator == "Exists":
        return key in ("", taint.key)
    return operator in ("", "Equal") and (key, value) == (taint.key, taint.value)


def _coredns_tolerations(context: Context) -> tuple[object, ...]:
    """Return CoreDNS's own tolerations, and those that the strategy adds."""
    ours = tuple(facts.addons()["coredns"].get("tolerations", ()))
    given = context.addon_configuration("coredns").get("tolerations")
    return (*ours, *given) if isinstance(given, (list, tuple)) else ours


def nodes_for_coredns(context: Context) -> int:
    """Return the number of initial nodes in groups on which CoreDNS can run."""
    return nodes_open_to(context, _coredns_tolerations(context))


@error("NODES_ALL_TAINTED", all_nodes=True)
def _all_tainted(context: Context) -> Iterator[Breach]:
    groups = context.strategy.node_groups
    tolerations = _coredns_tolerations(context)
    if not all(map(context.types, groups)) or nodes_open_to(context, tolerations):
        return
    empty = next((group for group in groups if is_open_to(context, group, tolerations)), None)
    if empty:
        scaling = empty.scaling
        sizes = {"min": scaling.min, "desired": scaling.desired, "max": scaling.max}
        raised = joined([f"scaling.{name}" for name, size in sizes.items() if size is not None and size < 2], "and")
        yield (
            node_path(empty, "scaling"),
            f"CoreDNS and the other add-ons can run only on {empty.name}, which starts without nodes; set its "
            f"{raised} to 2",
        )
    else:
        taken = {node.name for node in context.nodes}
        names = itertools.chain(["system"], (f"system-{number}" for number in itertools.count(2)))
        name = next(each for each in names if each not in taken)
        yield (
            "node_groups",
            "CoreDNS and the other add-ons cannot run, because they do not tolerate any group's taints; add a CPU "
            f"group such as {{name: {name}, instance_types: [m7i.xlarge], scaling: {{min: 2, max: 4}}}}",
        )
