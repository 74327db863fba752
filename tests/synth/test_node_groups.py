"""Managed node groups and their launch templates."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from eks_hardware.testing import Absent, Contains, Matches, Template, differences
from helpers.strategies import resolved_shipped

if TYPE_CHECKING:
    from eks_hardware._cdk import TerraformStack

Templates = Mapping[str, Template]
Body = dict[str, Any]

CONFIG = {"name": "cpu", "instance_types": ["m7i.xlarge"], "scaling": {"min": 1, "max": 2}}
PRIVATE = {"usw2-az1": "subnet-1", "usw2-az2": "subnet-2"}

# Settings that EKS refuses in the launch template of a managed node group:
# https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
REFUSED = (
    "iam_instance_profile",
    "instance_initiated_shutdown_behavior",
    "hibernation_options",
    "disable_api_stop",
    "elastic_gpu_specifications",
    "ram_disk_id",
    "kernel_id",
    "security_group_names",
    "instance_requirements",
)


def group_of(template: Template, name: str) -> tuple[Body, Body]:
    """Return a node group and its launch template."""
    group = template.resource("aws_eks_node_group", {"node_group_name": name})
    address = group["launch_template"]["id"].strip("${}").rpartition(".")[0]
    return group, template.resources("aws_launch_template")[address]


def test_every_group_takes_a_numbered_version_of_its_template(strategy_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#1597
    template = templates[strategy_name]
    used = set()
    for group in template.resources("aws_eks_node_group").values():
        match = re.fullmatch(r"\$\{(aws_launch_template\.[\w-]+)\.id\}", group["launch_template"]["id"])
        assert match
        assert group["launch_template"]["version"] == f"${{{match[1]}.latest_version}}"
        used.add(match[1])
    assert used == set(template.resources("aws_launch_template"))


def test_templates_hold_nothing_that_eks_refuses(strategy_name: str, templates: Templates) -> None:
    for body in templates[strategy_name].resources("aws_launch_template").values():
        assert not set(REFUSED) & set(body)
        assert body.get("instance_market_options", {}).get("market_type") != "spot"
        for interface in body.get("network_interfaces", ()):
            assert not {"subnet_id", "associate_public_ip_address", "network_interface_id"} & set(interface)
        assert not ("vpc_security_group_ids" in body and "network_interfaces" in body)


def test_groups_leave_disks_and_access_to_their_template(strategy_name: str, templates: Templates) -> None:
    """EKS ignores or refuses them in combination with a launch template."""
    # trap: terraform-aws-modules/terraform-aws-eks#1845
    for group in templates[strategy_name].resources("aws_eks_node_group").values():
        assert not {"disk_size", "remote_access"} & set(group)


def test_every_volume_is_encrypted(strategy_name: str, templates: Templates) -> None:
    for body in templates[strategy_name].resources("aws_launch_template").values():
        assert body["block_device_mappings"]
        for device in body["block_device_mappings"]:
            assert device["ebs"]["encrypted"] == "true"
            assert device["ebs"]["delete_on_termination"] == "true"


def test_instance_metadata_takes_tokens_and_no_pods(strategy_name: str, templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#3333
    for body in templates[strategy_name].resources("aws_launch_template").values():
        hops = 2 if body["name"] == "node-options/tuned" else 1
        assert body["metadata_options"] == {
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": hops,
            "instance_metadata_tags": "disabled",
        }


def test_instances_volumes_and_interfaces_are_tagged(strategy_name: str, templates: Templates) -> None:
    for body in templates[strategy_name].resources("aws_launch_template").values():
        assert [each["resource_type"] for each in body["tag_specifications"]] == [
            "instance",
            "network-interface",
            "volume",
        ]
        for each in body["tag_specifications"]:
            # For cost allocation: a provider's default tags do not apply beyond the launch template.
            assert each["tags"]["eks-hardware/strategy"] == strategy_name
            assert each["tags"]["Name"] == body["name"]


def test_placement_groups_are_where_they_are_wanted(templates: Templates) -> None:
    """With EFA and without a reservation, or on request; never when disabled."""
    # trap: terraform-aws-modules/terraform-aws-eks#3730
    placed = {
        (strategy, group["node_group_name"])
        for strategy, template in templates.items()
        for group in template.resources("aws_eks_node_group").values()
        if "placement" in group_of(template, group["node_group_name"])[1]
    }
    assert placed == {
        ("efa-layouts", "b300"),
        ("efa-layouts", "mpi"),
        ("existing-network", "a100"),
        ("gpu-sharing", "h100-whole"),
        ("gpu-training", "h100"),
        ("mixed-hardware", "gpu-training"),
        ("mixed-hardware", "trainium-training"),
        ("node-options", "tuned"),
        ("platform-options", "trainium"),
        ("private-network", "b300"),
        ("storage", "gpu-training"),
        ("trainium-training", "trn1"),
    }
    made = [each for template in templates.values() for each in template.resources("aws_placement_group")]
    assert len([each for each in made if "nodes-" in each]) == len(placed)


def test_a_placement_group_is_a_cluster(templates: Templates) -> None:
    template = templates["gpu-training"]
    address = template.address("aws_placement_group", {"name": "gpu-training/h100", "strategy": "cluster"})
    assert group_of(template, "h100")[1]["placement"] == {"group_name": f"${{{address}.name}}"}


@pytest.mark.parametrize(
    ("strategy", "name", "ami", "capacity", "taint", "labels"),
    [
        ("mixed-hardware", "system", "AL2023_x86_64_STANDARD", "ON_DEMAND", None, {"hardware-type": "cpu"}),
        (
            "mixed-hardware",
            "gpu-training",
            "AL2023_x86_64_NVIDIA",
            "ON_DEMAND",
            "nvidia.com/gpu",
            {
                "accelerator": "a100",
                "hardware-type": "nvidia-gpu",
                "nvidia.com/gpu.present": "true",
                "vpc.amazonaws.com/efa.present": "true",
                "workload-type": "training",
            },
        ),
        (
            "mixed-hardware",
            "trainium-training",
            "AL2023_x86_64_NEURON",
            "ON_DEMAND",
            "aws.amazon.com/neuron",
            {"hardware-type": "trainium", "aws.amazon.com/neuron.present": "true"},
        ),
        (
            "mixed-hardware",
            "inferentia-inference",
            "AL2023_x86_64_NEURON",
            "ON_DEMAND",
            "aws.amazon.com/neuron",
            {"hardware-type": "inferentia", "vpc.amazonaws.com/efa.present": Absent},
        ),
        ("development", "t4", "AL2023_x86_64_NVIDIA", "SPOT", "nvidia.com/gpu", {"accelerator": "t4"}),
        ("cpu-inference", "graviton-spot", "AL2023_ARM_64_STANDARD", "SPOT", None, {"accelerator": Absent}),
        ("node-options", "graviton-gpu", "AL2023_ARM_64_NVIDIA", "SPOT", None, {"accelerator": "t4g-shared"}),
        ("images", "system", "BOTTLEROCKET_ARM_64", "ON_DEMAND", None, {}),
        ("images", "bottlerocket-gpu", "BOTTLEROCKET_x86_64_NVIDIA", "ON_DEMAND", "nvidia.com/gpu", {}),
        ("images", "bottlerocket-neuron", "BOTTLEROCKET_x86_64", "ON_DEMAND", "aws.amazon.com/neuron", {}),
    ],
)
def test_what_follows_from_the_hardware(
    templates: Templates, strategy: str, name: str, ami: str, capacity: str, taint: str | None, labels: object
) -> None:
    group, _ = group_of(templates[strategy], name)
    templates[strategy].has(
        "aws_eks_node_group",
        {
            "node_group_name": name,
            "ami_type": ami,
            "capacity_type": capacity,
            "labels": labels,
            "taint": [{"key": taint, "value": "true", "effect": "NO_SCHEDULE"}] if taint else Absent,
        },
    )
    assert group["version"] == "1.35"


def test_own_taints_come_beside_the_derived_one(templates: Templates) -> None:
    # trap: awsdocs/amazon-eks-user-guide#618
    group, _ = group_of(templates["node-options"], "tuned")
    assert group["taint"] == [
        {"key": "dedicated", "value": "batch", "effect": "NO_EXECUTE"},
        {"key": "soft", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_options_of_a_group(templates: Templates) -> None:
    template = templates["node-options"]
    group, launch = group_of(template, "tuned")
    assert group["node_repair_config"] == {"enabled": False}
    assert group["update_config"] == {"max_unavailable": 2}
    assert group_of(template, "autoscaled")[0]["update_config"] == {"max_unavailable_percentage": 33}
    assert launch["monitoring"] == {"enabled": True}
    assert launch["block_device_mappings"][0]["ebs"] == {
        "volume_size": 100,
        "volume_type": "io2",
        "iops": 4000,
        "encrypted": "true",
        "delete_on_termination": "true",
    }
    tagged, its_launch = group_of(template, "graviton-gpu")
    assert tagged["tags"] == its_launch["tags"] == {"cost-center": "42"}
    assert all(each["tags"]["cost-center"] == "42" for each in its_launch["tag_specifications"])


def test_a_capacity_block_is_named_in_the_launch_template(templates: Templates) -> None:
    """EKS reads the instance type and the market type from there.

    https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
    """
    # trap: hashicorp/terraform-provider-aws#40876
    # trap: eksctl-io/eksctl#8320
    group, launch = group_of(templates["capacity"], "block")
    assert group["capacity_type"] == "CAPACITY_BLOCK"
    assert "instance_types" not in group
    assert launch["instance_type"] == "p5.48xlarge"
    assert launch["instance_market_options"] == {"market_type": "capacity-block"}
    assert launch["capacity_reservation_specification"] == {
        "capacity_reservation_target": {"capacity_reservation_id": "cr-0123456789abcdef0"}
    }
    assert differences([Contains("private-usw2-az3")], group["subnet_ids"]) == []


def test_a_reservation_is_on_demand_capacity_with_a_target(templates: Templates) -> None:
    # trap: eksctl-io/eksctl#8320
    group, launch = group_of(templates["capacity"], "reserved")
    assert (group["capacity_type"], group["instance_types"]) == ("ON_DEMAND", ["p4d.24xlarge"])
    assert not {"instance_type", "instance_market_options"} & set(launch)
    target = launch["capacity_reservation_specification"]["capacity_reservation_target"]
    assert target == {"capacity_reservation_id": "cr-0123456789abcdef1"}
    _, pool = group_of(templates["capacity"], "reserved-pool")
    assert pool["capacity_reservation_specification"]["capacity_reservation_target"] == {
        "capacity_reservation_resource_group_arn": "arn:aws:resource-groups:us-west-2:111122223333:group/gpu-pool"
    }


def test_repair_spares_reserved_capacity(templates: Templates) -> None:
    # trap: aws/containers-roadmap#2555
    template = templates["capacity"]
    repaired = {name: group_of(template, name)[0]["node_repair_config"]["enabled"] for name in ("block", "reserved")}
    assert repaired == {"block": False, "reserved": False}
    assert group_of(template, "reserved-pool")[0]["node_repair_config"] == {"enabled": True}
    assert group_of(template, "system")[0]["node_repair_config"] == {"enabled": True}


def test_only_capacity_blocks_fix_the_type_in_the_template(strategy_name: str, templates: Templates) -> None:
    # trap: hashicorp/terraform-provider-aws#40876
    template = templates[strategy_name]
    for group in template.resources("aws_eks_node_group").values():
        _, launch = group_of(template, group["node_group_name"])
        assert ("instance_type" in launch) is (group["capacity_type"] == "CAPACITY_BLOCK")
        assert ("instance_types" in group) is not ("instance_type" in launch)


def test_the_strategy_owns_the_size_of_a_group(templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#681
    group, _ = group_of(templates["inferentia-inference"], "small")
    assert group["scaling_config"] == {"min_size": 1, "desired_size": 1, "max_size": 10}
    templates["mixed-hardware"].count("data.aws_autoscaling_group", 0)


def test_an_autoscaler_owns_the_size_of_a_group(templates: Templates) -> None:
    """The current number is kept within bounds; before the first apply, nothing is found and the default applies."""
    # trap: terraform-aws-modules/terraform-aws-eks#681
    template = templates["node-options"]
    current = template.address("data.aws_autoscaling_group")
    found = template.address("data.aws_autoscaling_groups")
    scaling = group_of(template, "autoscaled")[0]["scaling_config"]
    assert scaling == {
        "min_size": 2,
        "max_size": 6,
        "desired_size": f"${{max(2, min(6, try(one(values({current})).desired_capacity, 3)))}}",
    }
    assert template.only("data.aws_autoscaling_group") == {
        "for_each": f"${{toset({found}.names)}}",
        "name": "${each.value}",
    }
    # Plain names: a reference would delay the look-up until the apply, but for_each needs it during the plan.
    assert template.only("data.aws_autoscaling_groups")["filter"] == [
        {"name": "tag:eks:cluster-name", "values": ["node-options"]},
        {"name": "tag:eks:nodegroup-name", "values": ["autoscaled"]},
    ]
    assert "lifecycle" not in group_of(template, "autoscaled")[0]


def test_a_pinned_release(templates: Templates) -> None:
    # trap: terraform-aws-modules/terraform-aws-eks#1597
    group, _ = group_of(templates["images"], "pinned")
    assert group["release_version"] == "1.35.0-20261101"
    assert "release_version" not in group_of(templates["images"], "system")[0]


@pytest.mark.parametrize("name", ["own-image", "own-bottlerocket"])
def test_your_own_image_is_told_about_the_cluster(templates: Templates, name: str) -> None:
    """EKS configures nodes with its own images; with a custom image, the user data must."""
    template = templates["images"]
    group, launch = group_of(template, name)
    assert not {"ami_type", "version", "release_version"} & set(group)
    assert launch["image_id"].startswith("ami-")
    cluster = template.address("aws_eks_cluster")
    written = re.search(r'base64decode\("([^"]*)"\)', launch["user_data"])
    assert written
    text = base64.b64decode(written[1]).decode()
    marks = re.findall(r"@eks-hardware:[a-z-]+@", text)
    assert len(marks) == (4 if name == "own-image" else 3)
    for mark in marks:
        assert re.search(rf'"{mark}", {re.escape(cluster)}\.', launch["user_data"])
    assert launch["user_data"].startswith("${base64encode(")


def test_user_data_of_the_images_of_eks_is_plain(strategy_name: str, templates: Templates) -> None:
    """It then shows in a plan, and a change of the cluster replaces no nodes."""
    for body in templates[strategy_name].resources("aws_launch_template").values():
        if "image_id" not in body:
            assert "${" not in base64.b64decode(body["user_data"]).decode()


def test_bottlerocket_has_its_images_on_the_second_disk(templates: Templates) -> None:
    # trap: awslabs/amazon-eks-ami#13
    _, launch = group_of(templates["images"], "bottlerocket-gpu")
    sizes = {each["device_name"]: each["ebs"]["volume_size"] for each in launch["block_device_mappings"]}
    assert sizes == {"/dev/xvda": 4, "/dev/xvdb": 400}
    key = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    assert {each["ebs"]["kms_key_id"] for each in launch["block_device_mappings"]} == {key}


def _parts(stack: TerraformStack) -> dict[str, Any]:
    from eks_hardware.constructs.cluster import ClusterRef
    from eks_hardware.constructs.iam import Role
    from eks_hardware.constructs.network import NetworkRef
    from eks_hardware.iam_policies.document import assumed_by_service

    return {
        "kubernetes_version": "1.35",
        "cluster_name": "shared",
        "cluster": ClusterRef.from_existing(stack, "cluster", name="shared"),
        "network": NetworkRef.from_existing(vpc_id="vpc-1", private_subnet_ids=PRIVATE),
        "role": Role(
            stack, "role", name="nodes", assume_role_policy=assumed_by_service("ec2.amazonaws.com"), policy_arns=["a/b"]
        ),
    }


@pytest.fixture
def define(stack: TerraformStack) -> Callable[..., Any]:
    """Define a node group in another team's stack from its section of a strategy."""

    def defined(efa_security_group_id: str | None = None, **config: Any) -> Any:
        from eks_hardware.constructs.node_groups import NodeGroup
        from eks_hardware.models import NodeGroupSpec as NodeGroupConfig

        return NodeGroup.from_config(
            stack,
            "nodes",
            config=NodeGroupConfig.model_validate(CONFIG | config),
            efa_security_group_id=efa_security_group_id,
            **_parts(stack),
        )

    return defined


def test_a_node_group_alone(stack: TerraformStack, define: Callable[..., Any]) -> None:
    group = define()
    template = Template.of(stack)
    template.has(
        "aws_eks_node_group",
        {
            "cluster_name": "shared",
            "node_group_name": "cpu",
            "subnet_ids": ["subnet-1", "subnet-2"],
            "depends_on": [Matches("^aws_iam_role_policy_attachment")],
        },
    )
    assert group.ready == (group.resource,)
    template.count("aws_eks_cluster", 0)


def test_an_efa_group_alone_takes_one_zone(stack: TerraformStack, define: Callable[..., Any]) -> None:
    define(efa_security_group_id="sg-efa", instance_types=["p4d.24xlarge"], efa=True)
    template = Template.of(stack)
    template.has("aws_eks_node_group", {"subnet_ids": ["subnet-1"]})
    groups = template.only("aws_launch_template")["network_interfaces"][0]["security_groups"]
    assert groups == ["${data.aws_eks_cluster.cluster.vpc_config[0].cluster_security_group_id}", "sg-efa"]


def test_an_own_image_joins_a_cluster_that_exists_already(stack: TerraformStack, define: Callable[..., Any]) -> None:
    define(ami={"image_id": "ami-0123456789abcdef0"}, user_data={"containerd": {"config": '# "quoted" \\ $ @'}})
    template = Template.of(stack)
    launch = template.only("aws_launch_template")
    assert '"@eks-hardware:name@", "shared")' in launch["user_data"]
    # Strategy text is not part of any Terraform expression, which would need Terraform's quotes and escapes.
    assert "quoted" not in launch["user_data"]
    assert template.references(template.address("aws_launch_template")) == {"data.aws_eks_cluster.cluster"}


def test_fails_for_a_zone_without_a_subnet(define: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"^ZONE_NOT_IN_NETWORK stack/nodes: \S+\.zones: usw2-az3 has no subnet"):
        define(zones=["usw2-az3"])


def printed_warnings(group: Any) -> list[str]:
    return [str(each.data) for each in group.node.metadata if each.type.endswith("warn")]


def test_rules_apply_to_a_group_alone(define: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"^INSTANCE_TYPE_UNKNOWN stack/nodes: \S+: .* did you mean m7i\.large"):
        define(instance_types=["m7i.lage"])


def test_warnings_about_a_group_alone_are_annotations(define: Callable[..., Any]) -> None:
    group = define(capacity="spot")
    assert any(each.startswith("SPOT_ONE_TYPE node_groups[cpu]") for each in printed_warnings(group))


def test_what_the_rest_of_the_cluster_decides_is_not_judged(define: Callable[..., Any]) -> None:
    """An untainted group without nodes: CoreDNS runs elsewhere in their cluster."""
    assert printed_warnings(define(scaling={"min": 0, "max": 4})) == []


def test_a_group_alone_is_a_model_or_a_dictionary(stack: TerraformStack) -> None:
    from eks_hardware.constructs.node_groups import NodeGroup

    parts = _parts(stack)
    with pytest.raises(ValueError, match=r'unknown field "instance_type"; did you mean instance_types'):
        NodeGroup.from_config(stack, "wrong", config={"name": "cpu", "instance_type": "m7i.large"}, **parts)
    NodeGroup.from_config(stack, "nodes", config=CONFIG, **parts)
    Template.of(stack).count("aws_eks_node_group", 1)


def test_fails_for_efa_without_a_security_group(define: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"^NODE_GROUP_EFA_SECURITY_GROUP stack/nodes: .*efa_security_group_id"):
        define(instance_types=["p4d.24xlarge"], efa=True)


def test_auto_scaling_may_use_a_volume_key(synthesize: Callable[..., Template]) -> None:
    """Without a grant, the nodes terminate during startup, without an explanation."""
    key = "arn:aws:kms:us-west-2:111122223333:key/0a1b2c3d-0000-4000-8000-000000000000"
    template = synthesize(
        node_groups=[
            {"name": "system", "instance_types": ["m7i.xlarge"], "scaling": {"min": 2, "max": 3}},
            {
                "name": "gpu",
                "instance_types": ["g6.2xlarge"],
                "scaling": {"max": 2},
                "disk": {"kms_key_arn": key},
                "ami": {"family": "bottlerocket"},
            },
        ]
    )
    grant = template.only("aws_kms_grant")
    assert grant["key_id"] == key
    assert grant["grantee_principal"].endswith(
        ":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
    )
    assert "CreateGrant" in grant["operations"]
    group = template.resource("aws_eks_node_group", {"node_group_name": "gpu"})
    assert template.address("aws_kms_grant") in group["depends_on"]


def test_minimal_update_strategy_raises_the_provider_version(synthesize: Callable[..., Template]) -> None:
    # trap: aws/containers-roadmap#2204
    template = synthesize(
        node_groups=[
            {
                "name": "system",
                "instance_types": ["m7i.xlarge"],
                "scaling": {"min": 2, "max": 3},
                "update": {"strategy": "minimal"},
            }
        ]
    )
    assert template.only("aws_eks_node_group")["update_config"]["update_strategy"] == "MINIMAL"
    assert template.terraform["required_providers"]["aws"]["version"] == ">= 6.26.0, < 7.0.0"


def test_fails_for_efa_on_a_type_without(define: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"^EFA_UNSUPPORTED stack/nodes: \S+: m7i\.large has no EFA"):
        define(instance_types=["m7i.large"], efa=True)


def test_fails_for_a_network_without_subnets(define: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PRIVATE", {})
    with pytest.raises(ValueError, match=r"^NODE_GROUP_ZONE \S+/nodes: the network has no private subnets"):
        define()


def test_fails_for_a_resolved_group_that_was_changed(stack: TerraformStack) -> None:
    from eks_hardware.constructs.node_groups import NodeGroup

    group = dataclasses.replace(resolved_shipped("gpu-training").node_groups[1], ami_type="AL2023_ARM_64_STANDARD")
    parts = {name: part for name, part in _parts(stack).items() if name in ("cluster", "network", "role")}
    with pytest.raises(ValueError, match=r"^NODE_GROUP_RESOLVED stack/nodes: ami_type AL2023_ARM_64_STANDARD"):
        NodeGroup(stack, "nodes", resolved=group, **parts)
