"""Compare two strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eks_hardware.catalogue import load
from eks_hardware.diff.capacity import CapacityChange, Side, capacity_change
from eks_hardware.diff.cost import CostChange, cost_change
from eks_hardware.diff.hardware import PartChange, hardware_changes
from eks_hardware.diff.node_pools import PoolChange, pool_changes
from eks_hardware.diff.notes import State, charts_move, notes
from eks_hardware.diff.plan import Action, ResourceChange, changes, forgotten
from eks_hardware.diff.resources import Document, resources
from eks_hardware.diff.synthesis import NodeMissingError, synthesize
from eks_hardware.kubernetes import bundle
from eks_hardware.models import Strategy
from eks_hardware.resolve import ResolvedStrategy, resolve


@dataclass(frozen=True)
class Changes:
    """Changes from one strategy to another.

    ``state`` is ``same`` if both share a deployment, ``separate`` if the new strategy is another deployment, and
    ``region`` if the old resources stay behind in their region. ``not_compared`` is the reason if resources
    are not compared.
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
    not_compared: str | None = None

    @property
    def any(self) -> bool:
        """Whether anything changes."""
        return bool(
            self.hardware or self.capacity.amounts or self.cost.any or self.resources or self.pools or self.notes
        )

    def of(self, *actions: Action) -> tuple[ResourceChange, ...]:
        """Return the changes of resources with one of these actions."""
        return tuple(resource for resource in self.resources if resource.action in actions)

    def count(self) -> Counter[Action]:
        """Return the number of resources by action."""
        return Counter(resource.action for resource in self.resources)


def compare(
    before: Strategy,
    after: Strategy,
    *,
    synthesize: Callable[[ResolvedStrategy], Sequence[Document]] = synthesize,
) -> Changes:
    """Compare two strategies that passed the rules.

    Without Node, resources are not compared; ``not_compared`` and the first note say so. ``synthesize`` returns the
    Terraform JSON of a strategy's stacks, the charts' stack last.

    Raises:
        SynthesisError: when the stacks of a strategy cannot be synthesized.
    """
    catalogue = load()
    old, new = Side(before, resolve(before, catalogue)), Side(after, resolve(after, catalogue))
    old_bundle, new_bundle = bundle(old.resolved), bundle(new.resolved)
    state = _state(old.resolved, new.resolved)
    had: int | None = None
    resource_changes: tuple[ResourceChange, ...] = ()
    not_compared = None
    try:
        had, resource_changes = _resource_changes(old.resolved, new.resolved, state, synthesize)
    except NodeMissingError as error:
        not_compared = f"resources and replacements are not compared: {error}"
    moved = state == "same" and bool(old_bundle.releases) and charts_move(old.resolved, new.resolved)
    pools = (
        pool_changes(
            old_bundle,
            new_bundle,
            kubernetes_versions=(old.resolved.cluster.kubernetes_version, new.resolved.cluster.kubernetes_version),
            uninstalled=moved or _namespace_changes(old.resolved, new.resolved),
        )
        if state == "same"
        else ()
    )
    points = notes(old.resolved, new.resolved, state, resource_changes, pools, had=had, moved=moved)
    return Changes(
        before=old.resolved,
        after=new.resolved,
        state=state,
        hardware=hardware_changes(old.resolved, new.resolved, catalogue),
        capacity=capacity_change(old, new, catalogue),
        cost=cost_change(old.resolved, new.resolved, catalogue),
        resources=resource_changes,
        pools=pools,
        notes=(*((not_compared,) if not_compared else ()), *points),
        not_compared=not_compared,
    )


def _resource_changes(
    before: ResolvedStrategy,
    after: ResolvedStrategy,
    state: State,
    synthesize: Callable[[ResolvedStrategy], Sequence[Document]],
) -> tuple[int, tuple[ResourceChange, ...]]:
    """Return the number of old resources, and the change of each resource."""
    one = resources(synthesize(before))
    other = one if before == after else resources(synthesize(after))
    if state == "separate":
        return len(one), changes((), other)
    return len(one), forgotten(one, other) if state == "region" else changes(one, other)


def _state(before: ResolvedStrategy, after: ResolvedStrategy) -> State:
    if before.backend != after.backend and before.name != after.name:
        return "separate"
    return "same" if before.region == after.region else "region"


def _namespace_changes(before: ResolvedStrategy, after: ResolvedStrategy) -> bool:
    """Return whether the Helm release of Karpenter's objects moves to another namespace, which replaces it."""
    if before.kubernetes.delivery != "helm" or before.karpenter is None or after.karpenter is None:
        return False
    return before.karpenter.namespace != after.karpenter.namespace
