"""Check: the account has the zones, and EC2 offers each group's and pool's instance types in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eks_hardware import field_paths
from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.printable import plural
from eks_hardware.resolve import ResolvedNodes
from eks_hardware.resolve.zones import is_edge
from eks_hardware.suggestions import some

NAME = "offerings"
CALLS: tuple[str, ...] = ("ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypeOfferings")

_BY_ZONE = "availability-zone-id"
# EC2 accepts at most 200 values per filter:
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html
_VALUES = 200
_SHOWN = 3


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for the zones, then one for each group and pool."""
    yield Probe("network.zones", "zones of the account", partial(_zones, subject))
    by_path: dict[str, ResolvedNodes] = {
        **{field_paths.node_group(group.name): group for group in subject.resolved.node_groups},
        **{field_paths.node_pool(pool.name): pool for pool in subject.resolved.node_pools},
    }
    for path, nodes in by_path.items():
        yield Probe(
            path, f"where {some(nodes.instance_types, _SHOWN)} is offered", partial(_offered, subject, path, nodes)
        )


def _zones(subject: Subject, aws: Aws) -> Iterator[Diagnosis]:
    network = subject.resolved.network
    field = "network.existing" if network.existing else "network.zones"
    there = {zone["ZoneId"] for zone in aws.pages("ec2", "describe_availability_zones", "AvailabilityZones")}
    for zone in network.zone_ids:
        if zone not in there:
            way = "opt in to its zone group" if is_edge(zone) else f"choose available zones in {field}"
            yield subject.error(
                "ZONE_NOT_YOURS",
                field,
                f"zone {zone} is not available to the account (available: {', '.join(sorted(there))}); {way}",
                subject.command(
                    "ec2", "describe-availability-zones", query="AvailabilityZones[].[ZoneId,ZoneName,State]"
                ),
            )


def _offered(subject: Subject, path: str, nodes: ResolvedNodes, aws: Aws) -> Iterator[Diagnosis]:
    types, zone_ids = nodes.instance_types, nodes.zone_ids
    offered = {
        (page["InstanceType"], page["Location"])
        for start in range(0, len(types), _VALUES)
        for page in aws.pages(
            "ec2",
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType=_BY_ZONE,
            Filters=[{"Name": "instance-type", "Values": sorted(types[start : start + _VALUES])}],
        )
    }
    here = {(kind, zone) for kind, zone in offered if zone in zone_ids}
    field = f"{path}.instance_types"
    command = subject.command(
        "ec2",
        "describe-instance-type-offerings",
        location_type=_BY_ZONE,
        filters=f"Name=instance-type,Values={','.join(types)}",
        query="InstanceTypeOfferings[].[Location,InstanceType]",
    )
    if not here:
        elsewhere = ", ".join(sorted({zone for _, zone in offered}))
        where = f"choose zones where it does ({elsewhere})" if elsewhere else "choose another region"
        message = f"EC2 does not offer {some(types, _SHOWN)} in {' or '.join(zone_ids)}; {where}, or another type"
        yield subject.error("OFFERING_NONE", field, message, command)
        return
    lacking = [kind for kind in types if not any((kind, zone) in here for zone in zone_ids)]
    empty = [zone for zone in zone_ids if not any((kind, zone) in here for kind in types)]
    words = [f"{some(lacking, _SHOWN)} in {' or '.join(zone_ids)}"] if lacking else []
    words += [f"any of the instance types in {' or '.join(empty)}"] if empty else []
    if words:
        surplus = [
            f"{'this' if len(each) == 1 else 'these'} {plural(noun, len(each))}"
            for noun, each in (("type", lacking), ("zone", empty))
            if each
        ]
        message = f"EC2 does not offer {', or '.join(words)}; remove {' and '.join(surplus)}"
        yield subject.warning("OFFERING_PART", field, message, command)
