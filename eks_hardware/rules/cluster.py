"""Rules about the control plane (region, version, keys) and the AWS provider."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from eks_hardware import facts
from eks_hardware.models import S3BackendSpec
from eks_hardware.printable import quoted
from eks_hardware.resolve.provider_versions import provider_floor
from eks_hardware.rules.registry import Breach, Context, error, node_path, warning
from eks_hardware.versions import numbers

_ENDING_SOON = datetime.timedelta(days=90)


@error("REGION_UNKNOWN")
def _region(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    if not context.region_known:
        yield "region", context.catalogue.not_listed(region)
    backend = context.strategy.backend
    if isinstance(backend, S3BackendSpec) and backend.region and backend.region not in context.catalogue.regions:
        yield "backend.region", context.catalogue.not_listed(backend.region)


@error("STATE_PARTITION")
def _state_partition(context: Context) -> Iterator[Breach]:
    backend, region = context.strategy.backend, context.strategy.region
    if not isinstance(backend, S3BackendSpec) or not backend.region or backend.profile:
        return
    if facts.partition(backend.region) != facts.partition(region):
        yield (
            "backend.region",
            f"credentials for {region} do not work in {backend.region}, which is in another AWS partition; use a "
            "bucket in the same partition, or set backend.profile",
        )


@warning("STATE_UNSAFE")
def _state_unsafe(context: Context) -> Iterator[Breach]:
    backend = context.strategy.backend
    if not isinstance(backend, S3BackendSpec):
        return
    if not backend.lock:
        yield "backend.lock", "two runs at the same time can overwrite each other's state; remove this line"
    if backend.bucket.endswith(facts.account()["bucket_names"]["directory_suffix"]):
        yield (
            "backend.bucket",
            "directory buckets keep no earlier versions of the state, and HashiCorp has not tested them; use a general "
            "purpose bucket with versioning",
        )
    mounted = next((each for each in context.strategy.storage.s3_buckets if each.name == backend.bucket), None)
    if mounted:
        access = "read" if mounted.read_only else "read and overwrite"
        yield (
            "backend.bucket",
            f"storage.s3_buckets lets pods {access} everything in this bucket, including the state; use another bucket",
        )


@warning("REGION_OFFERINGS_UNREAD")
def _offerings_unread(context: Context) -> Iterator[Breach]:
    region = context.strategy.region
    known = context.catalogue.offerings_known(region)
    if known != "zone":
        gap = {
            "region": f"the zones of {region} that offer each type are unknown, so a type is accepted in all of them",
            "nothing": f"the instance types that {region} offers are unknown, so all are accepted",
        }[known]
        ask = f"aws ec2 describe-instance-type-offerings --region {region} --location-type availability-zone-id"
        yield "region", f"{gap}; check your types with `{ask}`"


@error("KUBERNETES_VERSION_UNSUPPORTED")
def _version(context: Context) -> Iterator[Breach]:
    supported = facts.eks()["versions"]["supported"]
    version = context.strategy.cluster.kubernetes_version
    alive = ", ".join(each for each, dates in supported.items() if context.today <= _date(dates["extended_until"]))
    if _is_newer(version, supported):
        return
    if version not in supported:
        yield "cluster.kubernetes_version", f"EKS does not support {version}; use one of {alive}"
    elif context.today > _date(end := supported[version]["extended_until"]):
        yield "cluster.kubernetes_version", f"support for {version} ended on {end}; use one of {alive}"


def _is_newer(version: str, recorded: Iterable[str]) -> bool:
    """Return whether a Kubernetes version is newer than every recorded one."""
    return numbers(version) > max(map(numbers, recorded))


@warning("KUBERNETES_VERSION_UNREAD")
def _version_unread(context: Context) -> Iterator[Breach]:
    version, versions = context.strategy.cluster.kubernetes_version, facts.eks()["versions"]
    if _is_newer(version, versions["supported"]):
        newest = max(versions["supported"], key=numbers)
        yield (
            "cluster.kubernetes_version",
            f"{version} is newer than the newest recorded version ({versions['as_of']}); EKS may support it, but "
            f"nothing here was checked against it; use {newest}",
        )


def _date(text: str | None) -> datetime.date:
    """Return the date; the latest possible date if it is not known yet."""
    return datetime.date.fromisoformat(text) if text else datetime.date.max


@warning("KUBERNETES_VERSION_ENDING")
def _version_ending(context: Context) -> Iterator[Breach]:
    version = context.strategy.cluster.kubernetes_version
    supported = facts.eks()["versions"]["supported"]
    dates = supported.get(version)
    if not dates:
        return
    end = _date(dates["standard_until"])
    if end - _ENDING_SOON <= context.today <= _date(dates["extended_until"]):
        follows = (
            f"EKS upgrades the control plane {'at any time' if end < context.today else 'then'} (upgrade_policy: "
            "extended avoids this)"
            if context.strategy.cluster.upgrade_policy == "standard"
            else "extended support costs about six times as much per hour"
        )
        verb = "ended" if end < context.today else "ends"
        longer = [each for each, of in supported.items() if _date(of["standard_until"]) - _ENDING_SOON > context.today]
        default = facts.eks()["versions"]["default"]
        better = default if default in longer else next(reversed(longer), None)
        hint = f"; {better} is supported longer (EKS upgrades one minor version at a time)" if better else ""
        yield "cluster.kubernetes_version", f"standard support for {version} {verb} on {end}; {follows}{hint}"


@error("PROVIDER_VERSION_TOO_LOW")
def _provider_version(context: Context) -> Iterator[Breach]:
    wanted = context.strategy.aws.version
    if wanted is None:
        return
    floor, reason = provider_floor(context.strategy)
    # Upper bounds and exclusions (!=) do not raise the lower end.
    stated = re.findall(r"(?:^|,)\s*(?:>=|>|~>|=)?\s*(\d+(?:\.\d+){0,2})\s*(?=,|$)", wanted)
    lowest = max((numbers(text) for text in stated), default=(0, 0, 0))
    if lowest < numbers(floor):
        yield "aws.version", f"{quoted(wanted)} allows versions before {floor} ({reason}); write '>= {floor}, < 7.0.0'"


_Version: TypeAlias = tuple[int, int, int]
_NO_END: _Version = (10**9, 0, 0)


@error("PROVIDER_VERSION_IMPOSSIBLE")
def _provider_range(context: Context) -> Iterator[Breach]:
    wanted = context.strategy.aws.version
    if wanted is not None and _is_empty(wanted):
        floor, _ = provider_floor(context.strategy)
        yield (
            "aws.version",
            f"no version matches {quoted(wanted)}; write '>= {floor}, < {facts.eks()['provider_versions']['below']}'",
        )


_OPERATOR_AND_VERSION = re.compile(r"(!=|>=|<=|~>|=|>|<)?\s*(\d+(?:\.\d+){0,2})")


def _is_empty(wanted: str) -> bool:
    """Return whether no version meets all constraints."""
    lowest, below = (0, 0, 0), _NO_END
    excluded: set[_Version] = set()
    for operator, text in _OPERATOR_AND_VERSION.findall(wanted):
        version = numbers(text)
        following = _following(version)
        if operator == "!=":
            excluded.add(version)
        if operator in ("", "=", ">=", "~>"):
            lowest = max(lowest, version)
        if operator == ">":
            lowest = max(lowest, following)
        if operator == "<":
            below = min(below, version)
        if operator in ("", "=", "<="):
            below = min(below, following)
        if operator == "~>":
            # ~> 6.2 ends before 7, ~> 6.2.1 before 6.3; ~> 6 has no end.
            major, minor, _ = version
            below = min(below, {0: _NO_END, 1: (major + 1, 0, 0), 2: (major, minor + 1, 0)}[text.count(".")])
    while lowest in excluded:
        lowest = _following(lowest)
    return lowest >= below


def _following(version: _Version) -> _Version:
    major, minor, patch = version
    return major, minor, patch + 1


def kms_keys(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path and ARN of every KMS key, except the backend's."""
    strategy = context.strategy
    keys = {"cluster.secrets_encryption.kms_key_arn": strategy.cluster.secrets_encryption.kms_key_arn}
    keys |= {node_path(node, "disk.kms_key_arn"): node.disk.kms_key_arn for node in context.nodes}
    for name, storage in (("fsx_lustre", strategy.storage.fsx_lustre), ("efs", strategy.storage.efs)):
        keys[f"storage.{name}.kms_key_arn"] = storage.kms_key_arn if storage else None
    return ((path, arn) for path, arn in keys.items() if arn)


@error("KMS_KEY_REGION")
def _key_region(context: Context) -> Iterator[Breach]:
    strategy = context.strategy
    for path, arn in kms_keys(context):
        if arn.split(":")[3] != strategy.region:
            yield (
                path,
                f"the key must be in {strategy.region} like the cluster, got {arn.split(':')[3]}; use a key in "
                f"{strategy.region}",
            )
    backend = strategy.backend
    if isinstance(backend, S3BackendSpec) and backend.kms_key_arn:
        region = backend.region or strategy.region
        if backend.kms_key_arn.split(":")[3] != region:
            yield (
                "backend.kms_key_arn",
                f"the key must be in {region} like the bucket, got {backend.kms_key_arn.split(':')[3]}; use a key "
                f"in {region}, or set backend.region",
            )
