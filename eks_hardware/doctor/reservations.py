"""Check: capacity reservations and capacity blocks exist, fit, and are there when they are needed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eks_hardware.doctor.aws import Aws, CallError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.models import NodeGroupSpec, NodePoolSpec, PoolReservation

NAME = "reservations"
CALLS: tuple[str, ...] = ("ec2:DescribeCapacityReservations", "resource-groups:ListGroupResources")

_BLOCK = "capacity-block"
_LINUX = "Linux/UNIX"
_COMING = ("assessing", "delayed", "payment-pending", "pending", "scheduled")
_SOON = datetime.timedelta(days=7)

# EKS takes the nodes of a block away before it ends:
# https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html


@dataclass(frozen=True)
class _Wanted:
    """What a group or pool expects of a reservation.

    Attributes:
        path: the field that names it.
        types: instance types, any of which will do.
        zone_ids: zones that it may be in.
        blocks: whether a capacity block, a reservation, or (None) either is meant.
        most: nodes of the group; None for a pool, whose limits are not counted in nodes.
        desired: nodes that start at once.
    """

    path: str
    types: tuple[str, ...]
    zone_ids: tuple[str, ...]
    blocks: bool | None
    most: int | None = None
    desired: int = 0


def probes(subject: Subject) -> Iterator[Probe]:
    """One for each reservation that a group or pool names."""
    strategy, resolved = subject.strategy, subject.resolved
    for group in strategy.node_groups:
        if group.reservation:
            yield _of_group(subject, group)
    pools = strategy.karpenter.node_pools if strategy.karpenter else ()
    for pool, of_pool in zip(pools, resolved.node_pools, strict=True):
        for index, reservation in enumerate(pool.reservations):
            yield _of_pool(subject, pool, of_pool.instance_types, index, reservation, of_pool.zone_ids)


def _of_group(subject: Subject, group: NodeGroupSpec) -> Probe:
    given = group.reservation
    assert given is not None
    scaling = group.scaling
    field = "id" if given.id else "resource_group_arn"
    wanted = _Wanted(
        path=f"node_groups[{group.name}].reservation.{field}",
        types=group.instance_types,
        zone_ids=(given.zone,),
        blocks=group.capacity == _BLOCK,
        most=scaling.max,
        desired=scaling.min if scaling.desired is None else scaling.desired,
    )

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        if given.id:
            yield from _by_id(subject, aws, given.id, wanted)
        elif given.resource_group_arn:
            yield from _by_group(subject, aws, given.resource_group_arn, wanted)

    return Probe(wanted.path, f"reservation {given.id or given.resource_group_arn}", ask)


def _of_pool(
    subject: Subject,
    pool: NodePoolSpec,
    types: tuple[str, ...],
    index: int,
    given: PoolReservation,
    zone_ids: tuple[str, ...],
) -> Probe:
    kinds = {each == _BLOCK for each in pool.capacity if each in ("reserved", _BLOCK)}
    wanted = _Wanted(
        path=f"karpenter.node_pools[{pool.name}].reservations[{index}].{'id' if given.id else 'tags'}",
        types=types,
        zone_ids=(given.zone,) if given.zone else zone_ids,
        blocks=kinds.pop() if len(kinds) == 1 else None,
    )

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        if given.id:
            yield from _by_id(subject, aws, given.id, wanted)
        else:
            yield from _by_tags(subject, aws, given, wanted)

    return Probe(wanted.path, f"reservation {given.id or dict(given.tags)}", ask)


def _every(aws: Aws) -> dict[str, Mapping[str, Any]]:
    found = aws.pages("ec2", "describe_capacity_reservations", "CapacityReservations")
    return {each["CapacityReservationId"]: each for each in found}


def _by_id(subject: Subject, aws: Aws, reservation_id: str, wanted: _Wanted) -> Iterator[Diagnosis]:
    found = _every(aws).get(reservation_id)
    if found is None:
        region = subject.resolved.region
        message = f"{region} has no reservation {reservation_id} that this account may use; name one that exists"
        yield subject.error("RESERVATION_NOT_FOUND", wanted.path, message, _list(subject, wanted))
        return
    yield from _faults(subject, found, wanted)
    yield from _too_small(subject, [found], wanted)


def _by_group(subject: Subject, aws: Aws, arn: str, wanted: _Wanted) -> Iterator[Diagnosis]:
    show = aws_command("resource-groups", "list-group-resources", group=arn, region=subject.resolved.region)
    try:
        members = aws.pages("resource-groups", "list_group_resources", "ResourceIdentifiers", Group=arn)
    except CallError as error:
        if error.code != "NotFoundException":
            raise
        yield subject.error(
            "RESERVATION_NOT_FOUND",
            wanted.path,
            f"there is no resource group {arn}; name one that exists",
            aws_command("resource-groups", "list-groups", region=subject.resolved.region),
        )
        return
    every = _every(aws)
    ids = [each["ResourceArn"].rpartition("/")[2] for each in members]
    known = [every[each] for each in ids if each in every]
    fitting = [each for each in known if not list(_faults(subject, each, wanted))]
    if fitting:
        yield from _too_small(subject, fitting, wanted)
    elif known:
        for each in known:
            yield from _faults(subject, each, wanted)
    else:
        yield subject.error(
            "RESERVATION_NOT_FOUND", wanted.path, f"the resource group {arn} has no capacity reservation; add one", show
        )


def _by_tags(subject: Subject, aws: Aws, given: PoolReservation, wanted: _Wanted) -> Iterator[Diagnosis]:
    tagged = [
        each
        for each in _every(aws).values()
        if given.tags.items() <= {tag["Key"]: tag["Value"] for tag in each.get("Tags", ())}.items()
        and given.owner_account_id in (None, each.get("OwnerId"))
    ]
    if not any(not list(_faults(subject, each, wanted)) for each in tagged):
        tags = ", ".join(f"{key}={value}" for key, value in given.tags.items())
        of_them = f"; {len(tagged)} have the tags, and none fits" if tagged else ""
        yield subject.error(
            "RESERVATION_NOT_FOUND",
            wanted.path,
            f"no active reservation of {', '.join(wanted.types[:3])} in {', '.join(wanted.zone_ids)} has the tags "
            f"{tags}{of_them}",
            _list(subject, wanted),
        )


def _faults(subject: Subject, found: Mapping[str, Any], wanted: _Wanted) -> Iterator[Diagnosis]:
    """What is wrong with one reservation."""
    name, path = found["CapacityReservationId"], wanted.path
    show = aws_command(
        "ec2", "describe-capacity-reservations", capacity_reservation_ids=name, region=subject.resolved.region
    )
    block = found.get("ReservationType") == _BLOCK
    if wanted.blocks is not None and block != wanted.blocks:
        is_now, should = ("a capacity block", _BLOCK) if block else ("no capacity block", "reserved")
        yield subject.error("RESERVATION_KIND", path, f"{name} is {is_now}; write capacity: {should}", show)
    if found["InstanceType"] not in wanted.types:
        yield subject.error(
            "RESERVATION_OTHER_TYPE",
            path,
            f"{name} is for {found['InstanceType']}, not for {', '.join(wanted.types[:3])}; make them the same",
            show,
        )
    zone = found.get("AvailabilityZoneId")
    if zone and zone not in wanted.zone_ids:
        yield subject.error(
            "RESERVATION_OTHER_ZONE",
            path,
            f"{name} is in {zone}, not in {', '.join(wanted.zone_ids)}; write its zone",
            show,
        )
    if found.get("InstancePlatform", _LINUX) != _LINUX:
        yield subject.error(
            "RESERVATION_PLATFORM", path, f"{name} is for {found['InstancePlatform']}; EKS's images need {_LINUX}", show
        )
    yield from _dates(subject, found, wanted, show)


def _dates(subject: Subject, found: Mapping[str, Any], wanted: _Wanted, show: str) -> Iterator[Diagnosis]:
    name, path, state = found["CapacityReservationId"], wanted.path, found.get("State", "")
    starts, ends = found.get("StartDate"), found.get("EndDate")
    if state in _COMING:
        when = f" until {starts:%Y-%m-%d %H:%M} UTC" if isinstance(starts, datetime.datetime) else ""
        text = f"{name} is {state}{when}: no node starts before"
        if wanted.desired:
            text += f"; set desired and min to 0 until then (the group asks for {wanted.desired})"
        yield subject.warning("RESERVATION_NOT_STARTED", path, text, show)
    elif state != "active":
        yield subject.error(
            "RESERVATION_ENDED", path, f"{name} is {state}; make a new one, and name it here", _list(subject, wanted)
        )
    elif isinstance(ends, datetime.datetime) and ends - _now() < _SOON:
        yield subject.warning(
            "RESERVATION_ENDS_SOON",
            path,
            f"{name} ends on {ends:%Y-%m-%d %H:%M} UTC, and its nodes some minutes before; plan for it",
            show,
        )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _too_small(subject: Subject, found: Sequence[Mapping[str, Any]], wanted: _Wanted) -> Iterator[Diagnosis]:
    total = sum(each.get("TotalInstanceCount", 0) for each in found)
    if wanted.most is not None and total < wanted.most:
        names = ", ".join(each["CapacityReservationId"] for each in found)
        group = wanted.path.partition(".")[0]
        yield subject.warning(
            "RESERVATION_TOO_SMALL",
            f"{group}.scaling.max",
            f"max is {wanted.most}, but {names} holds {total}: the others never start; lower max or enlarge it",
            aws_command(
                "ec2",
                "describe-capacity-reservations",
                capacity_reservation_ids=[each["CapacityReservationId"] for each in found],
                region=subject.resolved.region,
            ),
        )


def _list(subject: Subject, wanted: _Wanted) -> str:
    return aws_command(
        "ec2",
        "describe-capacity-reservations",
        filters=["Name=state,Values=active", f"Name=instance-type,Values={','.join(wanted.types[:3])}"],
        query="CapacityReservations[].[CapacityReservationId,AvailabilityZoneId,InstanceType,TotalInstanceCount]",
        region=subject.resolved.region,
    )
