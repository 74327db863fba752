"""Check: Service Quotas allow what the strategy needs at its most, beside what is in use already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eks_hardware import field_paths
from eks_hardware.doctor.aws import Aws, CallError, DeniedError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
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
_OURS = "eks-hardware/strategy"


def probes(subject: Subject) -> Iterator[Probe]:
    """Two for each quota: whether it is enough at all, and beside what is in use."""
    for need in quota_needs(subject.strategy, subject.resolved, subject.catalogue):
        # A capacity block was counted when it was bought.
        if need.code is None or need.key == "capacity-block":
            continue
        yield _enough(subject, need)
        if need.counts_vcpus or need.key in _IN_USE:
            yield _beside(subject, need)


def _path(need: QuotaNeed) -> str:
    """The field that asks for the most."""
    return max(need.parts, key=lambda part: part.needed).path


def _quota(need: QuotaNeed) -> str:
    return f"{need.name} ({need.service} {need.code})"


def _applied(need: QuotaNeed, aws: Aws) -> float:
    """The account's value; the default where Service Quotas knows no other."""
    asked = {"ServiceCode": need.service, "QuotaCode": need.code}
    try:
        return float(aws.call("service-quotas", "get_service_quota", **asked)["Quota"]["Value"])
    except CallError as error:
        if error.code != "NoSuchResourceException":
            raise
    return float(aws.call("service-quotas", "get_aws_default_service_quota", **asked)["Quota"]["Value"])


def _enough(subject: Subject, need: QuotaNeed) -> Probe:
    def ask(aws: Aws) -> Iterator[Diagnosis]:
        applied = _applied(need, aws)
        if applied >= need.needed + need.surge:
            return
        wanted = need.needed + need.surge
        asked_for, command = _request(subject, need, aws, wanted)
        if applied < need.needed:
            yield subject.error(
                "QUOTA_TOO_LOW",
                _path(need),
                f"{_quota(need)} is {_number(applied)}; the strategy needs {_number(need.needed)} at its most: "
                f"{_parts(need)}{asked_for}",
                command,
            )
        else:
            yield subject.warning(
                "QUOTA_UPDATE",
                _path(need),
                f"{_quota(need)} is {_number(applied)}: enough for {_number(need.needed)} at the most, but not for "
                f"{_number(need.surge)} more while EKS updates node groups{asked_for}",
                command,
            )

    return Probe(_path(need), f"quota {need.code}", ask)


def _beside(subject: Subject, need: QuotaNeed) -> Probe:
    def ask(aws: Aws) -> Iterator[Diagnosis]:
        applied = _applied(need, aws)
        if applied < need.needed:
            return  # said already
        used = _vcpus_in_use(subject, need, aws) if need.counts_vcpus else _IN_USE[need.key](subject, aws)
        if applied >= need.needed + used:
            return
        asked_for, command = _request(subject, need, aws, need.needed + need.surge + used)
        text = (
            f"{_quota(need)} is {_number(applied)}; others use {_number(used)}, which leaves "
            f"{_number(max(applied - used, 0))} of the {_number(need.needed)} that the strategy needs{asked_for}"
        )
        if need.counts_vcpus:
            yield subject.warning("QUOTA_SHARED", _path(need), text, command)
        else:
            yield subject.error("QUOTA_EXHAUSTED", _path(need), text, command)

    return Probe(_path(need), f"what is in use of {need.code}", ask)


def _request(subject: Subject, need: QuotaNeed, aws: Aws, wanted: float) -> tuple[str, str]:
    """What is said of a request that is open, and the command that asks for more or shows it."""
    region = subject.resolved.region
    command = aws_command(
        "service-quotas",
        "request-service-quota-increase",
        service_code=need.service,
        quota_code=need.code or "",
        desired_value=_rounded(wanted),
        region=region,
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
        return "", command  # the finding stands without it
    pending = [each for each in history if each.get("Status") in _OPEN]
    if not pending:
        return "", command
    newest = max(pending, key=lambda each: float(each.get("DesiredValue", 0)))
    show = aws_command("service-quotas", "get-requested-service-quota-change", request_id=newest["Id"], region=region)
    asked = float(newest.get("DesiredValue", 0))
    return f"; a request for {_number(asked)} is open{'' if asked >= wanted else ', which is too little'}", show


def _parts(need: QuotaNeed) -> str:
    return ", ".join(f"{_name(part)}: {part.text}" if part.text else _name(part) for part in need.parts)


def _name(part: Part) -> str:
    return field_paths.name_of_item(part.path) or part.path


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _rounded(value: float) -> int:
    return int(value) if float(value).is_integer() else int(value) + 1


# --- what others use


def _vcpus_in_use(subject: Subject, need: QuotaNeed, aws: Aws) -> float:
    """vCPUs of running instances of other clusters and of none, and of reservations that nobody uses."""
    reservations = aws.pages(
        "ec2",
        "describe_instances",
        "Reservations",
        Filters=[{"Name": "instance-state-name", "Values": ["running"]}],
    )
    instances = [each for reservation in reservations for each in reservation.get("Instances", ())]
    used = 0.0
    for each in instances:
        lifecycle = each.get("InstanceLifecycle", "on-demand")
        if lifecycle == need.key and not _of_this_cluster(subject, each):
            used += _vcpus(subject, need, each["InstanceType"])
    if need.key == "on-demand":
        named = _reservations_named(subject)
        for each in aws.pages("ec2", "describe_capacity_reservations", "CapacityReservations"):
            counts = each.get("OwnerId") == subject.caller.account and each.get("State") in _COUNTED_STATES
            block = each.get("ReservationType") == "capacity-block"
            if counts and not block and each["CapacityReservationId"] not in named:
                used += each.get("AvailableInstanceCount", 0) * _vcpus(subject, need, each["InstanceType"])
    return used


# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html#capacity-reservations-limits
_COUNTED_STATES = ("assessing", "scheduled", "pending", "active", "delayed")


def _vcpus(subject: Subject, need: QuotaNeed, instance_type: str) -> int:
    kind = subject.catalogue.find(instance_type)
    if kind is None:
        return 0
    code = kind.quota_code_spot if need.key == "spot" else kind.quota_code_on_demand
    return kind.vcpus if code == need.code else 0


def _reservations_named(subject: Subject) -> set[str]:
    strategy = subject.strategy
    groups = [group.reservation.id for group in strategy.node_groups if group.reservation]
    pools = strategy.karpenter.node_pools if strategy.karpenter else ()
    return {each for each in (*groups, *(one.id for pool in pools for one in pool.reservations)) if each}


def _of_this_cluster(subject: Subject, instance: Mapping[str, Any]) -> bool:
    tags = _tags(instance)
    name = subject.resolved.name
    return f"kubernetes.io/cluster/{name}" in tags or name in (
        tags.get("eks:cluster-name"),
        tags.get("eks:eks-cluster-name"),
        tags.get("aws:eks:cluster-name"),
    )


def _tags(thing: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", ())}


def _others(subject: Subject, things: list[Any]) -> list[Any]:
    """Without those that a deployment of this strategy made."""
    return [each for each in things if _tags(each).get(_OURS) != subject.resolved.name]


def _vpcs(subject: Subject, aws: Aws) -> int:
    return len(_others(subject, aws.pages("ec2", "describe_vpcs", "Vpcs")))


def _internet_gateways(subject: Subject, aws: Aws) -> int:
    return len(_others(subject, aws.pages("ec2", "describe_internet_gateways", "InternetGateways")))


def _addresses(subject: Subject, aws: Aws) -> int:
    return len(_others(subject, aws.pages("ec2", "describe_addresses", "Addresses")))


def _nat_gateways(subject: Subject, aws: Aws) -> int:
    """Those in the fullest of the zones that get one."""
    found = aws.pages(
        "ec2",
        "describe_nat_gateways",
        "NatGateways",
        Filters=[{"Name": "state", "Values": ["pending", "available", "deleting"]}],
    )
    subnets = {
        each["SubnetId"]: each.get("AvailabilityZoneId") for each in aws.pages("ec2", "describe_subnets", "Subnets")
    }
    zones = [subnets.get(each.get("SubnetId")) for each in _others(subject, found)]
    return max((zones.count(zone) for zone in subject.resolved.network.nat_zone_ids), default=0)


def _clusters(subject: Subject, aws: Aws) -> int:
    return len([name for name in aws.pages("eks", "list_clusters", "clusters") if name != subject.resolved.name])


_IN_USE: Mapping[str, Callable[[Subject, Aws], int]] = {
    "vpcs": _vpcs,
    "internet_gateways": _internet_gateways,
    "elastic_ips": _addresses,
    "nat_gateways": _nat_gateways,
    "clusters": _clusters,
}
