"""Lookups in the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from eks_hardware import facts
from eks_hardware.catalogue.efa import efa_layout
from eks_hardware.catalogue.model import (
    Accelerator,
    Hardware,
    InstanceStore,
    InstanceType,
    NetworkCard,
    Price,
    UnknownInstanceTypeError,
)
from eks_hardware.data import FOLDER, Cited
from eks_hardware.printable import quoted
from eks_hardware.suggestions import close, did_you_mean, likeness
from eks_hardware.units import MIB_PER_GIB

if TYPE_CHECKING:
    from eks_hardware.facts.schemas.base import Sourced
    from eks_hardware.facts.schemas.catalogue import (
        AcceleratorRow,
        AmiTypesRow,
        Device,
        FamilyRow,
        FullInstanceRow,
        OfFamilies,
        Offerings,
    )
    from eks_hardware.facts.schemas.prices import VcpuQuotaRow

T = TypeVar("T")
_Row = TypeVar("_Row", bound="OfFamilies")

_SUGGESTIONS = 3
_WILD = set("*?[")


@lru_cache(maxsize=1024)
def label_name(name: str) -> str:
    """Return Karpenter's label value for an accelerator name: ``RTX PRO Server 6000`` -> ``rtx-pro-server-6000``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class _Fields:
    """A row that records which fields are read."""

    def __init__(self, row: Mapping[str, object]) -> None:
        self._row = row
        self.read: list[str] = []

    def __getitem__(self, field: str) -> object:
        self.read.append(field)
        return self._row[field]

    def get(self, field: str) -> object:
        self.read.append(field)
        return self._row.get(field)


def _cited(place: str, row: Mapping[str, object], text: str, select: Callable[[Any], T]) -> Cited[T]:
    fields = _Fields(row)
    value = select(fields)
    names = ", ".join(each if row.get(each) is not None else f"no {each}" for each in fields.read)
    return Cited(value, f"{place} ({names}), {text}")


class Catalogue:
    """The instance types of a data folder. Rows are converted to objects on first use.

    Args:
        folder: folder of the data files.

    Examples:
        >>> catalogue = load()
        >>> catalogue.suggest("p5.48xlarg")[0]
        'p5.48xlarge'
        >>> catalogue.offered("p5.48xlarge", "us-west-2") != ()
        True
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._table = facts.instances(folder)
        self._rows = self._table["types"]
        self._types: dict[str, InstanceType] = {}
        self._zones: dict[str, dict[str, tuple[str, ...]]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def names(self) -> tuple[str, ...]:
        """All type names, by family and size."""
        return tuple(self._rows)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """All family names, sorted."""
        return tuple(sorted(self._names_by_family))

    @cached_property
    def most_vcpus(self) -> int:
        """The vCPUs of the largest type."""
        return max(row["vcpus"] for row in self._rows.values())

    @property
    def source(self) -> str:
        """Default source of the rows."""
        return self._table["source"]

    # --- types

    def get(self, name: str) -> InstanceType:
        """Return a type.

        Raises:
            UnknownInstanceTypeError: the type is not in the catalogue; the error has suggestions.
        """
        kind = self.find(name)
        if kind is None:
            raise UnknownInstanceTypeError(name, self.suggest(name), self.unlisted(name))
        return kind

    def find(self, name: str) -> InstanceType | None:
        """Return a type, or None if it is not in the catalogue."""
        if name not in self._types:
            if name not in self._rows:
                return None
            self._types[name] = self._build(name)
        return self._types[name]

    def unsupported(self, name: str) -> str | None:
        """Return why an EC2 type or family cannot be an EKS node, or None.

        Examples:
            >>> load().unsupported("mac2.metal")
            'no EKS image runs on Mac instances'
        """
        row = _matching(facts.selection(self._folder)["unsupported"], name.strip().lower().partition(".")[0])
        return row["reason"] if row else None

    def unlisted(self, name: str) -> str | None:
        """Return why a type that exists is not in the catalogue; None if no such family is known."""
        families = facts.supplement(self._folder)["unlisted"]
        return next(
            (
                f"{row['name']} instances exist, but are not in this toolkit's catalogue; ask AWS for access to them"
                for start, row in families.items()
                if name.strip().lower().startswith(start)
            ),
            None,
        )

    def suggest(self, name: str) -> tuple[str, ...]:
        """Return type names similar to ``name``, most similar first.

        For a known family with an unknown size, these are sizes of that family. For an unknown family, these are
        families with a similar name that have the size.
        """
        name = name.strip().lower()
        if name in self._rows:
            return (name,)
        family, _, size = name.partition(".")
        if family in self.families:
            return tuple(sorted(self._names_by_family[family], key=_closeness(size))[:_SUGGESTIONS])
        same_size = [f"{other}.{size}" for other in close(family, self.families) if f"{other}.{size}" in self._rows]
        return tuple(dict.fromkeys([*same_size, *close(name, self._rows)]))[:_SUGGESTIONS]

    def select(
        self,
        *,
        family: str | None = None,
        accelerator: str | None = None,
        efa: bool | None = None,
        region: str | None = None,
        hardware: Hardware | str | None = None,
    ) -> tuple[InstanceType, ...]:
        """Return the types that meet all given conditions, by family and size.

        Args:
            family: family name, ``g6e``.
            accelerator: accelerator name in any spelling: ``H100``, ``trainium2``, ``rtx pro 4500``.
            efa: True for types with EFA, False for types without.
            region: only types that the region offers; an unknown region offers none.
            hardware: kind of hardware.
        """
        wanted = None if accelerator is None else label_name(accelerator)
        kind = None if hardware is None else Hardware(hardware)
        chosen = []
        # Most calls select one family or one accelerator.
        if family is not None:
            names = self._names_by_family.get(family, [])
        else:
            names = list(self._rows) if wanted is None else self._names_by_accelerator.get(wanted, [])
        for name in names:
            row = self._rows[name]
            if wanted is not None and ("accelerator" not in row or label_name(row["accelerator"]["name"]) != wanted):
                continue
            if efa is not None and (row.get("max_efa_interfaces", 0) > 0) is not efa:
                continue
            if region is not None and not self.offered(name, region):
                continue
            found = self.get(name)
            if kind is None or found.hardware is kind:
                chosen.append(found)
        return tuple(chosen)

    @cached_property
    def _names_by_family(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name in self._rows:
            names.setdefault(name.partition(".")[0], []).append(name)
        return names

    @cached_property
    def _names_by_accelerator(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for name, row in self._rows.items():
            if "accelerator" in row:
                names.setdefault(label_name(row["accelerator"]["name"]), []).append(name)
        return names

    @cached_property
    def accelerators(self) -> tuple[str, ...]:
        """Label names of all accelerators in the catalogue, sorted."""
        return tuple(sorted(self._names_by_accelerator))

    # --- offerings

    @cached_property
    def _offerings(self) -> Offerings:
        return facts.offerings(self._folder)

    @property
    def regions(self) -> tuple[str, ...]:
        """All regions with known offerings, sorted."""
        return tuple(self._offerings["regions"])

    def not_listed(self, region: str) -> str:
        """Return the message about a region that is not listed, with similar ones of the same partition."""
        partition = facts.partition(region)
        known = [each for each in self.regions if facts.partition(each) == partition]
        if not known:
            hint = f"eks-hardware does not support regions of the partition {partition}"
        else:
            hint = did_you_mean(region, known, f"known: {', '.join(known)}")
        return f"the catalogue does not list {quoted(region)}; {hint}"

    def zone_ids(self, region: str) -> tuple[str, ...]:
        """Return the zone ids of a region that offer any type; empty for an unknown region."""
        zones = self._offerings["regions"].get(region)
        return () if zones is None else tuple(zones["prefix"] + digit for digit in zones["zones"])

    def _zones_by_region(self, type_name: str) -> dict[str, tuple[str, ...]]:
        found = self._zones.get(type_name)
        if found is None:
            regions = self._offerings["regions"]
            places = (place.partition(":") for place in self._offerings["types"].get(type_name, "").split())
            found = self._zones[type_name] = {
                region: tuple(regions[region]["prefix"] + digit for digit in zones) for region, _, zones in places
            }
        return found

    def offered(self, type_name: str, region: str) -> tuple[str, ...]:
        """Return the zone ids of ``region`` that offer the type; empty if none does.

        An offering means that AWS sells the type there, not that capacity is available. If the offerings of the
        region are unknown (:meth:`offerings_known`), these are all its zones.
        """
        if self.offerings_known(region) == "nothing":
            return self.zone_ids(region)
        return self._zones_by_region(type_name).get(region, ())

    def withdrawn(self, kind: InstanceType, region: str) -> str | None:
        """Return the sentence about a withdrawn type; None in GovCloud and China, which the source does not cover.

        Examples:
            >>> catalogue = load()
            >>> [bool(catalogue.withdrawn(catalogue.get("p3.2xlarge"), each)) for each in ("eu-west-1", "cn-north-1")]
            [True, False]
        """
        return kind.withdrawn if facts.partition(region) == "aws" else None

    def offerings_known(self, region: str) -> Literal["zone", "region", "nothing"]:
        """Return whether offerings are known for each zone, for the region as a whole, or not at all.

        Examples:
            >>> catalogue = load()
            >>> catalogue.offerings_known("us-west-2"), catalogue.offerings_known("us-gov-west-1")
            ('zone', 'region')
        """
        row = self._offerings["regions"].get(region)
        return "zone" if row is None else row.get("known", "zone")

    def offered_regions(self, type_name: str) -> tuple[str, ...]:
        """Return the regions that offer the type according to a source, sorted."""
        return tuple(self._zones_by_region(type_name))

    # --- prices

    def price(self, type_name: str, region: str) -> Price | None:
        """Return the On-Demand price (Linux, shared tenancy), or None if it is unknown."""
        table = facts.on_demand_prices(self._folder)
        for key, by_region in table["types"].get(type_name, {}).items():
            if region in by_region:
                source = table["sources"][key]
                return Price(by_region[region], source["as_of"], source["source"], source.get("note"))
        return None

    # --- citations

    def cite(self, kind: InstanceType, select: Callable[[FullInstanceRow], T]) -> Cited[T]:
        """Read fields of a type's row with their place, so the cited fields are always those that are read.

        Examples:
            >>> load().cite(load().get("p4d.24xlarge"), lambda row: row["vcpus"]).value
            96
            >>> load().cite(load().get("m7i.large"), lambda row: row.get("accelerator")).source.partition(",")[0]
            'catalogue/instances.json row m7i.large (no accelerator)'
        """
        row = {**self._table["defaults"], **self._rows[kind.name]}
        return _cited(f"catalogue/instances.json row {kind.name}", row, kind.source, select)

    def cite_accelerator(self, kind: InstanceType, select: Callable[[AcceleratorRow], T]) -> Cited[T]:
        """Read fields of the row of a type's accelerator. Raises ``KeyError`` for a type without one."""
        name, file = kind.accelerator.name if kind.accelerator else "", facts.accelerators(self._folder)
        row = file["accelerators"][name]
        return _cited(f"catalogue/accelerators.json row {name}", row, _said(file["sources"], row), select)

    def cite_ami_types(self, kind: InstanceType, select: Callable[[AmiTypesRow], T]) -> Cited[T]:
        """Read fields of the row with the AMI types of a type's family. Raises ``KeyError`` if there is none.

        Examples:
            >>> load().cite_ami_types(load().get("p4d.24xlarge"), lambda row: row["ami_types"]).source.partition(",")[0]
            'catalogue/ami_types.json row p4d x86_64 (ami_types)'
        """
        row = _family_facts(self._folder, kind.family, kind.architecture)[1]
        if row is None:
            raise KeyError(kind.family)
        said = _said(facts.ami_types(self._folder)["sources"], row)
        return _cited(f"catalogue/ami_types.json row {kind.family} {kind.architecture}", row, said, select)

    def cite_offering(self, type_name: str, zone_id: str) -> Cited[tuple[str, ...]] | None:
        """Read the zone ids that offer a type in a zone's region, with their place; None if no zone matches."""
        for region, zone_ids in self._zones_by_region(type_name).items():
            if zone_id in zone_ids:
                row = f"catalogue/offerings.json row {type_name} ({region})"
                return Cited(zone_ids, f"{row}, {self._offerings['source']}")
        return None

    # --- from rows to objects

    def _build(self, name: str) -> InstanceType:
        row = cast("FullInstanceRow", {**self._table["defaults"], **self._rows[name]})
        family = name.partition(".")[0]
        known, amis, quotas = _family_facts(self._folder, family, row["architecture"])
        cards = tuple(
            NetworkCard(index, card["max_interfaces"], tuple(card["interface_types"]), card["peak_gbps"])
            for card in row["cards"]
            for index in range(card["from"], card["to"] + 1)
        )
        limits = [card.max_interfaces for card in cards]
        device = row.get("accelerator")
        chip = facts.accelerators(self._folder)["accelerators"].get(device["name"]) if device else None
        hardware = Hardware.CPU if device is None else Hardware(chip["hardware"]) if chip else Hardware.OTHER
        store = row.get("instance_store")
        return InstanceType(
            name=name,
            family=family,
            vcpus=row["vcpus"],
            memory_gib=row["memory_mib"] / MIB_PER_GIB,
            architecture=row["architecture"],
            bare_metal=row["bare_metal"],
            hardware=hardware,
            accelerator=_accelerator(device, chip, known["mig"] if known else None) if device else None,
            network_cards=cards,
            ipv4_per_interface=row["ipv4_per_interface"],
            max_interfaces=None if None in limits else sum(limit for limit in limits if limit is not None),
            efa_interfaces=efa_layout(cards, row["max_efa_interfaces"]),
            max_efa_interfaces=row["max_efa_interfaces"],
            instance_store=InstanceStore(**store) if store else None,
            usage_classes=tuple(row["usage_classes"]),
            placement_strategies=tuple(row["placement_strategies"]),
            quota_code_on_demand=quotas["on_demand"] if quotas else None,
            quota_code_spot=quotas["spot"] if quotas else None,
            ami_types=tuple(amis["ami_types"]) if amis else (),
            minimum_nvidia_driver=known["minimum_nvidia_driver"] if known else None,
            burstable=row["burstable"],
            nitro=row["nitro"],
            current_generation=row["current_generation"],
            withdrawn=row.get("withdrawn"),
            notes=(*(known["notes"] if known else ()), *row.get("notes", ())),
            source=row.get("source", self.source),
        )


@cache
def _family_facts(
    folder: Path, family: str, architecture: str
) -> tuple[FamilyRow | None, AmiTypesRow | None, VcpuQuotaRow | None]:
    ami_types = (row for row in facts.ami_types(folder)["rows"] if row["architecture"] == architecture)
    return (
        _matching(facts.families(folder)["families"], family),
        _matching(ami_types, family),
        _matching(facts.service_quotas(folder)["vcpus"]["rows"], family),
    )


def _matching(rows: Iterable[_Row], family: str) -> _Row | None:
    """Return the first row with a pattern that matches a family."""
    # Most patterns are plain names; regular expressions are needed only for the others.
    return next(
        (
            row
            for row in rows
            for each in row["families"]
            if each == family or (set(each) & _WILD and fnmatchcase(family, each))
        ),
        None,
    )


def _said(sources: dict[str, Sourced], row: Mapping[str, object]) -> str:
    name = str(row["source"])
    return sources[name]["source"] if name in sources else "no source found"


def _accelerator(device: Device, chip: AcceleratorRow | None, mig: bool | None) -> Accelerator:
    mib = device["memory_mib_each"]
    each = None if mib is None else mib / MIB_PER_GIB
    cores = device.get("neuron_cores_each", chip.get("neuron_cores_each") if chip else None)
    return Accelerator(
        kind=chip["kind"] if chip else "gpu",
        manufacturer=device["manufacturer"],
        name=device["name"],
        label_name=label_name(device["name"]),
        count=device["count"],
        memory_gib_each=each,
        memory_gib_total=None if each is None else each * device["count"],
        compute_capability=chip["compute_capability"] if chip else None,
        bf16=chip["bf16"] if chip else None,
        fp8=chip["fp8"] if chip else None,
        flash_attention_2=chip["flash_attention_2"] if chip else None,
        mig=mig,
        neuron_cores=None if cores is None else cores * device["count"],
        fraction=device.get("fraction"),
    )


def _closeness(size: str) -> Callable[[str], tuple[float, float]]:
    """Return a sort key: sizes with the same unit first, then by numeric distance."""

    def parts(text: str) -> tuple[str, float]:
        digits = re.search(r"\d+", text)
        return re.sub(r"\d+", "", text), float(digits[0]) if digits else 1.0

    unit, number = parts(size)

    def key(name: str) -> tuple[float, float]:
        other_unit, other_number = parts(name.partition(".")[2])
        return -likeness(unit, other_unit), abs(number - other_number)

    return key


@cache
def load() -> Catalogue:
    """Return the catalogue of the package; it is read once."""
    return Catalogue()
