"""Karpenter's AWS resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from eks_hardware.testing import Contains, Json, Matches, Template

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

Templates = Mapping[str, Template]

EVENTS = {
    ("aws.health", "AWS Health Event"),
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    ("aws.ec2", "EC2 Instance State-change Notification"),
    ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}


def test_the_controller_gets_its_role_through_pod_identity(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    role = template.address("aws_iam_role", {"name": "mixed-hardware-us-west-2-karpenter-controller"})
    trust = json.loads(template.resources("aws_iam_role")[role]["assume_role_policy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    identity = template.address(
        "aws_eks_pod_identity_association",
        {"namespace": "kube-system", "service_account": "karpenter", "role_arn": f"${{{role}.arn}}"},
    )
    # Its first pod starts with all permissions, and its last one has them until it stops.
    attached = template.resources("aws_iam_role_policy_attachment", {"role": f"${{{role}.name}}"})
    assert len(attached) == 6
    assert set(attached) <= template.dependencies(identity)
    assert set(template.resources("aws_iam_policy")) <= template.dependencies(identity)


def test_its_nodes_may_join(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    role = template.address("aws_iam_role", {"name": "mixed-hardware-us-west-2-karpenter-node"})
    template.has("aws_eks_access_entry", {"type": "EC2_LINUX", "principal_arn": f"${{{role}.arn}}"})
    policies = template.resources("aws_iam_role_policy_attachment", {"role": f"${{{role}.name}}"})
    assert {body["policy_arn"].rpartition("/")[2] for body in policies.values()} == {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
    }
    # The controller can pass this role and no other.
    template.has(
        "aws_iam_policy",
        {"policy": Json({"Statement": Contains({"Action": "iam:PassRole", "Resource": f"${{{role}.arn}}"})})},
    )


def test_the_interruption_queue(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    queue = template.address(
        "aws_sqs_queue",
        {"name": "mixed-hardware-karpenter", "message_retention_seconds": 300, "sqs_managed_sse_enabled": True},
    )
    patterns = {
        (pattern["source"][0], pattern["detail-type"][0])
        for body in template.resources("aws_cloudwatch_event_rule").values()
        for pattern in [json.loads(body["event_pattern"])]
    }
    assert patterns == EVENTS
    for rule in template.resources("aws_cloudwatch_event_rule"):
        template.count("aws_cloudwatch_event_target", 1, {"rule": f"${{{rule}.name}}", "arn": f"${{{queue}.arn}}"})


def test_only_its_rules_may_write_to_the_queue_and_nobody_without_tls(templates: Templates) -> None:
    template = templates["mixed-hardware"]
    names = sorted(body["name"] for body in template.resources("aws_cloudwatch_event_rule").values())
    allow, deny = json.loads(template.only("aws_sqs_queue_policy")["policy"])["Statement"]
    arns = allow["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert sorted(arn.rpartition("/")[2] for arn in arns) == names
    assert (allow["Principal"], allow["Action"]) == ({"Service": "events.amazonaws.com"}, "sqs:SendMessage")
    assert deny["Effect"] == "Deny"
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_queue_can_be_left_out(templates: Templates) -> None:
    template = templates["existing-network"]
    for type_ in ("aws_sqs_queue", "aws_sqs_queue_policy", "aws_cloudwatch_event_rule", "aws_cloudwatch_event_target"):
        template.count(type_, 0)
    template.has_no("aws_iam_policy", {"policy": Contains("sqs:")})
    assert "karpenter_interruption_queue" not in template.outputs
    assert "karpenter_node_role_name" in template.outputs


def test_options(templates: Templates) -> None:
    template = templates["existing-network"]
    template.has("aws_eks_pod_identity_association", {"namespace": "karpenter", "service_account": "karpenter"})
    template.has(
        "aws_iam_role_policy_attachment",
        {"policy_arn": Matches("::aws:policy/AmazonFSxReadOnlyAccess$"), "role": Contains("karpenter_node")},
    )


def test_without_karpenter_there_is_nothing_of_it(templates: Templates) -> None:
    template = templates["development"]
    assert not [path for path in template.addresses().values() if "karpenter" in path]
    assert not [name for name in template.outputs if "karpenter" in name]
    template.has_no("aws_eks_access_entry", {"type": "EC2_LINUX"})


def test_no_statement_allows_everything(strategy_name: str, templates: Templates) -> None:
    """A wildcard resource is used only with a condition, or with actions that do not support resources."""
    read_only = {"pricing:GetProducts", "iam:ListInstanceProfiles"}
    # For the load balancer controller: services without a region, with account-wide resources.
    global_services = ("iam:GetServerCertificate", "iam:ListServerCertificates", "shield:")
    for body in templates[strategy_name].resources("aws_iam_policy").values():
        for statement in json.loads(body["policy"])["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert not [action for action in actions if action.endswith("*")]
            if statement["Resource"] == "*" and "Condition" not in statement:
                assert {each for each in actions if not each.startswith(global_services)} <= read_only


def test_rules_apply_to_pools_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import Karpenter
    from eks_hardware.models import KarpenterSpec as KarpenterConfig

    pool = {"name": "gpu", "instance_families": ["g66"], "limits": {"nvidia.com/gpu": 4}}
    cluster = ClusterRef.from_existing(stack, "cluster", name="shared")
    with pytest.raises(ValueError, match=r"^POOL_FAMILY_UNKNOWN stack/karpenter: karpenter\.node_pools\[gpu\]\S+: "):
        Karpenter.from_config(
            stack,
            "karpenter",
            config=KarpenterConfig.model_validate({"node_pools": [pool]}),
            cluster=cluster,
            cluster_name="shared",
            region="us-west-2",
        )


def test_karpenter_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import Karpenter
    from eks_hardware.models import KarpenterSpec as KarpenterConfig

    karpenter = Karpenter.from_config(
        stack,
        "karpenter",
        config=KarpenterConfig(),
        cluster=ClusterRef.from_existing(stack, "cluster", name="shared"),
        cluster_name="shared",
        region="us-west-2",
    )
    template = Template.of(stack)
    template.has(
        "aws_ec2_tag",
        {"key": "karpenter.sh/discovery", "value": "shared", "resource_id": Contains("data.aws_eks_cluster.cluster")},
    )
    template.count("aws_iam_policy", 6)
    template.count("aws_eks_cluster", 0)
    assert karpenter.queue_name


def test_private_network_gets_an_instance_profile(templates: Templates) -> None:
    """IAM has no VPC endpoint, so Karpenter cannot create the profile there."""
    private = templates["private-network"]
    profile = private.only("aws_iam_instance_profile")
    assert (
        profile["role"]
        == f"${{{private.address('aws_iam_role', {'name': 'private-network-us-east-1-karpenter-node'})}.name}}"
    )
    assert "karpenter_instance_profile_name" in private.outputs
    assert not templates["mixed-hardware"].resources("aws_iam_instance_profile")


# --- node pools

KEY = "arn:aws:kms:us-east-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def test_a_placement_group_for_each_pool_that_names_one(templates: Templates) -> None:
    """Karpenter looks up groups and creates none."""
    template = templates["karpenter-pools"]
    assert template.only("aws_placement_group")["strategy"] == "cluster"
    assert template.only("aws_placement_group")["name"] == "karpenter-pools/trainium2"
    launch = {"Action": Contains("ec2:RunInstances"), "Resource": Contains("arn:aws:ec2:us-east-2:*:placement-group/*")}
    template.has("aws_iam_policy", {"policy": Json({"Statement": Contains(launch)})})


def test_a_security_group_for_the_pools_with_efa(templates: Templates) -> None:
    templates["karpenter-pools"].has("aws_security_group", {"name": "karpenter-pools-efa"})


def test_it_may_use_the_keys_of_its_volumes_through_ec2_alone(templates: Templates) -> None:
    template = templates["karpenter-pools"]
    policy = template.address("aws_iam_policy", {"name": "karpenter-pools-us-east-2-karpenter-volume-keys"})
    use, grants = json.loads(template.resources("aws_iam_policy")[policy]["policy"])["Statement"]
    through_ec2 = {"StringLike": {"kms:ViaService": "ec2.us-east-2.amazonaws.com*"}}
    assert {"kms:GenerateDataKeyWithoutPlaintext", "kms:Decrypt"} < set(use["Action"])
    assert (use["Resource"], use["Condition"]) == (KEY, through_ec2)
    assert (grants["Action"], grants["Resource"]) == ("kms:CreateGrant", KEY)
    # Grants only for EC2, which attaches the volume.
    assert grants["Condition"] == {**through_ec2, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    template.has("aws_iam_role_policy_attachment", {"policy_arn": f"${{{policy}.arn}}"})


def test_without_such_keys_there_is_no_policy_for_them(templates: Templates) -> None:
    templates["mixed-hardware"].has_no("aws_iam_policy", {"policy": Contains("kms:")})


def test_pools_of_a_karpenter_alone(stack: TerraformStack) -> None:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.karpenter import Karpenter
    from eks_hardware.models import KarpenterSpec as KarpenterConfig

    pool = {
        "name": "trn",
        "instance_types": ["trn1.32xlarge"],
        "efa": True,
        "disk": {"kms_key_arn": KEY},
        "limits": {"aws.amazon.com/neuron": 16},
    }
    Karpenter.from_config(
        stack,
        "karpenter",
        config=KarpenterConfig.model_validate({"node_pools": [pool]}),
        cluster=ClusterRef.from_existing(stack, "cluster", name="shared"),
        cluster_name="shared",
        region="us-west-2",
    )
    template = Template.of(stack)
    template.has("aws_placement_group", {"name": "shared/trn", "strategy": "cluster"})
    template.count("aws_iam_policy", 7)
