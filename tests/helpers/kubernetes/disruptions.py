"""Node claims over time: which of them Karpenter disrupts, and why."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from helpers.kubernetes.installed import Installed
from helpers.kubernetes.objects import Object

POOL_LABEL = "karpenter.sh/nodepool"


class Claims:
    """The node claims of pools, read again and again.

    Attributes:
        last: each claim as it was last seen, by name. Deleted claims stay.
        now: the names of the existing claims.
        most_disrupted: the most claims of a pool that Karpenter disrupted at the same time.
    """

    def __init__(self, running: Installed, *pools: str) -> None:
        self._running = running
        self._pools = pools
        self.last: dict[str, Object] = {}
        self.now: frozenset[str] = frozenset()
        self.most_disrupted = dict.fromkeys(pools, 0)
        self.read()

    def read(self) -> None:
        """Read the claims once."""
        found = {
            each["metadata"]["name"]: each
            for each in self._running.get("nodeclaims")
            if each["metadata"]["labels"][POOL_LABEL] in self._pools
        }
        self.last |= found
        self.now = frozenset(found)
        for pool in self._pools:
            disrupted = [name for name in self.of(pool) if is_disrupted(found[name])]
            self.most_disrupted[pool] = max(self.most_disrupted[pool], len(disrupted))

    def of(self, pool: str) -> list[str]:
        """Return the names of the existing claims of a pool."""
        return sorted(name for name in self.now if self.last[name]["metadata"]["labels"][POOL_LABEL] == pool)

    def on(self, node: str) -> str:
        """Return the name of a node's claim. A later node can have the name of a deleted one."""
        return next(name for name in self.now if self.last[name].get("status", {}).get("nodeName") == node)


def condition(item: Object, kind: str) -> Mapping[str, str]:
    """Return a condition of an object's status, or an empty mapping."""
    conditions: list[dict[str, str]] = item.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def is_true(item: Object, kind: str) -> bool:
    return condition(item, kind).get("status") == "True"


def is_disrupted(claim: Object) -> bool:
    """Return whether Karpenter disrupts a node, as its budgets count it.

    Source: https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/disruption/helpers.go
    """
    chosen = is_true(claim, "DisruptionReason") or "deletionTimestamp" in claim["metadata"]
    return chosen and not is_true(claim, "InstanceTerminating")


def time_of(text: str) -> datetime.datetime:
    """Return the time that an object has as text."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
