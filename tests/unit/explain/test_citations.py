"""Citations of reasons are correct: the data file's row contains the value, or the value is computed from it here.

The test reads citations from the text, as people do, and follows them without the accessor that wrote them.
"""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from eks_hardware import data
from eks_hardware.catalogue import NetworkCard
from eks_hardware.catalogue.efa import efa_layout
from eks_hardware.explain import Section, plain
from eks_hardware.spellings import CAPACITY
from helpers.cases import in_one_test
from helpers.explained import FILES, explained
from helpers.strategies import strategy_of

_ROW = re.compile(r"(catalogue/\w+\.json) row ([^;]+?) \(([^()]+)\), ")
_PLACE = re.compile(r"((?:facts|prices|catalogue)/\w+\.json) ([a-z][^,;]*)")


@dataclass(frozen=True)
class Fact:
    """Target of a citation: the file, the path in it, and the value there."""

    file: str
    place: str
    held: Any

    @property
    def at(self) -> str:
        return f"{self.file} {self.place}"


@dataclass(frozen=True)
class Case:
    """Value with the facts that its reason cites, and its section."""

    strategy: str
    section: Section
    field: str
    text: str
    value: Any
    facts: tuple[Fact, ...]
    _read: set[str] = dataclasses.field(init=False, repr=False, compare=False, default_factory=set)

    def of(self, field: str) -> Any:
        """Return another value of the same section."""
        return next(plain(row.value) for row in self.section.rows if row.field == field)

    @property
    def types(self) -> list[str]:
        return list(self.of("instance_types"))

    @property
    def spec(self) -> Any:
        """The group or pool in the strategy."""
        strategy = strategy_of(FILES[self.strategy])
        pools = strategy.karpenter.node_pools if strategy.karpenter else ()
        each = {"groups": strategy.node_groups, "pools": pools}[self.section.kind]
        return next(spec for spec in each if spec.name == self.section.name)

    def held(self, place: str) -> Any:
        """Return the value of the citation of this place: ``facts/nodes.json volumes``; without one, it is wrong."""
        return next(iter(self.every(place).values()))

    def every(self, pattern: str) -> dict[str, Any]:
        """Return the values of the citations whose places match, by place."""
        found = {fact.at: fact.held for fact in self.facts if fnmatchcase(fact.at, pattern)}
        if not found:
            raise LookupError(pattern)
        self._read.update(found)
        return found

    def cites(self, pattern: str) -> bool:
        return any(fnmatchcase(fact.at, pattern) for fact in self.facts)

    def instance(self, name: str, field: str) -> Any:
        """Return the cited field of an instance type."""
        return self.held(f"catalogue/instances.json {name}.{field}")

    def all_read(self) -> bool:
        return len(self.facts) == len(self._read) and all(fact.at in self._read for fact in self.facts)


@cache
def _read(file: str) -> Any:
    return json.loads((data.FOLDER / file).read_text(encoding="utf-8"))


def _follow(held: Any, place: str) -> Any:
    """Return the value at a path such as ``versions.default``; a key can contain dots."""
    if not place:
        return held
    for key in held:
        if place == key or place.startswith(f"{key}."):
            return _follow(held[key], place[len(key) + 1 :])
    raise AssertionError(f"{place} is not in the file")


def _row(file: str, name: str) -> Mapping[str, Any]:
    table = _read(file)
    if file.endswith("instances.json"):
        return {**table["defaults"], **table["types"][name]}
    if file.endswith("accelerators.json"):
        return dict(table["accelerators"][name])
    if file.endswith("offerings.json"):
        places = (place.partition(":") for place in table["types"][name].split())
        regions = table["regions"]
        return {region: [regions[region]["prefix"] + each for each in zones] for region, _, zones in places}
    family, architecture = name.split()
    return next(
        row
        for row in table["rows"]
        if row["architecture"] == architecture and any(fnmatchcase(family, each) for each in row["families"])
    )


def _facts(source: str) -> Iterator[Fact]:
    for file, name, names in _ROW.findall(source):
        row = _row(file, name)
        for field in names.split(", "):
            absent = field.removeprefix("no ")
            assert (absent == field) == (row.get(absent) is not None), f"{name}: {field}"
            yield Fact(file, f"{name}.{absent}", row.get(absent))
    for file, place in _PLACE.findall(_ROW.sub("", source)):
        if not place.startswith("row "):
            yield Fact(file, place, _follow(_read(file), place))


@cache
def _cases(strategy: str) -> tuple[Case, ...]:
    return tuple(
        Case(strategy, section, row.field, row.reason.text, plain(row.value), facts)
        for section in explained(FILES[strategy])
        for row in section.rows
        if (facts := tuple(_facts(row.reason.source or "")))
    )


# --- values that are equal to the row

CHOICES = "facts/choices.json"

PLACES: Mapping[tuple[str, str], str] = {
    ("cluster", "control_plane_tier"): f"{CHOICES} control_plane_tier.tier",
    ("cluster", "creator_is_admin"): f"{CHOICES} cluster_access.creator_is_admin",
    ("cluster", "kubernetes_version"): "facts/eks.json versions.default",
    ("cluster", "log_group_kept"): f"{CHOICES} log_group.kept",
    ("cluster", "log_retention_days"): f"{CHOICES} control_plane_logs.retention_days",
    ("cluster", "log_types"): f"{CHOICES} control_plane_logs.types",
    ("cluster", "public_cidrs"): f"{CHOICES} public_endpoint.cidrs",
    ("cluster", "secrets_encrypted"): f"{CHOICES} secrets_encryption.enabled",
    ("cluster", "zonal_shift"): f"{CHOICES} zonal_shift.enabled",
    ("charts", "delivery"): f"{CHOICES} kubernetes_delivery.delivery",
    ("charts", "stack"): f"{CHOICES} kubernetes_delivery.stack",
    ("charts", "karpenter_replicas"): f"{CHOICES} karpenter_replicas.replicas",
    ("charts", "neuron_monitor"): f"{CHOICES} neuron_monitor.enabled",
    ("groups", "autoscaled"): f"{CHOICES} autoscaled.enabled",
    ("groups", "capacity"): f"{CHOICES} capacity.purchase",
    ("groups", "max_unavailable"): f"{CHOICES} node_updates.max_unavailable",
    ("groups", "min_size"): f"{CHOICES} group_size.min",
    ("karpenter", "namespace"): f"{CHOICES} karpenter_names.namespace",
    ("karpenter", "service_account"): f"{CHOICES} karpenter_names.service_account",
    ("network", "cidr"): f"{CHOICES} vpc.cidr",
    ("network", "flow_log_interval_seconds"): f"{CHOICES} flow_log_interval.seconds",
    ("provider", "iam_path"): f"{CHOICES} iam_path.path",
    ("storage", "deployment"): f"{CHOICES} fsx_lustre_deployment.deployment",
    ("storage", "lustre_version"): "facts/storage.json lustre_version.version",
    ("storage", "port"): "facts/storage.json nfs_port.tcp",
    ("storage", "ports"): "facts/storage.json lustre_ports.tcp",
    ("storage", "size_gib"): f"{CHOICES} fsx_lustre_size.size_gib",
    ("storage", "throughput_mibps_per_tib"): f"{CHOICES} fsx_lustre.throughput_mibps_per_tib",
    ("storage", "throughput_mode"): f"{CHOICES} efs_throughput.throughput",
    **{
        (kind, field): place
        for kind in ("groups", "pools")
        for field, place in {
            "ami_family": f"{CHOICES} operating_system.family",
            "detailed_monitoring": f"{CHOICES} detailed_monitoring.enabled",
            "shell": "facts/storage.json lustre_client.al2023",
            "workload": f"{CHOICES} workload.purpose",
        }.items()
    },
}
"""The place of the row that a value is equal to."""


# --- values that are computed from the facts, by field


def _layout(kind: str, case: Case) -> Any:
    cards = [
        NetworkCard(index, card["max_interfaces"], tuple(card["interface_types"]), None)
        for card in case.instance(kind, "cards")
        for index in range(card["from"], card["to"] + 1)
    ]
    return plain(efa_layout(cards, case.instance(kind, "max_efa_interfaces")))


def _efa_interfaces(case: Case) -> bool:
    kind = case.types[0]
    most = case.instance(kind, "max_efa_interfaces")
    if most == 0:
        return bool(case.value == [] and "does not support EFA" in case.text)
    layout = _layout(kind, case)
    cards = {each["network_card_index"] for each in layout}
    said = f"{most} EFA interface" in case.text and f"on {len(cards)} network card" in case.text
    return bool(said and case.value == (layout if case.spec.efa else []))


def _interfaces_written(case: Case) -> bool:
    if case.spec.efa:
        return bool(case.value == _layout(case.types[0], case))
    (most,) = case.every("catalogue/instances.json *.max_efa_interfaces").values()
    able = [name for name in case.types if _row("catalogue/instances.json", name)["max_efa_interfaces"]]
    return case.cites(f"* {(able or case.types)[0]}.*") and len(case.value) == min(most, 1)


def _pods(case: Case) -> int | None:
    """Return the addresses of the first card's interfaces in prefixes of 16, within EKS's limit."""
    (kind,) = [name for name in case.types if case.cites(f"catalogue/instances.json {name}.cards")]
    first, *_ = case.instance(kind, "cards")
    most, per_interface = first["max_interfaces"], case.instance(kind, "ipv4_per_interface")
    vcpus = case.instance(kind, "vcpus")
    if most is None or not per_interface:
        return None
    limits = case.held("facts/eks.json max_pods")
    first_card = [each for each in case.of("efa_interfaces") if each["network_card_index"] == 0]
    taken = sum(each["interface_type"] == "efa-only" for each in first_card)
    (custom,) = [
        row.value
        for section in explained(FILES[case.strategy])
        if section.kind == "cluster"
        for row in section.rows
        if row.field == "custom_networking"
    ]
    slot = limits["addresses_per_prefix"] if case.instance(kind, "nitro") else 1
    addresses = (most - taken - custom) * (per_interface - 1) * slot + 2
    limit = limits["small"] if vcpus < limits["small_vcpus_below"] else limits["large"]
    return int(min(addresses, limit))


def _architectures(case: Case) -> bool:
    """Return whether the value has the architecture of the first type, and those of the other cited types."""
    cited = [name for name in case.types if case.cites(f"catalogue/instances.json {name}.architecture")]
    return cited[0] == case.types[0] and [case.instance(name, "architecture") for name in cited] == case.value


def _hardware(case: Case) -> str | None:
    """Return the hardware of the first type: that of its accelerator's row, or ``cpu`` without one."""
    device = _row("catalogue/instances.json", case.types[0]).get("accelerator")
    if device:
        return str(case.held(f"catalogue/accelerators.json {device['name']}.hardware"))
    return "cpu" if case.instance(case.types[0], "accelerator") is None else None


def _label(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _labels(case: Case) -> bool:
    """The strategy's own labels take precedence and are not cited."""
    own, rows = case.spec.labels, [_row("catalogue/instances.json", name) for name in case.types]
    expected: dict[str, Any] = {}
    if "hardware-type" not in own:
        expected["hardware-type"] = _hardware(case)
    names = {_label(row["accelerator"]["name"]) for row in rows if "accelerator" in row}
    if "accelerator" not in own and len(names) == 1:
        expected["accelerator"] = _label(case.instance(case.types[0], "accelerator")["name"])
    return all(case.value[key] == value for key, value in expected.items())


def _disks(case: Case) -> bool:
    """Values that the strategy sets are not cited."""
    given, accelerated = case.spec.disk, case.of("hardware") != "cpu"
    family = "Bottlerocket" if case.of("ami_family") == "bottlerocket" else "AL2023"
    layout = case.held(f"facts/karpenter.json block_devices.families.{family}")
    *system, images = case.value
    root = layout["root"]
    kind = given.type if "type" in given.model_fields_set else case.held(f"{CHOICES} volume_type.type")
    size = given.size_gib or case.held(f"{CHOICES} {'accelerated' if accelerated else 'cpu'}_disk.size_gib")
    fast = f"{CHOICES} accelerated_disk_throughput.mibps"
    place = fast if accelerated else "facts/nodes.json volumes.gp3_throughput_mibps"
    throughput = (given.throughput_mibps or case.held(place)) if kind == "gp3" else None
    return (
        images["device_name"] == layout["ephemeral_device"]
        and (images["volume_type"], images["size_gib"], images["throughput_mibps"]) == (kind, size, throughput)
        and [(each["device_name"], each["size_gib"]) for each in system]
        == ([(root["device"], root["size_gib"])] if layout["data"] else [])
    )


def _instance_store(case: Case) -> bool:
    stores = {name: _row("catalogue/instances.json", name).get("instance_store") for name in case.types}
    without = [name for name, store in stores.items() if not (store and store["nvme"])]
    cited = case.instance((without or case.types)[0], "instance_store")
    chosen = case.held(f"{CHOICES} instance_store.use") if cited and cited["nvme"] else "none"
    return bool(case.value == chosen and (chosen == "none") == bool(without))


def _placement_group(case: Case) -> bool:
    supported = "cluster" in case.instance(case.types[0], "placement_strategies")
    return supported == (case.value is not None)


def _zones_of_nodes(case: Case) -> bool:
    cited = case.every("catalogue/offerings.json *")
    named = {at.partition(" ")[2].rpartition(".")[0] for at in cited}
    offered = {zone for zones in cited.values() for zone in zones}
    # Zones of reservations, which a pool tries first, are listed with those of its types.
    fits = set(case.value) <= offered or "those of the reservations" in case.text
    return fits and named <= set(case.types) and all(set(zones) & set(case.value) for zones in cited.values())


def _zones_of_network(case: Case) -> bool:
    region = case.held(f"catalogue/offerings.json regions.{case.of('region')}")
    excluded = case.held("facts/eks.json control_plane_excluded_zones.zone_ids")
    network = strategy_of(FILES[case.strategy]).network
    count = network.zones if "zones" in network.model_fields_set else case.held(f"{CHOICES} zones.count")
    in_region = {region["prefix"] + digit for digit in region["zones"]}
    return (
        count == len(case.value) - case.text.count("needs it")
        and set(case.value) <= in_region
        and all(zone not in excluded or f"{zone}, because" in case.text for zone in case.value)
    )


def _control_plane_zones(case: Case) -> bool:
    excluded = case.held("facts/eks.json control_plane_excluded_zones.zone_ids")
    return len(case.value) == case.held(f"{CHOICES} control_plane_zones.count") and not set(case.value) & set(excluded)


@cache
def _blocks(network: str, zone: int, **split: int) -> dict[str, str]:
    """Return the subnets of a zone's block by role: each is the first of its size that overlaps none before."""
    block = list(ipaddress.IPv4Network(network).subnets(prefixlen_diff=split["zone_bits"]))[zone - 1]
    private = next(block.subnets(prefixlen_diff=split["private_bits"]))
    public = next(each for each in block.subnets(prefixlen_diff=split["public_bits"]) if not each.overlaps(private))
    # A subnet has at least 16 addresses.
    bits = max(split["public_bits"], min(split["control_plane_bits"], 28 - block.prefixlen))
    rest = (each for each in block.subnets(prefixlen_diff=bits) if not each.overlaps(private))
    control_plane = next(each for each in rest if not each.overlaps(public))
    found = {"private": private, "public": public, "control-plane": control_plane, "pod": block}
    return {role: str(each) for role, each in found.items()}


def _subnets(case: Case) -> bool:
    """Pods have their zone's whole block of their own network."""
    split = case.held(f"{CHOICES} subnets")
    for subnet in case.value:
        network = case.of("pod_cidr" if subnet["role"] == "pod" else "cidr")
        zone = int(subnet["zone_id"].rpartition("-az")[2])
        if subnet["cidr"] != _blocks(network, zone, **split)[subnet["role"]]:
            return False
    return bool(case.value)


def _taints(case: Case) -> bool:
    """Our effect is that of a taint, and the taint of accelerated nodes is there by default."""
    if not case.value:
        device = case.instance(case.types[0], "accelerator")
        return (device["name"] if device else "has no accelerator") in case.text
    effects = {each["effect"] for each in case.value}
    by_default = any("effect" not in taint.model_fields_set for taint in case.spec.taints)
    if by_default and case.held(f"{CHOICES} taint.effect") not in effects:
        return False
    is_set = "accelerator_taint" in case.spec.model_fields_set or case.of("hardware") == "cpu"
    if len(case.value) == len(case.spec.taints):
        return is_set or case.held(f"{CHOICES} accelerator_taint.enabled") is True
    if is_set:
        return bool(case.held(f"{CHOICES} accelerator_taint.effect") == case.value[0]["effect"])
    row = case.held(f"{CHOICES} accelerator_taint")
    return bool(row["enabled"] and row["effect"] == case.value[0]["effect"])


def _ami_type(case: Case) -> bool:
    kind = case.types[0]
    architecture = _row("catalogue/instances.json", kind)["architecture"]
    place = f"catalogue/ami_types.json {kind.partition('.')[0]} {architecture}.ami_types"
    return case.value in case.held(place)


def _types(case: Case) -> bool:
    kinds = {name: _row("catalogue/instances.json", name) for name in case.value}
    (offered,) = case.every("catalogue/offerings.json *")
    accelerated = [name for name, row in kinds.items() if "accelerator" in row]
    families = case.held("facts/karpenter.json accelerator_names.families") if accelerated else {}
    return offered.partition(" ")[2].rpartition(".")[0] == case.value[0] and all(
        families[name.partition(".")[0]]["label"] for name in accelerated
    )


def _limits(case: Case) -> bool:
    shares = case.of("gpu_shares")
    (counted,) = [name for name in case.value if "/" in name]
    devices = int(case.value[counted]) // (shares["shares_per_gpu"] if shares else 1)
    (kind,) = [name for name in case.types if case.cites(f"catalogue/instances.json {name}.vcpus")]
    per_device = case.instance(kind, "vcpus") / case.instance(kind, "accelerator")["count"]
    return bool(case.value["cpu"] == str(math.ceil(devices * per_device)))


def _overlays(case: Case) -> bool:
    shares = case.of("gpu_shares")
    rows = {name: _row("catalogue/instances.json", name) for name in case.types}
    relabelled = [
        name for name, row in rows.items() if "accelerator" in row and (shares or row["accelerator"].get("fraction"))
    ]
    found = [(each["instance_types"], each["capacity"]) for each in case.value]
    if relabelled:
        count = case.instance(relabelled[0], "accelerator")["count"] * (shares["shares_per_gpu"] if shares else 1)
        (capacity,) = [each for types, each in found if relabelled[0] in types and "hugepages-2Mi" not in each]
        if str(count) not in capacity.values():
            return False
    pages = [(types, capacity["hugepages-2Mi"]) for types, capacity in found if "hugepages-2Mi" in capacity]
    if pages:
        fact = case.held(f"facts/eks.json efa_huge_pages.by_family.{case.of('ami_family')}")
        by_vcpus = {name: fact["mib_per_vcpu"] * row["vcpus"] for name, row in rows.items()}
        expected = {name: f"{min(mib, fact['mib'] or mib)}Mi" for name, mib in by_vcpus.items()}
        return all(amount == expected[name] for names, amount in pages for name in names)
    return bool(relabelled)


def _shares(case: Case) -> bool:
    (profiles,) = case.every("facts/mig.json *.profiles").values()
    (most,) = [row["max_per_gpu"] for row in profiles if row["profile"] == case.value["mig_profile"]]
    return bool(case.value["shares_per_gpu"] == most)


def _disruption(case: Case) -> Any:
    """Return our choice for the pool's purpose."""
    purpose, choices = case.of("workload"), _read(CHOICES)["disruption"]
    row = purpose if purpose in choices else "general"
    return case.held(f"{CHOICES} disruption.{row}.{case.field.partition('.')[2]}")


def _budgets(case: Case) -> bool:
    found = [(each["nodes"], each["reasons"]) for each in case.value]
    return found == [(each["nodes"], each.get("reasons", [])) for each in _disruption(case)]


def _endpoints(case: Case) -> bool:
    known = case.held("facts/eks.json interface_endpoints")
    addons = [section.name for section in explained(FILES[case.strategy]) if section.kind == "addons"]
    return bool(
        case.value == sorted({*known["nodes"], *(each for name in addons for each in known["addons"].get(name, ()))})
    )


def _support(case: Case) -> bool:
    price = case.held("prices/services.json control_plane.every_region")
    return (
        case.value == case.held(f"{CHOICES} kubernetes_support.upgrade_policy").upper()
        and f" {price['extended'] / price['standard']:.0f} times" in case.text
    )


def _flow_logs(case: Case) -> bool:
    """A field that the strategy sets differs from the row, and then the reason says so."""
    row = case.held(f"{CHOICES} flow_logs")
    different = {name for name, value in case.value.items() if value != row[name]}
    return not different or case.text.startswith("as set in the strategy")


def _versions(case: Case) -> bool:
    section = {"version": "provider_versions", "helm_version": "helm_provider_versions"}[case.field]
    return all(held in case.value for held in case.every(f"facts/eks.json {section}.*").values())


def _addon(case: Case) -> Any:
    return case.held(f"facts/addons.json addons.{case.of('name')}")


def _account(case: Case) -> bool:
    """An account, a namespace and a role exist only if the row has an account."""
    row = _addon(case)
    return bool(case.value == row.get(case.field)) if case.value else "service_account" not in row


def _statements(case: Case) -> bool:
    """Statements come from the strategy's storage; the row has the policies that make them unnecessary."""
    return case.value == [] and bool(_addon(case).get("policies")) == ("managed policies" in case.text)


def _addon_configuration(case: Case) -> bool:
    row = _addon(case)
    return bool(row.get("configuration", {}).items() <= case.value.items())


def _longest(case: Case, kind: str) -> bool:
    """A name is within the limit, which the reason repeats unless it says something else."""
    most = case.held(f"facts/account.json name_limits.{kind}.most")
    return len(case.value) <= most and ("at most" not in case.text or f"at most {most} characters" in case.text)


def _role(case: Case) -> bool:
    return _longest(case, "iam_role")


def _addon_role(case: Case) -> bool:
    return _role(case) if case.value else "policies" not in _addon(case)


def _backend(case: Case) -> bool:
    name = strategy_of(FILES[case.strategy]).name
    if case.value["type"] == "s3":
        row = case.held(f"{CHOICES} s3_backend")
        return bool(case.value["key"] == row["key"].format(name=name) or case.value["lock"] is row["lock"])
    row = case.held(f"{CHOICES} backend")
    return bool(case.value["type"] == row["type"] and case.value["path"] == row["path"].format(name=name))


def _node_repair(case: Case) -> bool:
    key = "in_reservations" if case.spec.reservation else "enabled"
    return case.value is case.held(f"{CHOICES} node_repair.{key}")


def _hop_limit(case: Case) -> bool:
    key = "pods" if case.spec.pods_use_imds else "nodes"
    return bool(case.value == case.held(f"{CHOICES} metadata_hop_limit.{key}"))


def _nat_zones(case: Case) -> bool:
    return case.held(f"{CHOICES} nat_gateways.mode") == "single" and len(case.value) == 1


def _chart(case: Case) -> Any:
    return case.held(f"facts/charts.json charts.{case.of('key')}")


CHECKS: Mapping[tuple[str, str], Callable[[Case], bool]] = {
    **{
        (kind, field): check
        for kind in ("groups", "pools")
        for field, check in {
            "architecture": lambda case: case.value == case.instance(case.types[0], "architecture"),
            "hardware": lambda case: (
                (case.instance(case.types[0], "accelerator") is None) == (case.value == "cpu")
                and case.value == _hardware(case)
            ),
            "zone_ids": _zones_of_nodes,
            "labels": _labels,
            "taints": _taints,
            "efa_interfaces": _efa_interfaces,
            "placement_group_name": _placement_group,
            "block_devices": _disks,
            "instance_store": _instance_store,
            "gpu_shares": _shares,
            "metadata_hop_limit": _hop_limit,
        }.items()
    },
    ("groups", "ami_type"): _ami_type,
    ("groups", "max_pods"): lambda case: case.value == _pods(case),
    ("groups", "node_repair"): _node_repair,
    ("groups", "launch_template_name"): lambda case: _longest(case, "launch_template"),
    ("pools", "kubelet"): lambda case: case.value.get("maxPods") == _pods(case),
    ("pools", "instance_types"): _types,
    ("pools", "architectures"): _architectures,
    ("pools", "ami_version"): lambda case: (
        case.value == case.held(f"facts/karpenter.json ami_aliases.suggested.{case.of('ami_family')}")
    ),
    ("pools", "limits"): _limits,
    ("pools", "network_interfaces"): _interfaces_written,
    ("pools", "overlays"): _overlays,
    ("pools", "disruption.consolidate_after"): lambda case: case.value == _disruption(case),
    ("pools", "disruption.consolidation_policy"): lambda case: case.value == _disruption(case),
    ("pools", "disruption.expire_after"): lambda case: case.value == _disruption(case),
    ("pools", "disruption.budgets"): _budgets,
    ("pools", "capacity_types"): lambda case: (
        case.value == [CAPACITY[case.held(f"{CHOICES} capacity.purchase")].karpenter]
    ),
    ("network", "zone_ids"): _zones_of_network,
    ("network", "flow_logs"): _flow_logs,
    ("network", "flow_log_role_name"): _role,
    ("network", "endpoint_security_group_name"): lambda case: _longest(case, "security_group"),
    ("network", "subnets"): _subnets,
    ("network", "nat_zone_ids"): _nat_zones,
    ("network", "control_plane_zone_ids"): _control_plane_zones,
    ("network", "gateway_endpoints"): lambda case: (
        set(case.held(f"{CHOICES} gateway_endpoints.services")) <= set(case.value)
    ),
    ("network", "interface_endpoints"): _endpoints,
    ("cluster", "support_type"): _support,
    ("cluster", "role_name"): _role,
    ("cluster", "kms_alias"): lambda case: _longest(case, "kms_alias"),
    ("cluster", "deletion_protection"): lambda case: (
        case.value is None
        and case.held("facts/eks.json provider_versions.since.deletion_protection.version") in case.text
    ),
    ("strategy", "backend"): _backend,
    ("strategy", "node_role_name"): _role,
    ("karpenter", "controller_role_name"): _role,
    ("karpenter", "node_role_name"): _role,
    ("karpenter", "instance_profile_name"): lambda case: _longest(case, "instance_profile"),
    ("karpenter", "queue_name"): lambda case: (
        bool(case.value) is case.held(f"{CHOICES} karpenter_interruptions.enabled")
    ),
    ("storage", "buckets"): lambda case: (
        case.held(f"{CHOICES} mounted_bucket.read_only") in [each["read_only"] for each in case.value]
    ),
    ("storage", "security_group_name"): lambda case: _longest(case, "security_group"),
    ("provider", "version"): _versions,
    ("provider", "helm_version"): _versions,
    ("charts", "role_name"): _role,
    ("charts", "key"): lambda case: bool(_chart(case)["chart"]),
    **{
        ("charts", field): lambda case: case.value == _chart(case)[case.field]
        for field in ("chart", "repository", "version", "namespace")
    },
    ("addons", "name"): lambda case: _addon(case)["why"] == case.text,
    ("addons", "before_nodes"): lambda case: case.value == _addon(case)["before_nodes"],
    ("addons", "before_charts"): lambda case: case.value == _addon(case)["before_charts"],
    ("addons", "configuration"): _addon_configuration,
    ("addons", "service_account"): _account,
    ("addons", "namespace"): _account,
    ("addons", "role_name"): _addon_role,
    ("addons", "policy_arns"): lambda case: (
        {each.partition(":policy/")[2] for each in case.value} <= set(_addon(case).get("policies", ()))
    ),
    ("addons", "statements"): _statements,
}
"""Values that are computed from the row."""


def _is_true(case: Case) -> bool:
    """Return whether the cited rows have the value, and whether it needs all of them."""
    place = (case.section.kind, case.field)
    try:
        right = case.value == case.held(PLACES[place]) if place in PLACES else CHECKS[place](case)
    except (LookupError, TypeError, AttributeError, ValueError):
        return False
    return bool(right) and case.all_read()


@in_one_test("name", FILES)
def test_the_row_holds_what_it_is_cited_for(name: str) -> None:
    wrong = [
        f"{case.section.path} {case.field} = {case.value} but {fact.file} {fact.place} = {fact.held}"
        for case in _cases(name)
        if not _is_true(case)
        for fact in case.facts
    ]
    assert wrong == []


@in_one_test("name", FILES)
def test_every_wrong_and_every_additional_citation_is_found(name: str) -> None:
    """Each cited fact is replaced by one of another row, and one is added."""
    wrong = Fact("facts/choices.json", "described_workload.activation_checkpointing", object())
    missed = [
        f"{case.section.path} {case.field}: {changed}"
        for case in _cases(name)
        for changed in (
            *((*case.facts[:index], wrong, *case.facts[index + 1 :]) for index in range(len(case.facts))),
            (*case.facts, wrong),
        )
        if _is_true(dataclasses.replace(case, facts=changed))
    ]
    assert missed == []


def test_every_place_and_computation_is_used() -> None:
    cited = {(case.section.kind, case.field) for name in FILES for case in _cases(name)}
    assert cited == PLACES.keys() | CHECKS.keys()
    assert not PLACES.keys() & CHECKS.keys()


def test_nothing_else_looks_like_a_citation() -> None:
    """The tests above follow every data file name in a source."""
    for file in FILES.values():
        for section in explained(file):
            for row in section.rows:
                source = row.reason.source or ""
                files = re.findall(r"\b(?:catalogue|facts|policy|prices|quotas)/\w+\.json", source)
                assert len(files) == len(_ROW.findall(source)) + len(_PLACE.findall(_ROW.sub("", source)))


def test_our_choices_say_so_and_why() -> None:
    choices = _read("facts/choices.json")
    for each in (*choices.values(), *choices["disruption"].values()):
        if isinstance(each, dict) and each is not choices["disruption"]:
            assert each["source"].startswith("our choice: ")
            assert datetime.date.fromisoformat(each["as_of"])
