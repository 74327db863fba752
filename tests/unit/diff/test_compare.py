"""Effects on nodes, hardware and capacity for each kind of change, without Node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eks_hardware.diff.messages import pool_sentence
from eks_hardware.diff.node_pools import pool_changes
from eks_hardware.kubernetes import Bundle, bundle
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.diff import compared_without_node as compared
from helpers.diff import with_cluster
from helpers.sections import node_groups
from helpers.strategies import gpu_pool, group, pools, strategy

GROUP = group("g5.xlarge")


# Karpenter.

POOLS = {
    "types": ({"instance_families": ["g6"]}, "all"),
    "disk": ({"disk": {"size_gib": 500}}, "all"),
    "kubelet": ({"kubelet": {"max_pods": 50}}, "all"),
    "labels": ({"labels": {"team": "a"}}, "all"),
    "image": ({"ami": {"version": "v20260701"}}, "unmatched"),
    "capacity": ({"capacity": ["on-demand", "spot"]}, "unmatched"),
    "limits": ({"limits": {"nvidia.com/gpu": 16}}, "none"),
    "weight": ({"weight": 10}, "none"),
    "disruption": ({"disruption": {"budgets": [{"nodes": "1"}]}}, "none"),
}


@in_one_test(("fields", "nodes"), POOLS.values(), ids=POOLS)
def test_nodes_of_a_pool(fields: dict[str, Any], nodes: str) -> None:
    base = gpu_pool("gpu", instance_families=["g5"])
    changes = compared(strategy(**pools(base)), strategy(**pools({**base, **fields})))
    [pool] = changes.pools
    assert (pool.name, pool.action, pool.nodes, pool.held) == ("gpu", "changed", nodes, False)


def test_budgets_of_a_training_pool_hold_its_nodes() -> None:
    base = gpu_pool("gpu", instance_types=["p5.48xlarge"], workload="training")
    changes = compared(strategy(**pools(base)), strategy(**pools({**base, "disk": {"size_gib": 500}})))
    [pool] = changes.pools
    assert (pool.nodes, pool.held) == ("all", True)
    assert "old nodes stay until they are empty" in str(pool_sentence(pool))


UPGRADED: dict[str, tuple[dict[str, Any], list[tuple[str, bool]]]] = {
    "latest": ({"instance_families": ["g5"]}, [("all", False)]),
    "pinned": ({"instance_families": ["g5"], "ami": {"version": "v20260701"}}, [("all", False)]),
    "training": ({"instance_types": ["p5.48xlarge"], "workload": "training"}, [("all", True)]),
    "own image": ({"instance_families": ["g5"], "ami": {"image_id": "ami-0123456789abcdef0"}}, []),
}


@in_one_test(("fields", "expected"), UPGRADED.values(), ids=UPGRADED)
@in_one_test("versions", [("1.34", "1.35"), ("1.35", "1.34")], ids=["forth", "back"])
def test_another_version_replaces_nodes_whose_image_follows_it(
    versions: tuple[str, str], fields: dict[str, Any], expected: list[tuple[str, bool]]
) -> None:
    before, after = (
        {**with_cluster(kubernetes_version=each), **pools(gpu_pool("burst", **fields))} for each in versions
    )
    changes = compared(before, after)
    assert [(each.nodes, each.held) for each in changes.pools] == expected
    assert all(f"kubernetes_version {' -> '.join(versions)}" in str(pool_sentence(each)) for each in changes.pools)


def test_an_alias_instead_of_an_image_is_reported_once() -> None:
    """A change to or from an alias drifts because of its terms."""
    own = gpu_pool("burst", instance_families=["g5"], ami={"image_id": "ami-0123456789abcdef0"})
    before = {**with_cluster(kubernetes_version="1.34"), **pools(own)}
    after = {**with_cluster(kubernetes_version="1.35"), **pools({**own, "ami": {}})}
    [pool] = compared(before, after).pools
    assert (pool.fields, pool.nodes) == (("EC2NodeClass amiFamily", "EC2NodeClass amiSelectorTerms"), "unmatched")


SPECS = {
    "EC2NodeClass": {
        "subnetSelectorTerms": "unmatched",
        "securityGroupSelectorTerms": "unmatched",
        "capacityReservationSelectorTerms": "unmatched",
        "amiSelectorTerms": "unmatched",
        "amiFamily": "unmatched",
        "blockDeviceMappings": "all",
        "userData": "all",
    },
    "NodePool": {"template.spec.requirements": "unmatched", "template.metadata.labels": "all", "limits": "none"},
}


@in_one_test(("kind", "field", "nodes"), [(kind, *row) for kind, rows in SPECS.items() for row in rows.items()])
def test_drift_by_field(kind: str, field: str, nodes: str) -> None:
    """Like Karpenter: static fields are hashed, the others are compared with the running instance."""

    def another(value: Any, path: list[str]) -> Any:
        return {**value, path[0]: another(value.get(path[0], {}), path[1:])} if path else ["another"]

    old = bundle(resolve(strategy(**pools(gpu_pool("burst", instance_families=["g5"], kubelet={"max_pods": 50})))))
    [release] = [each for each in old.object_releases if each.name == "karpenter-resources"]
    objects = tuple(
        {**each, "spec": another(each["spec"], field.split("."))} if each["kind"] == kind else each
        for each in release.objects
    )
    new = Bundle(tuple(replace(each, objects=objects) if each is release else each for each in old.object_releases))
    [pool] = pool_changes(old, new, kubernetes_versions=("1.35", "1.35"))
    assert pool.nodes == nodes


# Helm releases that are removed although their software is still needed.

HELM = {"delivery": "helm"}
TWO = pools(
    gpu_pool("burst", instance_families=["g5"]), gpu_pool("train", instance_types=["p5.48xlarge"], workload="training")
)
UNINSTALLED = {
    "manifests": (HELM, {"delivery": "manifests"}, "Terraform no longer manages the charts"),
    "another stack's manifests": (
        {**HELM, "stack": "separate"},
        {"delivery": "manifests"},
        "Terraform no longer manages the charts",
    ),
    "a separate stack": (HELM, {**HELM, "stack": "separate"}, "charts move to another stack"),
    "the same stack": ({**HELM, "stack": "separate"}, HELM, "charts move to another stack"),
}


@in_one_test(("before", "after", "note"), UNINSTALLED.values(), ids=UNINSTALLED)
def test_nodes_go_with_the_release_of_their_pools(before: dict[str, Any], after: dict[str, Any], note: str) -> None:
    changes = compared({**node_groups(), **TWO, "kubernetes": before}, {**node_groups(), **TWO, "kubernetes": after})
    assert [(each.name, each.action, each.nodes) for each in changes.pools] == [
        ("burst", "replaced", "all"),
        ("train", "replaced", "all"),
    ]
    assert changes.notes[0].startswith(note)
    assert changes.notes[1] == (
        "the release karpenter-resources is uninstalled: all nodes that Karpenter created are drained and terminated "
        "(burst, train), regardless of disruption budgets"
    )
    assert "REPLACED: uninstalling its release drains and terminates its nodes" in str(pool_sentence(changes.pools[0]))


def test_without_karpenter_no_node_goes_with_a_release() -> None:
    changes = compared(node_groups(GROUP, kubernetes=HELM), node_groups(GROUP, kubernetes={"delivery": "manifests"}))
    assert [each.partition(":")[0] for each in changes.notes] == ["Terraform no longer manages the charts"]
    assert changes.pools == ()


def test_pools_that_go_with_karpenter_are_deleted() -> None:
    changes = compared({**node_groups(GROUP), **TWO, "kubernetes": HELM}, {**node_groups(GROUP), "kubernetes": HELM})
    assert {each.action for each in changes.pools} == {"deleted"}
    assert changes.notes == ()


def test_pools_come_and_go() -> None:
    one, other = gpu_pool("one", instance_families=["g5"]), gpu_pool("other", instance_families=["g6"])
    changes = compared(strategy(**pools(one)), strategy(**pools(other)))
    assert [(each.name, each.action) for each in changes.pools] == [("other", "created"), ("one", "deleted")]
    assert "are drained and terminated" in str(pool_sentence(changes.pools[1]))


# Hardware and capacity.


def test_hardware() -> None:
    changes = compared(
        node_groups(group("g5.xlarge"), group("p4d.24xlarge", name="train", efa=True)), node_groups(group("g6.xlarge"))
    )
    by_path = {each.path: each for each in changes.hardware}
    assert [(each.path, each.action) for each in changes.hardware] == [
        ("node_groups[gpu]", "changed"),
        ("node_groups[train]", "removed"),
    ]
    differences = {each.name: (each.before, each.after) for each in by_path["node_groups[gpu]"].differences}
    assert differences["instance types"] == ("g5.xlarge", "g6.xlarge")
    assert differences["accelerators/node"] == ("1 x A10G", "1 x L4")
    gone = {each.name: each.before for each in by_path["node_groups[train]"].differences}
    assert gone["EFA interfaces"] == "4"


def test_a_group_under_another_name_is_recognized() -> None:
    changes = compared(node_groups(GROUP), node_groups(group("g5.xlarge", name="training")))
    assert [each.renamed_to for each in changes.hardware if each.action == "removed"] == ["training"]


def test_one_group_is_the_other_name_of_only_one() -> None:
    changes = compared(node_groups(group("g5.xlarge", name="a"), group("g5.xlarge", name="b")), node_groups(GROUP))
    assert [each.renamed_to for each in changes.hardware if each.action == "removed"] == ["gpu", None]


def test_a_pool_with_shared_gpus_under_another_name_is_recognized() -> None:
    shared = {"instance_types": ["g6.xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 4}}}
    before, after = (strategy(**pools(gpu_pool(name, **shared))) for name in ("shared", "parts"))
    assert [each.renamed_to for each in compared(before, after).hardware if each.action == "removed"] == ["parts"]


def test_capacity() -> None:
    before = strategy(group("p5.48xlarge", scaling={"max": 2}), **pools(gpu_pool(instance_families=["g5"])))
    after = strategy(
        group("p5.48xlarge", scaling={"max": 3, "desired": 1}),
        **pools(gpu_pool(instance_families=["g5"], limits={"nvidia.com/gpu": 16})),
    )
    capacity = compared(before, after).capacity
    assert [(each.name, each.before, each.after) for each in capacity.nodes] == [
        ("node_groups[gpu] min/desired/max", "0/0/2", "0/1/3"),
        ("karpenter.node_pools[pool] limits", "8 nvidia.com/gpu, 512 cpu", "16 nvidia.com/gpu, 1024 cpu"),
    ]
    assert [(each.name, each.before, each.after) for each in capacity.accelerators] == [
        ("H100 at max", "16", "24"),
        ("A10G at max", "8", "16"),
    ]
    quotas = {each.name.partition(" ")[0]: (each.before, each.after) for each in capacity.vcpu_quotas}
    assert quotas["L-417A185B"] == ("384", "576")
