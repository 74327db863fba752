"""Checks of recorded requests against AWS's service models, and of their IAM policies.

The emulator accepts much that AWS refuses. botocore has AWS's own models of every service. Its clients check only types
and required parameters; this also checks enumerations, lengths, ranges, patterns and unknown parameters.
moto has the errors of IAM for malformed policies.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eks_hardware.iam_policies.document import MANAGED_POLICY_SIZE
from helpers.aws_requests import Operation, Request, UnknownOperationError, operation
from helpers.policies import as_list

# Java's classes of characters in the models' patterns, as Python has them; they accept a little more.
_JAVA = (
    (r"\p{L}\p{Z}\p{N}\p{P}\p{M}", r"\w\s!-/:-@\[-`{-~"),
    (r"\p{L}\p{Z}\p{N}", r"\w\s"),
    (r"\p{Print}", r"[ -~]"),
    (r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF"),
    (r"\w-_", r"\w\-_"),
    (r"\w-\/", r"\w\-\/"),
    ("^(?i)", "(?i)^"),
)
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_sid.html
_SID = re.compile("[0-9A-Za-z]*")
# SQS takes the names of a message's attributes here, too, although the model's enumeration has those of a queue:
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html (AttributeNames)
_NOT_IN_THE_MODEL = {"QueueAttributeName": ("SentTimestamp",)}
_NUMBERS = ("integer", "long", "float", "double")
# The member with an IAM policy, by service and operation. Those of roles name who may assume them.
_TRUST = {("iam", "CreateRole"): "AssumeRolePolicyDocument", ("iam", "UpdateAssumeRolePolicy"): "PolicyDocument"}
_POLICIES = {
    **{("iam", each): "PolicyDocument" for each in ("CreatePolicy", "CreatePolicyVersion", "PutRolePolicy")},
    ("efs", "PutFileSystemPolicy"): "Policy",
    ("kms", "CreateKey"): "Policy",
    ("kms", "PutKeyPolicy"): "Policy",
    ("s3", "PutBucketPolicy"): "Policy",
}


def violations(file: Path) -> list[str]:
    """Return what AWS would refuse in the requests of Terraform and other clients that a file records.

    The tests' own requests, with boto3, are left out: some of them are wrong on purpose.
    """
    if not file.exists():
        return []
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    asked = (each for each in lines if not each["headers"].get("user-agent", "").startswith("Boto3/"))
    return sorted({each for request in asked for each in faults(request)})


def faults(request: Request) -> list[str]:
    """Return what AWS would refuse in a request."""
    try:
        found = operation(request)
    except UnknownOperationError as error:
        return [str(error)]
    start = f"{found.service} {found.name}: "
    wrong = [f"{each} is not a parameter" for each in found.unknown]
    if found.shape is not None:
        wrong += _structure(found.shape, found.sent, "")
    return [start + each for each in [*wrong, *_policies(found)]]


# --- values


def _value(of: Any, value: Any, path: str) -> Iterator[str]:
    if value is None or getattr(of, "is_document_type", False):
        return
    kind = of.type_name
    if kind == "structure":
        yield from _structure(of, value, path) if isinstance(value, Mapping) else _is_no(kind, value, path)
    elif kind == "list":
        yield from _list(of, value, path) if isinstance(value, list) else _is_no(kind, value, path)
    elif kind == "map":
        yield from _map(of, value, path) if isinstance(value, Mapping) else _is_no(kind, value, path)
    elif kind == "string":
        yield from _string(of, value, path) if isinstance(value, str) else _is_no(kind, value, path)
    elif kind == "boolean":
        yield from [] if value in (True, False, "true", "false") else _is_no(kind, value, path)
    elif kind in _NUMBERS:
        yield from _number(of, value, path)
    elif kind == "blob":
        with contextlib.suppress(binascii.Error, ValueError):
            yield from _length(of, len(base64.b64decode(value, validate=True)), "bytes", path)


def _is_no(kind: str, value: object, path: str) -> list[str]:
    return [f"{path} must be a {kind}, got {value!r}"]


def _structure(of: Any, sent: Mapping[str, Any], path: str) -> Iterator[str]:
    start = f"{path}." if path else ""
    for name in of.required_members:
        # The client fills in a token that the caller leaves out.
        if name not in sent and not of.members[name].metadata.get("idempotencyToken"):
            yield f"{start}{name} is required"
    if getattr(of, "is_tagged_union", False) and len(sent) != 1:
        yield f"{path} must have exactly one of {', '.join(of.members)}, got {len(sent)}"
    for name, value in sent.items():
        if name in of.members:
            yield from _value(of.members[name], value, f"{start}{name}")


def _list(of: Any, values: list[Any], path: str) -> Iterator[str]:
    yield from _length(of, len(values), "items", path)
    for each in values:
        yield from _value(of.member, each, f"{path}[]")


def _map(of: Any, values: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _length(of, len(values), "items", path)
    for key, each in values.items():
        yield from _value(of.key, key, f"{path} (key)")
        yield from _value(of.value, each, f"{path}.{key}")


def _string(of: Any, value: str, path: str) -> Iterator[str]:
    if of.enum and value not in (*of.enum, *_NOT_IN_THE_MODEL.get(of.name, ())):
        yield f"{path} must be one of {', '.join(of.enum[:8])}, got {value!r}"
    yield from _length(of, len(value), "characters", path)
    pattern = of.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        yield f"{path} must match {pattern}, got {value!r}"


def _number(of: Any, value: object, path: str) -> Iterator[str]:
    try:
        number = float(str(value)) if of.type_name in ("float", "double") else int(str(value))
    except ValueError:
        yield from _is_no(of.type_name, value, path)
        return
    yield from _length(of, number, "", path)


def _length(of: Any, number: float, unit: str, path: str) -> Iterator[str]:
    least, most = of.metadata.get("min"), of.metadata.get("max")
    if least is not None and number < float(least):
        yield f"{path} must have at least {least} {unit}, got {number}".replace("  ", " ")
    if most is not None and number > float(most):
        yield f"{path} must have at most {most} {unit}, got {number}".replace("  ", " ")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for java, python in _JAVA:
        pattern = pattern.replace(java, python)
    return re.compile(pattern)


# --- IAM policies


def _policies(found: Operation) -> Iterable[str]:
    key = (found.service, found.name)
    for names, is_trust in ((_TRUST, True), (_POLICIES, False)):
        if document := found.sent.get(names.get(key, "")):
            yield from _policy(document, is_trust=is_trust, is_iam=found.service == "iam")
    if found.service == "sqs" and (document := found.sent.get("Attributes", {}).get("Policy")):
        yield from _policy(document, is_trust=False, is_iam=False)
    if found.name in ("CreatePolicy", "CreatePolicyVersion"):
        size = len(re.sub(r"\s", "", found.sent.get("PolicyDocument", "")))
        if size > MANAGED_POLICY_SIZE:
            yield f"LimitExceeded: a managed policy has at most {MANAGED_POLICY_SIZE} characters, got {size}"


def _policy(document: str, *, is_trust: bool, is_iam: bool) -> Iterator[str]:
    """Yield the error for a policy document, if it has one: that of IAM, or of a resource's own policy."""
    validation = importlib.import_module("moto.iam.policy_validation")
    validator = validation.IAMTrustPolicyDocumentValidator if is_trust else validation.IAMPolicyDocumentValidator
    try:
        validator(document).validate()
    except importlib.import_module("moto.iam.exceptions").MalformedPolicyDocument as error:
        yield f"MalformedPolicyDocument: {error.message}"
        return
    for each in as_list(json.loads(document)["Statement"]):
        if is_iam and not _SID.fullmatch(each.get("Sid", "")):
            yield f"MalformedPolicyDocument: Sid must have only letters and digits, got {each['Sid']!r}"
        if is_iam and not is_trust and {"Principal", "NotPrincipal"} & each.keys():
            yield "MalformedPolicyDocument: Policy document should not specify a principal."
        if not (is_iam and not is_trust) and not {"Principal", "NotPrincipal"} & each.keys():
            yield "MalformedPolicyDocument: Missing required field Principal"
