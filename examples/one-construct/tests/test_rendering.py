"""Properties that the team relies on."""

from __future__ import annotations

import pytest
from cdktf import App

from eks_hardware.testing import Absent, Contains, Template, assert_valid
from main import RenderingStack


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    app = App(outdir=str(tmp_path_factory.mktemp("cdktf.out")))
    return Template.of(RenderingStack(app, "rendering"))


def test_the_group_is_on_spot_and_starts_at_zero(template: Template) -> None:
    template.has(
        "aws_eks_node_group",
        {
            "cluster_name": "shared",
            "capacity_type": "SPOT",
            "ami_type": "AL2023_x86_64_NVIDIA",
            "instance_types": ["g6e.2xlarge"],
            "scaling_config": {"min_size": 0, "desired_size": 0, "max_size": 4},
            "taint": Contains({"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}),
        },
    )


def test_its_nodes_are_in_our_subnet_and_wait_for_its_route(template: Template) -> None:
    group = template.address("aws_eks_node_group")
    assert template.address("aws_subnet", {"availability_zone_id": "usw2-az2"}) in template.references(group)
    assert template.address("aws_route_table_association") in template.dependencies(group)


def test_its_volumes_are_encrypted_and_its_credentials_out_of_reach(template: Template) -> None:
    launch_template = template.resource("aws_launch_template")
    assert [each["ebs"]["encrypted"] for each in launch_template["block_device_mappings"]] == ["true"]
    template.has(
        "aws_launch_template", {"metadata_options": {"http_tokens": "required", "http_put_response_hop_limit": 1}}
    )


def test_nothing_of_the_cluster_is_ours(template: Template) -> None:
    assert set(template.data("aws_eks_cluster")) == {"data.aws_eks_cluster.cluster"}
    template.has_no("aws_eks_cluster")
    template.has("aws_iam_role", {"name": "rendering-nodes", "permissions_boundary": Absent})


def test_terraform_takes_it(template: Template) -> None:
    assert_valid(template)
