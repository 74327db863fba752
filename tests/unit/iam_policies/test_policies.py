"""IAM policies: within IAM's size limit, with the actions of Karpenter's reference template and nothing broader."""

from __future__ import annotations

import json
from typing import Any

from eks_hardware.iam_policies import karpenter
from eks_hardware.iam_policies.document import MANAGED_POLICY_SIZE, assumed_by_pods, assumed_by_service
from eks_hardware.iam_policies.secrets_key import secrets_key_policy, use_of_secrets_key
from helpers.cases import in_one_test
from helpers.policies import as_list

ACCOUNT = "111122223333"
LAUNCHED = ["ec2:CreateFleet", "ec2:RunInstances"]

# aws/karpenter-provider-aws v1.14, .../getting-started-with-karpenter/cloudformation.yaml (2026-08-20)
ACTIONS = {
    "node-lifecycle": {
        "AllowScopedEC2InstanceAccessActions": LAUNCHED,
        "AllowScopedEC2LaunchTemplateAccessActions": LAUNCHED,
        "AllowScopedEC2InstanceActionsWithTags": ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"],
        "AllowScopedResourceCreationTagging": ["ec2:CreateTags"],
        "AllowScopedResourceTagging": ["ec2:CreateTags"],
        "AllowScopedDeletion": ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"],
    },
    "iam": {
        "AllowPassingInstanceRole": ["iam:PassRole"],
        "AllowScopedInstanceProfileCreationActions": ["iam:CreateInstanceProfile"],
        "AllowScopedInstanceProfileTagActions": ["iam:TagInstanceProfile"],
        "AllowScopedInstanceProfileActions": [
            "iam:AddRoleToInstanceProfile",
            "iam:DeleteInstanceProfile",
            "iam:RemoveRoleFromInstanceProfile",
        ],
    },
    "eks": {"AllowAPIServerEndpointDiscovery": ["eks:DescribeCluster"]},
    "interruption": {"AllowInterruptionQueueActions": ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]},
    "zonal-shift": {"AllowZonalShiftStatusReadOnly": ["arc-zonal-shift:GetManagedResource"]},
    "discovery": {
        "AllowRegionalReadActions": [
            "ec2:DescribeCapacityReservations",
            "ec2:DescribeImages",
            "ec2:DescribeInstanceStatus",
            "ec2:DescribeInstanceTypeOfferings",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeInstances",
            "ec2:DescribeLaunchTemplates",
            "ec2:DescribePlacementGroups",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSpotPriceHistory",
            "ec2:DescribeSubnets",
        ],
        "AllowSSMReadActions": ["ssm:GetParameter"],
        "AllowPricingReadActions": ["pricing:GetProducts"],
        "AllowUnscopedInstanceProfileListAction": ["iam:ListInstanceProfiles"],
        "AllowInstanceProfileReadActions": ["iam:GetInstanceProfile"],
    },
    # Karpenter's reference template leaves the volumes' keys to the user.
    "volume-keys": {
        "AllowVolumeKeyUse": [
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:GenerateDataKeyWithoutPlaintext",
            "kms:ReEncryptFrom",
            "kms:ReEncryptTo",
        ],
        "AllowVolumeKeyGrants": ["kms:CreateGrant"],
    },
}

# Without a condition, because the action supports neither resource-level permissions nor the region key.
UNSCOPED = {"AllowPricingReadActions", "AllowUnscopedInstanceProfileListAction"}


def karpenter_documents(
    cluster: str = "demo", region: str = "us-west-2", partition: str = "aws", path: str = "/"
) -> dict[str, str]:
    return karpenter.documents(
        cluster_name=cluster,
        region=region,
        partition=partition,
        account_id=ACCOUNT,
        node_role_arn=f"arn:{partition}:iam::{ACCOUNT}:role{path}{'r' * 64}",
        queue_arn=f"arn:{partition}:sqs:{region}:{ACCOUNT}:{'q' * 80}",
        volume_key_arns=[f"arn:{partition}:kms:{region}:{ACCOUNT}:key/mrk-{each:032}" for each in range(20)],
    )


def statements(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert document["Version"] == "2012-10-17"
    found: list[dict[str, Any]] = document["Statement"]
    return found


def test_sids_and_actions_are_those_of_karpenter() -> None:
    # trap: aws/karpenter-provider-aws#9185
    found = {
        key: {statement["Sid"]: sorted(as_list(statement["Action"])) for statement in statements(text)}
        for key, text in karpenter_documents().items()
    }
    assert found == ACTIONS
    assert tuple(found) == karpenter.names()


@in_one_test(
    ("region", "partition"),
    [("ap-southeast-2", "aws"), ("us-gov-west-1", "aws-us-gov"), ("cn-northwest-1", "aws-cn")],
)
def test_size_with_the_longest_names(region: str, partition: str) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3512
    path = f"/{'p' * 510}/"
    sizes = {
        key: len("".join(text.split())) for key, text in karpenter_documents("c" * 100, region, partition, path).items()
    }
    assert max(sizes.values()) < MANAGED_POLICY_SIZE == 6144, sizes


def test_nothing_is_broader_than_it_has_to_be() -> None:
    for text in karpenter_documents().values():
        for statement in statements(text):
            assert statement["Effect"] == "Allow"
            assert not any("*" in action for action in as_list(statement["Action"])), statement["Sid"]
            if as_list(statement["Resource"]) == ["*"] and statement["Sid"] not in UNSCOPED:
                assert statement["Condition"], statement["Sid"]
            assert "NotAction" not in statement
            assert "NotResource" not in statement


def test_the_cluster_is_in_every_condition_on_writes() -> None:
    for statement in [*statements(karpenter_documents()["node-lifecycle"]), *statements(karpenter_documents()["iam"])]:
        if statement["Sid"] not in ("AllowScopedEC2InstanceAccessActions", "AllowPassingInstanceRole"):
            assert "kubernetes.io/cluster/demo" in json.dumps(statement["Condition"]["StringEquals"]), statement["Sid"]


@in_one_test(
    ("partition", "service"),
    [("aws", "ec2.amazonaws.com"), ("aws-us-gov", "ec2.amazonaws.com"), ("aws-cn", "ec2.amazonaws.com.cn")],
)
def test_the_node_role_is_passed_to_ec2_only(partition: str, service: str) -> None:
    passing = statements(karpenter_documents(partition=partition)["iam"])[0]
    assert passing["Resource"] == f"arn:{partition}:iam::{ACCOUNT}:role/{'r' * 64}"
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": service}}


def test_a_policy_for_nothing_is_left_out() -> None:
    arguments = {"cluster_name": "demo", "region": "us-west-2", "partition": "aws", "account_id": ACCOUNT}
    found = karpenter.documents(**arguments, node_role_arn="arn", queue_arn=None)
    assert set(karpenter.names()) - {"interruption", "volume-keys"} == set(found)


def test_keys_of_volumes_are_used_through_ec2() -> None:
    found = list(statements(karpenter_documents()["volume-keys"]))
    for statement in found:
        assert len(statement["Resource"]) == 20
        assert statement["Condition"]["StringLike"] == {"kms:ViaService": "ec2.us-west-2.amazonaws.com*"}
    assert found[-1]["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}


def test_queue_policy() -> None:
    send, deny = statements(karpenter.queue_policy(queue_arn="arn:queue", rule_arns=["arn:rule-a", "arn:rule-b"]))
    assert send == {
        "Sid": "EventBridge",
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": "arn:queue",
        "Condition": {"ArnEquals": {"aws:SourceArn": ["arn:rule-a", "arn:rule-b"]}},
    }
    assert deny == {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": "arn:queue",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }


def test_key_policies_name_their_actions() -> None:
    (of_key,) = statements(secrets_key_policy(partition="aws", account_id=ACCOUNT))
    (of_role,) = statements(use_of_secrets_key("arn:aws:kms:us-west-2:111122223333:key/1"))
    assert of_key["Principal"] == {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    assert not any("*" in action for action in [*of_key["Action"], *of_role["Action"]])
    assert set(of_role["Action"]) <= set(of_key["Action"])
    assert of_role["Resource"] == "arn:aws:kms:us-west-2:111122223333:key/1"


def test_trust_policies() -> None:
    (pods,) = statements(assumed_by_pods())
    (service,) = statements(assumed_by_service("eks.amazonaws.com"))
    (guarded,) = statements(assumed_by_service("vpc-flow-logs.amazonaws.com", account_id=ACCOUNT))
    assert (
        pods["Action"],
        pods["Principal"]["Service"],
    ) == (["sts:AssumeRole", "sts:TagSession"], "pods.eks.amazonaws.com")
    assert "Condition" not in service
    assert guarded["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
