"""The namespace of a workload, and the queue of Kueue that it waits in."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware.kubernetes.charts import is_installed
from eks_hardware.kubernetes.flavors import flavors
from eks_hardware.kubernetes.kueue import CHART
from eks_hardware.workloads.request import Request, WorkloadError, shown
from eks_hardware.workloads.target import Target

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True)
class Placement:
    """Namespace and queue; None for that of the context, and for no queue."""

    namespace: str | None
    queue: str | None


def placement(target: Target, request: Request) -> Placement:
    """Where a workload is put.

    Raises:
        WorkloadError: WORKLOAD_QUEUE, WORKLOAD_NAMESPACE.
    """
    if request.queue is None:
        return Placement(request.namespace, None)
    resolved = target.resolved
    if not is_installed(resolved, CHART):
        _refuse(f"{resolved.name} has no queues; set kubernetes: {{kueue: true}}, or leave the option out")
    if target.node.workload == "system":
        _refuse(f"{target.called} is for the system, and has no queue; leave the option out")
    known = {each.hardware.value for each in flavors(resolved)}
    wanted = target.hardware.value
    if request.queue != wanted or wanted not in known:
        _refuse(f"{shown(request.queue)} is not the queue of {target.called}; its hardware's is {wanted}")
    return Placement(_namespace(target, request), request.queue)


def _namespace(target: Target, request: Request) -> str:
    """The namespace of a queue: a team's, or ``default`` where there are no teams."""
    allowed = [team.name for team in target.resolved.kubernetes.teams] or ["default"]
    if request.namespace is None and len(allowed) == 1:
        return allowed[0]
    if request.namespace not in allowed:
        given = f"{shown(request.namespace)} has no queue" if request.namespace else "several namespaces have the queue"
        raise WorkloadError("WORKLOAD_NAMESPACE", "--namespace", f"{given}; choose {' or '.join(allowed)}")
    return request.namespace


def _refuse(message: str) -> None:
    raise WorkloadError("WORKLOAD_QUEUE", "--queue", message)
