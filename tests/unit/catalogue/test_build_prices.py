"""Prices from files that the user names: formats, days, and what they replace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eks_hardware import facts
from eks_hardware.catalogue import build, build_prices
from helpers.cases import in_one_test
from helpers.savings_plans import savings_rate

CSV = """InstanceType,AcceleratorName,Price,SpotPrice,Region,AvailabilityZone
g7e.2xlarge,RTX,4.1,1.9,eu-central-1,euc1-az1
g7e.2xlarge,RTX,4.1,1.7,eu-central-1,euc1-az2
g7e.2xlarge,RTX,4.1,0.1,eu-central-1,euc1-ham1-az1
g7e.4xlarge,RTX,5.0,,eu-central-1,euc1-az1
zz9.large,,1.0,,eu-central-1,euc1-az1
"""


def _spot(zone: str, day: str, usd: str, product: str = "Linux/UNIX") -> dict[str, str]:
    return {
        "InstanceType": "g7e.2xlarge",
        "AvailabilityZone": zone,
        "ProductDescription": product,
        "SpotPrice": usd,
        "Timestamp": f"{day}T10:00:00+00:00",
    }


HISTORY = {
    "SpotPriceHistory": [
        _spot("eu-central-1a", "2026-11-20", "1.5"),
        _spot("eu-central-1a", "2026-11-24", "1.6"),
        _spot("eu-central-1b", "2026-11-23", "1.2"),
        _spot("eu-central-1b", "2026-11-23", "9.9", "Windows"),
        _spot("us-east-1-atl-2a", "2026-11-23", "0.1"),
    ]
}


def _product(option: str, usd: str) -> str:
    attributes = {"instanceType": "g7e.2xlarge", "regionCode": "eu-central-1", "marketoption": option}
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    terms = {"OnDemand": {"t": {"priceDimensions": {"d": dimension}}}}
    return json.dumps(
        {"product": {"attributes": attributes}, "terms": terms, "publicationDate": "2026-11-19T00:00:00Z"}
    )


PRODUCTS = {"PriceList": [_product("OnDemand", "4.2"), _product("CapacityBlock", "0.01")]}


def _file(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_csv_has_both_prices_by_zone_of_the_region(tmp_path: Path) -> None:
    found = build_prices.read(_file(tmp_path, "vms.csv", CSV), "2026-11-25")
    assert (found.source, found.as_of) == ("vms.csv", "2026-11-25")
    assert found.on_demand["eu-central-1"]["g7e.4xlarge"] == 5.0
    assert found.spot == {"eu-central-1": {"g7e.2xlarge": [1.7, 1.9]}}


def test_a_history_counts_the_latest_price_of_each_zone_of_a_region(tmp_path: Path) -> None:
    found = build_prices.read(_file(tmp_path, "spot.json", HISTORY))
    assert found.as_of == "2026-11-24"
    assert found.spot == {"eu-central-1": {"g7e.2xlarge": [1.2, 1.6]}}


def test_a_price_list_counts_on_demand_only(tmp_path: Path) -> None:
    found = build_prices.read(_file(tmp_path, "list.json", PRODUCTS))
    assert (found.as_of, found.on_demand) == ("2026-11-19", {"eu-central-1": {"g7e.2xlarge": 4.2}})


@in_one_test("content", ["a,b\n1,2\n", {"other": []}, "{", {"PriceList": [{}]}])
def test_another_format_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(build.BuildError, match="must be a file of prices in a format"):
        build.build_from_files([_file(tmp_path, "file", content)])


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("InstanceType,Price,SpotPrice", "the column Region is"),
        ("Region,Price", "the columns InstanceType and SpotPrice are"),
    ],
)
def test_a_csv_without_a_column_is_refused_by_its_name(tmp_path: Path, header: str, missing: str) -> None:
    for rows in ("", "p5.48xlarge,55,60\n"):
        with pytest.raises(build.BuildError, match=f"; {missing} missing in its first line"):
            build.build_from_files([_file(tmp_path, "prices.csv", f"{header}\n{rows}")])


def test_a_file_without_types_of_the_catalogue_is_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, "cpu.csv", "InstanceType,Region,Price,SpotPrice\nzz9.large,us-east-1,1,\n")
    with pytest.raises(build.BuildError, match="must have prices of instance types in the catalogue, got none"):
        build.build_from_files([path])


def test_imported_prices_keep_source_and_day_and_replace_older_ones(tmp_path: Path) -> None:
    paths = [_file(tmp_path, "vms.csv", CSV), _file(tmp_path, "list.json", PRODUCTS)]
    files = build.build_from_files(paths, "2026-11-25").files
    assert set(files) == {"prices/on_demand.json", "prices/spot.json"}
    on_demand, spot = (json.loads(files[f"prices/{name}.json"]) for name in ("on_demand", "spot"))
    assert on_demand["sources"]["vms.csv-2026-11-25"]["as_of"] == "2026-11-25"
    row = on_demand["types"]["g7e.2xlarge"]
    assert row["list.json-2026-11-25"] == {"eu-central-1": 4.2}
    assert "vms.csv-2026-11-25" not in row
    assert row["karpenter"] == facts.on_demand_prices()["types"]["g7e.2xlarge"]["karpenter"]
    assert spot["types"]["g7e.2xlarge"]["vms.csv-2026-11-25"] == {"eu-central-1": [1.7, 1.9]}
    assert "zz9.large" not in on_demand["types"]


def test_a_newer_price_is_kept(tmp_path: Path) -> None:
    before = facts.on_demand_prices()["types"]["g7e.2xlarge"]
    with_both = "InstanceType,Region,Price,SpotPrice\ng7e.2xlarge,us-east-1,9,\ng7e.2xlarge,us-west-1,9,\n"
    files = build.build_from_files([_file(tmp_path, "old.csv", with_both)], "2020-01-01").files
    row = json.loads(files["prices/on_demand.json"])["types"]["g7e.2xlarge"]
    assert row == {**before, "old.csv-2020-01-01": {"us-west-1": 9.0}}


def test_the_page_of_spot_prices_has_one_price_for_each_region(tmp_path: Path) -> None:
    sizes = [
        {
            "size": name,
            "valueColumns": [{"name": "mswin", "prices": {"USD": "9"}}, {"name": "linux", "prices": {"USD": usd}}],
        }
        for name, usd in (("g7e.2xlarge", "1.5"), ("p5.48xlarge", "N/A*"))
    ]
    page = {"config": {"regions": [{"region": "eu-central-1", "instanceTypes": [{"type": "gpu", "sizes": sizes}]}]}}
    found = build_prices.read(_file(tmp_path, "spot.json", page), "2026-08-06")
    assert (found.spot, found.on_demand) == ({"eu-central-1": {"g7e.2xlarge": [1.5]}}, {})


def test_vantage_has_commitments_too(tmp_path: Path) -> None:
    reserved = {"yrTerm1Standard.noUpfront": "3", "yrTerm3Savings.noUpfront": "2.5", "yrTerm1Standard.allUpfront": "1"}
    derived = {"linux": {"ondemand": "5", "reserved": {}, "spot_avg": "2"}}
    linux = {"ondemand": "4.1", "reserved": reserved, "spot_min": "1.2", "spot_avg": "1.5"}
    row = {"instance_type": "g7e.2xlarge", "pricing": {"eu-central-1": {"linux": linux}, "eu-west-1": derived}}
    path = _file(tmp_path, "instances.json", [row])
    found = build_prices.read(path, "2026-11-25")
    assert found.on_demand == {"eu-central-1": {"g7e.2xlarge": 4.1}, "eu-west-1": {"g7e.2xlarge": 5.0}}
    assert found.spot == {"eu-central-1": {"g7e.2xlarge": [1.5]}}
    table = json.loads(build.build_from_files([path], "2026-11-25").files["prices/commitments.json"])
    assert table["types"]["g7e.2xlarge"]["instances.json-2026-11-25"] == {
        "on_demand": {"eu-central-1": 4.1},
        "reserved-1y": {"eu-central-1": 3.0},
        "savings-plan-3y": {"eu-central-1": 2.5},
    }


def test_rates_of_savings_plans_are_stored_with_the_on_demand_price(tmp_path: Path) -> None:
    rates = [savings_rate(94_608_000, "20.5"), savings_rate(94_608_000, "9", operating_system="Windows")]
    path = _file(tmp_path, "rates.json", {"searchResults": rates})
    table = json.loads(build.build_from_files([path], "2026-11-25").files["prices/commitments.json"])
    ours = {"on_demand": {"us-west-2": 55.04}, "savings-plan-3y": {"us-west-2": 20.5}}
    assert table["types"]["p5.48xlarge"]["rates.json-2026-11-25"] == ours


def test_the_files_are_stable() -> None:
    """An import of nothing new writes what is there."""
    known = build_prices.Prices("x", "2026-11-25", {}, {})
    assert build_prices.files([known], facts.instances()["types"]) == {}
