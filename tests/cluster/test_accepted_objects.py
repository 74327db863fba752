"""A real API server accepts every object of the strategies, with strict field validation."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eks_hardware.local.cluster import Cluster, ClusterError
from helpers.kubernetes.objects import Object, manifest_list, objects_of
from helpers.paths import SHIPPED, SPECIAL

# Kinds without a definition here: its Go module cannot be downloaded or has none. tests/unit/kubernetes checks them.
LEFT_OUT = {
    "kueue.x-k8s.io": "test_kueue.py",
    "monitoring.coreos.com": "test_monitoring.py",
}
STRATEGIES = sorted(file.stem for folder in (SHIPPED, SPECIAL) for file in folder.glob("*.yaml"))
STRICT = ("--validate=strict", "--server-side", "-f", "-")


@pytest.fixture(scope="module")
def server(cluster: Cluster, tools: Mapping[str, Path]) -> Cluster:
    """Return a cluster with Karpenter's definitions and the namespaces of all strategies."""
    cluster.kubectl("create", "-f", str(tools["karpenter-files"] / "crds"))
    cluster.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
    needed = {each["metadata"].get("namespace") for name in STRATEGIES for each in objects_of(name)}
    there = set(cluster.kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}").split())
    missing = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in needed - there - {None}
    ]
    cluster.kubectl("create", "-f", "-", stdin=manifest_list(missing))
    return cluster


def api_group(item: Object) -> str:
    return str(item["apiVersion"].rpartition("/")[0])


def objects_the_server_knows(name: str) -> list[Object]:
    """Return the objects of a strategy whose kinds the server knows."""
    return [each for each in objects_of(name) if api_group(each) not in LEFT_OUT]


def test_objects_are_accepted(server: Cluster) -> None:
    """The server does everything except storing them, so strategies can have objects of the same names."""
    objects = {json.dumps(each): each for name in STRATEGIES for each in objects_the_server_knows(name)}
    assert len(objects) > 50
    said = server.kubectl("apply", *STRICT, "--dry-run=server", stdin=manifest_list([*objects.values()])).splitlines()
    assert len(said) == len(objects)


def one_of_each_kind() -> Iterator[Object]:
    found: dict[tuple[str, str], Object] = {}
    for name in STRATEGIES:
        for each in objects_the_server_knows(name):
            found.setdefault((each["apiVersion"], each["kind"]), each)
    yield from found.values()


def test_a_field_that_does_not_exist_is_refused_in_each_kind(server: Cluster) -> None:
    broken = [copy.deepcopy(each) for each in one_of_each_kind()]
    for each in broken:
        (each.get("spec") or each)["unknownField"] = 1
    with pytest.raises(ClusterError) as refused:
        server.kubectl("apply", *STRICT, "--dry-run=server", stdin=manifest_list(broken))
    assert len(broken) > 10
    assert str(refused.value).count("unknownField") == len(broken), refused.value


def test_rules_of_karpenter_are_applied(server: Cluster) -> None:
    """The definitions have rules that a schema cannot express."""
    pool = next(each for each in one_of_each_kind() if each["kind"] == "NodePool")
    broken = copy.deepcopy(pool)
    broken["spec"]["template"]["spec"]["requirements"][0] |= {"operator": "In", "values": []}
    with pytest.raises(ClusterError, match="must have a value defined"):
        server.kubectl("apply", *STRICT, "--dry-run=server", stdin=json.dumps(broken))


def test_kinds_that_are_left_out_are_those_that_the_server_does_not_know(server: Cluster) -> None:
    served = {each["name"] for each in json.loads(server.kubectl("get", "--raw", "/apis"))["groups"]}
    used = {api_group(each) for name in STRATEGIES for each in objects_of(name)} - {""}
    assert used - served == set(LEFT_OUT)
