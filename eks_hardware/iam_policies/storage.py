"""Permissions of the CSI drivers, limited to the needs of a strategy's ``storage`` section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eks_hardware import facts
from eks_hardware.iam_policies.document import Statement, allow

PAGES = {
    "fsx_lustre": "https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/v1.9.0/pkg/cloud/cloud.go "
    "(pollFileSystems)",
    "s3": "https://github.com/awslabs/mountpoint-s3/blob/main/doc/CONFIGURATION.md#iam-permissions",
}
"""The permissions' sources, by the strategy's file system."""


def lustre_volumes() -> tuple[Statement, ...]:
    """Return the FSx driver's permissions for existing file systems, which the driver lists repeatedly.

    Mounting needs no permissions. Creating and deleting file systems does: an add-on that a strategy names in
    ``cluster.addons`` therefore gets the policy that EKS documents.
    """
    return (allow("ListFileSystems", ["fsx:DescribeFileSystems"], ["*"]),)


def mounted_buckets(buckets: Sequence[tuple[str, bool]], *, partition: str) -> tuple[Statement, ...]:
    """Return Mountpoint's permissions for each bucket.

    Args:
        buckets: bucket names, and whether they are read-only.
    """
    suffix = facts.account()["bucket_names"]["directory_suffix"]
    general = [(name, read_only) for name, read_only in buckets if not name.endswith(suffix)]
    directory = [(name, read_only) for name, read_only in buckets if name.endswith(suffix)]
    return (*_general_buckets(general, partition), *_directory_buckets(directory, partition))


def _general_buckets(buckets: Sequence[tuple[str, bool]], partition: str) -> Iterator[Statement]:
    arns = {name: f"arn:{partition}:s3:::{name}" for name, _ in buckets}
    written = [f"{arns[name]}/*" for name, read_only in buckets if not read_only]
    if arns:
        yield allow("ListBuckets", ["s3:ListBucket"], list(arns.values()))
        yield allow("ReadObjects", ["s3:GetObject"], [f"{arn}/*" for arn in arns.values()])
    if written:
        yield allow("WriteObjects", ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:PutObject"], written)


def _directory_buckets(buckets: Sequence[tuple[str, bool]], partition: str) -> Iterator[Statement]:
    """Yield permissions for sessions with directory buckets, whose objects have no IAM actions of their own.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-security-iam-identity-policies.html
    """
    for sid, mode in (("WriteInSessions", False), ("ReadInSessions", True)):
        arns = [f"arn:{partition}:s3express:*:*:bucket/{name}" for name, read_only in buckets if read_only is mode]
        condition = {"StringEquals": {"s3express:SessionMode": "ReadOnly"}} if mode else None
        if arns:
            yield allow(sid, ["s3express:CreateSession"], arns, condition)
