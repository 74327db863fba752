"""Namespaces, quotas and defaults of teams."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware.kubernetes.teams import QUEUES_LABEL, releases
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.kubernetes.kubernetes_schema import check_objects
from helpers.strategies import group, strategy

QUOTA = {"cpu": 64, "memory": "256Gi", "pods": 20, "nvidia.com/gpu": 8}
DEFAULTS = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "8Gi"}}


def team_objects(*teams: dict[str, Any], **fields: Any) -> list[Any]:
    given = strategy(group("g5.xlarge"), kubernetes={"teams": list(teams), **fields})
    return [each for release in releases(resolve(given)) for each in release.objects]


def named(found: list[Any]) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"].get("namespace", each["metadata"]["name"])) for each in found]


def test_nothing_without_teams() -> None:
    assert list(releases(resolve(strategy()))) == []


@in_one_test(
    ("team", "kinds"),
    [
        ({}, ["Namespace"]),
        ({"quota": QUOTA}, ["Namespace", "ResourceQuota"]),
        ({"container_defaults": DEFAULTS}, ["Namespace", "LimitRange"]),
        ({"quota": QUOTA, "container_defaults": DEFAULTS}, ["Namespace", "ResourceQuota", "LimitRange"]),
    ],
)
def test_what_a_team_gets(team: dict[str, Any], kinds: list[str]) -> None:
    found = team_objects({"name": "research", **team}, {"name": "serving"})
    assert named(found) == [*((kind, "research") for kind in kinds), ("Namespace", "serving")]


def test_quota_and_defaults() -> None:
    _, quota, limits = team_objects({"name": "research", "quota": QUOTA, "container_defaults": DEFAULTS})
    # Extended resources are counted only by requests.
    assert quota["spec"]["hard"] == {
        "requests.cpu": "64",
        "requests.memory": "256Gi",
        "pods": "20",
        "requests.nvidia.com/gpu": "8",
    }
    assert limits["spec"]["limits"] == [
        {"type": "Container", "default": {"memory": "8Gi"}, "defaultRequest": {"cpu": "1", "memory": "2Gi"}}
    ]


def test_quota_of_shared_gpus() -> None:
    _, quota = team_objects({"name": "research", "quota": {"nvidia.com/gpu.shared": 16, "nvidia.com/mig-1g.10gb": 7}})
    assert quota["spec"]["hard"] == {
        "requests.nvidia.com/gpu.shared": "16",
        "requests.nvidia.com/mig-1g.10gb": "7",
    }


@pytest.mark.parametrize(("kueue", "labels"), [(True, {QUEUES_LABEL: "true"}), (False, None)])
def test_kueue_knows_its_namespaces(kueue: bool, labels: dict[str, str] | None) -> None:
    (namespace,) = team_objects({"name": "research"}, kueue=kueue)
    assert namespace["metadata"].get("labels") == labels


def test_a_team_that_leaves_keeps_its_work() -> None:
    (namespace,) = team_objects({"name": "research"})
    assert namespace["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@pytest.mark.parametrize("version", ["1.31", "1.36"])
def test_objects_are_valid(version: str) -> None:
    found = team_objects({"name": "research", "quota": QUOTA, "container_defaults": DEFAULTS}, kueue=True)
    assert check_objects(found, version) == []
