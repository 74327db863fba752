"""``storage``: shared file systems and buckets for pods."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from eks_hardware import facts
from eks_hardware.models.base import (
    LISTED_TWICE,
    BucketName,
    KmsKeyArn,
    StrategyModel,
    ZoneId,
    invalid,
    refuse_second_name,
)

_FIRST_STEPS_GIB = (1200, 2400)


class FsxLustre(StrategyModel):
    """An FSx for Lustre file system in the zone of the training nodes.

    Examples:
        >>> FsxLustre(size_gib=2400, deployment="scratch-2").size_gib
        2400
    """

    size_gib: Annotated[int, Field(ge=1200, le=1_000_000)] = Field(
        default=facts.choices()["fsx_lustre_size"]["size_gib"],
        description="Storage capacity in GiB: 1200, 2400, or a multiple of 2400.",
    )
    deployment: Literal["persistent-2", "scratch-2"] = Field(
        default=facts.choices()["fsx_lustre_deployment"]["deployment"],
        description="Deployment type; use 'scratch-2' only for data that you can afford to lose.",
    )
    throughput_mibps_per_tib: Literal[125, 250, 500, 1000] | None = Field(
        default=None,
        description="Throughput in MiB/s per TiB for 'persistent-2'; default "
        f"{facts.choices()['fsx_lustre']['throughput_mibps_per_tib']}.",
    )
    zone: ZoneId | None = Field(
        default=None,
        description="Zone ID of the file system; default: the zone of the groups and pools with EFA, or of those for "
        "training.",
    )
    kms_key_arn: KmsKeyArn | None = Field(
        default=None, description="ARN of the key for 'persistent-2'; default: the account's FSx key."
    )

    @model_validator(mode="after")
    def _size_and_throughput(self) -> FsxLustre:
        # https://docs.aws.amazon.com/fsx/latest/LustreGuide/create-fs.html (storage capacity)
        if self.size_gib not in _FIRST_STEPS_GIB and self.size_gib % _FIRST_STEPS_GIB[-1]:
            nearest = max(1200, 2400 * round(self.size_gib / 2400))
            message = f"must be 1200, 2400 or a multiple of 2400 GiB, got {self.size_gib}; write {nearest}"
            raise invalid("fsx_size", message, "size_gib")
        if self.deployment == "scratch-2":
            for name in ("throughput_mibps_per_tib", "kms_key_arn"):
                if getattr(self, name) is not None:
                    raise invalid("fsx_deployment", "only 'persistent-2' supports this; remove it", name)
        return self


class Efs(StrategyModel):
    """An EFS file system, available in every zone; pods use access points.

    Examples:
        >>> Efs().throughput
        'elastic'
    """

    kms_key_arn: KmsKeyArn | None = Field(default=None, description="ARN of the key; default: the account's EFS key.")
    throughput: Literal["elastic", "bursting"] = Field(
        default=facts.choices()["efs_throughput"]["throughput"], description="Throughput mode."
    )


class S3Bucket(StrategyModel):
    """A bucket that pods mount with Mountpoint for Amazon S3.

    Examples:
        >>> S3Bucket(name="models").read_only
        True
    """

    name: BucketName = Field(description="Name of an existing bucket.")
    read_only: bool = Field(
        default=facts.choices()["mounted_bucket"]["read_only"], description="Reject writes and deletes."
    )


class StorageSpec(StrategyModel):
    """File systems and buckets that pods share; none is created or mounted by default.

    Examples:
        >>> StorageSpec(efs={}).efs.throughput
        'elastic'
    """

    fsx_lustre: FsxLustre | None = Field(default=None, description="FSx for Lustre; `{}` uses all defaults.")
    efs: Efs | None = Field(default=None, description="EFS; `{}` uses all defaults.")
    s3_buckets: tuple[S3Bucket, ...] = Field(default=(), max_length=20, description="Buckets to mount.")

    @model_validator(mode="after")
    def _unique_buckets(self) -> StorageSpec:
        refuse_second_name(self.s3_buckets, "s3_buckets", LISTED_TWICE)
        return self
