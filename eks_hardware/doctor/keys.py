"""Check: the strategy's KMS keys exist, are enabled, and can encrypt."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from eks_hardware.doctor.aws import Aws
from eks_hardware.doctor.model import Diagnosis, Probe, Subject
from eks_hardware.models.node_lists import nodes_by_path

NAME = "keys"
CALLS: tuple[str, ...] = ("kms:DescribeKey",)

_NOT_THERE = ("NotFoundException", "InvalidArnException")


def probes(subject: Subject) -> Iterator[Probe]:
    """Yield one probe for each key."""
    cluster, storage = subject.strategy.cluster, subject.strategy.storage
    nodes = nodes_by_path(subject.strategy)
    named = {
        "cluster.secrets_encryption.kms_key_arn": cluster.secrets_encryption.kms_key_arn,
        **{f"{path}.disk.kms_key_arn": node.disk.kms_key_arn for path, node in nodes.items()},
        "storage.efs.kms_key_arn": storage.efs.kms_key_arn if storage.efs else None,
        "storage.fsx_lustre.kms_key_arn": storage.fsx_lustre.kms_key_arn if storage.fsx_lustre else None,
    }
    for path, arn in named.items():
        if arn:
            yield Probe(path, f"key {arn.rpartition('/')[2]}", partial(_key, subject, path, arn))


def _key(subject: Subject, path: str, arn: str, aws: Aws) -> Iterator[Diagnosis]:
    name = arn.rpartition("/")[2]
    answer = aws.found(_NOT_THERE, "kms", "describe_key", KeyId=arn)
    if answer is None:
        message = f"{subject.resolved.region} has no key {name}; choose a key in this region"
        every = subject.command("kms", "list-aliases", query="Aliases[].[AliasName,TargetKeyId]")
        yield subject.error("KEY_MISSING", path, message, every)
        return
    key = answer["KeyMetadata"]
    state = key.get("KeyState", "Enabled" if key.get("Enabled") else "Disabled")
    mended = {
        "PendingDeletion": (
            "is pending deletion; cancel the deletion and enable the key, or choose another key",
            "cancel-key-deletion",
        ),
        "Disabled": ("is disabled; enable it, or choose another key", "enable-key"),
    }
    if state != "Enabled":
        text, operation = mended.get(state, (f"is in state {state}; choose an enabled key", "describe-key"))
        yield subject.error(
            "KEY_NOT_ENABLED", path, f"key {name} {text}", subject.command("kms", operation, key_id=arn)
        )
    spec, usage = key.get("KeySpec"), key.get("KeyUsage")
    if usage not in (None, "ENCRYPT_DECRYPT") or spec not in (None, "SYMMETRIC_DEFAULT"):
        yield subject.error(
            "KEY_CANNOT_ENCRYPT",
            path,
            f"key {name} must be a symmetric encryption key, got {spec} for {usage}; choose another key",
            subject.command("kms", "describe-key", key_id=arn),
        )
