"""A strategy's need of quotas: every capacity type, every limit, and the additional need of an update."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.quotas import QuotaNeed, quota_needs, vcpu_need
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.strategies import SHIPPED, group, pools, shipped, strategy

STANDARD, STANDARD_SPOT = "L-1216C47A", "L-34B43A08"
P, G, G_SPOT, P5_BLOCK = "L-417A185B", "L-DB2E81BA", "L-3819A6DF", "L-DA6814F2"
BLOCK = {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "usw2-az1"}


def needs(*groups: dict[str, Any], **fields: Any) -> dict[str, QuotaNeed]:
    """Return the needs by code, or by key without a code."""
    given = strategy(*groups, **fields)
    return {each.code or each.name: each for each in quota_needs(given, resolve(given))}


def amounts(need: QuotaNeed, name: str) -> tuple[float, float]:
    """Return the amounts of one group or pool: at the maximum, and during an update."""
    (part,) = (part for part in need.parts if f"[{name}]" in part.path)
    return part.needed, part.surge


def test_group_at_max_and_while_it_is_updated() -> None:
    need = needs(group("p4d.24xlarge", scaling={"max": 4}))[P]
    # Two in each of three zones.
    assert (need.needed, need.surge) == (4 * 96, 6 * 96)
    assert [part.path for part in need.parts] == ["node_groups[gpu].scaling.max"]


@in_one_test(
    ("name", "nodes", "capacity", "expected"),
    [
        ("p4d.24xlarge", 2, "on-demand", (P, 192, True)),
        ("g6.xlarge", 3, "spot", (G_SPOT, 12, True)),
        ("p5.48xlarge", 1, "capacity-block", (P5_BLOCK, 192, True)),
        ("m7i.xlarge", 1, "on-demand", (STANDARD, 4, False)),
        ("m7i.xlarge", 2, "on-demand", (STANDARD, 8, True)),
        ("p6-b200.48xlarge", 1, "capacity-block", (None, 192, False)),
    ],
)
def test_nodes_of_one_type(name: str, nodes: int, capacity: str, expected: tuple[str | None, float, bool]) -> None:
    need = vcpu_need(load().get(name), nodes, capacity)
    assert (need.code, need.needed, need.above_default) == expected


@in_one_test(
    ("fields", "nodes"),
    [
        ({}, 6),
        ({"zones": ["usw2-az1"]}, 2),
        ({"update": {"max_unavailable": 7}}, 7),
        ({"update": {"max_unavailable": 5}}, 6),
        ({"update": {"max_unavailable_percentage": 33}, "scaling": {"max": 20}}, 7),
        ({"update": {"strategy": "minimal"}}, 0),
        ({"capacity": "reserved", "reservation": BLOCK}, 0),
    ],
)
def test_update(fields: dict[str, Any], nodes: int) -> None:
    assert amounts(needs(group("m6i.xlarge", name="batch", **fields))[STANDARD], "batch")[1] == nodes * 4


def test_largest_of_several_types() -> None:
    need = needs(group(["g6.xlarge", "g6.4xlarge", "g6.2xlarge"], scaling={"max": 3}))[G]
    assert need.needed == 3 * 16
    assert "g6.4xlarge" in need.parts[0].text


def test_every_quota_of_mixed_types_counts_in_full() -> None:
    pool = {"name": "any", "instance_types": ["m7i.xlarge", "hpc7a.12xlarge"], "limits": {"nodes": 2}}
    found = needs(**pools(pool))
    assert amounts(found[STANDARD], "any")[0] == 2 * 4
    assert amounts(found["L-F7808C92"], "any")[0] == 2 * load().get("hpc7a.12xlarge").vcpus


@in_one_test(
    ("capacity", "codes"),
    [
        ("on-demand", {P}),
        ("spot", {"L-C4BD4855"}),
        ("reserved", {P}),
        ("capacity-block", {P5_BLOCK}),
    ],
)
def test_ways_to_buy(capacity: str, codes: set[str]) -> None:
    reservation = {"reservation": BLOCK} if capacity in ("reserved", "capacity-block") else {}
    found = needs(group("p5.48xlarge", capacity=capacity, scaling={"max": 2}, **reservation))
    assert {code for code, need in found.items() if need.counts_vcpus} == codes | {STANDARD}
    (code,) = codes
    assert found[code].needed == 2 * 192


def test_quota_that_aws_does_not_document() -> None:
    found = needs(group("p6-b200.48xlarge", capacity="capacity-block", reservation=BLOCK, scaling={"max": 1}))
    (need,) = (need for need in found.values() if need.key == "capacity-block")
    assert (need.code, need.default, need.needed) == (None, None, 192)
    assert "p6-b200" in need.name


def pool_vcpus(capacity: tuple[str, ...] = ("on-demand",), **fields: Any) -> dict[str, QuotaNeed]:
    return needs(**pools({"name": "pool", "capacity": list(capacity), **fields}))


@in_one_test(
    ("fields", "vcpus"),
    [
        ({"instance_types": ["g6.xlarge"], "limits": {"nvidia.com/gpu": 4}}, 4 * 4),
        # 64 vCPUs for one GPU.
        ({"instance_types": ["g6.xlarge", "g6.16xlarge"], "limits": {"nvidia.com/gpu": 4}}, 4 * 64),
        ({"instance_types": ["g6.xlarge", "g6.16xlarge"], "limits": {"nvidia.com/gpu": 4, "cpu": 100}}, 100),
        ({"instance_types": ["g6.xlarge", "g6.16xlarge"], "limits": {"nvidia.com/gpu": 4, "nodes": 1}}, 64),
        # 16 GiB per node, 4 GiB per vCPU.
        ({"instance_types": ["g6.xlarge"], "limits": {"nvidia.com/gpu": 4, "memory": "40Gi"}}, 2 * 4),
        # Four GPUs per node: five of them are one node.
        ({"instance_types": ["g6.12xlarge"], "limits": {"nvidia.com/gpu": 5}}, 48),
        ({"instance_types": ["g6.12xlarge"], "limits": {"nvidia.com/gpu": 3}}, 0),
        # Shares count as whole GPUs.
        (
            {
                "instance_types": ["g6.xlarge"],
                "limits": {"nvidia.com/gpu": 4},
                "gpu_sharing": {"time_slicing": {"replicas": 8, "rename": True}},
            },
            16,
        ),
    ],
)
def test_limits_of_a_pool(fields: dict[str, Any], vcpus: int) -> None:
    assert pool_vcpus(**fields)[G].needed == vcpus


def test_pool_of_cpu_nodes() -> None:
    need = pool_vcpus(instance_families=["m7i"], limits={"cpu": 64})[STANDARD]
    assert amounts(need, "pool") == (64, 0)
    assert [part.path for part in need.parts][-1] == "karpenter.node_pools[pool].limits"


def test_pool_that_buys_both_ways_counts_for_both() -> None:
    found = pool_vcpus(("spot", "on-demand"), instance_types=["g6.xlarge"], limits={"nvidia.com/gpu": 4})
    assert (found[G].needed, found[G_SPOT].needed) == (16, 16)


def test_reserved_pool_counts_once_as_on_demand() -> None:
    fields = {"instance_types": ["p5.48xlarge"], "limits": {"nvidia.com/gpu": 8}, "reservations": [BLOCK]}
    assert pool_vcpus(("reserved", "on-demand"), **fields)[P].needed == 192
    found = pool_vcpus(("reserved", "capacity-block"), **fields)
    assert (found[P].needed, found[P5_BLOCK].needed) == (192, 192)


def others(**fields: Any) -> dict[str, tuple[float, float]]:
    given = strategy(**fields)
    return {need.key: (need.needed, need.surge) for need in quota_needs(given, resolve(given)) if not need.counts_vcpus}


def test_network() -> None:
    found = others(network={"nat_gateways": "one-per-zone"})
    assert (found["vpcs"][0], found["internet_gateways"][0]) == (1, 1)
    assert (found["elastic_ips"][0], found["nat_gateways"][0]) == (3, 1)
    assert "interface_endpoints" not in found


def test_private_network() -> None:
    found = others(network={"private": True})
    assert not {"internet_gateways", "elastic_ips", "nat_gateways"} & set(found)
    assert found["interface_endpoints"][0] > 10


def test_existing_network_makes_none() -> None:
    private = {"usw2-az1": "subnet-0aaaaaaaa", "usw2-az2": "subnet-0bbbbbbbb"}
    found = others(network={"existing": {"vpc_id": "vpc-0aaaaaaaa", "private_subnets": private}})
    assert not {"vpcs", "internet_gateways", "elastic_ips", "nat_gateways", "interface_endpoints"} & set(found)


def test_node_groups_and_nodes() -> None:
    found = needs(group("m6i.xlarge", name="batch", scaling={"max": 400}))
    by_key = {need.key: need for need in found.values()}
    assert by_key["node_groups"].needed == 2
    assert by_key["nodes_per_group"].needed == 400
    assert by_key["nodes_per_group"].parts[0].path == "node_groups[batch].scaling.max"
    assert by_key["clusters"].needed == 1


def test_interfaces_of_the_fullest_zone() -> None:
    h100 = group("p5.48xlarge", name="h100", efa=True, zones=["usw2-az2"], scaling={"max": 8})
    (need,) = (each for each in needs(h100).values() if each.key == "network_interfaces")
    # 32 EFA interfaces without an address, and one for IP.
    assert amounts(need, "h100") == (8 * 33, 2 * 33)
    assert amounts(need, "system") == (4, 6)
    elsewhere = {**h100, "zones": ["usw2-az4"]}
    (need,) = (each for each in needs(elsewhere).values() if each.key == "network_interfaces")
    assert [part.path for part in need.parts] == ["node_groups[h100].scaling.max"]


def test_disks() -> None:
    big = group("m6i.xlarge", name="big", disk={"size_gib": 1024}, scaling={"max": 10})
    fast = group("m6i.xlarge", name="fast", disk={"size_gib": 512, "type": "io2", "iops": 8000}, scaling={"max": 4})
    by_key = {need.key: need for need in needs(big, fast).values()}
    assert amounts(by_key["gp3_storage"], "big") == (10, 6)
    assert amounts(by_key["io2_storage"], "fast") == (2, 3)
    assert amounts(by_key["io2_iops"], "fast") == (32_000, 48_000)


@pytest.mark.parametrize(("deployment", "key"), [("persistent-2", "fsx_persistent"), ("scratch-2", "fsx_scratch")])
def test_lustre(deployment: str, key: str) -> None:
    found = others(storage={"fsx_lustre": {"size_gib": 4800, "deployment": deployment}})
    assert found[key] == (4800, 0)


@in_one_test("name", SHIPPED)
def test_shipped_strategies_have_a_quota_for_everything(name: str) -> None:
    given = shipped(name)
    found = quota_needs(given, resolve(given))
    assert all(need.code and need.needed > 0 and need.parts and need.source for need in found)
    assert sum(need.counts_vcpus for need in found)
    paths = {part.path.partition("[")[2].partition("]")[0] for need in found for part in need.parts}
    nodes = [each.name for each in (*given.node_groups, *(given.karpenter.node_pools if given.karpenter else ()))]
    assert set(nodes) <= paths


def test_every_code_of_the_catalogue_is_known() -> None:
    known = facts.service_quotas()["vcpus"]["defaults"]
    catalogue = load()
    types = [catalogue.get(name) for name in catalogue.names]
    codes = {code for kind in types for code in (kind.quota_code_on_demand, kind.quota_code_spot) if code}
    assert codes == set(known)
    families = {kind.family for kind in types if kind.supports_capacity_block}
    assert set(facts.service_quotas()["capacity_blocks"]["families"]) <= families
