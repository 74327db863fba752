"""The weights of the ranking, and the resulting order."""

from __future__ import annotations

from typing import Any

from eks_hardware.advisor.ranking.score import Scored, Weighed, basis_of, order, score
from eks_hardware.facts.schemas.policy import Basis
from eks_hardware.models import WorkloadSpec

BUDGETS = ("cost", "balanced", "performance")


def workload_of(task: str = "inference", **said: Any) -> WorkloadSpec:
    return WorkloadSpec.model_validate({"task": task, "model": {"parameters": "8B"}, **said})


def contender(
    name: str = "a",
    *,
    hourly: float | None = 1.0,
    run: float | None = None,
    speed: float | None = 100.0,
    policy: float = 0.4,
    maturity: Any = "mature",
    nodes: int = 1,
    place: int = 0,
    size: float = 1.0,
    tight: bool = False,
) -> Weighed:
    costs: dict[Basis, float | None] = {
        "usd_per_hour": hourly,
        "usd_per_run": run,
    }
    return Weighed(
        costs=costs,
        speed=speed,
        policy=policy,
        maturity=maturity,
        nodes=nodes,
        tight=tight,
        place=(place,),
        name=name,
        size=size,
    )


def ranked(weighed: list[Weighed], workload: WorkloadSpec) -> list[str]:
    basis = basis_of(workload, weighed)
    rows = zip(weighed, score(weighed, workload=workload, basis=basis), strict=True)
    return [one.name for one, _ in sorted(rows, key=lambda row: order(*row, basis=basis))]


def scored(weighed: list[Weighed], **said: Any) -> tuple[Scored, ...]:
    workload = workload_of(**said)
    return score(weighed, workload=workload, basis=basis_of(workload, weighed))
