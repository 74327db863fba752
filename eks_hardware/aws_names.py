"""Names with AWS length limits: deterministic, and shortened with a hash of the full name when too long.

The hash distinguishes long names that start with the same characters. The same strategy always gets the same names, so
a second run replaces nothing.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Literal

from eks_hardware import facts
from eks_hardware.data import Cited

_HASH_LENGTH = 8

STRATEGY_TAG = "eks-hardware/strategy"
"""Key of the tag on all resources that a strategy's stack creates; its value is the strategy's name."""


NameKind = Literal[
    "iam_role",
    "iam_policy",
    "instance_profile",
    "event_rule",
    "sqs_queue",
    "launch_template",
    "placement_group",
    "security_group",
    "kms_alias",
    "tag_key",
    "tag_value",
    "efs_token",
    "terraform_workspace",
]


@cache
def longest(kind: NameKind) -> Cited[int]:
    """Return the maximum length of a kind of name, in characters, with its source.

    >>> longest("iam_role").value
    64
    """
    return facts.account.cite(lambda file: file["name_limits"][kind]["most"])


def limited(*parts: str, limit: NameKind | int, separator: str = "-") -> str:
    """Join parts; if the result would be longer than ``limit``, shorten it and append a hash.

    The last part names the purpose (``karpenter-node``) and is kept, so the first parts are cut.

    >>> limited("demo", "us-west-2", "cluster", limit=64)
    'demo-us-west-2-cluster'
    >>> limited("a" * 40, "us-west-2", "cluster", limit=32)
    'aaaaaaaaaaaaaaa-cluster-e27c67a9'
    """
    full = separator.join(parts)
    most = limit if isinstance(limit, int) else longest(limit).value
    if len(full) <= most:
        return full
    digest = _digest(full)
    *first, last = parts
    tail = f"{separator}{last}-{digest}" if first else f"-{digest}"
    head = separator.join(first) if first else last
    if len(tail) >= most:
        return f"{full[: most - _HASH_LENGTH - 1]}-{digest}"
    return head[: most - len(tail)].rstrip("-_") + tail


def security_group(cluster_name: str, purpose: str) -> str:
    """Return a security group name for a cluster and a purpose.

    EC2 rejects names that start with ``sg-``, as security group IDs do:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html (GroupName)

    >>> security_group("sg-demo", "efa")
    'eks-sg-demo-efa'
    """
    first = ("eks",) if cluster_name.lower().startswith("sg-") else ()
    return limited(*first, cluster_name, purpose, limit="security_group")


def told_apart(readable: str, whole: str) -> str:
    """Append a hash of ``whole`` to ``readable``, for keys whose readable part is not unique.

    >>> told_apart("admin", "arn:aws:iam::111122223333:role/admin")
    'admin-076ded81'
    """
    return f"{readable}-{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
