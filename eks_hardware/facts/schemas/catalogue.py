"""``catalogue/*.json`` and ``performance/accelerators.json``."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Day, Sourced, Text

Card = TypedDict(
    "Card",
    {"from": int, "to": int, "max_interfaces": "int | None", "interface_types": list[str], "peak_gbps": "float | None"},
)


class InstanceStore(TypedDict):
    total_gb: int
    disk_count: int
    disk_gb: int
    nvme: bool


class Device(TypedDict):
    name: str
    manufacturer: str
    count: int
    memory_mib_each: int | None
    neuron_cores_each: NotRequired[int]
    fraction: NotRequired[float]


class InstanceDefaults(TypedDict):
    """Default values that rows leave out."""

    bare_metal: bool
    burstable: bool
    nitro: bool
    current_generation: bool
    usage_classes: list[str]
    placement_strategies: list[str]
    max_efa_interfaces: int


class _InstanceRow(TypedDict):
    vcpus: int
    memory_mib: int
    architecture: str
    ipv4_per_interface: int | None
    cards: list[Card]
    accelerator: NotRequired[Device]
    instance_store: NotRequired[InstanceStore]
    withdrawn: NotRequired[str]
    notes: NotRequired[list[str]]
    source: NotRequired[Text]


class FullInstanceRow(InstanceDefaults, _InstanceRow):
    """A row with the default values filled in."""


class InstanceRow(_InstanceRow):
    bare_metal: NotRequired[bool]
    burstable: NotRequired[bool]
    nitro: NotRequired[bool]
    current_generation: NotRequired[bool]
    usage_classes: NotRequired[list[str]]
    placement_strategies: NotRequired[list[str]]
    max_efa_interfaces: NotRequired[int]


class Instances(About, Sourced):
    defaults: InstanceDefaults
    types: dict[str, InstanceRow]


class ZoneIds(TypedDict):
    prefix: str
    zones: str


class RegionRow(ZoneIds):
    """A region of the offerings.

    Fields:
        known: the level at which the source lists types: ``zone`` (the default, left out), ``region`` or ``nothing``.
    """

    known: NotRequired[Literal["region", "nothing"]]


class AddedRegion(ZoneIds, Sourced):
    sold: dict[str, str] | None
    """The sizes of each family, separated by spaces; None if they are unknown."""


class AddedRegions(About):
    regions: dict[str, AddedRegion]


class Offerings(About, Sourced):
    regions: dict[str, RegionRow]
    types: dict[str, str]


class OfFamilies(TypedDict):
    """A row for the families that match its patterns (fnmatch)."""

    families: list[str]


class FamilyRow(OfFamilies, Sourced):
    mig: bool | None
    minimum_nvidia_driver: str | None
    notes: list[str]


class Families(About):
    sources: dict[str, Sourced]
    families: list[FamilyRow]


class AcceleratorRow(TypedDict):
    kind: str
    hardware: str
    compute_capability: float | None
    bf16: bool | None
    fp8: bool | None
    flash_attention_2: bool | None
    neuron_cores_each: NotRequired[int]
    source: Text | None


class Accelerators(About):
    sources: dict[str, Sourced]
    accelerators: dict[str, AcceleratorRow]


class AmiTypesRow(OfFamilies, Sourced):
    architecture: str
    ami_types: list[str]


class AmiTypes(About):
    sources: dict[str, Sourced]
    rows: list[AmiTypesRow]


class UnsupportedFamily(OfFamilies, Sourced):
    reason: Text


class Selection(About, Sourced):
    scrapes: dict[str, Day]
    unsupported: list[UnsupportedFamily]


class Correction(Sourced):
    types: list[str]
    field: str
    api: int | None
    value: int | Device
    reason: Text


class Corrections(About):
    corrections: list[Correction]


class UnlistedFamily(Sourced):
    name: Text


class Supplement(About, Sourced):
    """``unlisted`` maps name prefixes to families that exist but are missing from EC2's public list."""

    unlisted: dict[str, UnlistedFamily]
    types: dict[str, InstanceRow]


class PerformanceSource(TypedDict):
    text: Text
    url: Text
    as_of: Day


class PerformanceRow(TypedDict):
    accelerator: str
    memory_gib: NotRequired[float]
    tflops: dict[str, float | None]
    bandwidth_gb_per_second: float | None
    link: str | None
    link_gb_per_second: float | None
    host_gb_per_second: float | None
    sources: list[str]
    note: NotRequired[Text]


class NodeNetwork(Sourced):
    total_gbps: dict[str, float]


class UtilizationRow(TypedDict):
    step: str
    kind: str
    accelerators: NotRequired[list[str]]  # only these; a row without is for the others of the kind
    share: float
    half_width: NotRequired[float]  # training: the layer width that reaches half of the share; wider layers reach more
    how: Literal["published", "derived", "fitted", "assumed"]
    low: NotRequired[float]  # published and derived shares: the range
    high: NotRequired[float]
    measured_on: NotRequired[str]
    rows: NotRequired[int]  # fitted shares: the number of measurements
    source: Text
    as_of: Day
    note: NotRequired[Text]


class DelayRow(TypedDict):
    step: str
    kind: str
    accelerators: NotRequired[list[str]]  # only these; a row without is for the others of the kind
    microseconds: float
    link_share: NotRequired[float]  # exchanges: share of the link's peak rate in one direction
    gb_per_second: NotRequired[float]  # exchanges: speed if the bandwidth is unknown, or without link_share always
    source: Text
    as_of: Day
    note: NotRequired[Text]


class Performance(About):
    sources: dict[str, PerformanceSource]
    accelerators: list[PerformanceRow]
    network: NodeNetwork
    utilization: list[UtilizationRow]
    delays: list[DelayRow]
