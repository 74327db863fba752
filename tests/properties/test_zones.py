"""Properties of ``tests/unit/resolve/test_zones.py`` with random input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_hardware.catalogue import load
from eks_hardware.models import NodePoolSpec, Strategy
from eks_hardware.resolve import resolve, zones
from helpers.strategies import cidrs_of, group, pool, strategy

CATALOGUE = load()


# Regions with more zones than the two initial ones of a network.
SOME_REGIONS = ("us-east-1", "us-west-2")


def _rare(region: str) -> list[str]:
    """Return accelerated types that few zones offer: one for every set of up to three zones."""
    accelerated = (kind.name for kind in map(CATALOGUE.get, CATALOGUE.names) if kind.accelerator)
    by_zones = {CATALOGUE.offered(name, region): name for name in accelerated}
    return [name for zones, name in sorted(by_zones.items()) if 1 <= len(zones) <= 3]


RARE = {region: _rare(region) for region in SOME_REGIONS}


@st.composite
def growing(draw: st.DrawFn) -> tuple[Strategy, Strategy]:
    region = draw(st.sampled_from(SOME_REGIONS))
    types = st.sampled_from(RARE[region])
    nowhere: list[str] = []
    zones = st.one_of(st.just(nowhere), st.lists(st.sampled_from(CATALOGUE.zone_ids(region)), min_size=1, max_size=1))
    groups = [
        group(draw(types), name=f"g{index}", efa=draw(st.booleans()), zones=draw(zones))
        for index in range(draw(st.integers(2, 5)))
    ]
    network = {"zones": 2}
    place = draw(st.integers(0, len(groups) - 1))
    without = [each for index, each in enumerate(groups) if index != place]
    return (
        strategy(*without, region=region, network=network),
        strategy(*groups, region=region, network=network),
    )


@settings(max_examples=60, deadline=None)
@given(growing())
def test_another_group_moves_nothing(pair: tuple[Strategy, Strategy]) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3044
    before, after = (resolve(each) for each in pair)
    assert cidrs_of(before).items() <= cidrs_of(after).items()
    assert before.network.nat_zone_ids == after.network.nat_zone_ids
    zones_before = {each.name: each.zone_ids for each in before.node_groups}
    zones_after = {each.name: each.zone_ids for each in after.node_groups}
    assert zones_before.items() <= zones_after.items()
    for each in after.node_groups:
        assert each.zone_ids
        assert set(each.zone_ids) <= set(after.network.zone_ids)


@pytest.mark.parametrize(
    ("fields", "pinned", "also"),
    [
        ({"capacity": ["reserved", "on-demand"]}, (), ("usw2-az4",)),
        ({"capacity": ["reserved", "on-demand"], "zones": ["usw2-az1"]}, ("usw2-az1",), ()),
        ({"capacity": ["reserved"]}, ("usw2-az4",), ()),
        ({"capacity": ["reserved", "on-demand"], "placement_group": "cluster"}, ("usw2-az4",), ()),
    ],
    ids=["one of several ways", "zones are listed", "the only way", "nodes in one zone"],
)
def test_the_zone_of_a_reservation(fields: dict[str, Any], pinned: tuple[str, ...], also: tuple[str, ...]) -> None:
    reservations = [{"id": "cr-01234567", "zone": "usw2-az4"}]
    given = NodePoolSpec.model_validate(pool(instance_types=["p5.48xlarge"], reservations=reservations, **fields))
    demand = zones.of_node_pool(given, ("p5.48xlarge",))
    assert (demand.pinned, demand.also) == (pinned, also)
