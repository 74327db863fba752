"""Citations of reasons are correct: the data file's row contains the value, or the value is computed from it here.

The test reads citations from the text, as people do, and follows them without the accessor that wrote them.
"""

from __future__ import annotations

import datetime
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
from eks_hardware.spellings import CAPACITY, kubernetes_effect
from helpers.cases import in_one_test
from helpers.explained import FILES, explained

_ROW = re.compile(r"(catalogue/\w+\.json) row ([^;]+?) \(([^()]+)\), ")
_PLACE = re.compile(r"((?:facts|prices|catalogue)/\w+\.json) ([a-z][^,;]*)")


@dataclass(frozen=True)
class Fact:
    """Target of a citation: the file, the path in it, and the value there."""

    file: str
    place: str
    held: Any


@dataclass(frozen=True)
class Case:
    """Value with the facts that its reason cites, and its section."""

    strategy: str
    section: Section
    field: str
    text: str
    value: Any
    facts: tuple[Fact, ...]

    def of(self, field: str) -> Any:
        """Return another value of the same section."""
        return next(plain(row.value) for row in self.section.rows if row.field == field)

    def held(self, end: str) -> Any:
        """Return the value of the citation whose path ends like this; None without one."""
        return next((fact.held for fact in self.facts if f".{fact.place}".endswith(f".{end}")), None)


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


# --- values that are computed from the facts, by field


def _layout(case: Case) -> Any:
    cards = [
        NetworkCard(index, card["max_interfaces"], tuple(card["interface_types"]), None)
        for card in case.held("cards")
        for index in range(card["from"], card["to"] + 1)
    ]
    return plain(efa_layout(cards, case.held("max_efa_interfaces")))


def _pods(case: Case) -> int | None:
    """Return the addresses of the first card's interfaces in prefixes of 16, within EKS's limit."""
    limits, most = case.held("max_pods"), case.held("cards")[0]["max_interfaces"]
    if most is None or not case.held("ipv4_per_interface"):
        return None
    first_card = [each for each in case.of("efa_interfaces") if each["network_card_index"] == 0]
    taken = sum(each["interface_type"] == "efa-only" for each in first_card)
    (custom,) = [
        row.value
        for section in explained(FILES[case.strategy])
        if section.kind == "cluster"
        for row in section.rows
        if row.field == "custom_networking"
    ]
    addresses = (most - taken - custom) * (case.held("ipv4_per_interface") - 1) * limits["addresses_per_prefix"] + 2
    limit = limits["small"] if case.held("vcpus") < limits["small_vcpus_below"] else limits["large"]
    return int(min(addresses, limit))


def _label(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _labels(case: Case) -> bool:
    """Return the labels that are cited from rows; the strategy's own take precedence and are not cited."""
    accelerator = case.held("accelerator")
    expected = {
        "hardware-type": case.held("hardware") or ("cpu" if accelerator is None else None),
        "accelerator": _label(accelerator["name"]) if accelerator else None,
    }
    source = next(row.reason.source or "" for row in case.section.rows if row.field == "labels")
    cited = [key for key in expected if f"{key}: catalogue/" in source]
    return bool(cited) and all(case.value[key] == expected[key] for key in cited)


def _disks(case: Case) -> bool:
    layout = next(fact.held for fact in case.facts if ".families." in fact.place)
    *system, images = case.value
    root = layout["root"]
    return (
        case.held("volume_type.type") in (None, images["volume_type"])
        and images["device_name"] == layout["ephemeral_device"]
        and [(each["device_name"], each["size_gib"]) for each in system]
        == ([(root["device"], root["size_gib"])] if layout["data"] else [])
        and case.held("size_gib") in (None, images["size_gib"])
        and (case.held("mibps") or case.held("gp3_throughput_mibps")) in (None, images["throughput_mibps"])
    )


def _zones_of_nodes(case: Case) -> bool:
    offered = {zone for fact in case.facts for zone in fact.held}
    # Zones of reservations, which a pool tries first, are listed with those of its types.
    return set(case.value) <= offered or "those of its reservations" in case.text


def _zones_of_network(case: Case) -> bool:
    region, excluded = case.held(f"regions.{case.of('region')}"), case.held("zone_ids")
    if region is None:
        return False
    if case.held("count") not in (None, len(case.value) - case.text.count("needs it")):
        return False
    in_region = {region["prefix"] + digit for digit in region["zones"]}
    return set(case.value) <= in_region and all(
        zone not in excluded or f"{zone} for" in case.text for zone in case.value
    )


def _types(case: Case) -> bool:
    kinds = {name: _row("catalogue/instances.json", name) for name in case.value}
    families = next((fact.held for fact in case.facts if fact.place.endswith("families")), {})
    return case.facts[0].place.rpartition(".")[0] in kinds and all(
        families[name.partition(".")[0]]["label"] for name, row in kinds.items() if "accelerator" in row
    )


def _limits(case: Case) -> bool:
    shares = case.of("gpu_shares")
    (counted,) = [name for name in case.value if "/" in name]
    devices = int(case.value[counted]) // (shares["shares_per_gpu"] if shares else 1)
    per_device = case.held("vcpus") / case.held("accelerator")["count"]
    return bool(case.value["cpu"] == str(math.ceil(devices * per_device)))


def _interfaces_written(case: Case) -> bool:
    if case.of("efa_interfaces"):
        return bool(case.value == _layout(case))
    return len(case.value) == (1 if case.held("max_efa_interfaces") else 0)


def _overlays(case: Case) -> bool:
    shares, gpus = case.of("gpu_shares"), case.held("accelerator")
    pages = next((fact.held for fact in case.facts if "efa_huge_pages" in fact.place), None)
    found = [(each["instance_types"], each["capacity"]) for each in case.value]
    if gpus and str(gpus["count"] * (shares["shares_per_gpu"] if shares else 1)) not in {
        amount for _, capacity in found for amount in capacity.values()
    }:
        return False
    for types, capacity in found:
        if pages and "hugepages-2Mi" in capacity:
            by_vcpus = pages["mib_per_vcpu"] * _row("catalogue/instances.json", types[0])["vcpus"]
            if capacity["hugepages-2Mi"] != f"{min(by_vcpus, pages['mib'] or by_vcpus)}Mi":
                return False
    return bool(case.facts)


def _endpoints(case: Case) -> bool:
    known = case.facts[0].held
    addons = [section.name for section in explained(FILES[case.strategy]) if section.kind == "addons"]
    return bool(
        case.value == sorted({*known["nodes"], *(each for name in addons for each in known["addons"].get(name, ()))})
    )


def _support(case: Case) -> bool:
    price = case.held("every_region")
    return (
        case.value == case.held("upgrade_policy").upper()
        and f" {price['extended'] / price['standard']:.0f} times" in case.text
    )


def _flow_logs(case: Case) -> bool:
    """A field that the strategy sets differs from the row, and then the reason says so."""
    different = {name for name, value in case.value.items() if value != case.facts[0].held[name]}
    return not different or case.text.startswith("as set in the strategy")


def _taints(case: Case) -> bool:
    """Our effect is that of a taint, and the taint of accelerated nodes is there by default."""
    effects = {kubernetes_effect(each["effect"]) for each in case.value}
    ours = case.held("accelerator_taint.enabled")
    return case.held("taint.effect") in (None, *effects) and (not ours or case.text.startswith("only pods"))


def _versions(case: Case) -> bool:
    return all(fact.held in case.value for fact in case.facts)


def _named(case: Case) -> bool:
    """Return whether the row is that of the name itself."""
    return all(fact.place.endswith(f".{case.value}") for fact in case.facts)


def _account(case: Case) -> bool:
    """An account, a namespace and a role exist only if the row has an account."""
    held = case.facts[0].held
    if case.value is None:
        return "service_account" not in held
    return case.field == "role_name" or bool(case.value == held[case.field])


CHECKS: Mapping[tuple[str, str], Callable[[Case], bool]] = {
    **{
        (kind, field): check
        for kind in ("groups", "pools")
        for field, check in {
            "hardware": lambda case: (case.held("hardware") or "cpu") == case.value,
            "zone_ids": _zones_of_nodes,
            "labels": _labels,
            "taints": lambda case: case.value == [] if case.held("accelerator") else _taints(case),
            "efa_interfaces": lambda case: case.value in ([], _layout(case)),
            "placement_group_name": lambda case: ("cluster" in case.facts[0].held) == (case.value is not None),
            "block_devices": _disks,
            "instance_store": lambda case: (case.facts[0].held is not None) == (case.value == "raid0"),
        }.items()
    },
    ("groups", "ami_type"): lambda case: case.value in case.held("ami_types"),
    ("groups", "max_pods"): lambda case: case.value == _pods(case),
    ("pools", "kubelet"): lambda case: case.value.get("maxPods") == _pods(case),
    ("pools", "instance_types"): _types,
    ("pools", "ami_alias"): lambda case: case.value == f"{case.of('ami_family')}@{case.facts[0].held}",
    ("pools", "limits"): _limits,
    ("pools", "network_interfaces"): _interfaces_written,
    ("pools", "overlays"): _overlays,
    ("pools", "disruption.budgets"): lambda case: (
        [(each["nodes"], each["reasons"]) for each in case.value]
        == [(each["nodes"], each.get("reasons", [])) for each in case.facts[0].held]
    ),
    ("pools", "capacity_types"): lambda case: case.value == [CAPACITY[case.held("purchase")].karpenter],
    ("network", "zone_ids"): _zones_of_network,
    ("network", "flow_logs"): _flow_logs,
    ("network", "control_plane_zone_ids"): lambda case: (
        len(case.value) == case.held("count") and not set(case.value) & set(case.held("zone_ids"))
    ),
    ("network", "interface_endpoints"): _endpoints,
    ("cluster", "support_type"): _support,
    ("cluster", "deletion_protection"): lambda case: case.value is None and case.facts[0].held in case.text,
    ("karpenter", "queue_name"): lambda case: bool(case.value) == case.held("enabled"),
    ("storage", "deployment_type"): lambda case: case.value == case.held("deployment").upper().replace("-", "_"),
    ("storage", "buckets"): lambda case: case.held("read_only") in [each["read_only"] for each in case.value],
    ("provider", "version"): _versions,
    ("provider", "helm_version"): _versions,
    ("charts", "key"): _named,
    ("addons", "name"): _named,
    ("addons", "before_charts"): lambda case: case.value == case.facts[0].held.get("before_charts", True),
    ("addons", "configuration"): lambda case: case.facts[0].held.get("configuration", {}).items() <= case.value.items(),
    ("addons", "service_account"): _account,
    ("addons", "namespace"): _account,
    ("addons", "role_name"): _account,
    ("addons", "policy_arns"): lambda case: (
        {each.partition(":policy/")[2] for each in case.value} <= set(case.facts[0].held.get("policies", ()))
    ),
    ("addons", "statements"): lambda case: bool(case.value) == ("storage needs" in case.text),
}
"""Values that are computed from the row; all others must be equal to it."""


def _is_true(case: Case) -> bool:
    if check := CHECKS.get((case.section.kind, case.field)):
        return check(case)
    (fact,) = case.facts
    return bool(case.value == (fact.held[case.field] if isinstance(fact.held, dict) else fact.held))


@in_one_test("name", FILES)
def test_the_row_holds_what_it_is_cited_for(name: str) -> None:
    wrong = [
        f"{case.section.path} {case.field} = {case.value} but {fact.file} {fact.place} = {fact.held}"
        for case in _cases(name)
        if not _is_true(case)
        for fact in case.facts
    ]
    assert wrong == []


def test_every_computation_is_used() -> None:
    assert set(CHECKS) <= {(case.section.kind, case.field) for name in FILES for case in _cases(name)}


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
