"""Nodes on which the scheduler would run a pod: taints against tolerations, labels against selectors and affinity.

Sources: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute"})

# Tolerations that the DaemonSet controller adds to its pods; the others are about node conditions, not about node
# types.
DAEMONSET_TOLERATIONS: tuple[Mapping[str, str], ...] = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)


def tolerates(taints: Iterable[Mapping[str, str]], tolerations: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a pod with these tolerations can run on a node with these taints (in Kubernetes format)."""
    given = list(tolerations)
    return all(any(_tolerated(taint, each) for each in given) for taint in taints if taint["effect"] in KEEPS_AWAY)


def _tolerated(taint: Mapping[str, str], toleration: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if not key:
        # An empty key matches every taint, and is allowed only with Exists.
        return bool(operator == "Exists")
    if key != taint["key"]:
        return False
    return bool(operator == "Exists" or (toleration.get("value") or "") == taint.get("value", ""))


def matches(
    labels: Mapping[str, str],
    node_selector: Mapping[str, str] | None = None,
    affinity: Mapping[str, Any] | None = None,
) -> bool:
    """Return whether node labels match a pod's ``nodeSelector`` and required node affinity."""
    if any(labels.get(key) != value for key, value in (node_selector or {}).items()):
        return False
    required = ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term(labels, term) for term in required["nodeSelectorTerms"])


def _term(labels: Mapping[str, str], term: Mapping[str, Any]) -> bool:
    expressions: Sequence[Mapping[str, Any]] = term.get("matchExpressions") or ()
    # A term without expressions matches no node.
    return bool(expressions) and all(requirement_met(labels, each) for each in expressions)


def requirement_met(labels: Mapping[str, str], requirement: Mapping[str, Any]) -> bool:
    """Return whether labels meet ``{key, operator, values}`` of a node affinity or of a NodePool's requirements."""
    key, operator, values = requirement["key"], requirement["operator"], list(requirement.get("values") or ())
    value = labels.get(key)
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator in ("Gt", "Lt"):
        if value is None or not value.isdigit():
            return False
        return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
    raise ValueError(f"no such operator: {operator}")
