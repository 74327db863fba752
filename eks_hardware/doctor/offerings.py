"""Check: EC2 offers the instance types of each group and pool in its zones, and the account has these zones."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject

NAME = "offerings"
CALLS: tuple[str, ...] = ("ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypeOfferings")

_BY_ZONE = "availability-zone-id"
# EC2 takes at most 200 values of a filter:
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html
_VALUES = 200


def probes(subject: Subject) -> Iterator[Probe]:
    """The zones, then one for each group and pool."""
    yield Probe("network.zones", "the zones of the account", lambda aws: _zones(subject, aws))
    resolved = subject.resolved
    for path, types, zone_ids in (
        *((f"node_groups[{each.name}]", each.instance_types, each.zone_ids) for each in resolved.node_groups),
        *((f"karpenter.node_pools[{each.name}]", each.instance_types, each.zone_ids) for each in resolved.node_pools),
    ):
        yield _of_nodes(subject, path, types, zone_ids)


def _zones(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    region = subject.resolved.region
    there = {zone["ZoneId"] for zone in aws.pages("ec2", "describe_availability_zones", "AvailabilityZones")}
    for zone in subject.resolved.network.zone_ids:
        if zone not in there:
            yield subject.error(
                "ZONE_NOT_YOURS",
                "network.existing" if subject.resolved.network.existing else "network.zones",
                f"the account has no zone {zone}; it has {', '.join(sorted(there))}: write some of these in "
                "network.zones",
                aws_command(
                    "ec2",
                    "describe-availability-zones",
                    query="AvailabilityZones[].[ZoneId,ZoneName,State]",
                    region=region,
                ),
            )


def _of_nodes(subject: Subject, path: str, types: tuple[str, ...], zone_ids: tuple[str, ...]) -> Probe:
    def ask(aws: Aws) -> Iterator[Diagnosis]:
        offered = {
            (each["InstanceType"], each["Location"])
            for start in range(0, len(types), _VALUES)
            for each in aws.pages(
                "ec2",
                "describe_instance_type_offerings",
                "InstanceTypeOfferings",
                LocationType=_BY_ZONE,
                Filters=[{"Name": "instance-type", "Values": sorted(types[start : start + _VALUES])}],
            )
        }
        here = {(kind, zone) for kind, zone in offered if zone in zone_ids}
        field = f"{path}.instance_types"
        command = aws_command(
            "ec2",
            "describe-instance-type-offerings",
            location_type=_BY_ZONE,
            filters=f"Name=instance-type,Values={','.join(types)}",
            query="InstanceTypeOfferings[].[Location,InstanceType]",
            region=subject.resolved.region,
        )
        if not here:
            elsewhere = sorted({zone for _, zone in offered})
            yield subject.error(
                "OFFERING_NONE",
                field,
                f"EC2 offers {_some(types)} in none of {', '.join(zone_ids)}; "
                + (f"it does in {', '.join(elsewhere)}: choose these zones" if elsewhere else "nor in another zone")
                + ", or another type",
                command,
            )
            return
        lacking = [kind for kind in types if not any((kind, zone) in here for zone in zone_ids)]
        empty = [zone for zone in zone_ids if not any((kind, zone) in here for kind in types)]
        if lacking or empty:
            words = [f"{_some(lacking)} in none of its zones"] if lacking else []
            words += [f"nothing of it in {', '.join(empty)}"] if empty else []
            yield subject.warning(
                "OFFERING_PART", field, f"EC2 offers {' and '.join(words)}; name only what is offered", command
            )

    return Probe(path, f"where {_some(types)} is offered", ask)


def _some(types: tuple[str, ...] | list[str]) -> str:
    more = len(types) - 3
    return ", ".join(types[:3]) + (f" and {more} more" if more > 0 else "")
