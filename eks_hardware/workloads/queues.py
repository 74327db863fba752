"""The namespace of a workload, with its team's quota, and its Kueue queue."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.kubernetes.flavors import flavors
from eks_hardware.kubernetes.kueue import CHART
from eks_hardware.resolve import ResolvedTeam
from eks_hardware.units import amount
from eks_hardware.workloads.request import Request, WorkloadError, shown
from eks_hardware.workloads.sizing import Size
from eks_hardware.workloads.target import Target

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True)
class Placement:
    """The namespace, team and queue of a workload."""

    namespace: str | None  # None for the namespace of the current context, which is unknown
    queue: str | None
    team: ResolvedTeam | None  # owner of the namespace

    @property
    def limits_cpu(self) -> bool:
        """Whether the namespace sets a default CPU limit for containers."""
        return self.team is not None and "cpu" in self.team.default_limits


def placement(target: Target, size: Size, request: Request) -> Placement:
    """Return the namespace, team and queue of a workload.

    Raises:
        WorkloadError: WORKLOAD_QUEUE, WORKLOAD_NAMESPACE, WORKLOAD_QUOTA.
    """
    namespace = request.namespace if request.queue is None else _namespace_of_queue(target, request)
    teams = target.resolved.kubernetes.teams
    team = next((each for each in teams if each.name == namespace), None)
    if team is not None:
        _check_quota(team, size, request)
    return Placement(namespace, request.queue, team)


def _check_quota(team: ResolvedTeam, size: Size, request: Request) -> None:
    """Refuse more than the team's ResourceQuota allows, without its other pods."""
    limits = {name: value for name, value in size.limits.items() if "/" in name}
    one = {"pods": 1, **{f"requests.{name}": value for name, value in {**size.requests, **limits}.items()}}
    over = [
        name for name, most in team.quota.items() if name in one and request.nodes * amount(one[name]) > amount(most)
    ]
    if not over:
        return
    alone = any(amount(one[name]) > amount(team.quota[name]) for name in over)
    times = f"{request.nodes} x " if request.nodes > 1 else ""
    # A strategy's quota omits the prefix of resources.
    asked = ", ".join(f"{times}{one[name]} {name.removeprefix('requests.')} of {team.quota[name]}" for name in over)
    fewer = "fewer --nodes" if not alone else "fewer --accelerators" if size.devices > 1 else None
    raise WorkloadError(
        "WORKLOAD_QUOTA",
        "--namespace" if alone else "--nodes",
        f"the workload exceeds the quota of team {team.name}: {asked}; "
        f"{f'use {fewer}, or ' if fewer else ''}raise kubernetes.teams[{team.name}].quota",
    )


def _namespace_of_queue(target: Target, request: Request) -> str:
    """Return the namespace of the requested queue, which must be the hardware's queue."""
    resolved = target.resolved
    if CHART not in resolved.kubernetes.charts:
        _refuse(f"{resolved.name} has no queues; set kubernetes: {{kueue: true}}, or omit the option")
    if target.node.workload == "system":
        _refuse(f"{target.called} is for system pods and has no queue; omit the option")
    known = {flavor.hardware.value for flavor in flavors(resolved)}
    wanted = target.hardware.value
    if request.queue != wanted or wanted not in known:
        _refuse(f"{shown(str(request.queue))} is not the queue of {target.called}; use {wanted}")
    return _namespace(target, request)


def _namespace(target: Target, request: Request) -> str:
    """Return the namespace of a queue: a team's, or ``default`` without teams."""
    allowed = [team.name for team in target.resolved.kubernetes.teams] or ["default"]
    if request.namespace is None and len(allowed) == 1:
        return allowed[0]
    if request.namespace not in allowed:
        given = f"{shown(request.namespace)} has no queue" if request.namespace else "several namespaces have the queue"
        raise WorkloadError("WORKLOAD_NAMESPACE", "--namespace", f"{given}; choose {' or '.join(allowed)}")
    return request.namespace


def _refuse(message: str) -> None:
    raise WorkloadError("WORKLOAD_QUEUE", "--queue", message)
