"""Capacity types, and instances without a price in any source."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.cost import PURCHASES, Purchase, instance_figure, why_unknown
from helpers.cases import in_one_test

CATALOGUE = load()


@in_one_test(
    ("type_name", "region", "purchase", "usd_per_hour"),
    [
        ("g5.xlarge", "us-east-1", "on-demand", 1.006),
        ("g5.xlarge", "us-east-1", "reserved-1y", 0.63378),
        ("g5.xlarge", "us-east-1", "reserved-3y", 0.43459),
        ("trn1.32xlarge", "us-east-1", "reserved-1y", 13.22895),
        ("m6i.xlarge", "us-east-1", "reserved-3y", 0.08709),
        ("p5.48xlarge", "us-east-1", "spot", (19.197 + 22.9825) / 2),
        ("p5.48xlarge", "us-east-2", "spot", 11.7542),
        ("p6-b300.48xlarge", "us-west-2", "spot", 35.2661),
    ],
)
def test_figures(type_name: str, region: str, purchase: Purchase, usd_per_hour: float) -> None:
    figure = instance_figure(CATALOGUE, type_name, region, purchase)
    assert figure is not None
    assert figure.usd_per_hour == pytest.approx(usd_per_hour)
    assert figure.as_of.startswith("202")
    assert figure.source


def test_spot_says_how_many_zones_have_a_price() -> None:
    for name, source, region, by_zone in _spot_rows():
        found = instance_figure(CATALOGUE, name, region, "spot")
        assert found is not None
        assert (f"median of {len(by_zone)} zones, " in str(found.note)) == (len(by_zone) > 1), (name, region)
        assert ("derived: the On-Demand price less" in str(found.note)) == (
            source in ("spot-advisor", "vantage-2025-11-derived")
        )


def _spot_rows() -> Iterator[tuple[str, str, str, list[float]]]:
    for name, by_source in facts.spot_prices()["types"].items():
        for source, by_region in by_source.items():
            for region, by_zone in by_region.items():
                yield name, source, region, by_zone


def test_a_region_has_spot_prices_of_one_source() -> None:
    rows = [(name, region) for name, _, region, _ in _spot_rows()]
    assert len(rows) == len(set(rows)) > 700


def test_capacity_blocks_cost_at_most_the_on_demand_price() -> None:
    for name, by_day in facts.capacity_block_prices()["types"].items():
        for region in next(iter(by_day.values())):
            block = instance_figure(CATALOGUE, name, region, "capacity-block", today=datetime.date(2026, 11, 25))
            on_demand = instance_figure(CATALOGUE, name, region)
            assert block is not None
            assert on_demand is None or block.usd_per_hour < on_demand.usd_per_hour, (name, region)


def test_a_capacity_block_says_what_is_known_of_its_source() -> None:
    figures = [
        instance_figure(CATALOGUE, "p5.48xlarge", "us-east-1", "capacity-block", today=datetime.date(2026, month, 25))
        for month in (9, 11)
    ]
    assert [figure and figure.note for figure in figures] == [
        None,
        "from a secondary source, which says that the rates apply in all available regions",
    ]


@in_one_test(
    ("type_name", "region", "purchase", "why"),
    [
        ("p5e.48xlarge", "us-east-1", "on-demand", "the price of"),
        ("f2.6xlarge", "ca-central-1", "spot", "the price of"),
        ("g5.xlarge", "us-east-1", "capacity-block", "the price of"),
        ("p5en.48xlarge", "us-east-1", "reserved-1y", "the price of"),
        ("m5.xlarge", "us-east-1", "reserved-1y", "the price of"),
        ("zz9.plural", "us-east-1", "on-demand", "the price of"),
        ("g5.xlarge", "us-east-1", "savings-plan-1y", "prices unknown"),
        ("g5.xlarge", "us-east-1", "savings-plan-3y", "prices unknown"),
    ],
)
def test_unknown(type_name: str, region: str, purchase: Purchase, why: str) -> None:
    assert instance_figure(CATALOGUE, type_name, region, purchase) is None
    assert why in why_unknown(CATALOGUE, type_name, region, purchase)


def test_a_reserved_price_is_outdated_when_the_on_demand_price_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    name, terms = "p5.48xlarge", {"on_demand": {"us-east-1": 98.32}, "reserved-3y": {"us-west-2": 43.16}}
    table = facts.commitment_prices()
    changed = {**table, "types": {name: {"ec2.shop-2025-04-04": terms}}}
    monkeypatch.setattr(facts, "commitment_prices", lambda: changed)
    assert instance_figure(CATALOGUE, name, "us-west-2", "reserved-3y") is None
    assert "is outdated: the On-Demand price of p5.48xlarge was 98.32 then and is 55.04 now (us-east-1)" in why_unknown(
        CATALOGUE, name, "us-west-2", "reserved-3y"
    )


def test_p4_and_p5_have_reserved_prices_of_the_day_of_their_on_demand_price() -> None:
    usd = {
        name: instance_figure(CATALOGUE, name, "us-east-1", "reserved-3y") for name in ("p4d.24xlarge", "p5.48xlarge")
    }
    assert {name: each and (each.usd_per_hour, each.as_of) for name, each in usd.items()} == {
        "p4d.24xlarge": (9.374219, "2025-11-30"),
        "p5.48xlarge": (23.77728, "2025-11-30"),
    }


def test_commitments_are_cheaper_than_on_demand() -> None:
    for name in facts.commitment_prices()["types"]:
        for region in CATALOGUE.offered_regions(name):
            by_purchase = {each: instance_figure(CATALOGUE, name, region, each) for each in PURCHASES}
            usd = {each: figure.usd_per_hour for each, figure in by_purchase.items() if figure}
            if {"on-demand", "reserved-1y", "reserved-3y"} <= usd.keys():
                assert usd["reserved-3y"] < usd["reserved-1y"] < usd["on-demand"], (name, region)


def test_spot_is_never_dearer_than_on_demand() -> None:
    for name, _, region, by_zone in _spot_rows():
        on_demand = instance_figure(CATALOGUE, name, region)
        assert by_zone == sorted(by_zone)
        assert on_demand is None or by_zone[-1] <= on_demand.usd_per_hour + 1e-4, (name, region)


def test_tables_name_types_of_the_catalogue() -> None:
    assert {
        *facts.commitment_prices()["types"],
        *facts.spot_prices()["types"],
        *facts.capacity_block_prices()["types"],
    } <= set(CATALOGUE.names)
