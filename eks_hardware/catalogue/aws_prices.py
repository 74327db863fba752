"""On-Demand prices from AWS's price list."""

from __future__ import annotations

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
            for usd in _hourly_prices(product):
                found[product["product"]["attributes"]["instanceType"]] = usd
    return found


def _hourly_prices(product: Mapping[str, Any]) -> Iterator[float]:
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = float(dimension["pricePerUnit"].get("USD", 0))
            if usd > 0 and dimension["unit"] == "Hrs":
                yield usd
