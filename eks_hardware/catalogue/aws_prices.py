"""On-Demand prices from AWS's price list, and Spot prices from EC2."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any


def on_demand_prices(session: Any, region: str) -> dict[str, float]:
    """Return the On-Demand price of each type in a region, in US dollars per hour (Linux, shared tenancy)."""
    # Only a few regions serve the price list; us-east-1 has the prices of all regions.
    wanted = {
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    filters = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()]
    products = session.client("pricing", region_name="us-east-1").get_paginator("get_products")
    found: dict[str, float] = {}
    for page in products.paginate(ServiceCode="AmazonEC2", Filters=filters):
        for product in map(json.loads, page["PriceList"]):
            for usd in hourly_prices(product):
                found[product["product"]["attributes"]["instanceType"]] = usd
    return found


def hourly_prices(product: Mapping[str, Any]) -> Iterator[float]:
    """Yield the On-Demand price of a product of the price list."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = float(dimension["pricePerUnit"].get("USD", 0))
            if usd > 0 and dimension["unit"] == "Hrs":
                yield usd


def spot_prices(session: Any, region: str, now: datetime.datetime | None = None) -> dict[str, list[float]]:
    """Return the current Spot prices (Linux) of each type in the zones of a region, lowest first."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    pages = session.client("ec2", region_name=region).get_paginator("describe_spot_price_history")
    latest: dict[tuple[str, str], tuple[datetime.datetime, float]] = {}
    # A history that starts now has one row for each type and zone: the price that applies.
    for page in pages.paginate(ProductDescriptions=["Linux/UNIX"], StartTime=now):
        for row in page["SpotPriceHistory"]:
            key = (row["InstanceType"], row["AvailabilityZone"])
            latest[key] = max(latest.get(key, (row["Timestamp"], 0.0)), (row["Timestamp"], float(row["SpotPrice"])))
    found: dict[str, list[float]] = {}
    for (name, _), (_, usd) in latest.items():
        found.setdefault(name, []).append(usd)
    return in_order(found)


def in_order(by_type: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Return the prices of the zones, lowest first."""
    return {name: sorted(prices) for name, prices in sorted(by_type.items())}
