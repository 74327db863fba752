"""Check: the KMS keys that the strategy names exist, are enabled, and can encrypt."""

from __future__ import annotations

from collections.abc import Iterator

from eks_hardware.doctor.aws import Aws, CallError
from eks_hardware.doctor.aws_cli import aws_command
from eks_hardware.doctor.model import Diagnosis, Probe, Subject

NAME = "keys"
CALLS: tuple[str, ...] = ("kms:DescribeKey",)


def probes(subject: Subject) -> Iterator[Probe]:
    """One for each key that is named."""
    for path, arn in named_keys(subject):
        yield _of_key(subject, path, arn)


def named_keys(subject: Subject) -> Iterator[tuple[str, str]]:
    """Every field with a key, and its ARN."""
    strategy = subject.strategy
    storage = strategy.storage
    pools = strategy.karpenter.node_pools if strategy.karpenter else ()
    given = {
        "cluster.secrets_encryption.kms_key_arn": strategy.cluster.secrets_encryption.kms_key_arn,
        **{f"node_groups[{each.name}].disk.kms_key_arn": each.disk.kms_key_arn for each in strategy.node_groups},
        **{f"karpenter.node_pools[{each.name}].disk.kms_key_arn": each.disk.kms_key_arn for each in pools},
        "storage.efs.kms_key_arn": storage.efs.kms_key_arn if storage.efs else None,
        "storage.fsx_lustre.kms_key_arn": storage.fsx_lustre.kms_key_arn if storage.fsx_lustre else None,
    }
    for path, arn in given.items():
        if arn:
            yield path, arn


def _of_key(subject: Subject, path: str, arn: str) -> Probe:
    region = subject.resolved.region
    key = arn.rpartition("/")[2]

    def ask(aws: Aws) -> Iterator[Diagnosis]:
        show = aws_command("kms", "describe-key", key_id=arn, region=region)
        try:
            found = aws.call("kms", "describe_key", KeyId=arn)["KeyMetadata"]
        except CallError as error:
            if error.code not in ("NotFoundException", "InvalidArnException"):
                raise
            yield subject.error(
                "KEY_MISSING",
                path,
                f"there is no key {key} in {region}; name a key of this region",
                aws_command("kms", "list-aliases", query="Aliases[].[AliasName,TargetKeyId]", region=region),
            )
            return
        state = found.get("KeyState", "Enabled" if found.get("Enabled") else "Disabled")
        if state == "PendingDeletion":
            yield subject.error(
                "KEY_NOT_ENABLED",
                path,
                f"key {key} is about to be deleted; cancel that and enable it, or name another",
                aws_command("kms", "cancel-key-deletion", key_id=arn, region=region),
            )
        elif state == "Disabled":
            yield subject.error(
                "KEY_NOT_ENABLED",
                path,
                f"key {key} is disabled; enable it, or name another",
                aws_command("kms", "enable-key", key_id=arn, region=region),
            )
        elif state != "Enabled":
            yield subject.error("KEY_NOT_ENABLED", path, f"key {key} is {state}; name one that is enabled", show)
        if found.get("KeyUsage", "ENCRYPT_DECRYPT") != "ENCRYPT_DECRYPT" or not _symmetric(found.get("KeySpec")):
            yield subject.error(
                "KEY_CANNOT_ENCRYPT",
                path,
                f"key {key} is a {found.get('KeySpec')} key for {found.get('KeyUsage')}; AWS services need a symmetric "
                "key that encrypts",
                show,
            )

    return Probe(path, f"key {key}", ask)


def _symmetric(spec: str | None) -> bool:
    return spec in (None, "SYMMETRIC_DEFAULT")
