"""Permissions of Karpenter 1.14's controller, split into managed policies.

One policy for all of them passes IAM's 6,144 characters with a long cluster name
(https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3512), so they are split the way Karpenter's
reference template does: https://karpenter.sh/docs/reference/cloudformation/ (v1.14.1, 2026-08-20).
"""

from __future__ import annotations

from collections.abc import Sequence

from eks_hardware.iam_policies.document import Statement, allow, policy

KEYS = ("node-lifecycle", "iam", "eks", "interruption", "zonal-shift", "discovery", "volume-keys")
"""The policies, by the key that is part of their Terraform address."""

_LAUNCHED = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")


def documents(
    *,
    cluster_name: str,
    region: str,
    partition: str,
    account_id: str,
    node_role_arn: str,
    queue_arn: str | None,
    volume_key_arns: Sequence[str] = (),
) -> dict[str, str]:
    """The policy documents by key; ``account_id`` and the ARNs may be Terraform references.

    Without a queue there is no ``interruption`` policy, without keys of the user's no ``volume-keys``.
    """
    tags = _Tags(cluster_name)
    cluster_arn = f"arn:{partition}:eks:{region}:{account_id}:cluster/{cluster_name}"
    statements = {
        "node-lifecycle": _node_lifecycle(f"arn:{partition}:ec2:{region}", tags),
        "iam": _instance_profiles(
            f"arn:{partition}:iam::{account_id}:instance-profile/*", node_role_arn, region, partition, tags
        ),
        "eks": [allow("AllowAPIServerEndpointDiscovery", ["eks:DescribeCluster"], [cluster_arn])],
        "interruption": _interruption(queue_arn),
        "zonal-shift": [
            allow(
                "AllowZonalShiftStatusReadOnly",
                ["arc-zonal-shift:GetManagedResource"],
                # The action has no resource-level permission for EKS; the condition names the cluster.
                ["*"],
                {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": cluster_arn}},
            )
        ],
        "discovery": _discovery(region, partition, account_id),
        "volume-keys": _volume_keys(volume_key_arns, region),
    }
    return {key: policy(*statements[key]) for key in KEYS if statements[key]}


class _Tags:
    """Conditions on the tags that Karpenter puts on what it makes."""

    def __init__(self, cluster_name: str) -> None:
        self.cluster_name = cluster_name
        self._owner = f"kubernetes.io/cluster/{cluster_name}"

    def owned(self, where: str) -> dict[str, object]:
        return {f"aws:{where}/{self._owner}": "owned"}

    def requested(self) -> dict[str, object]:
        return {**self.owned("RequestTag"), "aws:RequestTag/eks:eks-cluster-name": self.cluster_name}

    @staticmethod
    def any_of(where: str, tag: str) -> dict[str, object]:
        return {f"aws:{where}/{tag}": "*"}


def _node_lifecycle(ec2: str, tags: _Tags) -> list[Statement]:
    launched = [f"{ec2}:*:{kind}/*" for kind in _LAUNCHED]
    from_pool = tags.any_of("RequestTag", "karpenter.sh/nodepool")
    of_pool = tags.any_of("ResourceTag", "karpenter.sh/nodepool")
    launch = ["ec2:RunInstances", "ec2:CreateFleet"]
    return [
        allow(
            "AllowScopedEC2InstanceAccessActions",
            launch,
            [
                f"{ec2}::image/*",
                f"{ec2}::snapshot/*",
                *(
                    f"{ec2}:*:{kind}/*"
                    for kind in ("security-group", "subnet", "capacity-reservation", "placement-group")
                ),
            ],
        ),
        allow(
            "AllowScopedEC2LaunchTemplateAccessActions",
            launch,
            [f"{ec2}:*:launch-template/*"],
            {"StringEquals": tags.owned("ResourceTag"), "StringLike": of_pool},
        ),
        allow(
            "AllowScopedEC2InstanceActionsWithTags",
            [*launch, "ec2:CreateLaunchTemplate"],
            launched,
            {"StringEquals": tags.requested(), "StringLike": from_pool},
        ),
        allow(
            "AllowScopedResourceCreationTagging",
            ["ec2:CreateTags"],
            launched,
            {
                "StringEquals": {
                    **tags.requested(),
                    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                },
                "StringLike": from_pool,
            },
        ),
        allow(
            "AllowScopedResourceTagging",
            ["ec2:CreateTags"],
            [f"{ec2}:*:instance/*"],
            {
                "StringEquals": tags.owned("ResourceTag"),
                "StringLike": of_pool,
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": tags.cluster_name},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        allow(
            "AllowScopedDeletion",
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            [f"{ec2}:*:instance/*", f"{ec2}:*:launch-template/*"],
            {"StringEquals": tags.owned("ResourceTag"), "StringLike": of_pool},
        ),
    ]


def _instance_profiles(profiles: str, node_role_arn: str, region: str, partition: str, tags: _Tags) -> list[Statement]:
    ec2_service = "ec2.amazonaws.com.cn" if partition == "aws-cn" else "ec2.amazonaws.com"
    in_region = {"aws:RequestTag/topology.kubernetes.io/region": region}
    of_region = {"aws:ResourceTag/topology.kubernetes.io/region": region}
    requested = tags.any_of("RequestTag", "karpenter.k8s.aws/ec2nodeclass")
    tagged = tags.any_of("ResourceTag", "karpenter.k8s.aws/ec2nodeclass")
    return [
        allow(
            "AllowPassingInstanceRole",
            ["iam:PassRole"],
            [node_role_arn],
            {"StringEquals": {"iam:PassedToService": ec2_service}},
        ),
        allow(
            "AllowScopedInstanceProfileCreationActions",
            ["iam:CreateInstanceProfile"],
            [profiles],
            {"StringEquals": {**tags.requested(), **in_region}, "StringLike": requested},
        ),
        allow(
            "AllowScopedInstanceProfileTagActions",
            ["iam:TagInstanceProfile"],
            [profiles],
            {
                "StringEquals": {**tags.owned("ResourceTag"), **of_region, **tags.requested(), **in_region},
                "StringLike": {**tagged, **requested},
            },
        ),
        allow(
            "AllowScopedInstanceProfileActions",
            [
                "iam:AddRoleToInstanceProfile",
                "iam:RemoveRoleFromInstanceProfile",
                "iam:DeleteInstanceProfile",
            ],
            [profiles],
            {"StringEquals": {**tags.owned("ResourceTag"), **of_region}, "StringLike": tagged},
        ),
    ]


def _interruption(queue_arn: str | None) -> list[Statement]:
    if queue_arn is None:
        return []
    actions = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    return [allow("AllowInterruptionQueueActions", actions, [queue_arn])]


def _discovery(region: str, partition: str, account_id: str) -> list[Statement]:
    """Read-only look-ups. Describe actions, price list and ListInstanceProfiles know no resource-level permission.

    Source: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
    """
    return [
        allow(
            "AllowRegionalReadActions",
            [
                "ec2:DescribeCapacityReservations",
                "ec2:DescribeImages",
                "ec2:DescribeInstances",
                "ec2:DescribeInstanceStatus",
                "ec2:DescribeInstanceTypeOfferings",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplates",
                "ec2:DescribePlacementGroups",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSpotPriceHistory",
                "ec2:DescribeSubnets",
            ],
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": region}},
        ),
        allow(
            "AllowSSMReadActions",
            ["ssm:GetParameter"],
            [f"arn:{partition}:ssm:{region}::parameter/aws/service/*"],
        ),
        allow("AllowPricingReadActions", ["pricing:GetProducts"], ["*"]),
        allow("AllowUnscopedInstanceProfileListAction", ["iam:ListInstanceProfiles"], ["*"]),
        allow(
            "AllowInstanceProfileReadActions",
            ["iam:GetInstanceProfile"],
            [f"arn:{partition}:iam::{account_id}:instance-profile/*"],
        ),
    ]


def _volume_keys(key_arns: Sequence[str], region: str) -> list[Statement]:
    """What EC2 does in the controller's name with the keys of node pools' volumes.

    Without it a node ends while it starts. EC2 Fleet of type ``instant`` launches as whoever calls it, so that the
    permissions are the controller's own and not those of a service-linked role.
    Sources: https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html,
    https://karpenter.sh/v1.14/troubleshooting/#node-terminates-before-ready-on-failed-encrypted-ebs-volume
    """
    if not key_arns:
        return []
    # In some partitions the service's name ends in amazonaws.com.cn.
    through_ec2 = {"StringLike": {"kms:ViaService": f"ec2.{region}.amazonaws.com*"}}
    use = ["Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"]
    return [
        allow("AllowVolumeKeyUse", [f"kms:{each}" for each in use], key_arns, through_ec2),
        allow(
            "AllowVolumeKeyGrants",
            ["kms:CreateGrant"],
            key_arns,
            {**through_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}},
        ),
    ]


def queue_policy(*, queue_arn: str, rule_arns: Sequence[str]) -> str:
    """Who may use the interruption queue: EventBridge for this cluster's rules, and nobody without TLS."""
    return policy(
        {
            "Sid": "EventBridge",
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": list(rule_arns)}},
        },
        {
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    )
