"""Volumes and storage classes of a strategy's shared storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from eks_hardware import facts
from eks_hardware.aws_names import limited
from eks_hardware.kubernetes.model import Object, ObjectRelease
from eks_hardware.kubernetes.references import Reference
from eks_hardware.resolve import ResolvedBucket, ResolvedFsxLustre, ResolvedStrategy
from eks_hardware.spellings import EBS_CLASS, EFS_CLASS, LUSTRE_CLASS

RELEASE = "storage"

_NO_PROVISIONER = "kubernetes.io/no-provisioner"

# Maximum length of a volume handle: https://github.com/container-storage-interface/spec/blob/master/spec.md#size-limits
_HANDLE = 128

# A claim must request a size, but a bucket has no size.
_BUCKET_SIZE = "1Ti"


def releases(resolved: ResolvedStrategy) -> Iterator[ObjectRelease]:
    """Yield the volumes and classes as one release; nothing without storage.

    The drivers are EKS add-ons on the AWS side. Only one claim in one namespace can bind a volume. There is therefore
    one volume that any namespace may claim, and one for each team, reserved for a claim with the volume's plain name in
    the team's namespace.
    """
    objects = tuple(_objects(resolved))
    if objects:
        yield ObjectRelease(name=RELEASE, namespace="kube-system", objects=objects)


def bucket_volume(bucket: str) -> str:
    """Return the name of a bucket's volume.

    >>> bucket_volume("acme-datasets")
    's3-acme-datasets'
    """
    return f"s3-{bucket}"


def _objects(resolved: ResolvedStrategy) -> Iterator[Object]:
    storage = resolved.storage
    if any(addon.name == facts.storage()["csi"]["ebs"]["addon"] for addon in resolved.cluster.addons):
        yield _ebs_class()
    if storage.fsx_lustre:
        # No provisioner, so that no claim creates a file system.
        yield _class(LUSTRE_CLASS, _NO_PROVISIONER, reclaimPolicy="Retain", volumeBindingMode="Immediate")
    if storage.efs:
        yield _efs_class()
    for team in (None, *(each.name for each in resolved.kubernetes.teams)):
        if storage.fsx_lustre:
            yield _lustre_volume(storage.fsx_lustre, team)
        for bucket in storage.buckets:
            yield _bucket_volume(bucket, resolved.region, team)


def _driver(kind: Literal["ebs", "efs", "fsx_lustre", "s3"]) -> str:
    return facts.storage()["csi"][kind]["driver"]


def _class(name: str, provisioner: str, **fields: object) -> dict[str, object]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        **fields,
    }


def _ebs_class() -> dict[str, object]:
    """Return the default storage class, because EKS creates none from Kubernetes 1.30 on.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html (Kubernetes 1.30)
    """
    default = _class(
        EBS_CLASS,
        _driver("ebs"),
        # A volume exists in one zone, which must be the pod's.
        volumeBindingMode="WaitForFirstConsumer",
        reclaimPolicy="Delete",
        allowVolumeExpansion=True,
        parameters={"type": "gp3", "encrypted": "true"},
    )
    default["metadata"] = {"name": EBS_CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    return default


def _lustre_volume(fsx: ResolvedFsxLustre, team: str | None) -> dict[str, object]:
    """Return the file system as a volume that any number of pods can mount.

    Source: https://github.com/kubernetes-sigs/aws-fsx-csi-driver/tree/v1.9.0/examples/kubernetes/static_provisioning
    """
    return _volume(
        LUSTRE_CLASS,
        team,
        size=f"{fsx.size_gib}Gi",
        storage_class=LUSTRE_CLASS,
        read_only=False,
        # Enables file locks across nodes, which many data loaders and checkpoint libraries use.
        mount_options=["flock"],
        csi={
            "driver": _driver("fsx_lustre"),
            "volumeHandle": _for_team(Reference.FSX_ID.text, team),
            "volumeAttributes": {"dnsname": Reference.FSX_DNS_NAME.text, "mountname": Reference.FSX_MOUNT_NAME.text},
        },
    )


def _efs_class() -> dict[str, object]:
    """Return a storage class that gives each claim an access point: a directory with its own owner.

    Source: https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/v3.4.1/docs/parameters.md
    """
    return _class(
        EFS_CLASS,
        _driver("efs"),
        reclaimPolicy="Delete",
        volumeBindingMode="Immediate",
        parameters={"provisioningMode": "efs-ap", "fileSystemId": Reference.EFS_ID.text, "directoryPerms": "700"},
    )


def _bucket_volume(bucket: ResolvedBucket, region: str, team: str | None) -> dict[str, object]:
    """Return a bucket as a volume.

    Source: https://github.com/awslabs/mountpoint-s3-csi-driver/blob/v2.7.0/docs/CONFIGURATION.md#static-provisioning
    """
    name = bucket_volume(bucket.name)
    options = ["read-only"] if bucket.read_only else ["allow-delete", "allow-overwrite"]
    return _volume(
        name,
        team,
        size=_BUCKET_SIZE,
        storage_class="",
        read_only=bucket.read_only,
        mount_options=[*options, f"region {region}"],
        csi={
            "driver": _driver("s3"),
            "volumeHandle": _for_team(name, team),
            "volumeAttributes": {"bucketName": bucket.name},
        },
    )


def _for_team(name: str, team: str | None) -> str:
    """Return a unique name for a volume and its handle, because a node mounts each handle only once.

    No volume that any namespace may claim has this prefix, and no team's name contains a dot.
    """
    return limited(f"team.{team}", name, limit=_HANDLE, separator=".") if team else name


def _volume(
    name: str,
    team: str | None,
    *,
    size: str,
    storage_class: str,
    read_only: bool,
    mount_options: list[str],
    csi: dict[str, object],
) -> dict[str, object]:
    kept_for = {"claimRef": {"namespace": team, "name": name}} if team else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _for_team(name, team)},
        "spec": {
            **kept_for,
            "capacity": {"storage": size},
            "volumeMode": "Filesystem",
            "accessModes": ["ReadOnlyMany" if read_only else "ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": storage_class,
            "mountOptions": mount_options,
            "csi": csi,
        },
    }
