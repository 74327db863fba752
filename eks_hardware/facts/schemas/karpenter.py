"""``facts/karpenter.json``."""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

from eks_hardware.facts.schemas.base import About, Sourced, Text
from eks_hardware.facts.schemas.eks import Toleration


class Since(TypedDict):
    reserved_capacity: str
    capacity_blocks: str
    node_overlay: str
    overlay_price: str
    static_capacity: str
    network_interfaces: str
    placement_group: str


class Versions(Sourced):
    lowest_for_kubernetes: dict[str, str]
    since: Since


class Labels(Sourced):
    keys: dict[str, str]
    restricted_domains: list[str]


class Tags(Sourced):
    restricted: list[str]
    restricted_prefixes: list[str]
    selector_max: int


class AcceleratorLabel(TypedDict):
    label: str | None
    value: str | None
    note: NotRequired[Text]


class AcceleratorNames(Sourced):
    families: dict[str, AcceleratorLabel]


class Release(TypedDict):
    version: str
    source: Text
    note: NotRequired[Text]
    kubernetes: NotRequired[list[str]]


class KnownBad(TypedDict):
    version: str
    variants: list[str]
    problem: str
    condition: NotRequired[str]
    source: Text


class FirstForKubernetes(Sourced):
    by_family: dict[str, dict[str, str]]


class AmiAliases(Sourced):
    pattern: dict[str, str]
    suggested: dict[str, str]
    releases: dict[str, list[Release]]
    first_for_kubernetes: FirstForKubernetes
    known_bad: dict[str, list[KnownBad]]


class Device(TypedDict):
    device: str
    size_gib: int


class DevicesOfFamily(TypedDict):
    root: Device | None
    data: Device | None
    ephemeral_device: str | None


class BlockDevices(Sourced):
    families: dict[str, DevicesOfFamily]


class Controller(Sourced):
    tolerations: list[Toleration]


class SettingDefaults(TypedDict):
    vmMemoryOverheadPercent: float


class Settings(Sourced):
    defaults: SettingDefaults


class Memory(Sourced):
    reserved_mib_arm64: int


class Private(Sourced):
    no_builtin_price: list[str]


class Karpenter(About):
    versions: Versions
    labels: Labels
    tags: Tags
    accelerator_names: AcceleratorNames
    ami_aliases: AmiAliases
    block_devices: BlockDevices
    controller: Controller
    settings: Settings
    memory: Memory
    private: Private
