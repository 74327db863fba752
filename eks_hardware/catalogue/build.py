"""Build the generated data files of the catalogue.

``catalogue/instances.json`` and ``catalogue/offerings.json`` contain EC2's responses, either from the moto package (the
committed files) or from AWS. A build from AWS also changes the tables of instance prices in ``prices/``.
"""

from __future__ import annotations

import datetime
import gzip
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_hardware import atomic_files, facts
from eks_hardware.catalogue import build_prices
from eks_hardware.catalogue.aws_prices import Commitments, add_savings_plans, listed_prices, spot_prices
from eks_hardware.catalogue.store import load
from eks_hardware.catalogue.tables import render
from eks_hardware.data import FOLDER
from eks_hardware.installed_from import install_command

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.catalogue import Correction

Row = dict[str, Any]
"""An EC2 response, or a row that is built from it."""

# Rows omit fields that have these values; the head of `instances.json` lists them.
DEFAULTS: Row = {
    "bare_metal": False,
    "burstable": False,
    "nitro": True,
    "current_generation": True,
    "usage_classes": ["on-demand", "spot"],
    "placement_strategies": ["cluster", "partition", "spread"],
    "max_efa_interfaces": 0,
}
_MACHINE = {"i386", "x86_64", "arm64"}  # architectures that an EKS node can have
_ZONE_ID = re.compile(r"([a-z0-9]+-az)(\d)")  # the id of a local or wavelength zone has more parts
_AWS_PRICES = "AWS Price List API, GetProducts; DescribeSavingsPlansOfferingRates; EC2 DescribeSpotPriceHistory"
_SIZE = re.compile(r"(metal)?-?(?:(\d*)(x?large|xl|medium|small|micro|nano))?")


class BuildError(RuntimeError):
    """Raised when the source cannot be read or does not match the format of the tables."""


@dataclass
class Ec2Data:
    """EC2's responses, with their source and date (ISO 8601, or ``undated``).

    Zone ids are by region and type. ``prices`` is None if they were not requested.
    """

    source: str
    as_of: str
    types: dict[str, Row]
    zones: dict[str, dict[str, list[str]]]
    prices: build_prices.Prices | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass
class Built:
    """The rendered files by name, and warnings for a person to check."""

    files: dict[str, str]
    warnings: list[str] = field(default_factory=list)


# --- sources


def from_moto() -> Ec2Data:
    """Read the EC2 responses in the installed moto package, without importing moto."""
    spec = find_spec("moto")
    if spec is None or spec.origin is None:
        raise BuildError(f"moto is not installed: {install_command('local')}")
    folder = Path(spec.origin).parent / "ec2" / "resources"

    def load(path: Path) -> Any:
        return json.loads(gzip.decompress(path.read_bytes()))

    release = f"moto {version('moto')}"
    scraped = facts.selection()["scrapes"].get(release)
    zones: dict[str, dict[str, list[str]]] = {}
    for path in sorted((folder / "instance_type_offerings" / "availability-zone-id").glob("*.json.gz")):
        by_type = zones.setdefault(path.name.removesuffix(".json.gz"), {})
        for offer in load(path):
            by_type.setdefault(offer["InstanceType"], []).append(offer["Location"])
    return Ec2Data(
        source=", ".join(filter(None, [release, "EC2 DescribeInstanceTypes", scraped])),
        as_of=scraped or "undated",
        types=load(folder / "instance_types.json.gz"),
        zones=zones,
    )


def from_aws(session: Any, *, prices: bool = True, today: datetime.date | None = None) -> Ec2Data:
    """Request data from AWS with a ``boto3.Session``, in all regions that the account has enabled.

    Needs ec2:DescribeRegions, ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings and, for prices,
    ec2:DescribeSpotPriceHistory, pricing:GetProducts and savingsplans:DescribeSavingsPlansOfferingRates. Changes
    nothing in the account.
    """
    home = session.region_name or "us-east-1"
    regions = session.client("ec2", region_name=home).describe_regions()["Regions"]
    types: dict[str, Row] = {}
    zones: dict[str, dict[str, list[str]]] = {}
    for region in sorted(each["RegionName"] for each in regions):
        ec2 = session.client("ec2", region_name=region)
        offers = ec2.get_paginator("describe_instance_type_offerings")
        zones[region] = {}
        for page in offers.paginate(LocationType="availability-zone-id"):
            for offer in page["InstanceTypeOfferings"]:
                zones[region].setdefault(offer["InstanceType"], []).append(offer["Location"])
        if zones[region].keys() - types.keys():
            for page in ec2.get_paginator("describe_instance_types").paginate():
                for item in page["InstanceTypes"]:
                    types.setdefault(item["InstanceType"], item)
    stamp = (today or datetime.date.today()).isoformat()
    warnings: list[str] = []
    asked = _ask_prices(session, list(zones), stamp, warnings) if prices else None
    return Ec2Data(f"EC2 DescribeInstanceTypes, {stamp}", stamp, types, zones, asked, warnings)


def _ask_prices(session: Any, regions: Iterable[str], as_of: str, warnings: list[str]) -> build_prices.Prices:
    """Request all prices of instances. If AWS refuses to list rates of Savings Plans, a warning says so."""
    prices = build_prices.Prices(source=_AWS_PRICES, as_of=as_of)
    refused = False
    client_error = import_module("botocore.exceptions").ClientError
    for region in regions:
        commitments: Commitments
        prices.on_demand[region], commitments = listed_prices(session, region)
        if not refused:
            try:
                add_savings_plans(session, region, prices.on_demand[region], commitments)
            except client_error as error:
                refused = True
                warnings.append(f"prices of Savings Plans were not read: {error}")
        prices.commitments[region] = commitments
        prices.spot[region] = spot_prices(session, region)
    return prices


def prices_from_aws(session: Any, regions: Iterable[str] = (), *, today: datetime.date | None = None) -> Built:
    """Request the prices of instances from AWS, in these regions or in all that the account has enabled.

    Needs pricing:GetProducts, ec2:DescribeSpotPriceHistory, savingsplans:DescribeSavingsPlansOfferingRates and, without
    ``regions``, ec2:DescribeRegions.
    """
    home = session.region_name or "us-east-1"
    asked = list(regions) or sorted(
        each["RegionName"] for each in session.client("ec2", region_name=home).describe_regions()["Regions"]
    )
    warnings: list[str] = []
    found = _ask_prices(session, asked, (today or datetime.date.today()).isoformat(), warnings)
    return Built(build_prices.files([found], facts.instances()["types"]), warnings)


# --- from EC2's responses to rows


def _accelerator(item: Row) -> Row | None:
    for section, key in (
        ("GpuInfo", "Gpus"),
        ("NeuronInfo", "NeuronDevices"),
        ("InferenceAcceleratorInfo", "Accelerators"),
        ("FpgaInfo", "Fpgas"),
        ("MediaAcceleratorInfo", "Accelerators"),
    ):
        devices = item.get(section, {}).get(key)
        if not devices:
            continue
        if len(devices) > 1:
            raise BuildError(f"{item['InstanceType']} has two kinds of accelerators: {devices}")
        (device,) = devices
        row = {
            "name": device["Name"],
            "manufacturer": device.get("Manufacturer", "AWS"),  # a NeuronDevice has no manufacturer
            "count": device["Count"],
            "memory_mib_each": device["MemoryInfo"]["SizeInMiB"],
        }
        if "CoreInfo" in device:
            row["neuron_cores_each"] = device["CoreInfo"]["Count"]
        if device.get("GpuPartitionSize", 1) < 1:
            row["fraction"] = device["GpuPartitionSize"]
        return row
    return None


def _cards(network: Row) -> list[Row]:
    """Return network cards, with equal neighbors combined in one row."""
    cards: list[Row] = []
    for card in sorted(network["NetworkCards"], key=lambda card: int(card["NetworkCardIndex"])):
        index = card["NetworkCardIndex"]
        limits = {
            "max_interfaces": card["MaximumNetworkInterfaces"],
            "interface_types": card["InterfaceTypes"],
            "peak_gbps": card.get("PeakBandwidthInGbps"),
        }
        if cards and cards[-1]["to"] == index - 1 and all(cards[-1][key] == limits[key] for key in limits):
            cards[-1]["to"] = index
        else:
            cards.append({"from": index, "to": index, **limits})
    return cards


def row_of(item: Row) -> Row:
    """Convert one DescribeInstanceTypes item to a row of ``instances.json``, defaults included."""
    network = item["NetworkInfo"]
    machines = [name for name in item["ProcessorInfo"]["SupportedArchitectures"] if name in _MACHINE]
    row: Row = {
        "vcpus": item["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": item["MemoryInfo"]["SizeInMiB"],
        "architecture": machines[-1],  # "i386" is listed before "x86_64"
        "bare_metal": item["BareMetal"],
        "burstable": item["BurstablePerformanceSupported"],
        "nitro": item.get("Hypervisor") != "xen",  # a bare metal type has no hypervisor, but Nitro cards
        "current_generation": item["CurrentGeneration"],
        "usage_classes": sorted(item["SupportedUsageClasses"]),
        "placement_strategies": sorted(item["PlacementGroupInfo"]["SupportedStrategies"]),
        "ipv4_per_interface": network["Ipv4AddressesPerInterface"],
        "max_efa_interfaces": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "cards": _cards(network),
    }
    if accelerator := _accelerator(item):
        row["accelerator"] = accelerator
    if storage := item.get("InstanceStorageInfo"):
        (disks,) = storage["Disks"]
        row["instance_store"] = {
            "total_gb": storage["TotalSizeInGB"],
            "disk_count": disks["Count"],
            "disk_gb": disks["SizeInGB"],
            "nvme": storage["NvmeSupport"] != "unsupported",
        }
    return row


def _correct(rows: Mapping[str, Row], corrections: Iterable[Correction], warnings: list[str]) -> None:
    for correction in corrections:
        *path, leaf = correction["field"].split(".")
        for name in correction["types"]:
            if name not in rows:
                continue
            place = rows[name]
            for step in path:
                place = place[step]
            if place.get(leaf) != correction["api"]:
                warnings.append(
                    f"corrections.json: {name} {correction['field']} is now {place.get(leaf)!r}, was "
                    f"{correction['api']!r}; check whether the correction is still needed"
                )
            place[leaf] = correction["value"]
            rows[name].setdefault("notes", []).append(correction["reason"])


def family_of(name: str) -> str:
    """Return the family of a type: ``p6-b200.48xlarge`` -> ``p6-b200``."""
    return name.partition(".")[0]


def size_order(name: str) -> tuple[str, float, str]:
    """Return a sort key that puts ``2xlarge`` before ``12xlarge`` and metal last."""
    family, _, size = name.partition(".")
    units = {"nano": 0.05, "micro": 0.1, "small": 0.2, "medium": 0.25, "large": 0.5, "xlarge": 1.0, "xl": 1.0}
    match = _SIZE.fullmatch(size)
    if match is None:
        return family, 0.0, size
    metal, count, unit = match.groups()
    number = float(count or 1) * units.get(unit or "xlarge", 0.0) if unit else 0.0
    return family, number + (10_000.0 if metal else 0.0), size


def _offerings(data: Ec2Data, names: Iterable[str], warnings: list[str]) -> str:
    regions: dict[str, Row] = {}
    offered: dict[str, dict[str, str]] = {}
    for region, by_type in sorted(data.zones.items()):
        numbers: set[str] = set()
        prefixes: set[str] = set()
        for name, zone_ids in by_type.items():
            matches = [match for zone in zone_ids if (match := _ZONE_ID.fullmatch(zone))]
            prefixes.update(match[1] for match in matches)
            offered.setdefault(name, {})[region] = "".join(sorted({match[2] for match in matches}))
            numbers.update(match[2] for match in matches)
        if len(prefixes) != 1:
            warnings.append(f"offerings.json: {region} left out, its zone ids have different prefixes: {prefixes}")
            continue
        regions[region] = {"prefix": prefixes.pop(), "zones": "".join(sorted(numbers))}
    _add_regions(regions, offered)
    rows = {
        name: " ".join(
            f"{region}:{zones}"
            for region, zones in sorted(offered.get(name, {}).items())
            if zones and region in regions
        )
        for name in names
    }
    if (FOLDER / facts.offerings.name).is_file():
        gone = facts.offerings()["regions"].keys() - regions.keys()
        warnings += [f"offerings.json: {region} left out, its offerings were not requested" for region in sorted(gone)]
    head = {
        "_about": "Generated by build.py. Zone ids of a type: the region's prefix and each digit.",
        "source": data.source.replace("DescribeInstanceTypes", "DescribeInstanceTypeOfferings"),
        "as_of": data.as_of,
        "regions": dict(sorted(regions.items())),
    }
    return render(head, "types", rows)


def _add_regions(regions: dict[str, Row], offered: dict[str, dict[str, str]]) -> None:
    """Add the regions of ``regions.json`` missing from EC2's responses; a type counts as offered in all zones."""
    for region, row in facts.regions()["regions"].items():
        if region in regions:
            continue
        known = "nothing" if row["sold"] is None else "region"
        regions[region] = {"prefix": row["prefix"], "zones": row["zones"], "known": known}
        for family, sizes in (row["sold"] or {}).items():
            for size in sizes.split():
                offered.setdefault(f"{family}.{size}", {})[region] = row["zones"]


def build(data: Ec2Data) -> Built:
    """Build the generated files from EC2's responses.

    Raises:
        BuildError: a response does not fit the tables.
    """
    warnings = [*data.warnings]
    left_out = [pattern for row in facts.selection()["unsupported"] for pattern in row["families"]]
    rows = {
        name: row_of(item)
        for name, item in data.types.items()
        if not any(fnmatchcase(family_of(name), pattern) for pattern in left_out)
    }
    _correct(rows, facts.corrections()["corrections"], warnings)
    for name, row in facts.supplement()["types"].items():
        rows.setdefault(name, dict(row))

    known = facts.accelerators()["accelerators"]
    ami_rows = facts.ami_types()["rows"]
    unknown = {row["accelerator"]["name"] for row in rows.values() if "accelerator" in row} - known.keys()
    warnings += [f"accelerators.json has no row for {name!r}" for name in sorted(unknown)]
    covered = [pattern for row in ami_rows for pattern in row["families"]]
    families = {family_of(name) for name in rows}
    warnings += [
        f"ami_types.json has no row for {family}"
        for family in sorted(families)
        if not any(fnmatchcase(family, pattern) for pattern in covered)
    ]

    names = sorted(rows, key=size_order)
    compact = {
        name: {key: value for key, value in rows[name].items() if DEFAULTS.get(key, ...) != value} for name in names
    }
    head = {
        "_about": "Generated by build.py from DescribeInstanceTypes, corrections.json and supplement.json.",
        "source": data.source,
        "as_of": data.as_of,
        "defaults": DEFAULTS,
    }
    files = {
        "catalogue/instances.json": render(head, "types", compact),
        "catalogue/offerings.json": _offerings(data, names, warnings),
    }
    if data.prices is not None:
        files |= build_prices.files([data.prices], names)
    return Built(files, warnings)


def build_from_files(paths: Iterable[Path], as_of: str | None = None) -> Built:
    """Build the price tables with the prices in files; types that are not in the catalogue are left out.

    Raises:
        BuildError: a file cannot be read, or has no prices of the catalogue's types.
    """
    try:
        read = [build_prices.read(path, as_of) for path in paths]
    except build_prices.PriceFileError as error:
        raise BuildError(str(error)) from None
    names = facts.instances()["types"]
    for each in read:
        tables = (each.on_demand, each.spot, each.commitments)
        listed = {name for by_region in tables for row in by_region.values() for name in row}
        if not listed & names.keys():
            raise BuildError(f"{each.source}: must have prices of instance types in the catalogue, got none")
        for region, by_type in each.commitments.items():
            for name, terms in by_type.items():
                # Savings Plan rates have no On-Demand price of their own, so they are stored with the table's.
                if "on_demand" not in terms and name in names and (price := load().price(name, region)):
                    terms["on_demand"] = price.usd_per_hour
    return Built(build_prices.files(read, names))


def stale(built: Built, folder: Path = FOLDER) -> list[str]:
    """Return the names of the built files that differ from those in ``folder``."""
    return [
        name
        for name, text in built.files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]


def write(built: Built, folder: Path = FOLDER) -> list[str]:
    """Write the files that differ, and return their names."""
    changed = stale(built, folder)
    for name in changed:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.replace(file, built.files[name].encode())
    return changed
