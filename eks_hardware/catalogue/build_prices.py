"""Add prices to the tables of ``config/prices``: figures that are read now replace older ones.

The figures come from AWS (``aws_prices.py``) or from files that the user names. A file is the output of ``aws pricing
get-products``, of ``aws ec2 describe-spot-price-history`` or of ``aws savingsplans
describe-savings-plans-offering-rates``, the ``spot.json`` of AWS's page of Spot prices, the ``instances.json`` of
instances.vantage.sh, or a CSV such as SkyPilot's catalogue. A CSV has the columns ``InstanceType``, ``Region``,
``Price`` and ``SpotPrice``. Rows of a Local Zone, which the column ``AvailabilityZone`` shows, are left out.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eks_hardware import facts
from eks_hardware.catalogue.aws_prices import add_product, add_savings_rate, in_order
from eks_hardware.catalogue.tables import render
from eks_hardware.printable import joined, plural

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.base import Sourced

T = TypeVar("T")

REFERENCE_REGION = "us-east-1"
"""The region whose On-Demand price shows whether reserved prices are outdated, if the type is sold there."""

_VANTAGE_TERMS = {
    "reserved-1y": "yrTerm1Standard.noUpfront",
    "reserved-3y": "yrTerm3Standard.noUpfront",
    "savings-plan-1y": "yrTerm1Savings.noUpfront",
    "savings-plan-3y": "yrTerm3Savings.noUpfront",
}
_COLUMNS = ("InstanceType", "Region", "Price", "SpotPrice")
_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")  # not a local zone, whose prices differ from the region's
_ZONE_ID = re.compile(r"[a-z]+\d-az\d")  # the same for zone ids: use1-az1, not usw2-lax1-az1


class PriceFileError(RuntimeError):
    """Raised when a file of prices cannot be read."""


@dataclass
class Prices:
    """Prices by region and type, in US dollars per hour. Spot prices are lists with one price per zone.

    Commitments are by term: ``reserved-1y``, ``savings-plan-3y``. ``on_demand`` is the On-Demand price of the same day.
    The key of the source in the tables is its ``name``, by default the source itself, and its day.
    """

    source: str
    as_of: str
    on_demand: dict[str, dict[str, float]] = field(default_factory=dict)
    spot: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    commitments: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    name: str = ""
    note: str | None = None


def read(path: Path, as_of: str | None = None) -> Prices:
    """Read a file of prices. Its date is ``as_of``, or the date in the file, or the date of the file's last change.

    Raises:
        PriceFileError: the file cannot be read or has another format.
    """
    try:
        text = path.read_text(encoding="utf-8")
        changed = datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PriceFileError(f"{path}: must be a readable file of prices; {reason}") from None
    prices = Prices(source=path.name, as_of=as_of or changed)
    try:
        content = json.loads(text) if text.lstrip().startswith(("{", "[")) else None
        if content is None:
            _read_csv(text, prices)
        elif isinstance(content, list):
            _read_vantage(content, prices)
        elif "SpotPriceHistory" in content:
            _read_spot_history(content["SpotPriceHistory"], prices, dated=as_of is not None)
        elif "PriceList" in content:
            _read_products(content["PriceList"], prices, dated=as_of is not None)
        elif "searchResults" in content:
            for rate in content["searchResults"]:
                add_savings_rate(rate, prices.commitments)
        elif "config" in content:
            _read_spot_page(content["config"]["regions"], prices)
        else:
            raise KeyError("PriceList or SpotPriceHistory")
        _check(prices)
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise PriceFileError(
            f"{path}: must be a file of prices in a format that `eks-hardware instances refresh --help` lists; {reason}"
        ) from None
    return prices


def _check(prices: Prices) -> None:
    """Raise ValueError for a price that is negative or not finite, and drop prices of 0, which mean unknown."""
    for by_region in (prices.on_demand, prices.spot, prices.commitments):
        for region, by_type in by_region.items():
            for name, said in by_type.items():
                figures = said.values() if isinstance(said, dict) else said if isinstance(said, list) else [said]
                wrong = next((usd for usd in figures if not math.isfinite(usd) or usd < 0), None)
                if wrong is not None:
                    raise ValueError(f"the price of {name} in {region} must be a number of at least 0, got {wrong:g}")
            for name in [name for name, said in by_type.items() if said in (0, [0])]:
                del by_type[name]


def _read_csv(text: str, found: Prices) -> None:
    rows = csv.DictReader(io.StringIO(text))
    if missing := [column for column in _COLUMNS if column not in (rows.fieldnames or ())]:
        be = "are" if len(missing) > 1 else "is"
        raise ValueError(
            f"the {plural('column', len(missing))} {joined(missing, 'and')} {be} missing in its first line"
        )
    for row in rows:
        region, name, zone = row["Region"], row["InstanceType"], row.get("AvailabilityZone")
        if zone and not (_ZONE.fullmatch(zone) or _ZONE_ID.fullmatch(zone)):
            continue
        if row["Price"]:
            found.on_demand.setdefault(region, {})[name] = float(row["Price"])
        if row["SpotPrice"]:
            found.spot.setdefault(region, {}).setdefault(name, []).append(float(row["SpotPrice"]))
    found.spot = {region: in_order(by_type) for region, by_type in found.spot.items()}


def _read_spot_history(rows: Iterable[Mapping[str, Any]], found: Prices, *, dated: bool) -> None:
    latest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = (row["InstanceType"], row["AvailabilityZone"])
        if row["ProductDescription"] == "Linux/UNIX" and row["Timestamp"] > latest.get(key, {}).get("Timestamp", ""):
            latest[key] = row
    for (name, zone), row in latest.items():
        if region := _ZONE.fullmatch(zone):
            found.spot.setdefault(region[1], {}).setdefault(name, []).append(float(row["SpotPrice"]))
    found.spot = {region: in_order(by_type) for region, by_type in found.spot.items()}
    if latest and not dated:
        found.as_of = max(row["Timestamp"] for row in latest.values())[:10]


def _read_products(products: Iterable[Any], found: Prices, *, dated: bool) -> None:
    for each in products:
        product = json.loads(each) if isinstance(each, str) else each
        known = product["product"]["attributes"]
        if known.get("marketoption", "OnDemand") != "OnDemand":
            continue
        region = known["regionCode"]
        add_product(product, found.on_demand.setdefault(region, {}), found.commitments.setdefault(region, {}))
        if "publicationDate" in product and not dated:
            found.as_of = product["publicationDate"][:10]


def _read_spot_page(regions: Iterable[Mapping[str, Any]], found: Prices) -> None:
    """Read the page's one figure for each type and region: the lowest of the zones."""
    for region in regions:
        for size in (size for group in region["instanceTypes"] for size in group["sizes"]):
            usd = next(column["prices"]["USD"] for column in size["valueColumns"] if column["name"] == "linux")
            if not usd.startswith("N/A"):
                found.spot.setdefault(region["region"], {})[size["size"]] = [float(usd)]


def _read_vantage(rows: Iterable[Mapping[str, Any]], found: Prices) -> None:
    """Read On-Demand, reserved and Savings Plan prices, and the average Spot price of a region's zones.

    Regions without a lowest Spot price are left out: their average is computed from the Spot Instance Advisor.
    """
    for row in rows:
        name = row["instance_type"]
        for region, by_system in row["pricing"].items():
            linux = by_system.get("linux", {})
            if not linux.get("ondemand"):
                continue
            on_demand = float(linux["ondemand"])
            found.on_demand.setdefault(region, {})[name] = on_demand
            if linux.get("spot_min") and linux.get("spot_avg"):
                found.spot.setdefault(region, {})[name] = [round(float(linux["spot_avg"]), 4)]
            reserved = linux.get("reserved", {})
            terms = {term: float(reserved[key]) for term, key in _VANTAGE_TERMS.items() if reserved.get(key)}
            if terms:
                found.commitments.setdefault(region, {})[name] = {"on_demand": on_demand, **terms}


def files(prices: Iterable[Prices], names: Iterable[str]) -> dict[str, str]:
    """Return the rendered tables with these prices of the types ``names``.

    The price of the latest day is kept. A later file replaces prices of the same day.
    """
    names, given = list(names), list(prices)
    rendered: dict[str, str] = {}
    for file, kind in (
        (facts.on_demand_prices, "on_demand"),
        (facts.spot_prices, "spot"),
        (facts.commitment_prices, "commitments"),
    ):
        if not any(by_type for each in given for by_type in getattr(each, kind).values()):
            continue
        table = file()
        rows: Any = table["types"]
        sources = table["sources"]
        for each in given:
            new, newer = getattr(each, kind), _newer(sources, each.as_of)
            merge = merged_commitments if kind == "commitments" else merged
            rows = merge(rows, new, _key(each), newer)
            sources = {**sources, _key(each): {"as_of": each.as_of, "source": each.source, "note": each.note}}
        head = {"_about": table["_about"], "unit": table["unit"], "sources": _used(sources, rows)}
        rendered[file.name] = render(head, "types", {name: rows[name] for name in names if name in rows})
    return rendered


def _key(prices: Prices) -> str:
    start = prices.name or ("aws" if prices.source.startswith("AWS") else prices.source)
    return f"{start}-{prices.as_of}"


def _newer(sources: Mapping[str, Sourced], as_of: str) -> set[str]:
    return {source for source, row in sources.items() if row["as_of"] > as_of}


def merged(
    table: Mapping[str, Mapping[str, Mapping[str, T]]],
    new: Mapping[str, Mapping[str, T]],
    key: str,
    newer: Collection[str] = (),
) -> dict[str, dict[str, dict[str, T]]]:
    """Return a table by type, source and region, in which the new figures (by region and type) replace older ones.

    Figures of the sources ``newer`` stay.
    """
    rows = {name: {source: dict(by_region) for source, by_region in row.items()} for name, row in table.items()}
    for region, by_type in new.items():
        for name, figure in by_type.items():
            row = rows.setdefault(name, {})
            if any(region in row.get(source, ()) for source in newer):
                continue
            for by_region in row.values():
                by_region.pop(region, None)
            row.setdefault(key, {})[region] = figure
    return {
        name: {source: dict(sorted(row[source].items())) for source in sorted(row) if row[source]}
        for name, row in rows.items()
    }


def merged_commitments(
    table: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]],
    new: Mapping[str, Mapping[str, Mapping[str, float]]],
    key: str,
    newer: Collection[str] = (),
) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Like :func:`merged`, for a table by type, source, term and region. ``new`` is by region, type and term.

    A price without an On-Demand price of the same day is left out: nothing would show when it is outdated.
    """
    rows = {
        name: {source: {term: dict(usd) for term, usd in terms.items()} for source, terms in row.items()}
        for name, row in table.items()
    }
    for region, by_type in new.items():
        for name, terms in by_type.items():
            if "on_demand" not in terms:
                continue
            row = rows.setdefault(name, {})
            for term in terms.keys() - {"on_demand"}:
                if any(region in row.get(source, {}).get(term, {}) for source in newer):
                    continue
                for old in row.values():
                    old.get(term, {}).pop(region, None)
                ours = row.setdefault(key, {})
                ours.setdefault("on_demand", {})[region] = terms["on_demand"]
                ours.setdefault(term, {})[region] = terms[term]
    compact = {
        name: {source: found for source in sorted(row) if len(found := _compact(row[source])) > 1}
        for name, row in rows.items()
    }
    return {name: row for name, row in compact.items() if row}


def _compact(terms: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return the terms that have prices, with the On-Demand price of one region: the reference, or the first."""
    on_demand = terms["on_demand"]
    region = REFERENCE_REGION if REFERENCE_REGION in on_demand else min(on_demand)
    rest = {term: dict(sorted(usd.items())) for term, usd in sorted(terms.items()) if usd and term != "on_demand"}
    return {"on_demand": {region: on_demand[region]}, **rest}


def _used(sources: Mapping[str, Sourced], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Sourced]:
    used = {source for row in rows.values() for source in row}
    return {source: row for source, row in sources.items() if source in used}
