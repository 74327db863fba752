"""Check: the service quotas cover the strategy's maximum need in addition to current usage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from eks_hardware import field_paths
from eks_hardware.aws_names import STRATEGY_TAG
from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.printable import number
from eks_hardware.quotas import Part, QuotaNeed, quota_needs

NAME = "quotas"
CALLS: tuple[str, ...] = (
    "ec2:DescribeAddresses",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeNatGateways",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "eks:ListClusters",
    "servicequotas:GetAWSDefaultServiceQuota",
    "servicequotas:GetServiceQuota",
    "servicequotas:ListRequestedServiceQuotaChangeHistoryByQuota",
)

_OPEN = ("PENDING", "CASE_OPENED")


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield up to two probes for each quota: for the strategy's need alone, and together with current usage."""
    for need in quota_needs(subject.strategy, subject.resolved, subject.catalogue):
        # A Capacity Block was counted at purchase.
        if need.code is None or need.key == "capacity-block":
            continue
        yield Probe(_path(need), f"quota {need.code}", partial(_enough, subject, need))
        if need.counts_vcpus or need.key in _IN_USE:
            yield Probe(_path(need), f"usage of {need.code}", partial(_with_current_usage, subject, need))


def _path(need: QuotaNeed) -> str:
    """Return the field with the highest need."""
    return max(need.parts, key=lambda part: part.needed).path


def _quota(need: QuotaNeed) -> str:
    return f"{need.name} ({need.service} {need.code})"


def _applied(need: QuotaNeed, aws: Aws) -> float:
    """Return the account's quota, or AWS's default if the account has no value of its own."""
    asked = {"ServiceCode": need.service, "QuotaCode": need.code}
    answer = aws.found(("NoSuchResourceException",), "service-quotas", "get_service_quota", **asked)
    if answer is None:
        answer = aws.call("service-quotas", "get_aws_default_service_quota", **asked)
    return float(answer["Quota"]["Value"])


def _enough(subject: Subject, need: QuotaNeed, aws: Aws) -> Iterator[Diagnosis]:
    applied, wanted = _applied(need, aws), need.needed + need.surge
    if applied >= wanted:
        return
    asked_for, command = _request(subject, need, aws, wanted)
    quota = f"{_quota(need)} is {number(applied)}"
    if applied < need.needed:
        parts = ", ".join(f"{_name(part)}: {part.text}" if part.text else _name(part) for part in need.parts)
        message = f"{quota}; the strategy needs up to {number(need.needed)}: {parts}{asked_for}"
        yield subject.error("QUOTA_TOO_LOW", _path(need), message, command)
    else:
        yield subject.warning(
            "QUOTA_UPDATE",
            _path(need),
            f"{quota}: enough for the maximum of {number(need.needed)}, but not for {number(need.surge)} more while "
            f"EKS updates node groups{asked_for}",
            command,
        )


def _with_current_usage(subject: Subject, need: QuotaNeed, aws: Aws) -> Iterator[Diagnosis]:
    applied = _applied(need, aws)
    if applied < need.needed:
        return  # already reported
    used = _vcpus_in_use(subject, need, aws) if need.counts_vcpus else _IN_USE[need.key](subject, aws)
    if applied >= need.needed + used:
        return
    asked_for, command = _request(subject, need, aws, need.needed + need.surge + used)
    text = (
        f"{_quota(need)} is {number(applied)}; {number(used)} are in use elsewhere, which leaves "
        f"{number(max(applied - used, 0))} of the {number(need.needed)} that the strategy needs{asked_for}"
    )
    if need.counts_vcpus:
        yield subject.warning("QUOTA_SHARED", _path(need), text, command)
    else:
        yield subject.error("QUOTA_EXHAUSTED", _path(need), text, command)


def _request(subject: Subject, need: QuotaNeed, aws: Aws, wanted: float) -> tuple[str, str]:
    """Return a text about an open request, and the command that requests an increase or shows the request."""
    command = subject.command(
        "service-quotas",
        "request-service-quota-increase",
        service_code=need.service,
        quota_code=need.code or "",
        desired_value=math.ceil(wanted),
    )
    try:
        history = aws.pages(
            "service-quotas",
            "list_requested_service_quota_change_history_by_quota",
            "RequestedQuotas",
            ServiceCode=need.service,
            QuotaCode=need.code,
        )
    except (CallError, DeniedError):
        return "", command  # the finding is correct without this text
    pending = [request for request in history if request.get("Status") in _OPEN]
    if not pending:
        return "", command
    newest = max(pending, key=lambda request: float(request.get("DesiredValue", 0)))
    show = subject.command("service-quotas", "get-requested-service-quota-change", request_id=newest["Id"])
    asked = float(newest.get("DesiredValue", 0))
    return f"; a request for {number(asked)} is open{'' if asked >= wanted else ', but it is too low'}", show


def _name(part: Part) -> str:
    return field_paths.name_of_item(part.path) or part.path


# --- usage by others


def _vcpus_in_use(subject: Subject, need: QuotaNeed, aws: Aws) -> float:
    """Return vCPUs of running instances outside this cluster, and of unused reservations."""
    running = [{"Name": "instance-state-name", "Values": ["running"]}]
    reservations = aws.pages("ec2", "describe_instances", "Reservations", Filters=running)
    instances = [instance for reservation in reservations for instance in reservation.get("Instances", ())]
    used = 0.0
    for instance in instances:
        lifecycle = instance.get("InstanceLifecycle", "on-demand")
        if lifecycle == need.key and not _of_this_cluster(subject, instance):
            used += _vcpus(subject, need, instance["InstanceType"])
    if need.key == "on-demand":
        named = _reservations_named(subject)
        for page in aws.pages("ec2", "describe_capacity_reservations", "CapacityReservations"):
            counts = page.get("OwnerId") == subject.caller.account and page.get("State") in _COUNTED_STATES
            block = page.get("ReservationType") == "capacity-block"
            if counts and not block and page["CapacityReservationId"] not in named:
                used += page.get("AvailableInstanceCount", 0) * _vcpus(subject, need, page["InstanceType"])
    return used


# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html#capacity-reservations-limits
_COUNTED_STATES = ("assessing", "scheduled", "pending", "active", "delayed")


def _vcpus(subject: Subject, need: QuotaNeed, instance_type: str) -> int:
    kind = subject.catalogue.find(instance_type)
    if kind is None:
        return 0
    code = kind.quota_code_spot if need.key == "spot" else kind.quota_code_on_demand
    return kind.vcpus if code == need.code else 0


def _reservations_named(subject: Subject) -> set[str | None]:
    groups = (group.reservation.id for group in subject.strategy.node_groups if group.reservation)
    return {*groups, *(reservation.id for pool in subject.pools for reservation in pool.reservations)}


def _of_this_cluster(subject: Subject, instance: Mapping[str, object]) -> bool:
    tags = _tags(instance)
    name = subject.resolved.name
    return f"kubernetes.io/cluster/{name}" in tags or name in (
        tags.get("eks:cluster-name"),
        tags.get("eks:eks-cluster-name"),
        tags.get("aws:eks:cluster-name"),
    )


def _tags(thing: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", ())}


def _others(subject: Subject, aws: Aws, operation: str, key: str, **parameters: object) -> list[Any]:
    """Return the resources that an EC2 call lists, except those of this strategy's deployment."""
    listed = aws.pages("ec2", operation, key, **parameters)
    return [gateway for gateway in listed if _tags(gateway).get(STRATEGY_TAG) != subject.resolved.name]


def _nat_gateways(subject: Subject, aws: Aws) -> int:
    """Return the highest number of other NAT gateways in any zone that gets one."""
    states = [{"Name": "state", "Values": ["pending", "available", "deleting"]}]
    gateways = _others(subject, aws, "describe_nat_gateways", "NatGateways", Filters=states)
    subnets = {
        page["SubnetId"]: page.get("AvailabilityZoneId") for page in aws.pages("ec2", "describe_subnets", "Subnets")
    }
    zones = [subnets.get(gateway.get("SubnetId")) for gateway in gateways]
    return max((zones.count(zone) for zone in subject.resolved.network.nat_zone_ids), default=0)


def _clusters(subject: Subject, aws: Aws) -> int:
    return len([name for name in aws.pages("eks", "list_clusters", "clusters") if name != subject.resolved.name])


_IN_USE: Mapping[str, Callable[[Subject, Aws], int]] = {
    "vpcs": lambda subject, aws: len(_others(subject, aws, "describe_vpcs", "Vpcs")),
    "internet_gateways": lambda subject, aws: len(
        _others(subject, aws, "describe_internet_gateways", "InternetGateways")
    ),
    "elastic_ips": lambda subject, aws: len(_others(subject, aws, "describe_addresses", "Addresses")),
    "nat_gateways": _nat_gateways,
    "clusters": _clusters,
}
