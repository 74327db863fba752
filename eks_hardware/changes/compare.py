"""Compare two strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eks_hardware.changes.capacity import CapacityChange, Side, capacity_change
from eks_hardware.changes.cost import CostChange, cost_change
from eks_hardware.changes.hardware import PartChange, hardware_changes
from eks_hardware.changes.inventory import resources
from eks_hardware.changes.plan import Action, ResourceChange, changes, forgotten
from eks_hardware.changes.pools import PoolChange, pool_changes
from eks_hardware.config.catalogue import Catalogue, load
from eks_hardware.config.models import Strategy
from eks_hardware.config.resolve import ResolvedStrategy, resolve
from eks_hardware.kubernetes import bundle

State = Literal["same", "separate", "region"]


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
    return Changes(
        before=old.resolved,
        after=new.resolved,
        state=state,
        hardware=hardware_changes(old.resolved, new.resolved, catalogue),
        capacity=capacity_change(old, new, catalogue),
        cost=cost_change(old.resolved, new.resolved, catalogue),
        resources=found,
        pools=pool_changes(old_bundle, new_bundle) if state == "same" else (),
        notes=tuple(_notes(old.resolved, new.resolved, state, found, len(one))),
    )


def _state(before: ResolvedStrategy, after: ResolvedStrategy) -> State:
    if before.backend != after.backend and before.name != after.name:
        return "separate"
    return "same" if before.region == after.region else "region"


def _notes(
    before: ResolvedStrategy, after: ResolvedStrategy, state: State, found: tuple[ResourceChange, ...], had: int
) -> Iterator[str]:
    if state == "separate":
        yield (
            f"{after.name} is another deployment with a state of its own: {before.name} keeps running with its {had} "
            "resources, and is paid for, until it is destroyed"
        )
        return
    if state == "region":
        yield (
            f"region {before.region} -> {after.region}: Terraform finds nothing of the state in the new region and "
            "makes everything anew; what there is keeps running there, unmanaged, and is paid for: destroy it before"
        )
    if before.backend != after.backend:
        yield (
            "the state moves: without `terraform init -migrate-state` Terraform finds none and makes everything a "
            "second time"
        )
    if (before.kubernetes_backend is None) != (after.kubernetes_backend is None):
        yield (
            "charts change stacks: the releases of one stack are uninstalled, and installed again by the other; "
            "uninstalling karpenter-resources drains every node that Karpenter made"
        )
    accounts = (before.provider.account_id, after.provider.account_id)
    if None not in accounts and accounts[0] != accounts[1]:
        yield f"account {accounts[0]} -> {accounts[1]}: what is below holds within one account"
    yield from _refusals(found)


def _refusals(found: tuple[ResourceChange, ...]) -> Iterator[str]:
    """What Terraform plans and AWS refuses."""
    actions = {
        type_: [each.action for each in found if each.resource.type == type_]
        for type_ in ("aws_eks_cluster", "aws_vpc")
    }
    if Action.REPLACE in actions["aws_eks_cluster"]:
        yield (
            "the control plane is replaced: EKS deletes none that still has node groups, and Terraform replaces them, "
            "the add-ons and the releases on it only where an argument of theirs changes: destroy, then deploy"
        )
    elif Action.REPLACE in actions["aws_vpc"]:
        yield (
            "the VPC is replaced under the control plane, which EKS does not move to another one: the apply fails; "
            "destroy, then deploy"
        )
