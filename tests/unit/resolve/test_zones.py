"""Zones: they fit the hardware, and a change elsewhere never moves them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from eks_hardware.catalogue import Catalogue, load
from eks_hardware.models import NetworkSpec
from eks_hardware.resolve import ResolvedStrategy, SubnetRole, resolve, zones
from eks_hardware.resolve.zones import control_plane_excluded, of_node_pool
from helpers.cases import in_one_test
from helpers.strategies import OVERLAYS, SHIPPED, cidrs_of, group, pool, pools, resolved_shipped, strategy

CATALOGUE = load()
EXCLUDED = {"use1-az3", "usw1-az2", "cac1-az3", "cnn1-az4"}


def zones_of(resolved: ResolvedStrategy, name: str = "gpu") -> tuple[str, ...]:
    return next(each.zone_ids for each in resolved.node_groups if each.name == name)


def test_excluded_zones() -> None:
    assert set(control_plane_excluded().value) == EXCLUDED


@in_one_test("region", CATALOGUE.regions)
@in_one_test("count", [2, 6])
def test_the_automatic_choice(region: str, count: int) -> None:
    # trap: aws-samples/amazon-eks-scaling-with-keda-and-karpenter#2
    network = resolve(strategy(region=region, network={"zones": count})).network
    known = CATALOGUE.zone_ids(region)
    allowed = tuple(zone for zone in known if zone not in EXCLUDED)
    assert allowed[:count] == network.zone_ids
    assert len(network.zone_ids) >= 2


@in_one_test("overlay", [None, *OVERLAYS])
@in_one_test("name", SHIPPED)
def test_every_group_has_zones_that_offer_its_types(name: str, overlay: str | None) -> None:
    # trap: eksctl-io/eksctl#6461
    resolved = resolved_shipped(name, overlay)
    for each in resolved.node_groups:
        assert each.zone_ids
        assert set(each.zone_ids) <= set(resolved.network.zone_ids)
        for kind in each.instance_types:
            assert set(each.zone_ids) <= set(CATALOGUE.offered(kind, resolved.region))
        if each.efa_interfaces:
            assert len(each.zone_ids) == 1


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ("us-west-2", "the zones that offer the instance types"),
        ("mx-central-1", "the cluster's zones; the catalogue has no zone data for these types"),
    ],
)
def test_the_reason_claims_no_offering_without_a_source(region: str, text: str) -> None:
    resolved = resolve(strategy(group("c7i.xlarge", "gpu"), region=region))
    reason = next(each.reasons["zone_ids"] for each in resolved.node_groups if each.name == "gpu")
    assert (reason.text, reason.source is None) == (text, region == "mx-central-1")


@in_one_test(
    ("region", "before", "after", "groups"),
    [
        ("us-east-1", {}, {}, [group("p6-b200.48xlarge", "b200", efa=True)]),
        ("us-west-2", {}, {}, [group("trn1n.32xlarge", "trn1n", efa=True)]),
        ("us-west-2", {"zones": 2}, {"zones": 3}, []),
        ("us-west-2", {"zones": ["usw2-az3", "usw2-az2"]}, {"zones": ["usw2-az3", "usw2-az2", "usw2-az1"]}, []),
    ],
    ids=["group", "other-group", "count", "list"],
)
def test_a_zone_more_leaves_the_control_plane_where_it_is(
    region: str, before: dict[str, Any], after: dict[str, Any], groups: list[dict[str, Any]]
) -> None:
    """EKS refuses to change the zones of an existing cluster (aws/containers-roadmap#170)."""
    first = resolve(strategy(region=region, network=before)).network
    second = resolve(strategy(*groups, region=region, network=after)).network
    assert len(second.zone_ids) > len(first.zone_ids)
    assert first.control_plane_zone_ids == second.control_plane_zone_ids
    assert first.of_role(SubnetRole.CONTROL_PLANE) == second.of_role(SubnetRole.CONTROL_PLANE)
    assert len(second.control_plane_zone_ids) == 2


TRN1 = {"instance_types": ["trn1.32xlarge"], "efa": True}
BLOCK = {"capacity": "capacity-block", "reservation": {"id": "cr-01234567", "zone": "usw2-az4"}}


@in_one_test(
    ("region", "network", "fields", "expected"),
    [
        ("us-west-2", {}, {"instance_types": ["m6i.xlarge"]}, ("usw2-az1", "usw2-az2", "usw2-az3")),
        ("us-west-2", {}, {"instance_types": ["p5.48xlarge"], "efa": True}, ("usw2-az1",)),
        (
            "us-west-2",
            {"zones": ["usw2-az3", "usw2-az1"]},
            {"instance_types": ["p5.48xlarge"], "efa": True},
            ("usw2-az3",),
        ),
        # usw2-az1 and -az4 have it.
        ("us-west-2", {}, TRN1, ("usw2-az1",)),
        ("us-west-2", {"zones": ["usw2-az2", "usw2-az3", "usw2-az4"]}, TRN1, ("usw2-az4",)),
        # None of the first three zones has it: one is added.
        ("us-east-1", {}, TRN1, ("use1-az4",)),
        ("us-east-1", {"zones": 2}, {"instance_types": ["trn1.32xlarge"]}, ("use1-az4",)),
        ("us-west-2", {}, {"instance_types": ["p5.48xlarge"], "efa": True, **BLOCK}, ("usw2-az4",)),
        ("us-east-1", {}, {"instance_types": ["m6i.xlarge"], "zones": ["use1-az3"]}, ("use1-az3",)),
        (
            "us-west-2",
            {},
            {"instance_types": ["m6i.xlarge"], "zones": ["usw2-az4", "usw2-az1"]},
            ("usw2-az1", "usw2-az4"),
        ),
        # A cluster placement group is in one zone.
        ("us-west-2", {}, {"instance_types": ["c6i.8xlarge"], "placement_group": "cluster"}, ("usw2-az1",)),
    ],
)
def test_zones_of_a_group(
    region: str, network: dict[str, Any], fields: dict[str, Any], expected: tuple[str, ...]
) -> None:
    resolved = resolve(strategy(group(**fields), region=region, network=network))
    assert expected == zones_of(resolved)
    assert set(expected) <= set(resolved.network.zone_ids)


@in_one_test(
    ("capacity", "pinned", "also"),
    [
        (["reserved"], ("usw2-az4",), ()),
        (["reserved", "spot"], (), ("usw2-az4",)),
        (["reserved", "on-demand"], (), ("usw2-az4",)),
    ],
    ids=", ".join,
)
def test_a_pool_is_only_in_the_zone_of_its_reservation_if_it_has_no_other_capacity(
    capacity: list[str], pinned: tuple[str, ...], also: tuple[str, ...]
) -> None:
    reservations = [{"id": "cr-0123456789abcdef0", "zone": "usw2-az4"}]
    given = strategy(**pools(pool(capacity=capacity, reservations=reservations))).karpenter
    assert given is not None
    found = of_node_pool(given.node_pools[0], ("m7i.xlarge",))
    assert (found.pinned, found.also) == (pinned, also)


def test_a_zone_without_control_plane_holds_nodes_only() -> None:
    resolved = resolve(strategy(group(zones=["use1-az3"]), region="us-east-1"))
    of_zone = {subnet.role for subnet in resolved.network.subnets if subnet.zone_id == "use1-az3"}
    assert {SubnetRole.PRIVATE, SubnetRole.PUBLIC} == of_zone


@in_one_test("listed", [["usw2-az2", "usw2-az3"], ["usw2-az4", "usw2-az2"]])
@in_one_test("more", ["usw2-az1", "usw2-az3", "usw2-az4"])
def test_a_zone_listed_behind_moves_nothing(listed: list[str], more: str) -> None:
    def built(zones: list[str]) -> ResolvedStrategy:
        return resolve(strategy(group("p5.48xlarge", efa=True), network={"zones": zones, "nat_gateways": "single"}))

    before, after = built(listed), built([*listed, more])
    assert cidrs_of(before).items() <= cidrs_of(after).items()
    assert (listed[0],) == before.network.nat_zone_ids == after.network.nat_zone_ids
    assert zones_of(before) == zones_of(after)


def test_an_existing_subnet_listed_behind_does_not_move_an_efa_group() -> None:
    def built(*zones: str) -> ResolvedStrategy:
        subnets = {zone: f"subnet-0000000{zone[-1]}" for zone in zones}
        existing = {"vpc_id": "vpc-01234567", "private_subnets": subnets}
        return resolve(strategy(group("p5.48xlarge", efa=True), network={"existing": existing}))

    assert zones_of(built("usw2-az3", "usw2-az2")) == ("usw2-az3",)
    assert zones_of(built("usw2-az3", "usw2-az2", "usw2-az1")) == ("usw2-az3",)


# --- adding a group changes nothing else


@pytest.mark.parametrize("place", [0, 1])
def test_a_pinned_group_does_not_take_another_group_along(place: int) -> None:
    trainium = group("trn1.32xlarge", name="trn", efa=True)
    groups = [trainium]
    groups.insert(place, group("m6i.xlarge", name="pinned", zones=["use1-az6"]))
    assert zones_of(resolve(strategy(*groups, region="us-east-1", network={"zones": 2})), "trn") == ("use1-az4",)


class FakeCatalogue:
    """Catalogue of four zones, the third without control planes; its type is in the last two."""

    def zone_ids(self, _region: str) -> tuple[str, ...]:
        return ("use1-az1", "use1-az2", "use1-az3", "use1-az5")

    def offered(self, _name: str, _region: str) -> tuple[str, ...]:
        return ("use1-az3", "use1-az5")


def test_a_zone_without_control_plane_is_taken_last() -> None:
    catalogue = cast("Catalogue", FakeCatalogue())
    demand = zones.Demand("gpu", ("g6.xlarge",), (), one_zone=False, every_type=True)
    choice = zones.choose(NetworkSpec(zones=2), [demand], "us-east-1", catalogue)
    assert choice.zone_ids == ("use1-az1", "use1-az2", "use1-az5")
    assert zones.zones_of(demand, choice, "us-east-1", catalogue) == ("use1-az5",)
    every = tuple(f"use1-az{number}" for number in range(1, 7))
    catalogue.offered = lambda *_: tuple(reversed(every))  # type: ignore[method-assign]
    assert zones.offered_zones(catalogue, demand, "us-east-1") == every
