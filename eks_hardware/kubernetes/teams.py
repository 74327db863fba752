"""A namespace for each team, with a quota for its pods."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.kubernetes.model import Object, ObjectRelease
from eks_hardware.resolve import ResolvedStrategy, ResolvedTeam

RELEASE = "namespaces"
"""Name of the release; releases in a team's namespace come after it."""

QUEUES_LABEL = "kueue.x-k8s.io/managed-namespace"
"""Label of the namespaces whose jobs Kueue manages (https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/)."""

_HOLDER = "default"
"""Namespace in which Helm stores the release's record; every cluster has it."""


def releases(resolved: ResolvedStrategy) -> Iterator[ObjectRelease]:
    """Yield namespaces with their quotas and defaults; nothing without teams."""
    teams = resolved.kubernetes.teams
    if teams:
        queues = "kueue" in resolved.kubernetes.charts
        yield ObjectRelease(
            name=RELEASE,
            namespace=_HOLDER,
            objects=tuple(manifest for team in teams for manifest in _objects(team, queues=queues)),
        )


def _objects(team: ResolvedTeam, *, queues: bool) -> Iterator[Object]:
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": team.name,
            **({"labels": {QUEUES_LABEL: "true"}} if queues else {}),
            # If a team is removed from the strategy, its objects are kept; delete the namespace manually.
            "annotations": {"helm.sh/resource-policy": "keep"},
        },
    }
    if team.quota:
        yield _of_team("ResourceQuota", team, {"hard": dict(team.quota)})
    defaults = {
        name: dict(amounts)
        for name, amounts in (("default", team.default_limits), ("defaultRequest", team.default_requests))
        if amounts
    }
    if defaults:
        yield _of_team("LimitRange", team, {"limits": [{"type": "Container", **defaults}]})


def _of_team(kind: str, team: ResolvedTeam, spec: dict[str, object]) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "team", "namespace": team.name}, "spec": spec}
