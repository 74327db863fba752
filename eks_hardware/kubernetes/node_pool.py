"""NodePool and NodeOverlay: which nodes Karpenter may make, and when it takes them away.

API: https://karpenter.sh/v1.14/concepts/nodepools/, https://karpenter.sh/v1.14/concepts/nodeoverlays/
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from eks_hardware.kubernetes.nodes import taint_object
from eks_hardware.resolve import DisruptionBudget, ResolvedNodePool
from eks_hardware.spellings import KUBERNETES_ARCHITECTURES


def node_pool(pool: ResolvedNodePool) -> dict[str, Any]:
    """The NodePool of a pool."""
    disruption = pool.disruption
    template: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
        "requirements": [
            _is_one_of("node.kubernetes.io/instance-type", pool.instance_types),
            _is_one_of("kubernetes.io/arch", [KUBERNETES_ARCHITECTURES[pool.architecture]]),
            _is_one_of("kubernetes.io/os", ["linux"]),
            _is_one_of("karpenter.sh/capacity-type", pool.capacity_types),
            # Ids and not names: a zone's name means another zone in another account.
            _is_one_of("topology.k8s.aws/zone-id", pool.zone_ids),
        ],
        "expireAfter": disruption.expire_after,
    }
    if disruption.termination_grace_period:
        template["terminationGracePeriod"] = disruption.termination_grace_period
    if pool.taints:
        template["taints"] = [taint_object(taint) for taint in pool.taints]
    spec: dict[str, Any] = {
        "template": {"metadata": {"labels": dict(pool.labels)}, "spec": template},
        "disruption": {
            "consolidationPolicy": disruption.consolidation_policy,
            "consolidateAfter": disruption.consolidate_after,
            "budgets": [_budget(each) for each in disruption.budgets],
        },
        "limits": dict(pool.limits),
    }
    if pool.weight is not None:
        spec["weight"] = pool.weight
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": pool.name}, "spec": spec}


def node_overlays(pool: ResolvedNodePool) -> Iterator[dict[str, Any]]:
    """The NodeOverlays of a pool, each for its nodes alone: overlays are not bound to a pool otherwise."""
    for overlay in pool.overlays:
        yield {
            "apiVersion": "karpenter.sh/v1alpha1",
            "kind": "NodeOverlay",
            "metadata": {"name": overlay.name},
            "spec": {
                "requirements": [
                    _is_one_of("karpenter.sh/nodepool", [pool.name]),
                    _is_one_of("node.kubernetes.io/instance-type", overlay.instance_types),
                ],
                "capacity": dict(overlay.capacity),
            },
        }


def _is_one_of(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _budget(budget: DisruptionBudget) -> dict[str, Any]:
    written: dict[str, Any] = {"nodes": budget.nodes}
    if budget.reasons:
        written["reasons"] = list(budget.reasons)
    if budget.schedule and budget.duration:
        written |= {"schedule": budget.schedule, "duration": _whole_minutes(budget.duration)}
    return written


def _whole_minutes(duration: str) -> str:
    """A budget's duration has no seconds; a begun minute counts."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", duration)
    hours, minutes, rest = (int(each or 0) for each in (found.groups() if found else ("", "", "")))
    return f"{hours}h{minutes + math.ceil(rest / 60)}m" if rest else duration
