"""Values that are derived from a node pool: types, zones, image, limits, and that every override takes effect."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import Hardware, load
from eks_hardware.models import NodePoolSpec
from eks_hardware.resolve import (
    BlockDevice,
    CapacityOverlay,
    DisruptionBudget,
    ReservationSelector,
    ResolvedNodePool,
    ResolvedStrategy,
    ResolvedTaint,
    resolve,
)
from eks_hardware.resolve.pool_types import candidates, known_to_karpenter, left_out, pool_types
from helpers.cases import in_one_test
from helpers.strategies import gpu_pool, group, pool, pools, resolved_once, strategy

CATALOGUE = load()
SUGGESTED = facts.karpenter()["ami_aliases"]["suggested"]
BOTTLEROCKET = {"family": "bottlerocket"}
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd"
RESERVATION = {"id": "cr-01234567", "zone": "usw2-az4"}


def cluster_with(*given: dict[str, Any], karpenter: dict[str, Any] | None = None, **fields: Any) -> ResolvedStrategy:
    return resolved_once(strategy(**pools(*given, **(karpenter or {})), **fields))


def resolved_pool(
    *types: str, karpenter: dict[str, Any] | None = None, network: Any = None, **fields: Any
) -> ResolvedNodePool:
    """Return a resolved GPU pool, with p4d.24xlarge by default."""
    hardware = {"instance_families", "accelerator"} & set(fields)
    kinds = {} if hardware else {"instance_types": list(types or ["p4d.24xlarge"])}
    resolved = cluster_with(gpu_pool(**kinds, **fields), karpenter=karpenter, network=network or {})
    return resolved.node_pools[0]


# --- selection of types


def types_of_pool(region: str = "us-west-2", **fields: Any) -> tuple[str, ...]:
    return pool_types(NodePoolSpec.model_validate(pool(**fields)), region, CATALOGUE)


@in_one_test(
    ("fields", "expected"),
    [
        ({"instance_types": ["g6.xlarge", "g5.xlarge"]}, ("g6.xlarge", "g5.xlarge")),
        ({"instance_types": ["g6.xlarge", "g99.xlarge"]}, ()),  # INSTANCE_TYPE_UNKNOWN
        ({"instance_types": ["m7i.metal-24xl"]}, ("m7i.metal-24xl",)),  # explicit types are kept
        ({"accelerator": "h100"}, ("p5.4xlarge", "p5.48xlarge")),
        ({"accelerator": "h100", "instance_sizes": ["48xlarge"]}, ("p5.48xlarge",)),
        ({"accelerator": "trainium"}, ("trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge")),
        ({"instance_families": ["trn1"], "efa": True}, ("trn1.32xlarge",)),
        ({"instance_families": ["inf2", "inf1"], "instance_sizes": ["xlarge"]}, ("inf2.xlarge", "inf1.xlarge")),
        ({"instance_families": ["g6f"]}, ("g6f.large", "g6f.xlarge", "g6f.2xlarge", "g6f.4xlarge")),
        ({"accelerator": "l4", "instance_sizes": ["2xlarge"]}, ("g6.2xlarge",)),  # g6f.2xlarge has a quarter of a GPU
        ({"instance_families": ["g5g"], "instance_sizes": ["metal"]}, ()),
        ({"instance_families": ["p3"]}, ()),  # withdrawn
        ({"instance_families": ["trn2"]}, ()),  # not offered in us-west-2
        (
            {"instance_families": ["g7"], "instance_sizes": ["2xlarge"], "ami": {"family": "bottlerocket"}},
            (),  # no Bottlerocket image has its driver
        ),
        (
            {"instance_families": ["g7"], "instance_sizes": ["2xlarge"], "ami": {"image_id": "ami-01234567"}},
            ("g7.2xlarge",),
        ),
        ({"instance_families": ["f2"]}, ()),  # Karpenter does not support the accelerator
        ({"region": "eu-west-1", "instance_families": ["g6"]}, ()),
    ],
)
def test_types(fields: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert expected == types_of_pool(**fields)


def test_families_and_accelerators_bring_only_what_can_run() -> None:
    for region, accelerator in itertools.product(("us-west-2", "us-east-1", "us-east-2"), CATALOGUE.accelerators):
        given = NodePoolSpec.model_validate(pool(accelerator=accelerator))
        for name in pool_types(given, region, CATALOGUE):
            kind = CATALOGUE.get(name)
            assert CATALOGUE.offered(name, region)
            assert known_to_karpenter(kind)
            assert (kind.bare_metal, kind.withdrawn) == (False, None)
            assert kind.accelerator is not None
            assert (kind.accelerator.label_name, kind.accelerator.fraction) == (accelerator, None)


def test_what_is_left_out_has_a_reason() -> None:
    given = NodePoolSpec.model_validate(pool(instance_families=["g5", "g5g", "p3", "g7"], efa=True))
    chosen = pool_types(given, "us-west-2", CATALOGUE)
    for kind in candidates(given, CATALOGUE):
        assert (left_out(given, kind, "us-west-2", CATALOGUE) is None) == (kind.name in chosen)


def test_karpenter_knows_what_its_facts_know() -> None:
    unknown = {kind.family for kind in map(CATALOGUE.get, CATALOGUE.names) if not known_to_karpenter(kind)}
    assert unknown == {"f1", "f2", "p6e-gb200", "trn2u", "vt1"}


# --- the same hardware, the same nodes


@in_one_test("name", ["p5.48xlarge", "g5.xlarge", "g5g.xlarge", "trn1.32xlarge", "inf2.xlarge", "m7g.xlarge"])
@in_one_test("family", ["al2023", "bottlerocket"])
@in_one_test("efa", [False, True])
def test_a_pool_has_the_nodes_of_a_group(name: str, family: str, efa: bool) -> None:
    kind = CATALOGUE.get(name)
    fields: dict[str, Any] = {
        "efa": efa and kind.supports_efa,
        "ami": {"family": family},
        "workload": "training",
        "labels": {"team": "a"},
        "taints": [{"key": "team", "value": "a", "effect": "NO_EXECUTE"}],
        "disk": {"size_gib": 300},
    }
    resource = {Hardware.NVIDIA_GPU: "nvidia.com/gpu", Hardware.CPU: "cpu"}.get(kind.hardware, "aws.amazon.com/neuron")
    given = pool(instance_types=[name], limits={resource: 64}, **fields)
    resolved = resolve(strategy(group(name, "group", **fields), **pools(given)))
    of_group = next(each for each in resolved.node_groups if each.name == "group")
    of_pool = resolved.node_pools[0]
    for field in (
        "hardware",
        "architecture",
        "ami_family",
        "labels",
        "taints",
        "efa_interfaces",
        "efa_count",
        "block_devices",
        "instance_store",
        "zone_ids",
        "workload",
        "metadata_hop_limit",
    ):
        assert getattr(of_group, field) == getattr(of_pool, field), field
    assert of_pool.kubelet["maxPods"] == of_group.max_pods
    assert {name for each in of_pool.overlays for name in each.capacity} <= {"hugepages-2Mi"}
    assert of_pool.efa_security_group_name == ("demo-efa" if fields["efa"] else None)


def test_a_label_of_the_accelerator_only_where_all_types_have_the_same() -> None:
    assert resolved_pool(instance_families=["g5"]).labels["accelerator"] == "a10g"
    assert "accelerator" not in resolved_pool(instance_families=["g5", "g6"]).labels


def test_bottlerocket_gives_neuron_devices_to_pods() -> None:
    given = pool(instance_types=["inf2.xlarge"], limits={"aws.amazon.com/neuron": 1}, ami=BOTTLEROCKET)
    settings = cluster_with(given).node_pools[0].user_data
    assert settings == {"kubernetes": {"device-ownership-from-security-context": True}}


# --- zones


@in_one_test(
    ("fields", "network", "expected"),
    [
        ({}, {}, ("usw2-az1", "usw2-az2", "usw2-az3")),
        ({"efa": True}, {}, ("usw2-az1",)),
        ({"placement_group": "cluster"}, {}, ("usw2-az1",)),
        ({"zones": ["usw2-az4"]}, {}, ("usw2-az4",)),
        ({"zones": ["usw2-az2", "usw2-az1"]}, {}, ("usw2-az1", "usw2-az2")),
        ({"instance_families": ["trn1"]}, {"zones": 2}, ("usw2-az1",)),
        # One type is enough: Karpenter uses the zone that has it.
        ({"instance_types": ["trn1.2xlarge", "inf2.xlarge"]}, {}, ("usw2-az1", "usw2-az2", "usw2-az3")),
        # A reservation's zone, alone or with those of other capacity.
        ({"capacity": ["reserved"], "reservations": [RESERVATION]}, {}, ("usw2-az4",)),
        (
            {"capacity": ["reserved", "on-demand"], "reservations": [RESERVATION]},
            {},
            ("usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4"),
        ),
        ({"capacity": ["reserved", "spot"], "reservations": [RESERVATION], "efa": True}, {}, ("usw2-az4",)),
        (
            {"capacity": ["reserved"], "reservations": [{"tags": {"team": "a"}}]},
            {},
            ("usw2-az1", "usw2-az2", "usw2-az3"),
        ),
        (
            {"capacity": ["reserved", "on-demand"], "reservations": [RESERVATION], "zones": ["usw2-az4", "usw2-az2"]},
            {},
            ("usw2-az2", "usw2-az4"),
        ),
    ],
)
def test_zones(fields: dict[str, Any], network: dict[str, Any], expected: tuple[str, ...]) -> None:
    hardware = {"instance_types", "instance_families"} & set(fields)
    given = gpu_pool(**({} if hardware else {"instance_types": ["p5.48xlarge"]}), **fields)
    resolved = cluster_with(given, network=network)
    assert expected == resolved.node_pools[0].zone_ids
    assert set(expected) <= set(resolved.network.zone_ids)


def test_a_pool_adds_a_zone_and_moves_nothing() -> None:
    trn1 = pool(instance_types=["trn1.32xlarge"], efa=True, limits={"aws.amazon.com/neuron": 16})
    where: dict[str, Any] = {"region": "us-east-1", "network": {"zones": 2}}
    before, after = cluster_with(pool("a"), **where), cluster_with(pool("a"), trn1, **where)
    assert after.node_pools[1].zone_ids == ("use1-az4",)
    assert set(after.network.zone_ids) - set(before.network.zone_ids) == {"use1-az4"}
    assert before.node_pools[0].zone_ids == after.node_pools[0].zone_ids
    assert before.network.control_plane_zone_ids == after.network.control_plane_zone_ids
    assert {each.key: each.cidr for each in before.network.subnets}.items() <= {
        each.key: each.cidr for each in after.network.subnets
    }.items()


@pytest.mark.parametrize(("tagged", "expected"), [(True, {}), (False, {"usw2-az1": "subnet-00000001"})])
def test_subnets_are_named_where_they_are_not_tagged(tagged: bool, expected: dict[str, str]) -> None:
    existing = {
        "vpc_id": "vpc-01234567",
        "private_subnets": {"usw2-az1": "subnet-00000001", "usw2-az2": "subnet-00000002"},
        "tag_subnets": tagged,
    }
    assert expected == resolved_pool(efa=True, network={"existing": existing}).subnet_ids


# --- images


@in_one_test(
    ("ami", "versions", "alias"),
    [
        ({}, {}, f"al2023@{SUGGESTED['al2023']}"),
        (BOTTLEROCKET, {}, f"bottlerocket@{SUGGESTED['bottlerocket']}"),
        ({}, {"al2023": "v20260728", "bottlerocket": "v1.66.0"}, "al2023@v20260728"),
        (BOTTLEROCKET, {"al2023": "v20260728", "bottlerocket": "v1.66.0"}, "bottlerocket@v1.66.0"),
        ({"version": "v20260714"}, {"al2023": "v20260728"}, "al2023@v20260714"),
        ({"version": "latest"}, {}, "al2023@latest"),
        ({"image_id": "ami-01234567"}, {"al2023": "v20260728"}, None),
    ],
)
def test_alias(ami: dict[str, Any], versions: dict[str, str], alias: str | None) -> None:
    resolved = resolved_pool(ami=ami, karpenter={"ami_versions": versions})
    assert (resolved.ami_alias, resolved.image_id) == (alias, ami.get("image_id"))


@in_one_test(
    ("ami", "release"),
    [
        ({"version": "v20260714"}, "v20260714"),
        ({**BOTTLEROCKET, "version": "v1.61.0"}, "v1.61.0"),
        ({"version": "latest"}, None),
        ({"image_id": "ami-01234567"}, None),
    ],
)
def test_the_release_of_the_alias(ami: dict[str, Any], release: str | None) -> None:
    assert resolved_pool(ami=ami).ami_release == release


def test_no_image_moves_alone() -> None:
    # trap: awslabs/amazon-eks-ami#2712
    assert all("latest" not in version for version in (SUGGESTED["al2023"], SUGGESTED["bottlerocket"]))


# --- limits


@in_one_test(
    ("fields", "expected"),
    [
        ({"instance_types": ["p5.48xlarge"], "limits": {"nvidia.com/gpu": 16}}, {"nvidia.com/gpu": "16", "cpu": "384"}),
        # The type with the most CPUs per GPU: g5.16xlarge.
        ({"instance_families": ["g5"], "limits": {"nvidia.com/gpu": 4}}, {"nvidia.com/gpu": "4", "cpu": "256"}),
        (
            {"instance_families": ["g5"], "limits": {"nvidia.com/gpu": "4", "cpu": 48, "nodes": 3}},
            {"nvidia.com/gpu": "4", "cpu": "48", "nodes": "3"},
        ),
        (
            {"instance_types": ["trn1.32xlarge"], "limits": {"aws.amazon.com/neuron": 32}},
            {"aws.amazon.com/neuron": "32", "cpu": "256"},
        ),
        (
            {"instance_types": ["m7i.xlarge"], "limits": {"cpu": "512000m", "memory": "1Ti"}},
            {"cpu": "512000m", "memory": "1Ti"},
        ),
        # A strategy counts GPUs, Karpenter the resources that a node advertises.
        (
            {
                "instance_types": ["g5.xlarge"],
                "limits": {"nvidia.com/gpu": 4},
                "gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}},
            },
            {"nvidia.com/gpu.shared": "16", "cpu": "16"},
        ),
    ],
)
def test_limits(fields: dict[str, Any], expected: dict[str, str]) -> None:
    assert expected == cluster_with(pool(**fields)).node_pools[0].limits


# --- resources that Karpenter cannot see


@in_one_test(
    ("fields", "expected"),
    [
        ({"instance_families": ["g6"]}, ()),
        (
            {"instance_families": ["g6f"], "instance_sizes": ["large", "xlarge"]},
            (CapacityOverlay("pool-1", ("g6f.large", "g6f.xlarge"), {"nvidia.com/gpu": "1"}),),
        ),
        (
            {
                "instance_types": ["g5.xlarge", "g5.12xlarge"],
                "gpu_sharing": {"time_slicing": {"replicas": 4}},
            },
            (
                CapacityOverlay("pool-4", ("g5.xlarge",), {"nvidia.com/gpu": "4"}),
                CapacityOverlay("pool-16", ("g5.12xlarge",), {"nvidia.com/gpu": "16"}),
            ),
        ),
        # Karpenter must not launch a node with shares under another name for a pod that requests a whole GPU.
        (
            {"instance_types": ["g5.xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 4, "rename": True}}},
            (CapacityOverlay("pool-4", ("g5.xlarge",), {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}),),
        ),
    ],
)
def test_overlays(fields: dict[str, Any], expected: tuple[CapacityOverlay, ...]) -> None:
    assert expected == cluster_with(gpu_pool(**fields)).node_pools[0].overlays


# --- capacity and placement


@in_one_test(
    ("fields", "capacity_types", "placement_group"),
    [
        ({}, ("on-demand",), "demo/pool"),
        ({"capacity": ["spot", "on-demand"]}, ("spot", "on-demand"), "demo/pool"),
        ({"capacity": ["capacity-block"], "reservations": [RESERVATION]}, ("reserved",), None),
        ({"capacity": ["capacity-block", "reserved"], "reservations": [RESERVATION]}, ("reserved",), None),
        # One EC2NodeClass is for both: a placement group would leave the reservation unused.
        ({"capacity": ["reserved", "on-demand"], "reservations": [RESERVATION]}, ("reserved", "on-demand"), None),
        (
            {"capacity": ["reserved"], "reservations": [RESERVATION], "placement_group": "cluster"},
            ("reserved",),
            "demo/pool",
        ),
        ({"placement_group": "none"}, ("on-demand",), None),
    ],
)
def test_capacity(fields: dict[str, Any], capacity_types: tuple[str, ...], placement_group: str | None) -> None:
    resolved = resolved_pool("p5.48xlarge", efa=True, **fields)
    assert (capacity_types, placement_group) == (resolved.capacity_types, resolved.placement_group_name)


def test_reservations() -> None:
    by_tag = {"tags": {"team": "a"}, "owner_account_id": "111122223333"}
    resolved = resolved_pool("p5.48xlarge", capacity=["reserved"], reservations=[RESERVATION, by_tag])
    assert resolved.reservations == (
        ReservationSelector("cr-01234567", {}, None),
        ReservationSelector(None, {"team": "a"}, "111122223333"),
    )


def test_no_placement_group_without_efa_or_for_a_type_that_cannot() -> None:
    assert resolved_pool("p5.48xlarge").placement_group_name is None
    assert resolved_pool("p5.48xlarge", placement_group="cluster").placement_group_name == "demo/pool"


# --- network interfaces


@in_one_test(
    ("name", "efa", "written"),
    [
        ("p4d.24xlarge", True, 5),
        # Karpenter would offer EFA on it, which such a node cannot provide to a pod.
        ("g6e.48xlarge", False, 1),
        ("g6.xlarge", False, 0),
    ],
)
def test_interfaces_are_written_out_where_karpenter_would_add_efa(name: str, efa: bool, written: int) -> None:
    found = resolved_pool(name, efa=efa)
    assert len(found.network_interfaces) == written
    assert found.efa_count == sum(each.is_efa for each in found.network_interfaces)


def test_huge_pages_of_efa_nodes_are_told_to_karpenter() -> None:
    # trap: aws/karpenter-provider-aws#3315
    (overlay,) = resolved_pool("p5.48xlarge", efa=True).overlays
    assert (overlay.name, overlay.instance_types) == ("pool-huge-pages-10256", ("p5.48xlarge",))
    assert overlay.capacity == {"hugepages-2Mi": "10256Mi"}
    # A small node, for which AWS documents two figures, uses the lower one.
    (small,) = resolved_pool("g6.8xlarge", efa=True).overlays
    assert small.capacity == {"hugepages-2Mi": "3520Mi"}
    assert resolved_pool("p5.48xlarge").overlays == ()
    # Bottlerocket reserves 110 pages of 2 MiB per vCPU, unless its settings have a number.
    rocket: dict[str, Any] = {"efa": True, "ami": {"family": "bottlerocket"}}
    assert [each.capacity for each in resolved_pool("p5.48xlarge", **rocket).overlays] == [{"hugepages-2Mi": "42240Mi"}]
    for pages, told in (("2564", [{"hugepages-2Mi": "5128Mi"}]), ("0", [])):
        settings = {"kernel": {"sysctl": {"vm/nr_hugepages": pages}}}
        assert [each.capacity for each in resolved_pool("p5.48xlarge", **rocket, user_data=settings).overlays] == told
    assert resolved_pool("p5.48xlarge", efa=True, ami={"image_id": "ami-0123456789abcdef0"}).overlays == ()


# --- disruption

WHILE_EMPTY = (DisruptionBudget("0", ("Underutilized", "Drifted")), DisruptionBudget("100%", ("Empty",)))


@in_one_test(
    ("workload", "policy", "after", "expire"),
    [
        ("training", "WhenEmpty", "10m", "Never"),
        ("development", "WhenEmpty", "15m", "168h"),
        ("inference", "WhenEmptyOrUnderutilized", "5m", "720h"),
        ("general", "WhenEmptyOrUnderutilized", "1m", "720h"),
        ("system", "WhenEmptyOrUnderutilized", "1m", "720h"),
    ],
)
def test_disruption_of_a_workload(workload: str, policy: str, after: str, expire: str) -> None:
    # trap: aws/karpenter-provider-aws#3594
    found = resolved_pool(workload=workload).disruption
    assert (policy, after, expire) == (found.consolidation_policy, found.consolidate_after, found.expire_after)
    assert found.termination_grace_period is None
    assert (found.budgets == WHILE_EMPTY) == (workload == "training")
    assert found.budgets


@pytest.mark.parametrize("workload", ["training", "general"])
def test_disruption_as_the_strategy_says(workload: str) -> None:
    disruption = {
        "consolidation": "when-empty-or-underutilized" if workload == "training" else "when-empty",
        "consolidate_after": "never" if workload == "training" else "3h",
        "expire_after": "48h" if workload == "training" else "never",
        "termination_grace_period": "1h30m",
        "budgets": [
            {"nodes": "3", "reasons": ["Drifted"], "schedule": "0 8 * * mon-fri", "duration": "8h"},
            {"nodes": "10%"},
        ],
    }
    found = resolved_pool(workload=workload, disruption=disruption).disruption
    assert (found.consolidation_policy, found.consolidate_after, found.expire_after) == (
        ("WhenEmptyOrUnderutilized", "Never", "48h") if workload == "training" else ("WhenEmpty", "3h", "Never")
    )
    assert found.termination_grace_period == "1h30m"
    assert found.budgets == (
        DisruptionBudget("3", ("Drifted",), "0 8 * * mon-fri", "8h"),
        DisruptionBudget("10%"),
    )


def test_one_override_leaves_the_other_defaults() -> None:
    found = resolved_pool(workload="training", disruption={"consolidate_after": "1h"}).disruption
    assert (found.consolidation_policy, found.consolidate_after, found.expire_after) == ("WhenEmpty", "1h", "Never")
    assert found.budgets == WHILE_EMPTY


# --- kubelet settings: fields of the EC2NodeClass, and the rest in user data

KUBELET = {
    "max_pods": 50,
    "image_gc_high_threshold_percent": 90,
    "image_gc_low_threshold_percent": 70,
    "system_reserved": {"memory": "1Gi"},
    "kube_reserved": {"cpu": "500m"},
    "cpu_manager_policy": "static",
    "topology_manager_policy": "best-effort",
}
NODE_CLASS = {
    "maxPods": 50,
    "imageGCHighThresholdPercent": 90,
    "imageGCLowThresholdPercent": 70,
    "systemReserved": {"memory": "1Gi"},
    "kubeReserved": {"cpu": "500m"},
}


@pytest.mark.parametrize(
    ("ami", "user_data"),
    [
        ({}, {"kubelet": {"config": {"cpuManagerPolicy": "static", "topologyManagerPolicy": "best-effort"}}}),
        (
            BOTTLEROCKET,
            {"kubernetes": {"cpu-manager-policy": "static", "topology-manager-policy": "best-effort"}},
        ),
    ],
)
def test_kubelet(ami: dict[str, Any], user_data: dict[str, Any]) -> None:
    resolved = resolved_pool("g5g.xlarge", ami=ami, kubelet=KUBELET)
    assert (NODE_CLASS, user_data) == (resolved.kubelet, resolved.user_data)


@pytest.mark.parametrize("ami", [{}, BOTTLEROCKET])
def test_without_settings_there_is_no_user_data(ami: dict[str, Any]) -> None:
    resolved = resolved_pool(ami=ami)
    # RAID0 is a field of the EC2NodeClass.
    assert (resolved.instance_store, resolved.user_data) == ("raid0", {})


@pytest.mark.parametrize("ami", [{}, BOTTLEROCKET])
def test_one_type_without_nvme_disks_keeps_the_disks_of_all_types_unused(ami: dict[str, Any]) -> None:
    resolved = resolved_pool("m6id.xlarge", "m3.xlarge", ami=ami)
    assert (resolved.instance_store, resolved.user_data) == ("none", {})


def test_max_pods_are_the_least_of_the_types_and_leave_out_what_is_not_known() -> None:
    assert resolved_pool("g5.xlarge", "g5.48xlarge").kubelet["maxPods"] == 110
    assert resolved_pool("g5.48xlarge").kubelet["maxPods"] == 250


# --- overrides: one per field of NodePool and of the models below it

OWN_TAINT = ResolvedTaint("team", "a", "NoExecute")
OVERRIDES: list[tuple[str, dict[str, Any], str, Any]] = [
    ("workload", {"workload": "inference"}, "workload", "inference"),
    ("capacity", {"capacity": ["spot"]}, "capacity_types", ("spot",)),
    ("limits", {"limits": {"nvidia.com/gpu": 8, "cpu": 99}}, "limits", {"nvidia.com/gpu": "8", "cpu": "99"}),
    ("weight", {"weight": 10}, "weight", 10),
    ("weight", {}, "weight", None),
    ("ami", {"ami": BOTTLEROCKET}, "ami_family", "bottlerocket"),
    ("ami", {"ami": {"image_id": "ami-01234567"}}, "image_id", "ami-01234567"),
    ("zones", {"zones": ["usw2-az2"]}, "zone_ids", ("usw2-az2",)),
    ("efa", {"efa": True}, "efa_count", 4),
    ("placement_group", {"placement_group": "cluster"}, "placement_group_name", "demo/pool"),
    ("disk", {"disk": {"size_gib": 99, "kms_key_arn": KEY}}, "block_devices",
     (BlockDevice("/dev/xvda", 99, "gp3", None, 500, KEY),)),
    ("disk", {"disk": {"size_gib": 99}, "ami": BOTTLEROCKET}, "block_devices",
     (BlockDevice("/dev/xvda", 4, "gp3", None, None, None), BlockDevice("/dev/xvdb", 99, "gp3", None, 500, None))),
    ("instance_store", {"instance_store": "none"}, "instance_store", "none"),
    ("instance_store", {"instance_store": "mount"}, "user_data",
     {"instance": {"localStorage": {"strategy": "Mount"}}}),
    ("accelerator_taint", {"accelerator_taint": False}, "taints", ()),
    ("taints", {"taints": [{"key": "team", "value": "a", "effect": "NoExecute"}], "accelerator_taint": False}, "taints",
     (OWN_TAINT,)),
    ("pods_use_imds", {"pods_use_imds": True}, "metadata_hop_limit", 2),
    ("pods_use_imds", {}, "metadata_hop_limit", 1),
    ("detailed_monitoring", {"detailed_monitoring": True}, "detailed_monitoring", True),
    ("tags", {"tags": {"team": "a"}}, "tags",
     {"Name": "demo/pool", "eks-hardware/strategy": "demo", "team": "a"}),
    ("user_data", {"user_data": {"kubelet": {"config": {"podsPerCore": 5}}}}, "user_data",
     {"kubelet": {"config": {"podsPerCore": 5}}}),
]  # fmt: skip


@in_one_test(
    ("field", "given", "resolved_field", "expected"), OVERRIDES, ids=[f"{o[0]}-{i}" for i, o in enumerate(OVERRIDES)]
)
def test_override(field: str, given: dict[str, Any], resolved_field: str, expected: object) -> None:
    assert field
    assert expected == getattr(resolved_pool(**given), resolved_field)


@pytest.mark.parametrize(("key", "value"), [("team", "a"), ("hardware-type", "special")])
def test_own_labels_win(key: str, value: str) -> None:
    assert {**resolved_pool().labels, key: value} == resolved_pool(labels={key: value}).labels


def test_every_field_is_overridden_by_some_test() -> None:
    # The rest: test_types, test_reservations, test_disruption_as_the_strategy_says, test_own_labels_win, test_kubelet,
    # and test_gpu_sharing; needs are only checked (test_rules_needs).
    elsewhere = {
        "name", "instance_types", "instance_families", "accelerator", "instance_sizes", "reservations", "disruption",
        "labels", "kubelet", "gpu_sharing", "needs",
    }  # fmt: skip
    assert set(NodePoolSpec.model_fields) - elsewhere <= {field for field, *_ in OVERRIDES}


def test_own_tags_win_and_the_strategy_is_told() -> None:
    resolved = cluster_with(pool(tags={"a": "pool", "Name": "mine"}), tags={"a": "strategy", "b": "c"}).node_pools[0]
    assert resolved.tags == {"Name": "mine", "eks-hardware/strategy": "demo", "a": "pool", "b": "c"}


def test_the_lustre_client_comes_with_al2023_alone() -> None:
    storage = {"fsx_lustre": {"size_gib": 1200}}
    found = cluster_with(pool("a"), pool(ami=BOTTLEROCKET), storage=storage).node_pools
    assert found[0].shell
    assert found[1].shell == ()
