"""Events from AWS services, which EventBridge delivers to the targets of all rules with a matching pattern.

ministack matches and delivers its clients' events, but clients cannot send events on behalf of AWS services, and
ministack's EC2 sends none.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware.local.emulator_patches import clock

Map = Mapping[str, Any]

_ACCOUNT = "000000000000"
# The names of ministack's modules that this module needs.
_EVENTS_NAMES = frozenset({"_put_events"})
_SCOPE_NAMES = ("_request_account_id", "_request_region")

_STATES = {"StopInstances": ("stopping", "stopped"), "TerminateInstances": ("shutting-down", "terminated")}


def spot_interruption(instance_id: str, region: str, account: str = _ACCOUNT) -> dict[str, object]:
    """Return the event for the interruption of a Spot Instance.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
    """
    detail = {"instance-id": instance_id, "instance-action": "terminate"}
    return _of_instance("EC2 Spot Instance Interruption Warning", detail, region, account)


def rebalance_recommendation(instance_id: str, region: str, account: str = _ACCOUNT) -> dict[str, object]:
    """Return the event for a Spot Instance with an elevated risk of interruption.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
    """
    return _of_instance("EC2 Instance Rebalance Recommendation", {"instance-id": instance_id}, region, account)


def state_change(instance_id: str, state: str, region: str, account: str = _ACCOUNT) -> dict[str, object]:
    """Return the event for an instance's new state.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html
    """
    detail = {"instance-id": instance_id, "state": state}
    return _of_instance("EC2 Instance State-change Notification", detail, region, account)


def reservation_interruption(
    instance_id: str, zone_id: str, lifecycle: str, region: str, account: str = _ACCOUNT
) -> dict[str, object]:
    """Return the event for the coming interruption of a reservation's instance.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
    """
    detail = {
        "instance-id": instance_id,
        "instance-action": "terminate",
        "instance-termination-time": clock.text(clock.now()),
        "availability-zone-id": zone_id,
        "instance-lifecycle": lifecycle,
    }
    return _of_instance("EC2 Capacity Reservation Instance Interruption Warning", detail, region, account)


def capacity_block(reservation: Map, what: str, region: str, account: str = _ACCOUNT) -> dict[str, object]:
    """Return the event for the start (``Delivered``) or coming end (``Expiration Warning``) of a Capacity Block.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
    """
    detail = {
        "capacity-reservation-id": reservation["CapacityReservationId"],
        "end-date": clock.text(reservation["EndDate"]),
    }
    arn = reservation["CapacityReservationArn"]
    return _event("aws.ec2", f"Capacity Block Reservation {what}", [arn], detail, region, account)


def scheduled_change(instance_id: str, region: str, account: str = _ACCOUNT) -> dict[str, object]:
    """Return the AWS Health event for an instance that EC2 retires in two weeks.

    Source: https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
    """
    code = "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED"
    start = clock.now() + datetime.timedelta(days=14)
    detail = {
        "eventArn": f"arn:aws:health:{region}::event/EC2/{code}/{code}_{instance_id}",
        "service": "EC2",
        "eventTypeCode": code,
        "eventTypeCategory": "scheduledChange",
        "eventScopeCode": "ACCOUNT_SPECIFIC",
        "startTime": f"{start:%a, %d %b %Y %H:%M:%S GMT}",
        "statusCode": "upcoming",
        "eventRegion": region,
        "eventDescription": [{"language": "en_US", "latestDescription": f"EC2 will retire {instance_id}."}],
        "affectedEntities": [{"entityValue": instance_id}],
        "affectedAccount": account,
    }
    return _event("aws.health", "AWS Health Event", [instance_id], detail, region, account)


def _of_instance(kind: str, detail: Map, region: str, account: str) -> dict[str, object]:
    arn = f"arn:aws:ec2:{region}:{account}:instance/{detail['instance-id']}"
    return _event("aws.ec2", kind, [arn], detail, region, account)


def _event(source: str, kind: str, resources: list[str], detail: Map, region: str, account: str) -> dict[str, object]:
    return {
        "source": source,
        "detail-type": kind,
        "account": account,
        "region": region,
        "resources": resources,
        "detail": detail,
    }


def deliver(event: Map) -> None:
    """Deliver an event in its account and region; EventBridge sets the event's ID and time."""
    eventbridge = vars(importlib.import_module("ministack.services.eventbridge"))
    if not eventbridge.keys() >= _EVENTS_NAMES:
        return
    entry = {
        "Source": event["source"],
        "DetailType": event["detail-type"],
        "Resources": event["resources"],
        "Detail": json.dumps(event["detail"]),
    }
    with scope(event["region"], event["account"]):
        eventbridge["_put_events"]({"Entries": [entry]}, allow_aws_source=True)


@contextlib.contextmanager
def scope(region: str, account: str = _ACCOUNT) -> Iterator[None]:
    """Make ministack's functions use an account and region within the block, as for a client's request."""
    scopes = vars(importlib.import_module("ministack.core.responses"))
    if not scopes.keys() >= set(_SCOPE_NAMES):
        yield
        return
    tokens = {name: scopes[name].set(value) for name, value in zip(_SCOPE_NAMES, (account, region), strict=True)}
    try:
        yield
    finally:
        for name, token in tokens.items():
            scopes[name].reset(token)


def with_state_changes(ec2: Map, name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return an action that stops or terminates instances and delivers the event of each new state."""

    def act(params: Map, *arguments: object) -> object:
        states = _STATES[name]
        found = {
            instance_id: ec2["_instances"].get(instance_id)
            for instance_id in ec2["_parse_member_list"](params, "InstanceId")
        }
        ending = [each for each, record in found.items() if record and record["State"]["Name"] not in states]
        answer = own(params, *arguments)
        if answer[0] < 300:
            for instance_id in ending:
                for state in states:
                    deliver(state_change(instance_id, state, ec2["get_region"](), ec2["get_account_id"]()))
        return answer

    return act
