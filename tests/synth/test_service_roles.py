"""Roles of controllers that call AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from eks_hardware.testing import Contains, Json, Template

Templates = Mapping[str, Template]


@pytest.mark.parametrize(("chart", "policies"), [("aws-load-balancer-controller", 2), ("cluster-autoscaler", 1)])
def test_a_controller_gets_its_role_through_pod_identity(chart: str, policies: int, templates: Templates) -> None:
    template = templates["platform-options"]
    role = template.address("aws_iam_role", {"name": f"platform-options-us-west-2-{chart}"})
    trust = json.loads(template.resources("aws_iam_role")[role]["assume_role_policy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    identity = template.address(
        "aws_eks_pod_identity_association",
        {"namespace": "kube-system", "service_account": chart, "role_arn": f"${{{role}.arn}}"},
    )
    # Its first pod starts with all permissions, and its last one has them until it stops.
    attached = template.resources("aws_iam_role_policy_attachment", {"role": f"${{{role}.name}}"})
    assert len(attached) == policies
    assert set(attached) <= template.dependencies(identity)


def test_policies_name_the_account_they_are_in(templates: Templates) -> None:
    template = templates["platform-options"]
    account = "${data.aws_caller_identity.caller-identity.account_id}"
    template.has(
        "aws_iam_policy",
        {
            "name": "platform-options-us-west-2-cluster-autoscaler-scaling",
            "policy": Json(
                {
                    "Statement": Contains(
                        {
                            "Sid": "Scale",
                            "Resource": f"arn:aws:autoscaling:us-west-2:{account}:autoScalingGroup:*"
                            ":autoScalingGroupName/*",
                        }
                    )
                }
            ),
        },
    )


def test_only_where_they_are_installed(templates: Templates) -> None:
    for name, template in templates.items():
        found = [each for each in template.addresses().values() if "/service-role-" in each]
        assert bool(found) == (name == "platform-options"), name


def test_empty_groups_tell_the_autoscaler_of_their_devices(templates: Templates) -> None:
    template = templates["platform-options"]
    prefix = "k8s.io/cluster-autoscaler/node-template/resources/"
    template.has(
        "aws_eks_node_group", {"node_group_name": "notebooks", "tags": {f"{prefix}nvidia.com/gpu.shared": "16"}}
    )
    template.has(
        "aws_eks_node_group",
        {
            "node_group_name": "trainium",
            "tags": {f"{prefix}aws.amazon.com/neuron": "16", f"{prefix}vpc.amazonaws.com/efa": "8"},
        },
    )


def test_a_role_is_at_the_root_unless_a_path_is_given(tmp_path: Path) -> None:
    from eks_hardware._cdk import App, AwsProvider, TerraformStack
    from eks_hardware.constructs.iam import IamSettings, Role

    stack = TerraformStack(App(outdir=str(tmp_path)), "roles")
    AwsProvider(stack, "aws", region="us-west-2")
    for name, settings in {"root": None, "teams": IamSettings(path="/teams/")}.items():
        Role(stack, name, name=name, assume_role_policy="{}", policy_arns=(), settings=settings)
    paths = {each["name"]: each["path"] for each in Template.of(stack).resources("aws_iam_role").values()}
    assert paths == {"root": "/", "teams": "/teams/"}


def test_the_account_that_a_stack_looks_up_already_is_used(tmp_path: Path) -> None:
    from eks_hardware._cdk import App, AwsProvider, DataAwsCallerIdentity, TerraformStack
    from eks_hardware.constructs.iam import account_id

    stack = TerraformStack(App(outdir=str(tmp_path)), "accounts")
    AwsProvider(stack, "aws", region="us-west-2")
    DataAwsCallerIdentity(stack, "caller-identity")
    # A token has another number each time it is read, so a second call shows that it was read once.
    assert account_id(stack) == account_id(stack)
    assert len(Template.of(stack).data("aws_caller_identity")) == 1
