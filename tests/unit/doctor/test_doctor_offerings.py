"""Zones and offerings."""

from __future__ import annotations

from typing import Any

from eks_hardware.doctor import offerings
from helpers.doctor import RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group, pools

ZONES = {"AvailabilityZones": [{"ZoneId": f"usw2-az{number}"} for number in range(1, 5)]}


def offering_answers(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {
        "ec2:DescribeAvailabilityZones": ZONES,
        "ec2:DescribeInstanceTypeOfferings": lambda params: {
            "InstanceTypeOfferings": [
                {"InstanceType": kind, "Location": zone, "LocationType": "availability-zone-id"}
                for kind, zone in pairs
                if kind in params["Filters"][0]["Values"]
            ]
        },
    }


M6I = [("m6i.xlarge", f"usw2-az{number}") for number in range(1, 4)]


def test_all_offered() -> None:
    pool = {"name": "l4", "instance_types": ["g6.xlarge"], "limits": {"nvidia.com/gpu": 4}}
    g6 = [(kind, zone) for kind in ("g6.xlarge", "g6e.xlarge") for _, zone in M6I]
    assert (
        codes(look(offerings, answering(offering_answers(*M6I, *g6)), group("g6e.xlarge"), **pools(pool)).findings)
        == []
    )


def test_zone_that_the_account_does_not_have() -> None:
    zones = {"AvailabilityZones": [{"ZoneId": "usw2-az1"}, {"ZoneId": "usw2-az2"}]}
    answers = {**offering_answers(*M6I), "ec2:DescribeAvailabilityZones": zones}
    outcome = look(offerings, answering(answers))
    assert codes(outcome.findings) == [("ZONE_NOT_YOURS", "network.zones")]
    assert "usw2-az3" in outcome.findings[0].message
    assert outcome.findings[0].command.startswith("aws ec2 describe-availability-zones ")


def test_offered_nowhere_in_the_zones() -> None:
    answers = answering(offering_answers(*M6I, ("g6.xlarge", "usw2-az4")))
    outcome = look(offerings, answers, group("g6.xlarge"))
    assert codes(outcome.findings) == [("OFFERING_NONE", "node_groups[gpu].instance_types")]
    assert "usw2-az4" in outcome.findings[0].message
    assert "Name=instance-type,Values=g6.xlarge" in outcome.findings[0].command


def test_offered_nowhere_at_all() -> None:
    assert [
        code for code, _ in codes(look(offerings, answering(offering_answers(*M6I)), group("g6.xlarge")).findings)
    ] == ["OFFERING_NONE"]


def test_a_zone_without_any_of_the_types() -> None:
    g6 = [("g6.xlarge", "usw2-az1"), ("g6.2xlarge", "usw2-az1"), ("g6.xlarge", "usw2-az2")]
    outcome = look(offerings, answering(offering_answers(*M6I, *g6)), group(["g6.xlarge", "g6.2xlarge"]))
    assert codes(outcome.findings) == [("OFFERING_PART", "node_groups[gpu].instance_types")]
    assert "usw2-az3" in outcome.findings[0].message
    assert outcome.findings[0].message.endswith("; remove this zone")


def test_a_type_in_no_zone_beside_another() -> None:
    g6 = [("g6.xlarge", zone["ZoneId"]) for zone in ZONES["AvailabilityZones"]]
    outcome = look(offerings, answering(offering_answers(*M6I, *g6)), group(["g6.xlarge", "g6.2xlarge"]))
    assert codes(outcome.findings) == [("OFFERING_PART", "node_groups[gpu].instance_types")]
    assert "g6.2xlarge" in outcome.findings[0].message
    assert outcome.findings[0].message.endswith("; remove this type")


def test_denied() -> None:
    outcome = look(offerings, answering({}, otherwise=RefusedError("UnauthorizedOperation")), group("g6.xlarge"))
    assert codes(outcome.findings) == [("CHECK_DENIED", "network.zones"), ("CHECK_DENIED", "aws")]
    assert {
        permission for permission in offerings.CALLS if any(permission in each.message for each in outcome.findings)
    } == set(offerings.CALLS)
