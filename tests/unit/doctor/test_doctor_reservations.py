"""Capacity Reservations and Capacity Blocks, in the format of DescribeCapacityReservations (moto has none)."""

from __future__ import annotations

import datetime
from typing import Any

from eks_hardware.doctor import reservations
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, RefusedError, answering, date, look
from helpers.findings import codes
from helpers.strategies import group, pools

ID = "cr-0aaaaaaaaaaaaaaaa"
ARN = f"arn:aws:resource-groups:us-west-2:{ACCOUNT}:group/h100"
PATH = "node_groups[h100].reservation.id"
NOW = datetime.datetime.now(datetime.timezone.utc)


def reservation(**fields: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": ID,
        "OwnerId": ACCOUNT,
        "InstanceType": "p5.48xlarge",
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZoneId": "usw2-az2",
        "State": "active",
        "TotalInstanceCount": 8,
        "AvailableInstanceCount": 8,
        **fields,
    }


def account_with_reservations(*each: dict[str, Any], **answers: Any) -> Any:
    listed = {"ec2:DescribeCapacityReservations": {"CapacityReservations": list(each)}}
    return answering({**listed, **{f"resource-groups:{name}": answer for name, answer in answers.items()}})


def h100(capacity: str = "reserved", scaling: dict[str, int] | None = None, **target: str) -> dict[str, Any]:
    given = {"zone": "usw2-az2", **(target or {"id": ID})}
    return group(
        "p5.48xlarge", name="h100", capacity=capacity, reservation=given, efa=True, scaling=scaling or {"max": 8}
    )


def test_fits() -> None:
    assert codes(look(reservations, account_with_reservations(reservation()), h100()).findings) == []
    block = reservation(ReservationType="capacity-block", EndDate=NOW + datetime.timedelta(days=9))
    assert codes(look(reservations, account_with_reservations(block), h100("capacity-block")).findings) == []


def test_no_reservation_asks_nothing() -> None:
    outcome = look(reservations, answering({}))
    assert (outcome.probes, outcome.findings) == (0, ())


def test_missing() -> None:
    outcome = look(
        reservations, account_with_reservations(reservation(CapacityReservationId="cr-0bbbbbbbbbbbbbbbb")), h100()
    )
    assert codes(outcome.findings) == [("RESERVATION_NOT_FOUND", PATH)]
    assert "Name=instance-type,Values=p5.48xlarge" in outcome.findings[0].command


@in_one_test(
    ("code", "severity", "fields"),
    [
        ("RESERVATION_KIND", "error", {"ReservationType": "capacity-block"}),
        ("RESERVATION_OTHER_TYPE", "error", {"InstanceType": "p5e.48xlarge"}),
        ("RESERVATION_OTHER_ZONE", "error", {"AvailabilityZoneId": "usw2-az3"}),
        ("RESERVATION_PLATFORM", "error", {"InstancePlatform": "Windows"}),
        ("RESERVATION_ENDED", "error", {"State": "expired"}),
        ("RESERVATION_ENDED", "error", {"State": "payment-failed"}),
        ("RESERVATION_NOT_STARTED", "warning", {"State": "scheduled", "StartDate": date("2026-12-01")}),
        ("RESERVATION_NOT_STARTED", "warning", {"State": "pending"}),
        ("RESERVATION_ENDS_SOON", "warning", {"EndDate": NOW + datetime.timedelta(days=2)}),
    ],
)
def test_does_not_fit(code: str, severity: str, fields: dict[str, Any]) -> None:
    # trap: eksctl-io/eksctl#8320
    outcome = look(reservations, account_with_reservations(reservation(**fields)), h100())
    assert codes(outcome.findings) == [(code, PATH)]
    (finding,) = outcome.findings
    assert finding.severity.value == severity
    assert finding.command.startswith("aws ec2 describe-capacity-reservations ")


def test_block_that_is_none() -> None:
    assert codes(look(reservations, account_with_reservations(reservation()), h100("capacity-block")).findings) == [
        ("RESERVATION_KIND", PATH)
    ]


def test_nodes_that_are_asked_for_before_the_block_starts() -> None:
    coming = reservation(ReservationType="capacity-block", State="scheduled", StartDate=date("2026-12-01"))
    outcome = look(
        reservations, account_with_reservations(coming), h100("capacity-block", {"min": 0, "desired": 4, "max": 8})
    )
    assert codes(outcome.findings) == [("RESERVATION_NOT_STARTED", PATH)]
    assert "2026-12-01" in outcome.findings[0].message
    assert "4" in outcome.findings[0].message


def test_too_small() -> None:
    outcome = look(reservations, account_with_reservations(reservation(TotalInstanceCount=4)), h100())
    assert codes(outcome.findings) == [("RESERVATION_TOO_SMALL", "node_groups[h100].scaling.max")]
    assert ID in outcome.findings[0].command


def group_members(*ids: str) -> dict[str, Any]:
    arns = [f"arn:aws:ec2:us-west-2:{ACCOUNT}:capacity-reservation/{each}" for each in ids]
    identifiers = [{"ResourceArn": arn, "ResourceType": "AWS::EC2::CapacityReservation"} for arn in arns]
    return {"ResourceIdentifiers": identifiers}


def test_resource_group() -> None:
    other = "cr-0bbbbbbbbbbbbbbbb"
    pair = (
        reservation(TotalInstanceCount=4),
        reservation(CapacityReservationId=other, TotalInstanceCount=4),
    )
    aws = account_with_reservations(*pair, ListGroupResources=group_members(ID, other))
    assert codes(look(reservations, aws, h100(resource_group_arn=ARN)).findings) == []
    aws = account_with_reservations(*pair, ListGroupResources=group_members(ID))
    assert codes(look(reservations, aws, h100(resource_group_arn=ARN)).findings) == [
        ("RESERVATION_TOO_SMALL", "node_groups[h100].scaling.max")
    ]


def test_resource_group_without_a_fitting_reservation() -> None:
    path = "node_groups[h100].reservation.resource_group_arn"
    aws = account_with_reservations(ListGroupResources=group_members())
    assert codes(look(reservations, aws, h100(resource_group_arn=ARN)).findings) == [("RESERVATION_NOT_FOUND", path)]
    aws = account_with_reservations(ListGroupResources=RefusedError("NotFoundException"))
    assert codes(look(reservations, aws, h100(resource_group_arn=ARN)).findings) == [("RESERVATION_NOT_FOUND", path)]
    aws = account_with_reservations(reservation(InstanceType="p5e.48xlarge"), ListGroupResources=group_members(ID))
    assert codes(look(reservations, aws, h100(resource_group_arn=ARN)).findings) == [("RESERVATION_OTHER_TYPE", path)]


def reserved_pool(*given: dict[str, Any], capacity: tuple[str, ...] = ("reserved", "on-demand")) -> dict[str, Any]:
    return pools(
        {
            "name": "h100",
            "instance_types": ["p5.48xlarge"],
            "capacity": list(capacity),
            "reservations": list(given),
            "limits": {"nvidia.com/gpu": 64},
        }
    )


def test_pool_by_id() -> None:
    given = {"id": ID, "zone": "usw2-az2"}
    assert codes(look(reservations, account_with_reservations(reservation()), **reserved_pool(given)).findings) == []
    assert codes(
        look(
            reservations, account_with_reservations(reservation(AvailabilityZoneId="usw2-az1")), **reserved_pool(given)
        ).findings
    ) == [("RESERVATION_OTHER_ZONE", "karpenter.node_pools[h100].reservations[0].id")]


def test_pool_that_takes_either_kind() -> None:
    given = {"id": ID, "zone": "usw2-az2"}
    both = reserved_pool(given, capacity=("reserved", "capacity-block"))
    assert codes(look(reservations, account_with_reservations(reservation()), **both).findings) == []
    assert (
        codes(
            look(
                reservations, account_with_reservations(reservation(ReservationType="capacity-block")), **both
            ).findings
        )
        == []
    )


def test_pool_by_tags() -> None:
    tagged = reservation(Tags=[{"Key": "team", "Value": "llm"}, {"Key": "more", "Value": "x"}])
    given = {"tags": {"team": "llm"}}
    path = "karpenter.node_pools[h100].reservations[0].tags"
    assert codes(look(reservations, account_with_reservations(tagged), **reserved_pool(given)).findings) == []
    assert codes(look(reservations, account_with_reservations(reservation()), **reserved_pool(given)).findings) == [
        ("RESERVATION_NOT_FOUND", path)
    ]
    ended = {**tagged, "State": "expired"}
    assert codes(look(reservations, account_with_reservations(ended), **reserved_pool(given)).findings) == [
        ("RESERVATION_NOT_FOUND", path)
    ]
    theirs = {**given, "owner_account_id": "999999999999"}
    assert codes(look(reservations, account_with_reservations(tagged), **reserved_pool(theirs)).findings) == [
        ("RESERVATION_NOT_FOUND", path)
    ]


def test_denied() -> None:
    outcome = look(reservations, answering({}, otherwise=RefusedError("UnauthorizedOperation")), h100())
    assert codes(outcome.findings) == [("CHECK_DENIED", PATH)]
    assert "ec2:DescribeCapacityReservations" in outcome.findings[0].message
