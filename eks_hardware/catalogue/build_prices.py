"""Add prices to the tables of ``config/prices``: figures that are read now replace older ones.

The figures come from AWS (``aws_prices.py``) or from files that the user names. A file is the output of ``aws pricing
get-products`` or of ``aws ec2 describe-spot-price-history``, the ``spot.json`` of AWS's page of Spot prices, or a CSV
such as SkyPilot's catalogue. A CSV has the columns ``InstanceType``, ``Region``, ``Price`` and ``SpotPrice``.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eks_hardware import facts
from eks_hardware.catalogue.aws_prices import hourly_prices, in_order
from eks_hardware.catalogue.tables import render

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.base import Sourced

T = TypeVar("T")
_ZONE = re.compile(r"([a-z]{2}(?:-[a-z]+)+-\d)[a-z]")  # not a local zone, whose prices differ from the region's


class PriceFileError(RuntimeError):
    """A file of prices cannot be read."""


@dataclass
class Prices:
    """Prices by region and type, in US dollars per hour. Spot prices are those of the zones."""

    source: str
    as_of: str
    on_demand: dict[str, dict[str, float]] = field(default_factory=dict)
    spot: dict[str, dict[str, list[float]]] = field(default_factory=dict)


def read(path: Path, as_of: str | None = None) -> Prices:
    """Read a file of prices. Its day is ``as_of``, or the day in the file, or that of the file's last change.

    Raises:
        PriceFileError: the file cannot be read or has another format.
    """
    try:
        text = path.read_text(encoding="utf-8")
        changed = datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()
    except (OSError, UnicodeDecodeError) as error:
        raise PriceFileError(f"{path}: {error}") from None
    found = Prices(source=path.name, as_of=as_of or changed)
    try:
        content = json.loads(text) if text.lstrip().startswith("{") else None
        if content is None:
            _read_csv(text, found)
        elif "SpotPriceHistory" in content:
            _read_spot_history(content["SpotPriceHistory"], found, dated=as_of is not None)
        elif "PriceList" in content:
            _read_products(content["PriceList"], found, dated=as_of is not None)
        elif "config" in content:
            _read_spot_page(content["config"]["regions"], found)
        else:
            raise KeyError("PriceList or SpotPriceHistory")
    except (KeyError, TypeError, ValueError) as error:
        raise PriceFileError(
            f"{path}: must be the output of get-products or describe-spot-price-history, the spot.json of AWS's page "
            f"of Spot prices, or a CSV with InstanceType, Region, Price and SpotPrice; got {error!r}"
        ) from None
    return found


def _read_csv(text: str, found: Prices) -> None:
    for row in csv.DictReader(io.StringIO(text)):
        region, name = row["Region"], row["InstanceType"]
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
        for usd in hourly_prices(product):
            found.on_demand.setdefault(known["regionCode"], {})[known["instanceType"]] = usd
        if "publicationDate" in product and not dated:
            found.as_of = product["publicationDate"][:10]


def _read_spot_page(regions: Iterable[Mapping[str, Any]], found: Prices) -> None:
    """Read the page's one figure for each type and region: the lowest of the zones."""
    for region in regions:
        for size in (size for group in region["instanceTypes"] for size in group["sizes"]):
            usd = next(column["prices"]["USD"] for column in size["valueColumns"] if column["name"] == "linux")
            if not usd.startswith("N/A"):
                found.spot.setdefault(region["region"], {})[size["size"]] = [float(usd)]


def files(prices: Iterable[Prices], names: Iterable[str]) -> dict[str, str]:
    """Return the rendered tables with these prices of the types ``names``.

    The price of the latest day is kept. A later file replaces prices of the same day.
    """
    names, given = list(names), list(prices)
    rendered: dict[str, str] = {}
    on_demand, spot = facts.on_demand_prices(), facts.spot_prices()
    rows, sources = on_demand["types"], on_demand["sources"]
    spot_rows, spot_sources = spot["types"], spot["sources"]
    for price in given:
        row: Sourced = {"as_of": price.as_of, "source": price.source, "note": None}
        key = _key(price)
        rows = merged(rows, price.on_demand, key, _newer(sources, price.as_of))
        spot_rows = merged(spot_rows, price.spot, key, _newer(spot_sources, price.as_of))
        sources, spot_sources = {**sources, key: row}, {**spot_sources, key: row}
    if any(each.on_demand for each in given):
        head = {"_about": on_demand["_about"], "unit": on_demand["unit"], "sources": _used(sources, rows)}
        rendered[facts.on_demand_prices.name] = render(
            head, "types", {name: rows[name] for name in names if name in rows}
        )
    if any(each.spot for each in given):
        head = {"_about": spot["_about"], "unit": spot["unit"], "sources": _used(spot_sources, spot_rows)}
        kept = {name: spot_rows[name] for name in names if name in spot_rows}
        rendered[facts.spot_prices.name] = render(head, "types", kept)
    return rendered


def _key(prices: Prices) -> str:
    start = "aws" if prices.source.startswith("AWS") else prices.source
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


def _used(sources: Mapping[str, Sourced], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Sourced]:
    used = {source for row in rows.values() for source in row}
    return {source: row for source, row in sources.items() if source in used}
