"""The cost of a strategy: totals that were computed by hand, and the result if no source has a price."""

from __future__ import annotations

import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.cost import (
    HOURS_PER_MONTH,
    LEVELS,
    CostLine,
    StrategyCost,
    commitment,
    cost_of,
    first_day,
    oldest_price,
)
from eks_hardware.resolve import resolve
from helpers.cases import in_one_test
from helpers.paths import SHIPPED, SPECIAL, TESTS
from helpers.sections import existing_network
from helpers.strategies import TODAY, gpu_pool, group, pool, pools, resolved_of, strategy

ALL = sorted([*SHIPPED.glob("*.yaml"), *SPECIAL.glob("*.yaml"), *(TESTS / "corpus" / "good").glob("*.yaml")])


def cost(*groups: dict[str, Any], today: datetime.date = TODAY, **fields: Any) -> StrategyCost:
    return cost_of(resolve(strategy(*groups, **fields)), today=today)


def line(cost: StrategyCost, path: str, kind: str = "instances") -> CostLine:
    (found,) = (each for each in cost.lines if each.path == path and each.kind == kind)
    return found


# --- computed by hand


def test_total_of_groups() -> None:
    """us-west-2, with prices of prices.json, volumes.json and facts/prices.json of November 2026."""
    found = cost(
        group("g6.xlarge", name="l4", scaling={"min": 1, "desired": 2, "max": 5}),
        group(["c7i.4xlarge", "c6i.4xlarge"], name="cpu", scaling={"max": 3}),
    )
    # system: m6i.xlarge 0.192 with 50 GiB of gp3. Then g6.xlarge 0.8048 with 200 GiB of gp3 at 500 MiB/s: (200 x 0.08 +
    # 375/1024 x 40.96) / 730 = 31 / 730; c7i.4xlarge 0.714 is the more expensive one.
    system, l4, cpu = 0.192 + 50 * 0.08 / 730, 0.8048 + 31 / 730, 0.714 + 50 * 0.08 / 730
    fixed = 0.10 + 1 / 730 + 0.045 + 0.005  # control plane, KMS key, NAT gateway and its address
    assert found.usd_per_hour("min") == pytest.approx(2 * system + 1 * l4 + fixed)
    assert found.usd_per_hour("desired") == pytest.approx(2 * system + 2 * l4 + fixed)
    assert found.usd_per_hour("max") == pytest.approx(4 * system + 5 * l4 + 3 * cpu + fixed)
    assert found.usd_per_month("max") == pytest.approx(5_355.32, abs=0.005)
    assert [found.unknown(level) for level in LEVELS] == [(), (), ()]


def test_total_of_a_private_cluster_with_pools_and_storage() -> None:
    """us-east-1: endpoints instead of NAT gateways, Bottlerocket with two volumes, io2, FSx for Lustre, a tier."""
    found = cost(
        group(
            "trn1.32xlarge",
            name="train",
            scaling={"max": 2},
            ami={"family": "bottlerocket"},
            disk={"type": "io2", "size_gib": 500, "iops": 70_000},
        ),
        region="us-east-1",
        network={"private": True, "zones": 2, "interface_endpoints": ["ecr.api", "ecr.dkr", "ec2"]},
        cluster={"creator_is_admin": True, "control_plane_tier": "tier-xl"},
        storage={"fsx_lustre": {"size_gib": 2400, "throughput_mibps_per_tib": 250, "zone": "use1-az4"}},
        **pools(gpu_pool(instance_types=["g5.xlarge"], limits={"nvidia.com/gpu": 3})),
    )
    system = 0.192 + 50 * 0.08 / 730
    # 4 GiB of gp3 for the system; 500 GiB of io2, 32,000 IOPS at 0.065, 32,000 at 0.0455 and 6,000 at 0.03185.
    volumes = (4 * 0.08 + 500 * 0.125 + 32_000 * 0.065 + 32_000 * 0.0455 + 6_000 * 0.03185) / 730
    node = 1.006 + 31 / 730
    fixed = 0.10 + 1.65 + 1 / 730 + 3 * 2 * 0.01 + 2400 * 0.21 / 730
    assert line(found, "network.interface_endpoints", "endpoints").units == dict.fromkeys(LEVELS, 3 * 2)
    assert found.usd_per_hour("min") == pytest.approx(2 * system + fixed)
    assert found.usd_per_hour("max") == pytest.approx(4 * system + 2 * (21.50 + volumes) + 3 * node + fixed)
    assert found.unknown("max") == ()


def test_iops_and_throughput_of_gp3_cost_only_above_the_baseline() -> None:
    """us-west-2: 0.08 for a GiB, 0.005 for each of the IOPS above 3000, 40.96 for each GiB/s above 125 MiB/s."""
    sizes = {"size_gib": 100, "iops": 5000, "throughput_mibps": 381}
    plain, fast = (
        cost(group("g5.xlarge", scaling={"min": 1, "max": 1}, disk=disk)).usd_per_hour("max")
        for disk in ({"size_gib": 100, "iops": 3000, "throughput_mibps": 125}, sizes)
    )
    assert fast - plain == pytest.approx((2000 * 0.005 + 0.25 * 40.96) / 730)


# --- every strategy


@in_one_test("file", ALL, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_strategy_has_a_cost(file: Path) -> None:
    found = cost_of(resolved_of(file), today=TODAY)
    least, desired, most = (found.usd_per_hour(level) for level in LEVELS)
    assert least > 0 or found.unknown("min")
    assert least <= desired <= most
    assert found.usd_per_month("max") == most * HOURS_PER_MONTH
    for each in found.lines:
        assert each.units["min"] <= each.units["desired"] <= each.units["max"] > 0
        assert each.is_unknown("max") == (each.usd_per_hour("max") is None or bool(each.unpriced))
        assert "\n" not in f"{each.path}{each.name}{each.note}"
    assert found.not_counted


@in_one_test("file", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.stem)
def test_everything_that_ships_has_a_price(file: Path) -> None:
    """At least an upper bound: Spot costs at most the On-Demand price."""
    found = cost_of(resolved_of(file), today=TODAY)
    assert {line.capacity_types for line in found.unknown("max")} <= {("spot",)}
    assert found.usd_per_hour_at_most("max") is not None


def test_a_month_or_a_year_counts_from_its_first_day() -> None:
    days = [first_day(as_of) for as_of in ("2025-11-30", "2025-11", "2025")]
    assert days == [datetime.date(2025, 11, 30), datetime.date(2025, 11, 1), datetime.date(2025, 1, 1)]


def test_the_oldest_price_has_its_age() -> None:
    found = cost()
    oldest = oldest_price(found, TODAY)
    assert oldest is not None
    days = [first_day(each.figure.as_of) for each in found.lines if each.figure and each.figure.as_of != "undated"]
    assert len(set(days)) > 1
    assert (first_day(oldest.as_of), oldest.days) == (min(days), (TODAY - min(days)).days)


# --- groups


def test_spot_is_the_median_of_the_zones_and_on_demand_at_max() -> None:
    found = line(cost(group("p4d.24xlarge", capacity="spot", scaling={"min": 1, "max": 2})), "node_groups[gpu]")
    assert found.usd_per_hour("min") == pytest.approx((8.1481 + 8.6803) / 2)
    assert found.usd_per_hour("max") == pytest.approx(2 * 21.95764)


def test_spot_without_a_figure_is_at_most_on_demand() -> None:
    nodes = group("p5.4xlarge", capacity="spot", scaling={"min": 1, "max": 1})
    found = line(cost(nodes, region="ap-southeast-2"), "node_groups[gpu]")
    assert found.usd_per_hour("min") is found.usd_per_hour("max") is None
    assert found.usd_per_hour_at_most("min") == found.usd_per_hour_at_most("max") == 8.944
    assert "the Spot price is unknown" in str(found.note)


def test_a_pool_of_spot_without_a_figure_is_at_most_on_demand() -> None:
    of = partial(gpu_pool, "pool", instance_types=["p5.4xlarge"], limits={"nvidia.com/gpu": 2})
    lines = {
        capacity: line(cost(**pools(of(capacity=[capacity])), region="ap-southeast-2"), "karpenter.node_pools[pool]")
        for capacity in ("spot", "on-demand")
    }
    assert lines["spot"].usd_per_hour("max") is None
    assert lines["spot"].usd_per_hour_at_most("max") == lines["on-demand"].usd_per_hour("max") == 2 * 8.944
    assert lines["on-demand"].ceiling is None


def test_the_first_type_counts_until_max() -> None:
    found = line(cost(group(["g6.xlarge", "g5.xlarge"], scaling={"min": 1, "max": 1})), "node_groups[gpu]")
    assert (found.usd_per_hour("min"), found.usd_per_hour("max")) == (0.8048, 1.006)


def test_a_local_zone_has_the_prices_of_its_region_and_a_note() -> None:
    networked = existing_network("usw2-az1", "usw2-az2", "usw2-lax1-az1")
    zones = {"near": ["usw2-az1"], "edge": ["usw2-lax1-az1"]}
    groups = [group("g4dn.2xlarge", name=name, zones=each) for name, each in zones.items()]
    far = pools(pool("far", zones=["usw2-lax1-az1"]))
    found = cost(*groups, **networked, **far)
    near, edge = (line(found, f"node_groups[{name}]") for name in zones)
    assert near.figure == edge.figure
    assert near.note is None
    note = "the prices in usw2-lax1-az1 are unknown; the region's prices count"
    assert edge.note == note
    assert note in (line(found, "karpenter.node_pools[far]").note or "")


def test_a_capacity_block_has_the_price_of_the_day() -> None:
    block = {"capacity": "capacity-block", "reservation": {"id": "cr-01234567", "zone": "usw2-az2"}}
    of = partial(cost, group("p5en.48xlarge", **block, scaling={"min": 1, "max": 2}))
    before, after = (line(of(today=datetime.date(2026, 10, day)), "node_groups[gpu]") for day in (6, 7))
    assert (before.usd_per_hour("min"), after.usd_per_hour("min")) == (54.92, 63.16)
    assert after.usd_per_hour("max") == pytest.approx(2 * 63.16)
    assert "billed at purchase, used or not, at the price of that day" in str(after.note)
    earlier = line(of(today=datetime.date(2026, 7, 21)), "node_groups[gpu]")
    assert (earlier.figure, earlier.unpriced) == (None, ("p5en.48xlarge",))


def test_a_capacity_block_without_a_price() -> None:
    block = {"capacity": "capacity-block", "reservation": {"id": "cr-01234567", "zone": "cac1-az4"}}
    found = cost(group("p5.48xlarge", **block, scaling={"min": 1, "max": 2}), region="ca-central-1")
    assert line(found, "node_groups[gpu]").usd_per_hour("min") is None
    assert [each.path for each in found.unknown("min")] == ["node_groups[gpu]"]
    # Its volumes are billed anyway.
    assert line(found, "node_groups[gpu].disk", "volumes").usd_per_hour("max") == pytest.approx(2 * 34.1 / 730)


def test_the_maximum_of_a_capacity_block_is_the_on_demand_price() -> None:
    """Never a small number as the maximum of expensive hardware."""
    reservation = {"id": "cr-0123456789abcdef0", "zone": "cac1-az4"}
    block = {"capacity": "capacity-block", "reservation": reservation, "scaling": {"max": 4}}
    found = cost(group("p5.48xlarge", name="block", **block), region="ca-central-1")
    node = line(found, "node_groups[block]")
    assert node.ceiling
    most = found.usd_per_hour_at_most("max")
    assert most is not None
    assert most == pytest.approx(found.usd_per_hour("max") + 4 * node.ceiling.usd_per_hour)
    assert found.usd_per_hour_at_most("min") == pytest.approx(found.usd_per_hour("min"))
    assert found.in_words("max", "{:.0f}".format) == f"at least {found.usd_per_hour('max'):.0f} / at most {most:.0f}"
    assert found.in_words("min", "{:.3f}".format) == f"{found.usd_per_hour('min'):.3f}"
    known = found.usd_per_month("max")
    in_a_month = found.in_words("max", "{:.2f}".format, hours=HOURS_PER_MONTH)
    assert in_a_month == f"at least {known:.2f} / at most {most * HOURS_PER_MONTH:.2f}"


def test_without_any_price_nothing_bounds_the_cost() -> None:
    found = cost(group("p5e.48xlarge", name="h200"))
    assert found.usd_per_hour_at_most("max") is None
    assert found.in_words("max", "{:.2f}".format) == f"at least {found.usd_per_hour('max'):.2f} / at most unknown"


def test_a_total_without_the_price_of_a_disk_is_a_lower_bound() -> None:
    found = cost(region="ap-southeast-5")
    assert found.in_words("max", "{:.2f}".format) == f"at least {found.usd_per_hour('max'):.2f} / at most unknown"


def test_a_reservation_is_billed_whether_it_is_used() -> None:
    reserved = {"capacity": "reserved", "reservation": {"id": "cr-01234567", "zone": "usw2-az2"}}
    found = line(cost(group("p4d.24xlarge", **reserved)), "node_groups[gpu]")
    assert found.usd_per_hour("max") == pytest.approx(4 * 21.95764)
    assert "whether it is used or not" in str(found.note)


def test_no_price_is_never_zero() -> None:
    found = cost(group("p5e.48xlarge", scaling={"min": 0, "max": 2}))
    gpu = line(found, "node_groups[gpu]")
    assert (gpu.usd_per_hour("min"), gpu.usd_per_hour("max")) == (0.0, None)
    assert found.unknown("min") == ()
    assert found.unknown("max") == (gpu,)


# --- pools


@in_one_test(
    ("fields", "name", "nodes"),
    [
        # Whole nodes of the only type.
        ({"instance_types": ["g6.12xlarge"], "limits": {"nvidia.com/gpu": 11}}, "g6.12xlarge", 2),
        # A GPU costs the most in a g6.16xlarge: 3.3968; in a g6.48xlarge 13.3504 / 8.
        ({"instance_families": ["g6"], "limits": {"nvidia.com/gpu": 8}}, "g6.16xlarge", 8),
        # But two of them have more than 100 CPUs.
        ({"instance_families": ["g6"], "limits": {"nvidia.com/gpu": 8, "cpu": 4}}, "g6.xlarge", 1),
        # A CPU costs the most in an m7i.48xlarge without its disk, and in a c7i.large with it.
        (
            {"instance_types": ["m7i.48xlarge", "c7i.large"], "limits": {"cpu": 384}, "disk": {"size_gib": 10_000}},
            "c7i.large",
            192,
        ),
        ({"instance_types": ["m7i.48xlarge", "c7i.large"], "limits": {"cpu": 384}}, "m7i.48xlarge", 2),
        # Larger than the limit: never launched.
        ({"instance_types": ["g5.xlarge", "g5.48xlarge"], "limits": {"nvidia.com/gpu": 4}}, "g5.xlarge", 4),
        ({"instance_types": ["p4d.24xlarge"], "limits": {"nodes": 3}}, "p4d.24xlarge", 3),
        # Karpenter computes with 7.5% less memory than a node has: 64 GiB x 0.925 four times, not three.
        ({"instance_types": ["m7i.4xlarge"], "limits": {"memory": "250Gi"}}, "m7i.4xlarge", 4),
    ],
    ids=["whole", "most expensive", "cpu", "with its disk", "without", "larger", "nodes", "memory"],
)
def test_pools_at_their_limits(fields: dict[str, Any], name: str, nodes: float) -> None:
    found = line(cost(**pools(pool("pool", **fields))), "karpenter.node_pools[pool]")
    assert found.name == f"{name}, On-Demand"
    assert found.units == {"min": 0, "desired": 0, "max": nodes}


def test_a_pool_costs_no_less_than_any_nodes_within_its_limits() -> None:
    """Five GPUs: a node with four and one with one cost more than five with one, and the bound is above both."""
    types = ["g5.xlarge", "g5.12xlarge"]
    bound = line(
        cost(**pools(gpu_pool("pool", instance_types=types, limits={"nvidia.com/gpu": 5}))),
        "karpenter.node_pools[pool]",
    ).usd_per_hour("max")
    assert bound is not None
    assert bound >= max(5.672 + 1.006, 5 * 1.006)
    assert bound == pytest.approx(5 / 4 * 5.672)


def test_a_pool_without_a_limit_has_no_cost_at_its_maximum() -> None:
    """Nothing runs at its minimum, so only the maximum is unknown."""
    found = cost(**pools(pool("pool", instance_types=["m7i.4xlarge"], limits={})))
    (of_pool,) = (each for each in found.lines if each.path == "karpenter.node_pools[pool]")
    assert of_pool.units == {"min": 0, "desired": 0, "max": 1}
    assert (found.unknown("min"), found.unknown("max")) == ((), (of_pool,))


def test_shared_gpus_are_counted_as_gpus() -> None:
    shared = {"instance_types": ["g6.xlarge"], "gpu_sharing": {"time_slicing": {"replicas": 4}}}
    found = line(cost(**pools(gpu_pool("pool", **shared))), "karpenter.node_pools[pool]")
    assert found.units["max"] == 8
    # With so many CPUs allowed, only the GPUs limit the nodes.
    several = {**shared, "instance_types": ["g6.12xlarge"], "limits": {"nvidia.com/gpu": 8, "cpu": 10_000}}
    found = line(cost(**pools(gpu_pool("pool", **several))), "karpenter.node_pools[pool]")
    assert found.units["max"] == 2


def test_only_a_pool_of_spot_alone_is_noted_as_on_demand_at_its_limit() -> None:
    """Its name says spot, and its limit is billed at the On-Demand price at most."""
    notes = {}
    for capacity in ("spot", "on-demand"):
        of = gpu_pool("pool", instance_types=["g6.xlarge"], capacity=[capacity])
        notes[capacity] = str(line(cost(**pools(of)), "karpenter.node_pools[pool]").note).lower()
    assert "max" in notes["spot"]
    assert "on demand" in notes["spot"].replace("-", " ")
    assert notes["spot"] != notes["on-demand"]
    assert notes["spot"].startswith(notes["on-demand"])


def test_a_pool_with_a_type_without_a_price_is_not_wholly_known() -> None:
    found = cost(**pools(gpu_pool("pool", instance_types=["p5en.48xlarge", "p5e.48xlarge"], limits={"nodes": 2})))
    of_pool = line(found, "karpenter.node_pools[pool]")
    assert of_pool.usd_per_hour("max") == pytest.approx(2 * 63.296)
    assert of_pool.unpriced == ("p5e.48xlarge",)
    assert found.unknown("max") == (of_pool,)


def test_a_reserved_pool_may_be_of_capacity_blocks() -> None:
    reserved = {"capacity": ["reserved"], "reservations": [{"id": "cr-01234567", "zone": "cac1-az4"}]}
    of_pool = gpu_pool("pool", instance_types=["p5.48xlarge"], **reserved)
    found = cost(**pools(of_pool), region="ca-central-1")
    assert line(found, "karpenter.node_pools[pool]").unpriced == ("p5.48xlarge",)


def test_max_of_a_reserved_pool_is_the_on_demand_price_which_its_blocks_do_not_exceed() -> None:
    reserved = {"capacity": ["reserved"], "reservations": [{"id": "cr-01234567", "zone": "usw2-az2"}]}
    of_pool = gpu_pool("pool", instance_types=["p5en.48xlarge"], limits={"nvidia.com/gpu": 8}, **reserved)
    found = line(cost(**pools(of_pool)), "karpenter.node_pools[pool]")
    assert (found.usd_per_hour("max"), found.unpriced) == (63.296, ())


# --- control plane


@in_one_test(
    ("policy", "days", "usd_per_hour"),
    [("standard", 0, 0.10), ("standard", 1, 0.10), ("extended", 0, 0.10), ("extended", 1, 0.60)],
)
def test_extended_support(policy: str, days: int, usd_per_hour: float) -> None:
    """Days after the end of standard support."""
    end = datetime.date.fromisoformat(facts.eks()["versions"]["supported"]["1.34"]["standard_until"])
    cluster = {"creator_is_admin": True, "kubernetes_version": "1.34", "upgrade_policy": policy}
    found = line(cost(cluster=cluster, today=end + datetime.timedelta(days=days)), "cluster", "control-plane")
    assert found.usd_per_hour("min") == usd_per_hour
    assert ("extended support" in found.name) == (usd_per_hour == 0.60)
    if policy == "extended" and not days:
        assert f"0.60 per hour (extended support) from {end} on" in str(found.note)


def test_a_key_of_the_user_is_not_paid_twice() -> None:
    arn = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    cluster = {"creator_is_admin": True, "secrets_encryption": {"kms_key_arn": arn}}
    assert [each for each in cost(cluster=cluster).lines if each.kind == "keys"] == []


# --- regions


def test_what_a_region_has_no_price_of_is_unknown() -> None:
    found = cost(region="ap-southeast-5", storage={"fsx_lustre": {}})
    assert {each.kind for each in found.unknown("min")} == {"volumes"}
    # The nodes, the control plane, the key, the NAT gateway with its address, and 1,200 GiB of PERSISTENT_2-250.
    known = 2 * 0.204 + 0.10 + 1 / 730 + 0.05015 + 0.005 + 1200 * 0.224 / 730
    assert found.usd_per_hour("min") == pytest.approx(known)


def test_services_have_prices_by_region() -> None:
    lustre = {"size_gib": 2400, "throughput_mibps_per_tib": 250}
    network = {"private": True, "zones": 2, "interface_endpoints": ["ec2"]}
    found = cost(region="eu-central-1", network=network, storage={"fsx_lustre": {**lustre, "zone": "euc1-az1"}})
    assert line(found, "network.interface_endpoints", "endpoints").usd_per_hour("min") == pytest.approx(2 * 0.012)
    assert line(found, "storage.fsx_lustre", "storage").usd_per_hour("min") == pytest.approx(2400 * 0.269 / 730)
    assert "requests of pods: load balancers (from 19.71 per month each), volumes and snapshots" in found.not_counted


def test_govcloud_has_prices_of_everything_that_always_runs() -> None:
    assert cost(region="us-gov-west-1").unknown("min") == ()


def test_a_price_is_by_region_or_for_all() -> None:
    for name, price in facts.service_prices().items():
        assert name == "_about" or ("regions" in price) != ("every_region" in price), name  # type: ignore[operator]


# --- with a commitment


def test_a_commitment_is_for_accelerated_nodes_that_always_run() -> None:
    found = commitment(cost(group("p4d.24xlarge", name="always", scaling={"min": 1, "max": 4})), load())
    assert found is not None
    # Two m6i.xlarge of the system group at min, and one p4d.24xlarge.
    assert found.level == "min"
    assert found.on_demand == pytest.approx(2 * 0.192 + 21.95764)
    assert found.by_term["reserved-3y"] == pytest.approx(2 * 0.08709 + 9.374218)
    assert found.by_term["savings-plan-1y"] is None


def test_a_commitment_counts_types_without_its_price_on_demand_and_leaves_out_spot() -> None:
    found = commitment(
        cost(
            group("p5.48xlarge", name="burst", scaling={"max": 2}),
            group("g6.xlarge", name="spot", capacity="spot", scaling={"min": 1, "max": 9}),
        ),
        load(),
    )
    assert found is not None
    assert found.level == "max"
    assert found.on_demand == pytest.approx(4 * 0.192 + 2 * 55.04)
    assert (found.left_out["reserved-1y"], found.left_out["reserved-3y"]) == (("p5.48xlarge",), ())
    one_year = found.by_term["reserved-1y"]
    assert one_year is not None
    assert one_year == pytest.approx(4 * 0.12703 + 2 * 55.04, abs=0.01)
