"""A node group on an existing cluster: where it is placed, and which mistakes are refused, as in a strategy."""

from __future__ import annotations

from typing import Any

import pytest

from eks_hardware import AdoptedNodeGroup
from eks_hardware._cdk import App, AwsProvider, TerraformStack
from eks_hardware.models import NodeGroupSpec
from eks_hardware.testing import Template

SUBNETS = {"usw2-az1": "subnet-0aaaaaaaaaaaaaaa1", "usw2-az2": "subnet-0aaaaaaaaaaaaaaa2"}
P5EN: dict[str, Any] = {"name": "gpu", "instance_types": ["p5en.48xlarge"], "efa": True, "scaling": {"max": 4}}


def adopted(config: Any = None, *, fields: dict[str, Any] | None = None, **arguments: Any) -> Template:
    """Return the stack of a group on a cluster of another stack."""
    stack = TerraformStack(App(), "team")
    AwsProvider(stack, "aws", region="us-west-2")
    given = {"vpc_id": "vpc-0123456789abcdef0", "private_subnet_ids": SUBNETS, "kubernetes_version": "1.35"}
    config = {**P5EN, **(fields or {})} if config is None else config
    AdoptedNodeGroup(stack, "gpu", cluster_name="shared", config=config, **{**given, **arguments})
    return Template.of(stack)


@pytest.mark.parametrize("efa", [True, False])
def test_it_is_in_the_zones_that_offer_its_types(efa: bool) -> None:
    group = adopted(fields={"efa": efa}).only("aws_eks_node_group")
    assert group["subnet_ids"] == [SUBNETS["usw2-az2"]]


def test_its_nodes_have_the_policies_of_nodes() -> None:
    attached = adopted().resources("aws_iam_role_policy_attachment")
    assert {each["policy_arn"] for each in attached.values()} == {
        f"arn:aws:iam::aws:policy/{name}"
        for name in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
    }


def test_a_model_and_ids_of_other_resources() -> None:
    ids: dict[str, Any] = {"vpc_id": "${aws_vpc.main.id}", "private_subnet_ids": {"usw2-az2": "${aws_subnet.main.id}"}}
    group = adopted(NodeGroupSpec.model_validate(P5EN), **ids).only("aws_eks_node_group")
    assert group["subnet_ids"] == ["${aws_subnet.main.id}"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"fields": {"zones": ["usw2-az1"]}}, "ZONE_NOT_OFFERED team/gpu: node_groups[gpu].zones: usw2-az1 does not"),
        ({"fields": {"instance_types": ["g6.12xlarge", "p4d.24xlarge"]}}, "EFA_ONE_TYPE team/gpu: "),
        (
            {"fields": {"instance_types": ["g6.4xlarge"]}},
            "EFA_UNSUPPORTED team/gpu: node_groups[gpu].instance_types[0]",
        ),
        ({"fields": {"workload": "trainig"}}, "did you mean training?"),
        ({"fields": {"instance_type": []}}, "did you mean instance_types?"),
        ({"kubernetes_version": 1.35}, 'must be text, got the number 1.35; put it in quotes: "1.35"'),
        ({"private_subnet_ids": {"usw2-az1": "sub-1"}}, "must be a subnet ID such as"),
        ({"private_subnet_ids": {"usw2-az9": "subnet-1"}}, "usw2-az9 is not a known zone id; did you mean usw2-az"),
        ({"private_subnet_ids": {"us-west-2a": "subnet-1"}}, "use its zone id, such as usw2-az1: `aws ec2 describe"),
        (
            {"private_subnet_ids": {**SUBNETS, "use1-az1": "subnet-1"}},
            "in one region, got us-east-1, us-west-2; remove",
        ),
        ({"private_subnet_ids": ["subnet-1"]}, "must be a map from zone id to subnet, got ['subnet-1']"),
        ({"private_subnet_ids": {}}, "must be a map from zone id to subnet, got {}"),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, dict) else "",
)
def test_mistakes_are_refused_as_in_a_strategy(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  (the message is compared)
        adopted(**wrong)
    assert said in str(raised.value)
    assert " team/gpu: " in str(raised.value)


def test_warnings_are_annotations() -> None:
    stack = TerraformStack(App(), "team")
    group = AdoptedNodeGroup(
        stack,
        "gpu",
        cluster_name="shared",
        config=P5EN,
        vpc_id="vpc-0123456789abcdef0",
        private_subnet_ids=SUBNETS,
        kubernetes_version="1.99",
    )
    (warning,) = (str(each.data) for each in group.node.metadata if each.type.endswith("warn"))
    assert warning.startswith("KUBERNETES_VERSION_UNREAD cluster.kubernetes_version: ")
