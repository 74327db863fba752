"""Records of EC2's instance types that others made, to compare the catalogue with.

Karpenter has tables of network interfaces, bandwidth and prices, and a few types as EC2 described them. The cluster
autoscaler has a list of vCPUs, memory and GPUs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from eks_hardware import facts
from eks_hardware.advisor.speed.exchange import network_gbps
from eks_hardware.catalogue import InstanceType, load
from eks_hardware.local.emulator_patches.ec2_offers import instance_types

HERE = Path(__file__).parents[1] / "cluster"
AUTOSCALER = HERE / "cluster_autoscaler.json"
REASONS = HERE / "second_sources.yaml"

_ROUNDED = 0.002
"""Sources round a third of a Gbps in different ways."""
_LINES = re.MULTILINE | re.DOTALL
_LIMITS = re.compile(r'^\t"([^"]+)": \{\n\t\tInterface: +(\d+),\n\t\tIPv4PerInterface: +(\d+),(.*?)^\t\},', _LINES)
_CARD = re.compile(r"MaximumNetworkInterfaces: (\d+)")
_TYPE_AND_NUMBER = re.compile(r'"([a-z0-9.-]+)": +([\d.]+),')
_REGION = re.compile(r'^\t"([a-z-]+\d)": \{$(.*?)^\t\},', _LINES)
_RECORDED = re.compile(r'^\t\t\tInstanceType: +"([^"]+)",$(.*?)^\t\t\},', _LINES)
_DEVICES = re.compile(
    r"(?:Gpus|NeuronDevices): .*?Count: +aws.Int32\((\d+)\).*?SizeInMiB: aws.Int32\((\d+)\)", re.DOTALL
)

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One field of the catalogue and its second source.

    Attributes:
        title: the field and the source.
        ours: returns the catalogue's value of a type.
        theirs: the source's value by type.
        of: returns whether a type has the field.
    """

    title: str
    ours: Callable[[InstanceType], Any]
    theirs: Values
    of: Callable[[InstanceType], bool] = lambda _: True

    @property
    def kinds(self) -> list[InstanceType]:
        """The types that have the field."""
        return sorted(filter(self.of, load().select()), key=lambda kind: kind.name)

    def differences(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield type, the catalogue's value and the source's."""
        for kind in self.kinds:
            if kind.name in self.theirs and not _same(mine := self.ours(kind), its := self.theirs[kind.name]):
                yield kind.name, mine, its

    def missing(self) -> list[str]:
        """Return the types without a second source."""
        return [each.name for each in self.kinds if each.name not in self.theirs]


@dataclass
class Reasons:
    """Why values differ, from ``second_sources.yaml``, with the rows that no difference needed."""

    rows: list[dict[str, Any]]
    used: set[int] = field(default_factory=set)

    @classmethod
    def read(cls) -> Reasons:
        return cls(yaml.safe_load(REASONS.read_text(encoding="utf-8")))

    def of(self, title: str, name: str) -> str | None:
        """Return the reason of a difference."""
        for number, row in enumerate(self.rows):
            if row["comparison"] == title and any(fnmatchcase(name, each) for each in row["types"]):
                self.used.add(number)
                return str(row["reason"])
        return None

    def unused(self) -> list[dict[str, Any]]:
        return [row for number, row in enumerate(self.rows) if number not in self.used]


def comparisons(tables: Path) -> list[Comparison]:
    """Return all comparisons.

    Args:
        tables: the folder ``karpenter-tables`` of ``make cluster-tools``.
    """
    autoscaler = json.loads(AUTOSCALER.read_text(encoding="utf-8"))["types"]
    limits = _limits(tables)
    recorded = _recorded_devices(tables)
    bandwidth = {
        name: each / 1000 for name, each in _table(tables / "instancetype" / "zz_generated.bandwidth.go").items()
    }
    prices = _prices(tables).get("us-east-1", {})
    return [
        Comparison("vCPUs, cluster autoscaler", lambda kind: kind.vcpus, _column(autoscaler, 0)),
        Comparison("memory in MiB, cluster autoscaler", lambda kind: kind.memory_gib * 1024, _column(autoscaler, 1)),
        Comparison("GPUs, cluster autoscaler", _gpus, _column(autoscaler, 2)),
        Comparison("architecture, cluster autoscaler", _go_architecture, _column(autoscaler, 3)),
        Comparison(
            "accelerators and MiB of each, Karpenter's recorded types",
            _devices,
            recorded,
            lambda kind: _devices(kind) is not None,
        ),
        Comparison("network interfaces, Karpenter", lambda kind: kind.max_interfaces, _column(limits, 0)),
        Comparison("addresses of an interface, Karpenter", lambda kind: kind.ipv4_per_interface, _column(limits, 1)),
        Comparison("interfaces of each card, Karpenter", _of_cards, _column(limits, 2)),
        Comparison("Gbps of the network without bursts, Karpenter", _gbps, bandwidth),
        Comparison("USD per hour in us-east-1, Karpenter, which the catalogue copied", _price, prices),
    ]


def listed_differences(found: list[Comparison], reasons: Reasons) -> str:
    """Return all differences with their reasons, and the types that have no second source."""
    lines: list[str] = []
    before: list[str] = []
    for each in found:
        missing, total = each.missing(), len(each.kinds)
        lines.append(f"{each.title}: {total - len(missing)} of {total} types")
        for name, mine, its in each.differences():
            lines.append(f"  {name}: {_shown(mine)}, not {_shown(its)}; {reasons.of(each.title, name) or 'NO REASON'}")
        if missing and missing == before:
            lines.append("  no second source: the same types")
        elif missing:
            lines.append("  no second source:")
            lines += [f"    {family}" for family in _by_family(missing)]
        lines.append("")
        before = missing
    return "\n".join(lines)


def _same(mine: Any, its: Any) -> bool:
    if isinstance(mine, float) and isinstance(its, float):
        return abs(mine - its) <= _ROUNDED * its
    return bool(mine == its)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "unknown" if value is None else str(value)


def _by_family(names: list[str]) -> Iterator[str]:
    """Yield families with their sizes, or without if all are named."""
    every = Counter(each.family for each in load().select())
    found: dict[str, list[str]] = {}
    for each in names:
        family, _, size = each.partition(".")
        found.setdefault(family, []).append(size)
    for family, sizes in sorted(found.items()):
        yield family if len(sizes) == every[family] else f"{family}: {' '.join(sizes)}"


def _column(rows: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {name: row[number] for name, row in rows.items()}


def _gpus(kind: InstanceType) -> int:
    return kind.accelerator.count if kind.accelerator and kind.accelerator.kind in ("gpu", "gaudi") else 0


def _devices(kind: InstanceType) -> tuple[int, float | None] | None:
    chip = kind.accelerator
    return (chip.count, chip.memory_gib_each and chip.memory_gib_each * 1024) if chip else None


def _gbps(kind: InstanceType) -> float | None:
    """Return the lasting bandwidth: that of our data file, or of EC2's cards; without a record, the highest."""
    recorded = instance_types().get(kind.name)
    if kind.name in facts.performance()["network"]["total_gbps"] or recorded is None:
        return network_gbps(kind)
    lasting: float = sum(card["BaselineBandwidthInGbps"] for card in recorded["NetworkInfo"]["NetworkCards"])
    return lasting


def _of_cards(kind: InstanceType) -> list[int | None]:
    return [each.max_interfaces for each in kind.network_cards]


def _go_architecture(kind: InstanceType) -> str:
    return "amd64" if kind.architecture == "x86_64" else kind.architecture


def _price(kind: InstanceType) -> float | None:
    price = load().price(kind.name, "us-east-1")
    return price.usd_per_hour if price else None


def _limits(tables: Path) -> dict[str, tuple[int, int, list[int]]]:
    text = (tables / "instancetype" / "zz_generated.vpclimits.go").read_text(encoding="utf-8")
    return {
        name: (int(interfaces), int(addresses), [int(each) for each in _CARD.findall(rest)])
        for name, interfaces, addresses, rest in _LIMITS.findall(text)
    }


def _table(file: Path) -> dict[str, float]:
    return {name: float(number) for name, number in _TYPE_AND_NUMBER.findall(file.read_text(encoding="utf-8"))}


def _prices(tables: Path) -> dict[str, dict[str, float]]:
    """Return Karpenter's prices by region and type."""
    text = (tables / "pricing" / "zz_generated.pricing_aws.go").read_text(encoding="utf-8")
    return {
        region: {name: float(number) for name, number in _TYPE_AND_NUMBER.findall(rest)}
        for region, rest in _REGION.findall(text)
    }


def _recorded_devices(tables: Path) -> dict[str, tuple[int, float] | None]:
    text = (tables / "fake" / "zz_generated.describe_instance_types.go").read_text(encoding="utf-8")
    found: dict[str, tuple[int, float] | None] = {}
    for name, rest in _RECORDED.findall(text):
        devices = _DEVICES.search(rest)
        # Its offerings follow, with the same names.
        found.setdefault(name, (int(devices[1]), float(devices[2])) if devices else None)
    return found
