"""Properties that the team relies on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from cdktf import App

from eks_hardware.adoption import load_adoption
from eks_hardware.findings import StrategyError
from eks_hardware.testing import Template, assert_valid
from main import NODE_ROLE, PoolsStack, stacks, write_pools


class Both(NamedTuple):
    """The stack with Karpenter, and the stack with pools for an existing Karpenter."""

    shared: Template
    research: Template
    pools: PoolsStack


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    shared, research = stacks(App(outdir=str(tmp_path_factory.mktemp("cdktf.out"))))
    return Both(Template.of(shared), Template.of(research), research)


def test_nothing_of_the_clusters_is_ours(both: Both) -> None:
    for template in (both.shared, both.research):
        template.count("data.aws_eks_cluster", 1)
        for type_ in ("aws_eks_cluster", "aws_eks_node_group", "aws_vpc", "aws_subnet", "aws_eks_addon"):
            template.has_no(type_)


def test_karpenter_comes_before_its_pools_and_goes_after_them(both: Both) -> None:
    template = both.shared
    pools = template.address("helm_release", {"name": "karpenter-resources"})
    for name in ("karpenter-crd", "karpenter", "nvidia-device-plugin", "neuron-helm-chart"):
        assert template.address("helm_release", {"name": name}) in template.dependencies(pools)
    for address in template.resources("aws_iam_policy"):
        assert address in template.dependencies(pools)


def test_its_nodes_are_in_the_subnets_that_we_name(both: Both) -> None:
    template = both.shared
    (values,) = template.resource("helm_release", {"name": "karpenter-resources"})["values"]
    classes = [each for each in yaml.safe_load(values)["objects"] if each["kind"] == "EC2NodeClass"]
    subnets = [{"id": "subnet-0aaaaaaaaaaaaaaa1"}, {"id": "subnet-0aaaaaaaaaaaaaaa2"}]
    assert [each["spec"]["subnetSelectorTerms"] for each in classes] == [subnets, subnets]
    assert [each["spec"]["securityGroupSelectorTerms"] for each in classes] == [
        [{"tags": {"karpenter.sh/discovery": "shared"}}]
    ] * 2
    template.has("aws_ec2_tag", {"key": "karpenter.sh/discovery", "value": "shared"})


def test_where_karpenter_is_only_what_the_pool_names_is_made(both: Both) -> None:
    types = {address.partition(".")[0] for address in both.research.resources()}
    assert types == {
        "aws_placement_group",
        "aws_security_group",
        "aws_vpc_security_group_egress_rule",
        "aws_vpc_security_group_ingress_rule",
    }
    both.research.has("aws_security_group", {"vpc_id": "vpc-0bbbbbbbbbbbbbbb0"})


def test_the_pool_is_written_with_the_role_and_the_groups_that_are_there(both: Both, tmp_path: Path) -> None:
    write_pools(both.pools, tmp_path)
    file = tmp_path / "manifests" / "karpenter-resources" / "ec2nodeclass-h100.yaml"
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    group = both.research.resource("aws_security_group")
    assert written["spec"]["role"] == NODE_ROLE
    assert written["spec"]["subnetSelectorTerms"] == [{"id": "subnet-0bbbbbbbbbbbbbbb2"}]
    assert written["spec"]["securityGroupSelectorTerms"] == [{"id": "sg-0bbbbbbbbbbbbbbb0"}, {"name": group["name"]}]
    assert both.research.resource("aws_placement_group")["name"] == written["spec"]["placementGroupSelector"]["name"]


def test_a_mistake_is_refused_with_its_line(tmp_path: Path) -> None:
    good = (Path(__file__).parents[1] / "research.yaml").read_text(encoding="utf-8")
    file = tmp_path / "research.yaml"
    file.write_text(good.replace("p5.48xlarge", "g6.xlarge"), encoding="utf-8")
    with pytest.raises(StrategyError, match=r"research.yaml:\d+:\d+: error EFA_UNSUPPORTED"):
        load_adoption(file)


def test_terraform_takes_them(both: Both) -> None:
    assert_valid(both.research)
    assert_valid(both.shared, without_providers=["helm"])
