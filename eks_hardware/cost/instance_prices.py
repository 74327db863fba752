"""The price of an instance type by purchasing option."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from eks_hardware import facts
from eks_hardware.catalogue import Catalogue
from eks_hardware.cost.model import Figure, Purchase

NO_SAVINGS_PLANS = "prices unknown; `eks-hardware prices refresh` reads them from AWS"
"""Why a Savings Plan has no price. The discounts of Reserved Instances differ and cannot be used instead."""

_TERM_NOTES: dict[Purchase, str] = {
    "reserved-1y": "standard Reserved Instance, no upfront",
    "reserved-3y": "standard Reserved Instance, no upfront",
    "savings-plan-1y": "Compute Savings Plan, no upfront",
    "savings-plan-3y": "Compute Savings Plan, no upfront",
}


def instance_figure(
    catalogue: Catalogue,
    type_name: str,
    region: str,
    purchase: Purchase = "on-demand",
    *,
    today: datetime.date | None = None,
) -> Figure | None:
    """Return the price of an instance type (Linux, shared tenancy), or None if unknown.

    Reserved Instances are standard ones, Savings Plans are Compute Savings Plans, both without upfront payment. The
    Spot price is the median of the region's zones. The Capacity Block price is the latest that applies on ``today``.
    ``why_unknown`` returns the reason for None.
    """
    if purchase == "on-demand":
        price = catalogue.price(type_name, region)
        if price is None:
            return None
        return Figure(usd_per_hour=price.usd_per_hour, as_of=price.as_of, source=price.source, note=price.note)
    if purchase == "spot":
        return _spot(type_name, region)
    if purchase == "capacity-block":
        return _capacity_block(type_name, region, today or datetime.date.today())
    return _commitment(catalogue, type_name, region, purchase)


def why_unknown(catalogue: Catalogue, type_name: str, region: str, purchase: Purchase) -> str:
    """Return why :func:`instance_figure` has no price, in a few words."""
    if purchase in ("savings-plan-1y", "savings-plan-3y"):
        return NO_SAVINGS_PLANS
    if purchase in ("reserved-1y", "reserved-3y") and (changed := why_outdated(catalogue, type_name)):
        return changed
    return f"the price of {type_name} in {region} is unknown"


def _spot(type_name: str, region: str) -> Figure | None:
    table = facts.spot_prices()
    for key, by_region in table["types"].get(type_name, {}).items():
        if by_zone := by_region.get(region):
            from statistics import median  # slow to import, and few strategies get this far

            row = table["sources"][key]
            lowest, highest = by_zone[0], by_zone[-1]
            spread = f"median of {len(by_zone)} zones, {lowest:g} to {highest:g}" if len(by_zone) > 1 else ""
            return Figure(
                usd_per_hour=median(by_zone),
                as_of=row["as_of"],
                source=row["source"],
                note="; ".join(filter(None, [spread, row.get("note")])) or None,
            )
    return None


def _capacity_block(type_name: str, region: str, today: datetime.date) -> Figure | None:
    """Return the latest price that applies on ``today``; rows are by the day from which they apply."""
    table = facts.capacity_block_prices()
    rows = table["types"].get(type_name, {})
    for since in sorted(rows, reverse=True):
        if region in rows[since] and datetime.date.fromisoformat(since) <= today:
            row = table["sources"][since]
            return Figure(
                usd_per_hour=rows[since][region], as_of=row["as_of"], source=row["source"], note=row.get("note")
            )
    return None


def _commitment(catalogue: Catalogue, type_name: str, region: str, purchase: Purchase) -> Figure | None:
    table = facts.commitment_prices()
    for key, row in table["types"].get(type_name, {}).items():
        usd = row.get(purchase, {}).get(region)
        if usd is not None and _changed(catalogue, type_name, key, row["on_demand"]) is None:
            source = table["sources"][key]
            return Figure(
                usd_per_hour=usd,
                as_of=source["as_of"],
                source=source["source"],
                note=f"{_TERM_NOTES[purchase]}; carried over, because the On-Demand price has not changed since",
            )
    return None


def why_outdated(catalogue: Catalogue, type_name: str) -> str | None:
    """Return why all reserved prices of a type are outdated: its On-Demand price has changed; None if not."""
    rows = facts.commitment_prices()["types"].get(type_name, {})
    reasons = [_changed(catalogue, type_name, key, row["on_demand"]) for key, row in rows.items()]
    return reasons[0] if reasons and all(reasons) else None


def _changed(catalogue: Catalogue, type_name: str, key: str, on_demand: Mapping[str, float]) -> str | None:
    ((region, then),) = on_demand.items()
    now = catalogue.price(type_name, region)
    if now is not None and now.usd_per_hour == then:
        return None
    as_of = facts.commitment_prices()["sources"][key]["as_of"]
    if now is None:
        return f"the reserved price of {as_of} cannot be compared with a current On-Demand price"
    return (
        f"the reserved price of {as_of} is outdated: the On-Demand price of {type_name} was {then:g} then and is "
        f"{now.usd_per_hour:g} now ({region})"
    )
