"""The generated files match their sources, and a build detects changes."""

from __future__ import annotations

import copy
import datetime
import json
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eks_hardware.catalogue import Catalogue, build, build_prices, load
from eks_hardware.data import FOLDER
from helpers.savings_plans import savings_rate

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def moto() -> build.Ec2Data:
    return build.from_moto()


@pytest.fixture
def few(moto: build.Ec2Data) -> build.Ec2Data:
    """Return four types in two regions; the test can change them."""
    names = ["g6f.large", "p5.48xlarge", "trn2.48xlarge", "u7i-12tb.224xlarge"]
    return build.Ec2Data(
        source="test, 2026-11-20",
        as_of="2026-11-20",
        types={name: copy.deepcopy(moto.types[name]) for name in names},
        zones={
            region: {name: zones for name, zones in moto.zones[region].items() if name in names}
            for region in ("us-east-2", "us-west-2")
        },
    )


def test_committed_files_equal_a_rebuild(moto: build.Ec2Data) -> None:
    built = build.build(moto)
    assert built.warnings == []
    assert build.stale(built) == [], "run `eks-hardware instances refresh` and commit the result"


def test_files_are_small_and_sorted() -> None:
    for path in (FOLDER / "catalogue").glob("*.json"):
        text = path.read_text()
        assert len(text) < 2 * MIB, path.name
        json.loads(text)
    names = list(load().names)
    assert names == sorted(names, key=build.size_order)
    for line in (FOLDER / "catalogue" / "instances.json").read_text().splitlines()[6:-2]:
        assert line.startswith('  "'), "one type per line"


def test_sizes_are_in_order() -> None:
    sizes = [
        "c8g.medium",
        "c8g.large",
        "c8g.xlarge",
        "c8g.2xlarge",
        "c8g.24xlarge",
        "c8g.metal-24xl",
        "c8g.metal-48xl",
    ]
    assert sorted(sizes, key=build.size_order) == sizes
    assert sorted(["c6i.metal", "c6i.large"], key=build.size_order) == ["c6i.large", "c6i.metal"]


def test_a_correction_that_is_not_needed_any_more_is_reported(few: build.Ec2Data) -> None:
    few.types["trn2.48xlarge"]["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 98304
    (warning,) = [text for text in build.build(few).warnings if "corrections" in text]
    assert "trn2.48xlarge accelerator.memory_mib_each is now 98304, was 524288" in warning


def test_hardware_without_a_row_is_reported(few: build.Ec2Data) -> None:
    item = few.types["p5.48xlarge"]
    item["GpuInfo"]["Gpus"][0]["Name"] = "X900"
    few.types["dl9.48xlarge"] = item
    warnings = build.build(few).warnings
    assert "accelerators.json has no row for 'X900'" in warnings
    assert "ami_types.json has no row for dl9" in warnings


def test_local_zones_do_not_count_and_lost_regions_are_reported(few: build.Ec2Data, tmp_path: Path) -> None:
    few.zones["us-west-2"]["p5.48xlarge"] = ["usw2-az3", "usw2-lax1-az1", "usw2-az1"]
    built = build.build(few)
    assert "offerings.json: eu-west-1 left out, its offerings were not requested" in built.warnings
    for name in ("catalogue", "prices", "quotas"):
        shutil.copytree(FOLDER / name, tmp_path / name)
    assert build.write(built, tmp_path) == ["catalogue/instances.json", "catalogue/offerings.json"]
    assert build.write(built, tmp_path) == []
    catalogue = Catalogue(tmp_path)
    read = tuple(each for each in catalogue.regions if catalogue.offerings_known(each) == "zone")
    assert read == ("us-east-2", "us-west-2")
    assert catalogue.offered("p5.48xlarge", "us-west-2") == ("usw2-az1", "usw2-az3")
    assert "u7i-12tb.224xlarge" in catalogue
    assert "p6e-gb200.36xlarge" in catalogue
    assert catalogue.get("p5.48xlarge").source == "test, 2026-11-20"


def test_prices_from_aws_replace_the_figures_they_are_of(few: build.Ec2Data) -> None:
    on_demand = {"us-west-2": {"p5.48xlarge": 50.0, "i4i.large": 0.1}}
    few.prices = build_prices.Prices("AWS", "2026-11-20", on_demand)
    table = json.loads(build.build(few).files["prices/on_demand.json"])
    assert table["types"]["p5.48xlarge"]["aws-2026-11-20"] == {"us-west-2": 50.0}
    assert table["types"]["p5.48xlarge"]["karpenter"] == {"us-east-1": 55.04}
    assert table["sources"]["aws-2026-11-20"]["as_of"] == "2026-11-20"
    assert "i4i.large" not in table["types"]


Answer = tuple[str, dict[str, Any], dict[str, Any]]
"""An operation with its request and response."""


class StubbedSession:
    """A boto3 session whose clients return predefined responses of a Stubber."""

    region_name = "us-west-2"

    def __init__(self, answers: dict[str, list[Answer]]) -> None:
        # By name, because neither package has types.
        stubber_of = import_module("botocore.stub").Stubber
        real = import_module("boto3").Session("x", "x", region_name=self.region_name)
        self.clients = {}
        for service, calls in answers.items():
            client = real.client(service, region_name=self.region_name)
            stubber = stubber_of(client)
            for operation, request, response in calls:
                stubber.add_response(operation, response, request)
            stubber.activate()
            self.clients[service] = (client, stubber)

    def client(self, service: str, region_name: str) -> Any:
        assert region_name in {"us-west-2", "us-east-1"}
        return self.clients[service][0]


def _spot(zone: str, hour: int, usd: str) -> dict[str, Any]:
    return {
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": f"{zone}{hour}",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": usd,
        "Timestamp": datetime.datetime(2026, 11, 20, hour),
    }


def _dimensions(usd: str) -> dict[str, Any]:
    return {"priceDimensions": {"d": {"unit": "Hrs", "pricePerUnit": {"USD": usd}}}}


def _reserved(years: str, offering: str, option: str, usd: str) -> dict[str, Any]:
    known = {"LeaseContractLength": years, "OfferingClass": offering, "PurchaseOption": option}
    return {"termAttributes": known, **_dimensions(usd)}


def _region_with_two_types(moto: build.Ec2Data, names: Sequence[str]) -> StubbedSession:
    """Return a session of an account with one region, whose answers have several pages and one price."""
    offers = [
        {"InstanceType": name, "LocationType": "availability-zone-id", "Location": zone}
        for name in names
        for zone in moto.zones["us-west-2"][name]
    ]
    return StubbedSession(
        {
            "ec2": [
                ("describe_regions", {}, {"Regions": [{"RegionName": "us-west-2"}]}),
                (
                    "describe_instance_type_offerings",
                    {"LocationType": "availability-zone-id"},
                    {"InstanceTypeOfferings": offers[:3], "NextToken": "more"},
                ),
                (
                    "describe_instance_type_offerings",
                    {"LocationType": "availability-zone-id", "NextToken": "more"},
                    {"InstanceTypeOfferings": offers[3:]},
                ),
                (
                    "describe_instance_types",
                    {},
                    {"InstanceTypes": [moto.types[names[0]]], "NextToken": "more"},
                ),
                ("describe_instance_types", {"NextToken": "more"}, {"InstanceTypes": [moto.types[names[1]]]}),
                (
                    "describe_spot_price_history",
                    {"ProductDescriptions": ["Linux/UNIX"], "StartTime": import_module("botocore.stub").ANY},
                    {"SpotPriceHistory": [_spot("usw2-az", 1, "20.5"), _spot("usw2-az", 2, "12.25")]},
                ),
            ],
            "savingsplans": _savings_plans(),
            "pricing": _prices(),
        }
    )


def _savings_plans() -> list[Answer]:
    """Return two pages of rates."""
    asked = {
        "savingsPlanPaymentOptions": ["No Upfront"],
        "savingsPlanTypes": ["Compute"],
        "products": ["EC2"],
        "serviceCodes": ["AmazonEC2"],
        "filters": [
            {"name": "region", "values": ["us-west-2"]},
            {"name": "productDescription", "values": ["Linux/UNIX"]},
            {"name": "tenancy", "values": ["shared"]},
        ],
    }
    rates = [savings_rate(31_536_000, "40.1"), savings_rate(31_536_000, "41", usage="UnusedBox:p5.48xlarge")]
    return [
        ("describe_savings_plans_offering_rates", asked, {"searchResults": rates[:1], "nextToken": "more"}),
        (
            "describe_savings_plans_offering_rates",
            {**asked, "nextToken": "more"},
            {"searchResults": rates[1:]},
        ),
    ]


def _prices() -> list[Answer]:
    """Return one price with three reserved terms."""
    product = {
        "product": {"attributes": {"instanceType": "p5.48xlarge"}},
        "terms": {
            "OnDemand": {"t": _dimensions("55.0400000000")},
            "Reserved": {
                "a": _reserved("3yr", "standard", "No Upfront", "23.7"),
                "b": _reserved("3yr", "convertible", "No Upfront", "40.4"),
                "c": _reserved("1yr", "standard", "All Upfront", "0"),
            },
        },
    }
    pricing = {
        "regionCode": "us-west-2",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    filters = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in pricing.items()]
    return [
        (
            "get_products",
            {"ServiceCode": "AmazonEC2", "Filters": filters},
            {"PriceList": [json.dumps(product)]},
        )
    ]


def test_from_aws(moto: build.Ec2Data) -> None:
    names = ["g6f.large", "p5.48xlarge"]
    session = _region_with_two_types(moto, names)
    data = build.from_aws(session, today=datetime.date(2026, 11, 20))
    for _, stubber in session.clients.values():
        stubber.assert_no_pending_responses()
    assert data.source == "EC2 DescribeInstanceTypes, 2026-11-20"
    assert data.prices is not None
    assert data.prices.on_demand == {"us-west-2": {"p5.48xlarge": 55.04}}
    assert data.prices.spot == {"us-west-2": {"p5.48xlarge": [12.25, 20.5]}}
    terms = {"on_demand": 55.04, "reserved-3y": 23.7, "savings-plan-1y": 40.1}
    assert data.prices.commitments == {"us-west-2": {"p5.48xlarge": terms}}
    files = build.build(data).files
    spot = json.loads(files["prices/spot.json"])["types"]["p5.48xlarge"]
    assert spot["aws-2026-11-20"] == {"us-west-2": [12.25, 20.5]}
    assert "us-west-2" not in spot["skypilot"]
    row = json.loads(files["prices/commitments.json"])["types"]["p5.48xlarge"]
    assert row["aws-2026-11-20"]["savings-plan-1y"] == {"us-west-2": 40.1}
    assert row["aws-2026-11-20"]["on_demand"] == {"us-west-2": 55.04}
    assert "us-west-2" not in row["vantage-2025-11"]["reserved-3y"]
    ours = json.loads(files["catalogue/instances.json"])["types"]
    committed = json.loads((FOLDER / "catalogue" / "instances.json").read_text())["types"]
    assert {name: ours[name] for name in names} == {name: committed[name] for name in names}
    places = json.loads(files["catalogue/offerings.json"])["types"]["p5.48xlarge"]
    zones = "".join(zone[-1] for zone in sorted(moto.zones["us-west-2"]["p5.48xlarge"]))
    assert places.rpartition(" ")[2] == f"us-west-2:{zones}"
