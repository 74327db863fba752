"""KMS keys: present, missing, and in every state."""

from __future__ import annotations

from typing import Any

from eks_hardware.doctor import keys
from helpers.cases import in_one_test
from helpers.doctor import ACCOUNT, RefusedError, answering, look
from helpers.findings import codes
from helpers.strategies import group, pools

ARN = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/12345678-1234-1234-1234-123456789012"
PATH = "cluster.secrets_encryption.kms_key_arn"


def secrets(arn: str = ARN) -> dict[str, Any]:
    return {"cluster": {"creator_is_admin": True, "secrets_encryption": {"kms_key_arn": arn}}}


def account_with_key(**fields: Any) -> Any:
    state = fields.get("KeyState", "Enabled")
    usual = {"KeyId": "x", "KeyUsage": "ENCRYPT_DECRYPT", "KeySpec": "SYMMETRIC_DEFAULT", "Enabled": state == "Enabled"}
    return answering({"kms:DescribeKey": {"KeyMetadata": {**usual, "KeyState": state, **fields}}})


def test_no_key_asks_nothing() -> None:
    assert look(keys, answering({})).probes == 0


def test_every_field_is_asked() -> None:
    pool = {"name": "pool", "instance_families": ["m7i"], "limits": {"cpu": 8}, "disk": {"kms_key_arn": ARN}}
    storage = {"efs": {"kms_key_arn": ARN}, "fsx_lustre": {"kms_key_arn": ARN}}
    gone = answering({"kms:DescribeKey": RefusedError("NotFoundException")})
    disk = group("m6i.xlarge", name="batch", disk={"kms_key_arn": ARN})
    outcome = look(keys, gone, disk, **secrets(), **pools(pool), storage=storage)
    assert codes(outcome.findings) == [
        ("KEY_MISSING", PATH),
        ("KEY_MISSING", "node_groups[batch].disk.kms_key_arn"),
        ("KEY_MISSING", "karpenter.node_pools[pool].disk.kms_key_arn"),
        ("KEY_MISSING", "storage.efs.kms_key_arn"),
        ("KEY_MISSING", "storage.fsx_lustre.kms_key_arn"),
    ]
    assert outcome.findings[0].command.startswith("aws kms list-aliases ")


def test_fit() -> None:
    assert codes(look(keys, account_with_key(), **secrets()).findings) == []


@in_one_test(
    ("code", "fields", "command"),
    [
        ("KEY_NOT_ENABLED", {"KeyState": "Disabled"}, "enable-key"),
        ("KEY_NOT_ENABLED", {"KeyState": "PendingDeletion"}, "cancel-key-deletion"),
        ("KEY_NOT_ENABLED", {"KeyState": "PendingImport"}, "describe-key"),
        ("KEY_CANNOT_ENCRYPT", {"KeyUsage": "SIGN_VERIFY", "KeySpec": "RSA_2048"}, "describe-key"),
        ("KEY_CANNOT_ENCRYPT", {"KeySpec": "RSA_2048"}, "describe-key"),
    ],
)
def test_unfit(code: str, fields: dict[str, Any], command: str) -> None:
    outcome = look(keys, account_with_key(**fields), **secrets())
    assert codes(outcome.findings) == [(code, PATH)]
    assert outcome.findings[0].command == f"aws kms {command} --key-id {ARN} --region us-west-2"


def test_denied() -> None:
    outcome = look(keys, answering({"kms:DescribeKey": RefusedError("AccessDeniedException")}), **secrets())
    assert codes(outcome.findings) == [("CHECK_DENIED", PATH)]
    assert "kms:DescribeKey" in outcome.findings[0].message
