"""Build the price tables from a copy of AWS's price files.

    python -m eks_hardware.catalogue.build_ec2_shop FOLDER

``FOLDER`` is ``data/`` of a checkout of https://github.com/yeo/ec2.shop, which stores AWS's files unchanged. The
command updates ``prices/commitments.json`` and writes ``prices/volumes.json`` of ``config/``, and no other files.

Each reserved price is stored with the On-Demand price of the same day. When the On-Demand price changes, the reserved
price is outdated and must not be used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from eks_hardware import facts
from eks_hardware.catalogue import build_prices
from eks_hardware.catalogue.store import Catalogue, load
from eks_hardware.catalogue.tables import render
from eks_hardware.data import FOLDER

_CPU_FAMILIES = ("c[67][agi]", "m[67][agi]", "r[67][agi]")
"""General-purpose families that EKS node groups commonly use; the table has no reserved prices of other families."""

_TERMS = ("1y", "3y")

# AWS's price files use region names.
_REGIONS = {
    "AWS GovCloud (US)": "us-gov-west-1",
    "AWS GovCloud (US-East)": "us-gov-east-1",
    "Africa (Cape Town)": "af-south-1",
    "Asia Pacific (Hong Kong)": "ap-east-1",
    "Asia Pacific (Hyderabad)": "ap-south-2",
    "Asia Pacific (Jakarta)": "ap-southeast-3",
    "Asia Pacific (Melbourne)": "ap-southeast-4",
    "Asia Pacific (Mumbai)": "ap-south-1",
    "Asia Pacific (Osaka)": "ap-northeast-3",
    "Asia Pacific (Seoul)": "ap-northeast-2",
    "Asia Pacific (Singapore)": "ap-southeast-1",
    "Asia Pacific (Sydney)": "ap-southeast-2",
    "Asia Pacific (Tokyo)": "ap-northeast-1",
    "Canada (Central)": "ca-central-1",
    "Canada West (Calgary)": "ca-west-1",
    "EU (Frankfurt)": "eu-central-1",
    "EU (Ireland)": "eu-west-1",
    "EU (London)": "eu-west-2",
    "EU (Milan)": "eu-south-1",
    "EU (Paris)": "eu-west-3",
    "EU (Spain)": "eu-south-2",
    "EU (Stockholm)": "eu-north-1",
    "EU (Zurich)": "eu-central-2",
    "Israel (Tel Aviv)": "il-central-1",
    "Middle East (Bahrain)": "me-south-1",
    "Middle East (UAE)": "me-central-1",
    "South America (Sao Paulo)": "sa-east-1",
    "US East (N. Virginia)": "us-east-1",
    "US East (Ohio)": "us-east-2",
    "US West (N. California)": "us-west-1",
    "US West (Oregon)": "us-west-2",
}

# The billed unit of a volume -> its name in AWS's file. Throughput is priced per GiB/s.
_VOLUMES = {
    "gp3": {
        "gib_month": "Storage General Purpose gp3 GB Mo",
        "iops_month": "Provisioned EBS IOPS gp3 Volumes per IOPS Mo",
        "gibps_month": "Provisioned Throughput gp3 per GiBps mo",
    },
    "io2": {
        "gib_month": "Storage Provisioned IOPS io2 GB month",
        "iops_month": "Provisioned EBS IOPS io2 Volumes per IOPS Mo",
        "iops_month_tier_2": "Provisioned EBS IOPS Tier 2 io2 Volumes per IOPS Mo",
        "iops_month_tier_3": "Provisioned EBS IOPS Tier 3 io2 Volumes per IOPS Mo",
    },
}


def reserved(folder: Path, catalogue: Catalogue, *, as_of: str) -> build_prices.Prices:
    """Return the reserved prices (standard, no upfront, Linux, shared tenancy) of a checkout's ``data/ec2``.

    ``as_of`` is the date of the files, as recorded for On-Demand prices.
    """
    source = "yeo/ec2.shop data/ec2/<region>-reservedinstance-{1y,3y}.json (AWS price files)"
    found = build_prices.Prices(source=source, as_of=as_of, name="ec2.shop")
    for region in catalogue.regions:
        for term in _TERMS:
            path = folder / f"{region}-reservedinstance-{term}.json"
            listed = json.loads(path.read_bytes())["regions"].values() if path.is_file() else ()
            for offer in (each for by_name in listed for each in by_name.values()):
                if _wanted(name := offer["Instance Type"], catalogue):
                    row = found.commitments.setdefault(region, {}).setdefault(name, {})
                    row["on_demand"] = float(offer["OnDemand:PricePerUnit"])
                    row[f"reserved-{term}"] = float(offer["price"])
    return found


def _wanted(name: str, catalogue: Catalogue) -> bool:
    kind = catalogue.find(name)
    return kind is not None and bool(
        kind.accelerator or any(fnmatchcase(kind.family, pattern) for pattern in _CPU_FAMILIES)
    )


def volumes(file: Path, regions: Iterable[str]) -> str:
    """Return the table of EBS prices of gp3 and io2 volumes by region, from ``data/ebs/ebs.json`` of a checkout."""
    table = json.loads(file.read_bytes())
    by_region = {_REGIONS[words]: prices for words, prices in table["regions"].items() if words in _REGIONS}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for region in sorted(set(regions) & by_region.keys()):
        listed = by_region[region]
        for kind, dimensions in _VOLUMES.items():
            if all(words in listed for words in dimensions.values()):
                found = {name: float(listed[words]["price"]) for name, words in dimensions.items()}
                rows.setdefault(region, {})[kind] = found
    head = {
        "_about": "Generated by build_ec2_shop.py. gp3 comes with 3,000 IOPS and 125 MiB/s; the tiers of io2 begin "
        "above 32,000 and above 64,000 IOPS.",
        "unit": "USD per month of a GiB, an IOPS, a GiB/s",
        "as_of": table["manifest"]["hawkFilePublicationDate"][:10],
        "source": "yeo/ec2.shop data/ebs/ebs.json (AWS price file)",
    }
    return render(head, "regions", rows)


def main(folder: Path, *, out: Path = FOLDER) -> None:
    """Write both tables."""
    catalogue = load()
    on_demand = json.loads((folder / "ec2" / f"{build_prices.REFERENCE_REGION}-ondemand.json").read_bytes())
    as_of = on_demand["manifest"]["hawkFilePublicationDate"][:10]
    tables = build_prices.files([reserved(folder / "ec2", catalogue, as_of=as_of)], catalogue.names)
    for name, text in tables.items():
        (out / name).write_text(text, encoding="utf-8")
    (out / facts.volume_prices.name).write_text(
        volumes(folder / "ebs" / "ebs.json", catalogue.regions), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
