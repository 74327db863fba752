"""Permissions of the CSI drivers, limited to the needs of a strategy's ``storage`` section."""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware.iam_policies.document import Statement, allow

PAGES = {
    "fsx_lustre": "https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/v1.9.0/pkg/cloud/cloud.go "
    "(pollFileSystems)",
    "s3": "https://github.com/awslabs/mountpoint-s3/blob/main/doc/CONFIGURATION.md#iam-permissions",
}
"""Sources of the permissions, by the file system of the strategy."""


def lustre_volumes() -> tuple[Statement, ...]:
    """Return the FSx driver's permissions for existing file systems: it lists them repeatedly.

    Mounting needs no permission. Creating and deleting does; an add-on that a strategy names in ``cluster.addons``
    therefore gets the policy that EKS documents.
    """
    return (allow("ListFileSystems", ["fsx:DescribeFileSystems"], ["*"]),)


def mounted_buckets(buckets: Sequence[tuple[str, bool]], *, partition: str) -> tuple[Statement, ...]:
    """Return Mountpoint's permissions for each bucket.

    Args:
        buckets: bucket names, and whether they are read-only.
    """
    arns = {name: f"arn:{partition}:s3:::{name}" for name, _ in buckets}
    written = [f"{arns[name]}/*" for name, read_only in buckets if not read_only]
    statements = [
        allow("ListBuckets", ["s3:ListBucket"], list(arns.values())),
        allow("ReadObjects", ["s3:GetObject"], [f"{arn}/*" for arn in arns.values()]),
    ]
    if written:
        statements.append(
            allow("WriteObjects", ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:PutObject"], written)
        )
    return tuple(statements)
