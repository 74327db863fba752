"""Resolve ``storage``: file systems, their zones, and the software that nodes need to mount them."""

from __future__ import annotations

from dataclasses import dataclass

from eks_hardware import aws_names, facts
from eks_hardware.models import Efs, FsxLustre, StorageSpec
from eks_hardware.resolve.derived import (
    Derived,
    Resolver,
    default,
    optional,
    rule,
    stated,
    stated_field,
    stated_if,
    stated_or,
)
from eks_hardware.resolve.model_kubernetes import ResolvedBucket, ResolvedEfs, ResolvedFsxLustre, ResolvedStorage


def resolve_storage(
    storage: StorageSpec, *, name: str, zone_ids: tuple[str, ...], fsx_zone_id: str | None
) -> ResolvedStorage:
    """Derive the file systems of a cluster; ``zone_ids`` are the zones of its network."""
    return _Storage(storage, name, zone_ids, fsx_zone_id).collect()


@dataclass(frozen=True)
class _Storage(Resolver[ResolvedStorage]):
    kind = ResolvedStorage
    _spec: StorageSpec
    _name: str
    _zone_ids: tuple[str, ...]
    _fsx_zone_id: str | None

    def fsx_lustre(self) -> Derived[ResolvedFsxLustre | None]:
        given, zone = self._spec.fsx_lustre, self._fsx_zone_id
        return optional(
            _FsxLustre(given, self._name, zone).collect() if given and zone else None, "not in the strategy"
        )

    def efs(self) -> Derived[ResolvedEfs | None]:
        given = self._spec.efs
        return optional(_Efs(given, self._name, self._zone_ids).collect() if given else None, "not in the strategy")

    def buckets(self) -> Derived[tuple[ResolvedBucket, ...]]:
        buckets = tuple(ResolvedBucket(bucket.name, bucket.read_only) for bucket in self._spec.s3_buckets)
        if all("read_only" in bucket.model_fields_set for bucket in self._spec.s3_buckets):
            return stated_if(bool(buckets), buckets, "not in the strategy")
        row = facts.choices.cite(lambda file: file["mounted_bucket"]["read_only"])
        return stated(buckets, "as set in the strategy; read-only by default", row)


@dataclass(frozen=True)
class _FsxLustre(Resolver[ResolvedFsxLustre]):
    kind = ResolvedFsxLustre
    _spec: FsxLustre
    _name: str
    _zone_id: str

    def name(self) -> Derived[str]:
        return rule(aws_names.limited(self._name, "lustre", limit="tag_value"), "the file system's Name tag")

    def zone_id(self) -> Derived[str]:
        otherwise = "the zone of the training nodes: traffic between zones costs money and adds latency"
        return stated_if(self._spec.zone is not None, self._zone_id, otherwise)

    def size_gib(self) -> Derived[int]:
        row = facts.choices.cite(lambda file: file["fsx_lustre_size"]["size_gib"])
        return stated_field(self._spec, "size_gib", row, "the smallest size that FSx offers")

    def deployment(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["fsx_lustre_deployment"]["deployment"])
        return stated_field(self._spec, "deployment", row, "data survives a server failure")

    def throughput_mibps_per_tib(self) -> Derived[int | None]:
        if self._spec.deployment != "persistent-2":
            return default(None, "not configurable for scratch file systems")
        row = facts.choices.cite(lambda file: file["fsx_lustre"]["throughput_mibps_per_tib"])
        return stated_or(self._spec.throughput_mibps_per_tib, row, "a common choice for training")

    def lustre_version(self) -> Derived[str]:
        row = facts.storage.cite(lambda file: file["lustre_version"]["version"])
        return rule(row.value, facts.storage()["lustre_version"]["why"], row)

    def kms_key_arn(self) -> Derived[str | None]:
        return optional(self._spec.kms_key_arn, "the account's FSx key")

    def security_group_name(self) -> Derived[str]:
        name, most = aws_names.security_group(self._name, "lustre"), aws_names.longest("security_group")
        return rule(name, f"the security group of clients and servers, at most {most.value} characters", most)

    def ports(self) -> Derived[tuple[tuple[int, int], ...]]:
        row = facts.storage.cite(lambda file: file["lustre_ports"]["tcp"])
        return rule(tuple((low, high) for low, high in row.value), "Lustre's ports", row)


@dataclass(frozen=True)
class _Efs(Resolver[ResolvedEfs]):
    kind = ResolvedEfs
    _spec: Efs
    _name: str
    _zone_ids: tuple[str, ...]

    def name(self) -> Derived[str]:
        text = "the file system's Name tag and creation token"
        return rule(aws_names.limited(self._name, "efs", limit="efs_token"), text)

    def throughput_mode(self) -> Derived[str]:
        row = facts.choices.cite(lambda file: file["efs_throughput"]["throughput"])
        return stated_field(self._spec, "throughput", row, "scales with the load")

    def kms_key_arn(self) -> Derived[str | None]:
        return optional(self._spec.kms_key_arn, "the account's EFS key")

    def security_group_name(self) -> Derived[str]:
        name, most = aws_names.security_group(self._name, "efs"), aws_names.longest("security_group")
        return rule(name, f"the security group for NFS from the nodes, at most {most.value} characters", most)

    def zone_ids(self) -> Derived[tuple[str, ...]]:
        return rule(self._zone_ids, "a mount target in every zone that has nodes")

    def port(self) -> Derived[int]:
        row = facts.storage.cite(lambda file: file["nfs_port"]["tcp"])
        return rule(row.value, "the NFS port", row)
