"""Names with AWS length limits: deterministic, and shortened with a hash of the full name when too long.

The hash distinguishes long names that share their first characters. The same strategy always has the same names, so a
second run replaces nothing.
"""

from __future__ import annotations

import hashlib

IAM_ROLE = 64
"""https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"""
IAM_POLICY = 128
INSTANCE_PROFILE = 128
EVENT_RULE = 64
"""https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html"""
SQS_QUEUE = 80
"""https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html"""
LAUNCH_TEMPLATE = 125
"""EC2 allows 128, the AWS provider 125:
https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template.go"""
PLACEMENT_GROUP = 255
SECURITY_GROUP = 255
KMS_ALIAS = 256
TAG_VALUE = 256
EFS_TOKEN = 64
"""https://docs.aws.amazon.com/efs/latest/ug/API_CreateFileSystem.html (CreationToken)"""
TERRAFORM_WORKSPACE = 90
"""https://developer.hashicorp.com/terraform/cloud-docs/workspaces/create (at most 90 characters)"""

_HASH_LENGTH = 8


def limited(*parts: str, limit: int, separator: str = "-") -> str:
    """Join parts; a result longer than ``limit`` characters keeps its last part and ends in a hash.

    The last part names the purpose (``karpenter-node``), so the first ones are cut.

    >>> limited("demo", "us-west-2", "cluster", limit=64)
    'demo-us-west-2-cluster'
    >>> limited("a" * 40, "us-west-2", "cluster", limit=32)
    'aaaaaaaaaaaaaaa-cluster-e27c67a9'
    """
    full = separator.join(parts)
    if len(full) <= limit:
        return full
    digest = _digest(full)
    *first, last = parts
    tail = f"{separator}{last}-{digest}" if first else f"-{digest}"
    head = separator.join(first) if first else last
    if len(tail) >= limit:
        return f"{full[: limit - _HASH_LENGTH - 1]}-{digest}"
    return head[: limit - len(tail)].rstrip("-_") + tail


def security_group(cluster_name: str, purpose: str) -> str:
    """Return the name of a security group.

    EC2 refuses names that start like security group ids:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html (GroupName)

    >>> security_group("sg-demo", "efa")
    'eks-sg-demo-efa'
    """
    first = ("eks",) if cluster_name.lower().startswith("sg-") else ()
    return limited(*first, cluster_name, purpose, limit=SECURITY_GROUP)


def told_apart(readable: str, whole: str) -> str:
    """Return ``readable`` with a hash of ``whole``, for keys whose readable part is not unique.

    >>> told_apart("admin", "arn:aws:iam::111122223333:role/admin")
    'admin-076ded81'
    """
    return f"{readable}-{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
