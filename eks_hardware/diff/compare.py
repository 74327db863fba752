"""Compare two strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eks_hardware.catalogue import Catalogue, load
from eks_hardware.diff.capacity import CapacityChange, Side, capacity_change
from eks_hardware.diff.cost import CostChange, cost_change
from eks_hardware.diff.hardware import PartChange, hardware_changes
from eks_hardware.diff.inventory import resources
from eks_hardware.diff.notes import State, notes
from eks_hardware.diff.plan import Action, ResourceChange, changes, forgotten
from eks_hardware.diff.pools import PoolChange, pool_changes
from eks_hardware.kubernetes import bundle
from eks_hardware.kubernetes.karpenter import RESOURCES as POOLS_RELEASE
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve


@dataclass(frozen=True)
class Changes:
    """What changes from one strategy to another.

    Attributes:
        before: the old strategy.
        after: the new one.
        state: ``same``: the new one is applied to what the old one made; ``separate``: it is another deployment, beside
            the old one; ``region``: the old one is left behind in its region.
        hardware: node groups and node pools.
        capacity: nodes, limits, accelerators, vCPU quotas.
        cost: per hour and month.
        resources: what Terraform does.
        pools: what Karpenter does.
        notes: what a reader has to know beside it.
    """

    before: ResolvedStrategy
    after: ResolvedStrategy
    state: State
    hardware: tuple[PartChange, ...]
    capacity: CapacityChange
    cost: CostChange
    resources: tuple[ResourceChange, ...]
    pools: tuple[PoolChange, ...]
    notes: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether anything at all changes."""
        return bool(self.hardware or self.capacity.any or self.cost.any or self.resources or self.pools or self.notes)

    def of(self, *actions: Action) -> tuple[ResourceChange, ...]:
        """Resources with one of some actions."""
        return tuple(each for each in self.resources if each.action in actions)

    def count(self) -> Counter[Action]:
        """How many resources have each action."""
        return Counter(each.action for each in self.resources)


def compare(before: Strategy, after: Strategy, catalogue: Catalogue | None = None) -> Changes:
    """Compare two strategies that passed the rules, the second as the successor of the first."""
    catalogue = catalogue or load()
    old, new = Side(before, resolve(before, catalogue)), Side(after, resolve(after, catalogue))
    old_bundle, new_bundle = bundle(old.resolved), bundle(new.resolved)
    one, other = resources(old.resolved, old_bundle), resources(new.resolved, new_bundle)
    state = _state(old.resolved, new.resolved)
    if state == "separate":
        found = changes((), other)
    else:
        found = forgotten(one, other) if state == "region" else changes(one, other)
    pools = (
        pool_changes(
            old_bundle,
            new_bundle,
            kubernetes_versions=(old.resolved.cluster.kubernetes_version, new.resolved.cluster.kubernetes_version),
            uninstalled=_uninstalls_pools(found),
        )
        if state == "same"
        else ()
    )
    return Changes(
        before=old.resolved,
        after=new.resolved,
        state=state,
        hardware=hardware_changes(old.resolved, new.resolved, catalogue),
        capacity=capacity_change(old, new, catalogue),
        cost=cost_change(old.resolved, new.resolved, catalogue),
        resources=found,
        pools=pools,
        notes=tuple(notes(old.resolved, new.resolved, state, found, pools, len(one))),
    )


def _state(before: ResolvedStrategy, after: ResolvedStrategy) -> State:
    if before.backend != after.backend and before.name != after.name:
        return "separate"
    return "same" if before.region == after.region else "region"


def _uninstalls_pools(found: Sequence[ResourceChange]) -> bool:
    """Whether the release that holds Karpenter's objects goes, be it to come again."""
    return any(
        each.resource.type == "helm_release"
        and each.resource.name == POOLS_RELEASE
        and each.action in (Action.REPLACE, Action.DESTROY)
        for each in found
    )
