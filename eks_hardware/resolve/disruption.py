"""When Karpenter may remove the nodes of a pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from eks_hardware import facts
from eks_hardware.data import Cited
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve.derived import Derived, Resolver, default, optional, stated, stated_or
from eks_hardware.resolve.model_kubernetes import DisruptionBudget, ResolvedDisruption

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.choices import Disruption

T = TypeVar("T")

_CONSOLIDATION_POLICIES = {"when-empty": "WhenEmpty", "when-empty-or-underutilized": "WhenEmptyOrUnderutilized"}


class PoolDisruption(Resolver[ResolvedDisruption]):
    """When Karpenter may remove a node; by default, the toolkit's choice for the pool's purpose."""

    kind = ResolvedDisruption

    def __init__(self, pool: NodePoolSpec) -> None:
        self._given = pool.disruption
        self._purpose = pool.purpose if pool.purpose in facts.choices()["disruption"] else "general"

    def _choice(self, select: Callable[[Disruption], T]) -> Cited[T]:
        return facts.choices.cite(lambda file: select(file["disruption"][self._purpose]))

    def _why(self) -> str:
        return self._choice(lambda row: row["why"]).value

    def consolidation_policy(self) -> Derived[str]:
        given = self._given.consolidation
        policy = _CONSOLIDATION_POLICIES[given] if given else None
        return stated_or(policy, self._choice(lambda row: row["consolidation_policy"]), self._why())

    def consolidate_after(self) -> Derived[str]:
        choice = self._choice(lambda row: row["consolidate_after"])
        text = f"{self._why()}; gaps shorter than {choice.value} are ignored"
        return stated_or(_duration(self._given.consolidate_after), choice, text)

    def expire_after(self) -> Derived[str]:
        choice = self._choice(lambda row: row["expire_after"])
        text = self._why() if choice.value == "Never" else "nodes are replaced regularly to pick up patches"
        return stated_or(_duration(self._given.expire_after), choice, text)

    def termination_grace_period(self) -> Derived[str | None]:
        text = "a drain waits as long as pod disruption budgets require"
        return optional(self._given.termination_grace_period, text, "https://karpenter.sh/docs/concepts/disruption/")

    def budgets(self) -> Derived[tuple[DisruptionBudget, ...]]:
        given = self._given.budgets
        if given is not None:
            budgets = (
                DisruptionBudget(budget.nodes, budget.reasons, budget.schedule, budget.duration) for budget in given
            )
            return stated(tuple(budgets))
        choice = self._choice(lambda row: row["budgets"])
        chosen = tuple(DisruptionBudget(budget["nodes"], tuple(budget.get("reasons", ()))) for budget in choice.value)
        return default(chosen, self._why(), choice)


def _duration(value: str | None) -> str | None:
    return "Never" if value == "never" else value
