"""On-Demand and reserved prices from AWS's price list, rates of Savings Plans, and Spot prices from EC2."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

_TERMS = {"1yr": "reserved-1y", "3yr": "reserved-3y"}
_SAVINGS_TERMS = {31_536_000: "savings-plan-1y", 94_608_000: "savings-plan-3y"}  # seconds of 365 and of 1,095 days

Commitments = dict[str, dict[str, float]]
"""Prices of a region by type and term, with the On-Demand price of the same day as ``on_demand``."""


def listed_prices(session: Any, region: str) -> tuple[dict[str, float], Commitments]:
    """Return the On-Demand and the reserved prices of a region, in US dollars per hour (Linux, shared tenancy)."""
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
    on_demand: dict[str, float] = {}
    commitments: Commitments = {}
    for page in products.paginate(ServiceCode="AmazonEC2", Filters=filters):
        for product in map(json.loads, page["PriceList"]):
            add_product(product, on_demand, commitments)
    return on_demand, commitments


def add_product(product: Mapping[str, Any], on_demand: dict[str, float], commitments: Commitments) -> None:
    """Add the On-Demand price of a product of the price list, and its reserved prices (standard, no upfront)."""
    name = product["product"]["attributes"]["instanceType"]
    terms = product.get("terms", {})
    for term in terms.get("OnDemand", {}).values():
        for usd in _per_hour(term):
            on_demand[name] = usd
    for term in terms.get("Reserved", {}).values():
        known = term["termAttributes"]
        if known["OfferingClass"] == "standard" and known["PurchaseOption"] == "No Upfront" and name in on_demand:
            for usd in _per_hour(term):
                row = commitments.setdefault(name, {"on_demand": on_demand[name]})
                row[_TERMS[known["LeaseContractLength"]]] = usd


def _per_hour(term: Mapping[str, Any]) -> Iterator[float]:
    for dimension in term["priceDimensions"].values():
        usd = float(dimension["pricePerUnit"].get("USD", 0))
        if usd > 0 and dimension["unit"] == "Hrs":
            yield usd


def add_savings_plans(session: Any, region: str, on_demand: Mapping[str, float], commitments: Commitments) -> None:
    """Add the rates of Compute Savings Plans without upfront payment, of the types with an On-Demand price."""
    asked: dict[str, Any] = {
        "savingsPlanPaymentOptions": ["No Upfront"],
        "savingsPlanTypes": ["Compute"],
        "products": ["EC2"],
        "serviceCodes": ["AmazonEC2"],
        "filters": [
            {"name": "region", "values": [region]},
            {"name": "productDescription", "values": ["Linux/UNIX"]},
            {"name": "tenancy", "values": ["shared"]},
        ],
    }
    client = session.client("savingsplans", region_name="us-east-1")
    found: dict[str, Commitments] = {}
    while True:  # botocore has no paginator for this operation
        answer = client.describe_savings_plans_offering_rates(**asked)
        for rate in answer["searchResults"]:
            add_savings_rate(rate, found)
        if not answer.get("nextToken"):
            break
        asked["nextToken"] = answer["nextToken"]
    for name, terms in found.get(region, {}).items():
        if name in on_demand:
            commitments.setdefault(name, {"on_demand": on_demand[name]}).update(terms)


def add_savings_rate(rate: Mapping[str, Any], found: dict[str, Commitments]) -> None:
    """Add a rate of a Compute Savings Plan without upfront payment (Linux, shared tenancy), by region and type."""
    known = {each["name"]: each["value"] for each in rate["properties"]}
    plan = rate["savingsPlanOffering"]
    if (
        (plan["planType"], plan["paymentOption"], plan["currency"]) == ("Compute", "No Upfront", "USD")
        and known.get("productDescription") == "Linux/UNIX"
        and known.get("tenancy") == "shared"
        and rate["unit"] == "Hrs"
        and "BoxUsage:" in rate["usageType"]
    ):
        term = _SAVINGS_TERMS[plan["durationSeconds"]]
        found.setdefault(known["region"], {}).setdefault(known["instanceType"], {})[term] = float(rate["rate"])


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
