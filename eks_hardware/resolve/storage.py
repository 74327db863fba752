"""Resolve ``storage``: file systems, their zones, and what nodes need to mount them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eks_hardware import aws_names, facts
from eks_hardware.iam_policies import storage as policies
from eks_hardware.iam_policies.document import Statement
from eks_hardware.models import FsxLustre, StorageSpec
from eks_hardware.resolve.model import Reasons
from eks_hardware.resolve.model_kubernetes import ResolvedBucket, ResolvedEfs, ResolvedFsxLustre, ResolvedStorage

_DEPLOYMENT_TYPES = {"persistent-2": "PERSISTENT_2", "scratch-2": "SCRATCH_2"}
_PERSISTENT_THROUGHPUT_MIBPS_PER_TIB = 250


def storage_addons(storage: StorageSpec, *, partition: str = "aws") -> Mapping[str, tuple[Statement, ...]]:
    """EKS add-ons that the storage needs, its CSI drivers, each with its permissions.

    None stand for the managed policies of the add-on: EFS makes an access point for each claim.
    """
    csi = facts.storage("csi")
    needed: dict[str, tuple[Statement, ...]] = {}
    if storage.fsx_lustre:
        needed[csi["fsx_lustre"]["addon"]] = policies.lustre_volumes()
    if storage.efs:
        needed[csi["efs"]["addon"]] = ()
    if storage.s3_buckets:
        needed[csi["s3"]["addon"]] = policies.mounted_buckets(
            [(bucket.name, bucket.read_only) for bucket in storage.s3_buckets], partition=partition
        )
    return needed


def node_shell(storage: StorageSpec) -> tuple[str, ...]:
    """Shell lines that an AL2023 node runs before it joins: the Lustre client is not part of the EKS image."""
    return tuple(facts.storage("lustre_client")["al2023"]) if storage.fsx_lustre else ()


def fsx_zone(storage: StorageSpec, nodes: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    """The zone of the Lustre file system: its own, else the first zone of the first training group or pool.

    Args:
        nodes: workload and zones of every group and pool, those with EFA first.
    """
    if storage.fsx_lustre is None:
        return None
    if storage.fsx_lustre.zone:
        return storage.fsx_lustre.zone
    training = [zones for workload, zones in nodes if workload == "training"]
    others = [zones for workload, zones in nodes if workload != "system"]
    return (training or others or [zones for _, zones in nodes])[0][0]


def resolve_storage(
    storage: StorageSpec, *, name: str, zone_ids: tuple[str, ...], fsx_zone_id: str | None
) -> ResolvedStorage:
    """Derive the file systems of the cluster ``name``, whose network has the zones ``zone_ids``."""
    why = Reasons()
    return ResolvedStorage(
        fsx_lustre=why.given(
            "fsx_lustre",
            _fsx_lustre(storage.fsx_lustre, name, fsx_zone_id) if storage.fsx_lustre and fsx_zone_id else None,
            when=storage.fsx_lustre is not None,
            otherwise="not asked for",
        ),
        efs=why.given("efs", _efs(storage, name, zone_ids), when=storage.efs is not None, otherwise="not asked for"),
        buckets=why.given(
            "buckets",
            tuple(ResolvedBucket(bucket.name, bucket.read_only) for bucket in storage.s3_buckets),
            when=bool(storage.s3_buckets),
            otherwise="not asked for",
        ),
        reasons=why.frozen(),
    )


def _fsx_lustre(fsx: FsxLustre, name: str, zone_id: str) -> ResolvedFsxLustre:
    why = Reasons()
    given = fsx.model_fields_set
    persistent = fsx.deployment == "persistent-2"
    throughput = fsx.throughput_mibps_per_tib or _PERSISTENT_THROUGHPUT_MIBPS_PER_TIB
    ports = facts.storage("lustre_ports")
    version = facts.storage("lustre_version")
    return ResolvedFsxLustre(
        name=why.rule("name", aws_names.limited(name, "lustre", limit=aws_names.TAG_VALUE), "its Name tag"),
        zone_id=why.given(
            "zone_id",
            zone_id,
            when=fsx.zone is not None,
            otherwise="the zone of the training nodes, which pay for traffic between zones and wait for it",
        ),
        size_gib=why.given("size_gib", fsx.size_gib, when="size_gib" in given, otherwise="the smallest that FSx makes"),
        deployment_type=why.given(
            "deployment_type",
            _DEPLOYMENT_TYPES[fsx.deployment],
            when="deployment" in given,
            otherwise="data outlives a failed server",
        ),
        throughput_mibps_per_tib=why.given(
            "throughput_mibps_per_tib",
            throughput if persistent else None,
            when=fsx.throughput_mibps_per_tib is not None,
            otherwise="a usual choice for training" if persistent else "scratch file systems have no choice",
        ),
        lustre_version=why.rule("lustre_version", version["version"], version["why"], source=version["source"]),
        kms_key_arn=why.given(
            "kms_key_arn", fsx.kms_key_arn, when=fsx.kms_key_arn is not None, otherwise="the account's FSx key"
        ),
        security_group_name=why.rule(
            "security_group_name",
            aws_names.security_group(name, "lustre"),
            "clients and servers, at most 255 characters",
        ),
        ports=why.rule(
            "ports", tuple((low, high) for low, high in ports["tcp"]), "those of Lustre", source=ports["source"]
        ),
        reasons=why.frozen(),
    )


def _efs(storage: StorageSpec, name: str, zone_ids: tuple[str, ...]) -> ResolvedEfs | None:
    efs = storage.efs
    if efs is None:
        return None
    why = Reasons()
    port = facts.storage("nfs_port")
    return ResolvedEfs(
        name=why.rule(
            "name", aws_names.limited(name, "efs", limit=aws_names.EFS_TOKEN), "its Name tag and creation token"
        ),
        throughput_mode=why.given(
            "throughput_mode",
            efs.throughput,
            when="throughput" in efs.model_fields_set,
            otherwise="grows and shrinks with the load",
        ),
        kms_key_arn=why.given(
            "kms_key_arn", efs.kms_key_arn, when=efs.kms_key_arn is not None, otherwise="the account's EFS key"
        ),
        security_group_name=why.rule(
            "security_group_name", aws_names.security_group(name, "efs"), "NFS from the nodes, at most 255 characters"
        ),
        zone_ids=why.rule("zone_ids", zone_ids, "a mount target in every zone that has nodes"),
        port=why.rule("port", port["tcp"], "that of NFS", source=port["source"]),
        reasons=why.frozen(),
    )
