"""Rules about Local Zones and Wavelength Zones: each with a strategy that breaks it and a similar one that does not."""

from __future__ import annotations

from typing import Any

from eks_hardware import facts
from eks_hardware.catalogue import load
from eks_hardware.resolve.zones import edge_group, edge_groups, edge_zone_ids, region_code
from eks_hardware.rules import check
from helpers.cases import in_one_test
from helpers.rules import Case, check_case, finding_message, rules_of, shown_codes, warnings_of
from helpers.sections import existing_network, one_group
from helpers.strategies import TODAY, pool, pools, strategy

GPU = "node_groups[gpu]"
POOL = "karpenter.node_pools[pool]"
EAST = {"region": "us-east-1"}
BLOCK = {"capacity": "capacity-block", "workload": "training", "efa": True, "update": {"strategy": "minimal"}}


def east(zone: str, **fields: Any) -> dict[str, Any]:
    return {**EAST, **existing_network("use1-az1", "use1-az2", zone, **fields)}


def west(zone: str) -> dict[str, Any]:
    return existing_network("usw2-az1", "usw2-az2", zone)


def bought(zone: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Return a group whose nodes are in a Capacity Block of a zone."""
    reservation = {"id": "cr-01234567", "zone": zone}
    return {**east(zone, **fields), **one_group(kind, reservation=reservation, **BLOCK)}


CASES = [
    *(
        Case("LOCAL_ZONE_UNLISTED", f"network.existing.private_subnets.{bad}", given(bad), given(good))
        for given, bad, good in [
            (west, "usw2-lxa1-az1", "usw2-lax1-az2"),
            (west, "usw2-lax2-az1", "usw2-phx2-az1"),
            (west, "usw2-wl1-nyc-wlz1", "usw2-wl1-den-wlz1"),
            (east, "use1-dal1-az1", "use1-dfw2-az1"),
            (east, "use1-bosaz1-az1", "use1-bos1-az1"),
        ]
    ),
    Case(
        "LOCAL_ZONE_UNLISTED",
        "network.existing.private_subnets.usgw1-lax1-az1",
        {"region": "us-gov-west-1", **existing_network("usgw1-az1", "usgw1-az2", "usgw1-lax1-az1")},
        {"region": "us-gov-west-1", **existing_network("usgw1-az1", "usgw1-az2")},
        frozenset({"REGION_OFFERINGS_UNREAD"}),
    ),
    Case(
        "LOCAL_ZONE_UNLISTED",
        f"{POOL}.zones",
        {**west("usw2-az3"), **pools(pool(zones=["usw2-lxa1-az1"]))},
        {**west("usw2-lax1-az1"), **pools(pool(zones=["usw2-lax1-az1"]))},
        frozenset({"ZONE_NOT_IN_NETWORK"}),
    ),
    Case(
        "LOCAL_ZONE_SUBNET",
        f"{GPU}.zones",
        one_group(zones=["usw2-lax1-az1"]),
        {**west("usw2-lax1-az1"), **one_group(zones=["usw2-lax1-az1"])},
    ),
    Case(
        "LOCAL_ZONE_SUBNET",
        f"{POOL}.zones",
        pools(pool(zones=["usw2-wl1-den-wlz1"])),
        {**west("usw2-wl1-den-wlz1"), **pools(pool(zones=["usw2-wl1-den-wlz1"]))},
    ),
    Case(
        "LOCAL_ZONE_UNREAD",
        f"{GPU}.zones",
        {**west("usw2-lax1-az1"), **one_group(zones=["usw2-lax1-az1"])},
        {**west("usw2-lax1-az1"), **one_group(zones=["usw2-az2"])},
    ),
    Case(
        "LOCAL_ZONE_UNREAD",
        f"{POOL}.zones",
        {**west("usw2-wl1-den-wlz1"), **pools(pool(zones=["usw2-wl1-den-wlz1"]))},
        {**west("usw2-wl1-den-wlz1"), **pools(pool(zones=["usw2-az1"]))},
    ),
    Case(
        "WAVELENGTH_GROUP",
        f"{GPU}.zones",
        {**west("usw2-wl1-den-wlz1"), **one_group(zones=["usw2-wl1-den-wlz1"])},
        {**west("usw2-lax1-az1"), **one_group(zones=["usw2-lax1-az1"])},
    ),
    Case(
        "LOCAL_ZONE_BLOCK",
        f"{GPU}.reservation.zone",
        bought("use1-atl2-az1", "p5en.48xlarge"),
        bought("use1-atl2-az1", "p5.48xlarge"),
    ),
    Case(
        "LOCAL_ZONE_BLOCK",
        f"{GPU}.reservation.zone",
        bought("use1-dfw2-az1", "p5.48xlarge"),
        bought("use1-dfw2-az1", "p6e-gb200.36xlarge"),
    ),
    Case(
        "FSX_LOCAL_ZONE",
        "storage.fsx_lustre",
        {**bought("use1-dfw2-az1", "p6e-gb200.36xlarge"), "storage": {"fsx_lustre": {}}},
        {**bought("use1-dfw2-az1", "p6e-gb200.36xlarge"), "storage": {"fsx_lustre": {"zone": "use1-az1"}}},
        frozenset({"ULTRASERVER_DRA_DRIVER"}),
    ),
]


@in_one_test("case", CASES, ids=[f"{case.code}-{index}" for index, case in enumerate(CASES)])
def test_rule(case: Case) -> None:
    check_case(case)


def test_every_rule_has_a_case() -> None:
    assert {case.code for case in CASES} == rules_of("edge_zones")


def test_which_rules_warn() -> None:
    assert warnings_of("edge_zones") == rules_of("edge_zones") - {"LOCAL_ZONE_SUBNET", "WAVELENGTH_GROUP"}


def test_zones_that_no_list_has_are_never_said_not_to_exist() -> None:
    """A Dedicated Local Zone, and one that AWS adds tomorrow."""
    for zone in ("usw2-acme-pdx1-az1", "usw2-sfo1-az1", "usw2-wl2-sfo-wlz1"):
        found = check(strategy(**west(zone)), today=TODAY)
        assert [(each.code, each.severity.value) for each in found] == [("LOCAL_ZONE_UNLISTED", "warning")]


def test_messages_name_what_was_meant() -> None:
    assert "did you mean usw2-lax1-az1 or usw2-las1-az1?" in finding_message(
        "LOCAL_ZONE_UNLISTED", west("usw2-lxa1-az1")
    )
    gov = {"region": "us-gov-west-1", **existing_network("usgw1-az1", "usgw1-az2", "usgw1-lax1-az1")}
    assert "it lists none in us-gov-west-1" in finding_message("LOCAL_ZONE_UNLISTED", gov)
    assert "did you mean use1-dfw2-az1" in finding_message("ZONE_UNKNOWN", east("usw2-dfw2-az1"))
    nowhere = {"region": "us-west-2", **one_group("p6e-gb200.36xlarge")}
    assert "in the Local Zone us-east-1-dfw-2, set that zone" in finding_message("INSTANCE_TYPE_NOT_OFFERED", nowhere)


def test_every_listed_zone_belongs_to_a_region_of_the_catalogue() -> None:
    catalogue = load()
    for section in (facts.zones()["local_zones"], facts.zones()["wavelength_zones"]):
        for region, groups in section["groups"].items():
            code = region_code(catalogue.zone_ids(region)[0])
            found = [edge_group(zone, region) for zone in edge_zone_ids(code, edge_groups(region))]
            assert set(groups) <= set(found) == set(edge_groups(region).values())


def test_listed_blocks_are_of_known_types_and_zones() -> None:
    known = {group for region in load().regions for group in edge_groups(region).values()}
    blocks = facts.zones()["capacity_blocks"]["by_group"]
    assert set(blocks) <= known
    assert all(load().find(kind) for kinds in blocks.values() for kind in kinds)


def test_a_listed_block_has_no_warning() -> None:
    assert shown_codes(bought("use1-dfw2-az1", "p6e-gb200.36xlarge")) == [
        ("ULTRASERVER_DRA_DRIVER", f"{GPU}.instance_types")
    ]


def test_a_file_system_in_subnets_of_another_region() -> None:
    subnets = {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate(("usw2-az1", "usw2-az2"))}
    existing = {"existing": {"vpc_id": "vpc-0123456789abcdef0", "private_subnets": subnets}}
    found = shown_codes({"region": "us-east-1", "network": existing, "storage": {"fsx_lustre": {}}})
    assert "ZONE_UNKNOWN" in {code for code, _ in found}
