"""Check: capacity reservations and Capacity Blocks exist, match, and are active when needed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from eks_hardware import field_paths
from eks_hardware.doctor.aws import Aws, CallError
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, PoolReservation, Reservation
from eks_hardware.resolve import ResolvedNodePool

NAME = "reservations"
CALLS: tuple[str, ...] = ("ec2:DescribeCapacityReservations", "resource-groups:ListGroupResources")

_BLOCK = "capacity-block"
_LINUX = "Linux/UNIX"
_COMING = ("assessing", "delayed", "payment-pending", "pending", "scheduled")
_SOON = datetime.timedelta(days=7)


@dataclass(frozen=True)
class _Wanted:
    """The reservation that a group or pool expects.

    Attributes:
        path: path of the group or pool.
        field: the field below it that names the reservation.
        types: instance types; the reservation must be for one of them.
        zone_ids: zones where it can be.
        blocks: True for a Capacity Block, False for a reservation, None for either.
        most: maximum nodes of the group; None for a pool, whose limits are not in nodes.
        desired: nodes that start first.
    """

    path: str
    field: str
    types: tuple[str, ...]
    zone_ids: tuple[str, ...]
    blocks: bool | None
    most: int | None = None
    desired: int = 0

    @property
    def named(self) -> str:
        """Path of the field that names the reservation."""
        return f"{self.path}.{self.field}"


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for each reservation of a group or pool."""
    for group in subject.strategy.node_groups:
        if group.reservation:
            yield _of_group(subject, group, group.reservation)
    for pool, resolved in zip(subject.pools, subject.resolved.node_pools, strict=True):
        for index, reservation in enumerate(pool.reservations):
            yield _of_pool(subject, pool, resolved, index, reservation)


def _of_group(subject: Subject, group: NodeGroupSpec, given: Reservation) -> Probe:
    scaling = group.scaling
    wanted = _Wanted(
        path=field_paths.node_group(group.name),
        field="reservation.id" if given.id else "reservation.resource_group_arn",
        types=group.instance_types,
        zone_ids=(given.zone,),
        blocks=group.capacity == _BLOCK,
        most=scaling.max,
        desired=scaling.initial,
    )
    name = given.id or given.resource_group_arn or ""
    return Probe(wanted.named, f"reservation {name}", partial(_by_id if given.id else _by_group, subject, wanted, name))


def _of_pool(
    subject: Subject, pool: NodePoolSpec, resolved: ResolvedNodePool, index: int, given: PoolReservation
) -> Probe:
    kinds = {capacity == _BLOCK for capacity in pool.capacity if capacity in ("reserved", _BLOCK)}
    wanted = _Wanted(
        path=field_paths.node_pool(pool.name),
        field=f"{field_paths.item('reservations', index)}.{'id' if given.id else 'tags'}",
        types=resolved.instance_types,
        zone_ids=(given.zone,) if given.zone else resolved.zone_ids,
        blocks=kinds.pop() if len(kinds) == 1 else None,
    )
    ask = partial(_by_id, subject, wanted, given.id) if given.id else partial(_by_tags, subject, wanted, given)
    return Probe(wanted.named, f"reservation {given.id or dict(given.tags)}", ask)


def _every(aws: Aws) -> dict[str, Mapping[str, Any]]:
    reservations = aws.pages("ec2", "describe_capacity_reservations", "CapacityReservations")
    return {reservation["CapacityReservationId"]: reservation for reservation in reservations}


def _by_id(subject: Subject, wanted: _Wanted, reservation_id: str, aws: Aws) -> Iterator[Diagnosis]:
    known = _every(aws).get(reservation_id)
    if known is None:
        message = f"has no reservation {reservation_id} that this account can use; choose an existing reservation"
        yield _not_found(subject, wanted, f"{subject.resolved.region} {message}")
        return
    yield from _faults(subject, known, wanted)
    yield from _too_small(subject, [known], wanted)


def _by_group(subject: Subject, wanted: _Wanted, arn: str, aws: Aws) -> Iterator[Diagnosis]:
    try:
        members = aws.pages("resource-groups", "list_group_resources", "ResourceIdentifiers", Group=arn)
    except CallError as error:
        if error.code != "NotFoundException":
            raise
        groups = subject.command("resource-groups", "list-groups")
        yield _not_found(subject, wanted, f"the resource group {arn} does not exist; choose an existing group", groups)
        return
    every = _every(aws)
    ids = [member["ResourceArn"].rpartition("/")[2] for member in members]
    known = [every[each] for each in ids if each in every]
    fitting = [each for each in known if not list(_faults(subject, each, wanted))]
    if fitting:
        yield from _too_small(subject, fitting, wanted)
    elif known:
        for each in known:
            yield from _faults(subject, each, wanted)
    else:
        show = subject.command("resource-groups", "list-group-resources", group=arn)
        yield _not_found(subject, wanted, f"the resource group {arn} contains no capacity reservation; add one", show)


def _by_tags(subject: Subject, wanted: _Wanted, given: PoolReservation, aws: Aws) -> Iterator[Diagnosis]:
    tagged = [
        reservation
        for reservation in _every(aws).values()
        if given.tags.items() <= {tag["Key"]: tag["Value"] for tag in reservation.get("Tags", ())}.items()
        and given.owner_account_id in (None, reservation.get("OwnerId"))
    ]
    if all(list(_faults(subject, reservation, wanted)) for reservation in tagged):
        tags = ", ".join(f"{key}={value}" for key, value in given.tags.items())
        of_them = f"; {len(tagged)} have the tags, but none matches" if tagged else ""
        what = f"{', '.join(wanted.types[:3])} in {', '.join(wanted.zone_ids)}"
        yield _not_found(subject, wanted, f"no active reservation for {what} has the tags {tags}{of_them}")


def _not_found(subject: Subject, wanted: _Wanted, message: str, command: str | None = None) -> Diagnosis:
    return subject.error("RESERVATION_NOT_FOUND", wanted.named, message, command or _list(subject, wanted))


def _faults(subject: Subject, reservation: Mapping[str, Any], wanted: _Wanted) -> Iterator[Diagnosis]:
    """Yield the problems of one reservation."""
    name, path = reservation["CapacityReservationId"], wanted.named
    show = subject.command("ec2", "describe-capacity-reservations", capacity_reservation_ids=name)
    block = reservation.get("ReservationType") == _BLOCK
    if wanted.blocks is not None and block != wanted.blocks:
        is_now, should = ("a Capacity Block", _BLOCK) if block else ("not a Capacity Block", "reserved")
        yield subject.error("RESERVATION_KIND", path, f"{name} is {is_now}; set capacity: {should}", show)
    if (kind := reservation["InstanceType"]) not in wanted.types:
        message = f"{name} is for {kind}, not for {', '.join(wanted.types[:3])}; use the reservation's type"
        yield subject.error("RESERVATION_OTHER_TYPE", path, message, show)
    zone = reservation.get("AvailabilityZoneId")
    if zone and zone not in wanted.zone_ids:
        message = f"{name} is in {zone}, not in {', '.join(wanted.zone_ids)}; set zone: {zone}"
        yield subject.error("RESERVATION_OTHER_ZONE", path, message, show)
    if (platform := reservation.get("InstancePlatform", _LINUX)) != _LINUX:
        message = f"{name} must be for {_LINUX}, the platform of EKS AMIs, got {platform}; choose another reservation"
        yield subject.error("RESERVATION_PLATFORM", path, message, show)
    yield from _dates(subject, reservation, wanted, show)


def _dates(subject: Subject, reservation: Mapping[str, object], wanted: _Wanted, show: str) -> Iterator[Diagnosis]:
    name, path, state = reservation["CapacityReservationId"], wanted.named, reservation.get("State", "")
    starts, ends = reservation.get("StartDate"), reservation.get("EndDate")
    if state in _COMING:
        when = f" until {starts:%Y-%m-%d %H:%M} UTC" if isinstance(starts, datetime.datetime) else ""
        text = f"{name} is {state}{when}: no node starts before that"
        if wanted.desired:
            text += f"; set desired and min to 0 until then (the group requests {wanted.desired})"
        yield subject.warning("RESERVATION_NOT_STARTED", path, text, show)
    elif state != "active":
        message = f"{name} is {state}; create a new reservation and set its id here"
        yield subject.error("RESERVATION_ENDED", path, message, _list(subject, wanted))
    elif isinstance(ends, datetime.datetime) and ends - _now() < _SOON:
        # https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        message = (
            f"{name} ends on {ends:%Y-%m-%d %H:%M} UTC, and EC2 terminates a Capacity Block's nodes half an hour "
            "earlier; finish or move their work before then"
        )
        yield subject.warning("RESERVATION_ENDS_SOON", path, message, show)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _too_small(subject: Subject, reservations: Sequence[Mapping[str, Any]], wanted: _Wanted) -> Iterator[Diagnosis]:
    total = sum(reservation.get("TotalInstanceCount", 0) for reservation in reservations)
    if wanted.most is not None and total < wanted.most:
        ids = [reservation["CapacityReservationId"] for reservation in reservations]
        yield subject.warning(
            "RESERVATION_TOO_SMALL",
            f"{wanted.path}.scaling.max",
            f"max is {wanted.most}, but the number of reserved instances is {total} ({', '.join(ids)}): further nodes "
            "never start; lower max, or reserve more instances",
            subject.command("ec2", "describe-capacity-reservations", capacity_reservation_ids=ids),
        )


def _list(subject: Subject, wanted: _Wanted) -> str:
    return subject.command(
        "ec2",
        "describe-capacity-reservations",
        filters=["Name=state,Values=active", f"Name=instance-type,Values={','.join(wanted.types[:3])}"],
        query="CapacityReservations[].[CapacityReservationId,AvailabilityZoneId,InstanceType,TotalInstanceCount]",
    )
