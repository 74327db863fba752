"""Capacity Reservations and Capacity Blocks: a number of reserved instances in one zone, for a period.

ministack has no reservations. An instance uses one of the instances in the reservation that it targets, or in a
matching open reservation. A stopped or terminated instance returns its capacity.
"""

from __future__ import annotations

import datetime
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware.local.emulator_patches import clock, events
from eks_hardware.local.emulator_patches.ec2_protocol import page, request, response

Map = Mapping[str, Any]

NAMES = frozenset({"_az_id_for_zone_name", "_zone_name_for_az_id"})
"""The names of ministack's module that the patches need, in addition to those of :mod:`.ec2_instances`."""

BLOCK = "capacity-block"
"""The reservation type, market type and instance lifecycle of a Capacity Block."""

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html: EC2 sends a warning
# 40 minutes before the end, and starts to terminate the instances 10 minutes later.
_WARNING = datetime.timedelta(minutes=40)
_TERMINATION = datetime.timedelta(minutes=30)
_ADDED_BLOCK = datetime.timedelta(days=7)
_PER_PAGE = 1000
_PLATFORM = "Linux/UNIX"
_STORE = "__capacity_reservations"
_OFFERINGS = "__capacity_block_offerings"
_HOLDING = ("pending", "running")
# ministack runs EKS requests in separate threads.
_DUE = threading.RLock()

Refusal = tuple[str, str]
"""An error code and its message."""

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the message is from
# https://github.com/hashicorp/terraform-provider-aws/pull/35745
_EXCEEDED: Refusal = (
    "ReservationCapacityExceeded",
    "The requested reservation does not have sufficient compatible and available capacity for this request.",
)


class Reservations:
    """The reservations of each account and region, stored in ministack's module."""

    def __init__(self, ec2: dict[str, Any]) -> None:
        self._ec2 = ec2
        scoped = type(ec2["_instances"])
        self._records = ec2.setdefault(_STORE, scoped())
        self._offerings = ec2.setdefault(_OFFERINGS, scoped())

    def actions(self) -> dict[str, Callable[[Map], object]]:
        """Return the actions of EC2's API."""
        return {
            "CreateCapacityReservation": self._create,
            "DescribeCapacityReservations": self._describe,
            "ModifyCapacityReservation": self._modify,
            "CancelCapacityReservation": self._cancel,
            "DescribeCapacityBlockOfferings": self._describe_offerings,
            "PurchaseCapacityBlock": self._purchase,
        }

    # --- launches

    def choose(self, data: Map, instance_type: str, zone: str, lifecycle: str) -> tuple[str | None, Refusal | None]:
        """Return the reservation that an instance runs in, or why EC2 refuses it.

        Args:
            data: the launch template's data.
            instance_type: the instance type.
            zone: the zone's name.
            lifecycle: ``on-demand``, ``spot`` or ``capacity-block``.
        """
        specification = data.get("CapacityReservationSpecification", {})
        target = specification.get("CapacityReservationTarget", {})
        identity, group = target.get("CapacityReservationId"), target.get("CapacityReservationResourceGroupArn")
        preference = specification.get("CapacityReservationPreference", "open")
        fitting = [
            reservation for reservation in self._active() if self._fits(reservation, instance_type, zone, lifecycle)
        ]
        if identity or group:
            targeted = [identity] if identity else _members(group)
            candidates = [reservation for reservation in fitting if reservation["CapacityReservationId"] in targeted]
        else:
            is_open = preference != "none" and lifecycle == "on-demand"
            candidates = [
                reservation for reservation in fitting if is_open and reservation["InstanceMatchCriteria"] == "open"
            ]
        if candidates:
            return candidates[0]["CapacityReservationId"], None
        # A Capacity Block must be targeted.
        is_required = target or preference == "capacity-reservations-only" or lifecycle == BLOCK
        return None, self._refusal(identity) if is_required else None

    def _refusal(self, identity: str | None) -> Refusal:
        """Return EC2's error if no reservation fits, or if the named reservation does not fit."""
        record = self._records.get(identity) if identity else None
        if identity and record is None:
            return _not_found(identity)
        if record is not None and self._state(record) == "scheduled":
            return "InvalidCapacityReservationState.PendingActivation", "Your Capacity Block is not active yet."
        return _EXCEEDED

    def _active(self) -> list[dict[str, Any]]:
        return [record for record in self._records.values() if self._state(record) == "active"]

    def _fits(self, record: Map, instance_type: str, zone: str, lifecycle: str) -> bool:
        same = (record["InstanceType"], record["AvailabilityZone"]) == (instance_type, zone)
        is_block = record["ReservationType"] == BLOCK
        return same and is_block == (lifecycle == BLOCK) and self._available(record) > 0

    # --- time

    def on_time(self, own: Callable[..., object], terminate: Callable[[list[str]], object]) -> Callable[..., object]:
        """Return an action that first applies the changes to reservations that are due."""

        def act(params: Map, *arguments: object) -> object:
            with _DUE:
                self._advance(terminate)
            return own(params, *arguments)

        return act

    def _advance(self, terminate: Callable[[list[str]], object]) -> None:
        now = clock.now()
        for record in list(self._records.values()):
            if record["ReservationType"] == BLOCK and not record["Cancelled"]:
                if now >= record["StartDate"] and self._first(record, "delivered"):
                    self._deliver(record, "Delivered")
                if now >= record["EndDate"] - _WARNING and self._first(record, "warned"):
                    self._warn(record)
                if now >= record["EndDate"] - _TERMINATION and (running := list(self._running(record))):
                    terminate(running)
            elif self._state(record) in ("expired", "cancelled"):
                self._release(record)

    def _first(self, record: dict[str, Any], what: str) -> bool:
        """Return whether an event is due for the first time, and record the event."""
        is_first = what not in record["Done"]
        record["Done"].add(what)
        return is_first

    def _warn(self, record: Map) -> None:
        self._deliver(record, "Expiration Warning")
        place = self._ec2["get_region"](), self._ec2["get_account_id"]()
        for instance_id in self._running(record):
            events.deliver(events.reservation_interruption(instance_id, record["AvailabilityZoneId"], BLOCK, *place))

    def _deliver(self, record: Map, what: str) -> None:
        events.deliver(events.capacity_block(record, what, self._ec2["get_region"](), self._ec2["get_account_id"]()))

    def _release(self, record: Map) -> None:
        """Remove the instances from an ended reservation; they continue to run On-Demand."""
        for instance_id in self._running(record):
            self._ec2["_instances"][instance_id]["CapacityReservationId"] = None

    def _running(self, record: Map) -> Iterator[str]:
        for instance_id, instance in list(self._ec2["_instances"].items()):
            is_in = instance.get("CapacityReservationId") == record["CapacityReservationId"]
            if is_in and instance["State"]["Name"] in _HOLDING:
                yield instance_id

    def _available(self, record: Map) -> int:
        return max(0, int(record["TotalInstanceCount"]) - len(list(self._running(record))))

    def _state(self, record: Map) -> str:
        """Return a reservation's state.

        Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html (state)
        """
        now = clock.now()
        if record["Cancelled"]:
            return "cancelled"
        if now < record["StartDate"]:
            return "scheduled"
        return "expired" if record["EndDate"] and now >= record["EndDate"] else "active"

    # --- requests

    def _create(self, params: Map) -> object:
        asked = request("CreateCapacityReservationRequest", params, self._ec2["_p"])
        zone = asked.get("AvailabilityZone") or self._ec2["_zone_name_for_az_id"](asked.get("AvailabilityZoneId", ""))
        if zone is None or self._ec2["_az_id_for_zone_name"](zone) is None:
            return self._ec2["_error"]("InvalidParameterValue", "Invalid Availability Zone", 400)
        start, end = asked.get("StartDate"), asked.get("EndDate")
        record = self._add(
            asked["InstanceType"],
            zone,
            int(asked["InstanceCount"]),
            clock.moment(start) if start else clock.now(),
            clock.moment(end) if end else None,
            InstanceMatchCriteria=asked.get("InstanceMatchCriteria", "open"),
            InstancePlatform=asked["InstancePlatform"],
            Tenancy=asked.get("Tenancy", "default"),
        )
        self._tag(record, asked)
        return response("CreateCapacityReservation", {"CapacityReservation": self._view(record)})

    def _tag(self, record: Map, asked: Map) -> None:
        tags = [tag for specification in asked.get("TagSpecifications", ()) for tag in specification.get("Tags", ())]
        self._ec2["_tags"][record["CapacityReservationId"]] = [{"Value": "", **tag} for tag in tags]

    def _add(
        self,
        instance_type: str,
        zone: str,
        count: int,
        start: datetime.datetime,
        end: datetime.datetime | None,
        **fields: str,
    ) -> dict[str, object]:
        identity = fields.get("CapacityReservationId") or f"cr-{self._ec2['new_uuid']().replace('-', '')[:17]}"
        account, region = fields.get("OwnerId") or self._ec2["get_account_id"](), self._ec2["get_region"]()
        self._records[identity] = {
            "CapacityReservationId": identity,
            "OwnerId": account,
            "CapacityReservationArn": f"arn:aws:ec2:{region}:{account}:capacity-reservation/{identity}",
            "AvailabilityZone": zone,
            "AvailabilityZoneId": self._ec2["_az_id_for_zone_name"](zone),
            "InstanceType": instance_type,
            "TotalInstanceCount": count,
            "EbsOptimized": False,
            "EphemeralStorage": False,
            "StartDate": start,
            "EndDate": end,
            "CreateDate": clock.now(),
            "ReservationType": "default",
            "Cancelled": False,
            "Done": set(),
            **fields,
        }
        record: dict[str, object] = self._records[identity]
        return record

    def _view(self, record: Map) -> dict[str, object]:
        """Return a reservation as EC2 describes it."""
        moments = {name: clock.text(record[name]) for name in ("StartDate", "EndDate", "CreateDate") if record[name]}
        return {
            **{name: value for name, value in record.items() if name not in ("Cancelled", "Done", "EndDate")},
            **moments,
            "AvailableInstanceCount": self._available(record) if self._state(record) == "active" else 0,
            "EndDateType": "limited" if record["EndDate"] else "unlimited",
            "State": self._state(record),
            "Tags": self._ec2["_tags"].get(record["CapacityReservationId"], []),
        }

    def _describe(self, params: Map) -> object:
        asked = request("DescribeCapacityReservationsRequest", params, self._ec2["_p"])
        for identity in asked.get("CapacityReservationIds", ()):
            if identity not in self._records:
                return self._unknown(identity)
        every = [
            self._view(self._records[reservation_id])
            for reservation_id in asked.get("CapacityReservationIds", sorted(self._records))
        ]
        for filtered in asked.get("Filters", ()):
            if not _is_filter(filtered["Name"]):
                text = f"The filter '{filtered['Name']}' is invalid"
                return self._ec2["_error"]("InvalidParameterValue", text, 400)
            every = [
                reservation
                for reservation in every
                if set(_values(reservation, filtered["Name"])) & set(filtered["Values"])
            ]
        shown, more = page(every, asked, _PER_PAGE)
        return response("DescribeCapacityReservations", {"CapacityReservations": shown, **more})

    def _modify(self, params: Map) -> object:
        asked = request("ModifyCapacityReservationRequest", params, self._ec2["_p"])
        record = self._records.get(asked["CapacityReservationId"])
        if record is None:
            return self._unknown(asked["CapacityReservationId"])
        if "InstanceCount" in asked:
            record["TotalInstanceCount"] = int(asked["InstanceCount"])
        if "InstanceMatchCriteria" in asked:
            record["InstanceMatchCriteria"] = asked["InstanceMatchCriteria"]
        if asked.get("EndDateType") == "unlimited":
            record["EndDate"] = None
        elif "EndDate" in asked:
            record["EndDate"] = clock.moment(asked["EndDate"])
        return response("ModifyCapacityReservation", {"Return": True})

    def _cancel(self, params: Map) -> object:
        asked = request("CancelCapacityReservationRequest", params, self._ec2["_p"])
        record = self._records.get(asked["CapacityReservationId"])
        if record is None:
            return self._unknown(asked["CapacityReservationId"])
        if record["ReservationType"] == BLOCK:
            return self._ec2["_error"]("UnsupportedOperation", "A Capacity Block cannot be canceled.", 400)
        record["Cancelled"] = True
        self._release(record)
        return response("CancelCapacityReservation", {"Return": True})

    def _unknown(self, identity: str) -> object:
        return self._ec2["_error"](*_not_found(identity), 400)

    def add(self, given: Map) -> None:
        """Add a reservation from a control request. The reservation starts now."""
        start, is_block = clock.now(), bool(given.get("is_block"))
        fields = {"CapacityReservationId": given.get("id"), "OwnerId": given.get("owner")}
        record = self._add(
            given["instance_type"],
            self._ec2["_zone_name_for_az_id"](given["zone_id"]),
            given["count"],
            start,
            start + _ADDED_BLOCK if is_block else None,
            InstanceMatchCriteria="targeted",
            InstancePlatform=_PLATFORM,
            ReservationType=BLOCK if is_block else "default",
            Tenancy="default",
            **{name: value for name, value in fields.items() if value},
        )
        tags = [{"Key": key, "Value": value} for key, value in (given.get("tags") or {}).items()]
        self._ec2["_tags"][record["CapacityReservationId"]] = tags
        if group_arn := given.get("group_arn"):
            _groups().setdefault(group_arn.rpartition("/")[2], []).append(record["CapacityReservationArn"])

    # --- Capacity Blocks

    def _describe_offerings(self, params: Map) -> object:
        """Offer a block without a price in each zone that has the type, from the requested date or from now."""
        asked = request("DescribeCapacityBlockOfferingsRequest", params, self._ec2["_p"])
        start = clock.moment(asked["StartDateRange"]) if "StartDateRange" in asked else clock.now()
        hours = int(asked["CapacityDurationHours"])
        offered = []
        for zone in self._zones(asked["InstanceType"]):
            offering = {
                "CapacityBlockOfferingId": f"cb-{self._ec2['new_uuid']().replace('-', '')[:17]}",
                "InstanceType": asked["InstanceType"],
                "AvailabilityZone": zone,
                "InstanceCount": int(asked.get("InstanceCount", 1)),
                "StartDate": clock.text(start),
                "EndDate": clock.text(start + datetime.timedelta(hours=hours)),
                "CapacityBlockDurationHours": hours,
                "Tenancy": "default",
            }
            self._offerings[offering["CapacityBlockOfferingId"]] = offering
            offered.append(offering)
        return response("DescribeCapacityBlockOfferings", {"CapacityBlockOfferings": offered})

    def _zones(self, instance_type: str) -> list[str]:
        # Imported late: the module needs moto, which contains the recorded offerings.
        from eks_hardware.local.emulator_patches.ec2_offers import zones_of

        return zones_of(self._ec2, instance_type)

    def _purchase(self, params: Map) -> object:
        asked = request("PurchaseCapacityBlockRequest", params, self._ec2["_p"])
        offering = self._offerings.get(asked["CapacityBlockOfferingId"])
        if offering is None:
            text = "The Capacity Block offering ID cannot be found for this account."
            return self._ec2["_error"]("InvalidCapacityBlockOfferingIdNotFound", text, 400)
        record = self._add(
            offering["InstanceType"],
            offering["AvailabilityZone"],
            offering["InstanceCount"],
            clock.moment(offering["StartDate"]),
            clock.moment(offering["EndDate"]),
            InstanceMatchCriteria="targeted",
            InstancePlatform=asked.get("InstancePlatform", _PLATFORM),
            ReservationType=BLOCK,
            Tenancy="default",
        )
        self._tag(record, asked)
        return response("PurchaseCapacityBlock", {"CapacityReservation": self._view(record)})


def _not_found(identity: str) -> Refusal:
    return "InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{identity}' does not exist"


def add(given: Map) -> None:
    """Add the reservations from a control request."""
    ec2 = vars(importlib.import_module("ministack.services.ec2"))
    if ec2.keys() >= {*NAMES, "_instances", "_tags", "get_account_id", "get_region", "new_uuid"}:
        with events.scope(region=given["region"]):
            for reservation in given["reservations"]:
                Reservations(ec2).add(reservation)


def _groups() -> Any:
    """Return the members of resource groups, by the group's name."""
    return vars(importlib.import_module("ministack.services.resource_groups")).get("_group_members", {})


def _members(group_arn: str) -> list[str]:
    """Return the reservations of a resource group."""
    return [reservation_id.rpartition("/")[2] for reservation_id in _groups().get(group_arn.rpartition("/")[2]) or ()]


_FILTERS = frozenset(
    {
        "availability-zone",
        "end-date",
        "end-date-type",
        "instance-match-criteria",
        "instance-platform",
        "instance-type",
        "owner-id",
        "start-date",
        "state",
        "tag-key",
        "tenancy",
    }
)
"""The DescribeCapacityReservations filters that the emulator supports, besides ``tag:KEY``.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html
"""


def _is_filter(name: str) -> bool:
    return name in _FILTERS or name.startswith("tag:")


def _values(view: Map, name: str) -> list[str]:
    """Return a reservation's values for a filter."""
    if name == "tag-key":
        return [tag["Key"] for tag in view["Tags"]]
    if name.startswith("tag:"):
        return [tag["Value"] for tag in view["Tags"] if tag["Key"] == name.removeprefix("tag:")]
    return [str(view.get("".join(part.capitalize() for part in name.split("-")), ""))]
