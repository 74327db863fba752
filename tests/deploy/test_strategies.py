"""The real Terraform and AWS provider accept every strategy, and the additions in guides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eks_hardware.loader import parse_strategy
from eks_hardware.resolve import resolve
from eks_hardware.testing import Template
from helpers import guides
from helpers.synthesized import synthesize
from helpers.terraform_modules import Faults, validate

CLUSTER = "c" * 99 + "_"
LONGEST = f"""
version: 1
name: {CLUSTER}
region: ap-northeast-1
cluster: {{creator_is_admin: true, addons: {{amazon-cloudwatch-observability: {{}}}}}}
network:
  private: true
  flow_logs: {{}}
  interface_endpoints: [s3, ec2, ecr.api, ecr.dkr, eks, eks-auth, logs, monitoring, sqs, sts]
node_groups:
  - {{name: {"g" * 63}, instance_types: [m7i.xlarge], scaling: {{min: 2, max: 3, autoscaled: true}}}}
  - {{name: {"g" * 62}h, instance_types: [p5.48xlarge], efa: true, scaling: {{max: 3}}}}
karpenter:
  node_policies:
    - arn:aws:iam::aws:policy/AmazonSSMPatchAssociation
    - arn:aws:iam::111122223333:policy/team/AmazonSSMPatchAssociation
"""
PROGRAMS = {
    **dict(zip(("chart", "bucket and role", "self-managed", "fargate"), guides.blocks("extend"), strict=True)),
    "overrides": guides.blocks("change-a-setting")[0],
}


@pytest.fixture(scope="module")
def faults(templates: Mapping[str, Template], tmp_path_factory: pytest.TempPathFactory) -> Faults:
    """Return the errors of one run of Terraform on all of them."""
    documents = {name: template.document for name, template in templates.items()}
    (longest,) = synthesize(tmp_path_factory.mktemp("longest") / "out", [resolve(parse_strategy(LONGEST).strategy)])
    documents["longest"] = longest.document
    for name, program in PROGRAMS.items():
        found = guides.stacks_of_program(tmp_path_factory.mktemp("guide"), program)
        documents[name] = found["mixed-hardware"].document
    return validate(documents, tmp_path_factory.mktemp("terraform"))


def test_nothing_but_stacks_is_at_fault(faults: Faults, templates: Mapping[str, Template]) -> None:
    assert faults.keys() <= {*templates, "longest", *PROGRAMS}


def test_a_strategy_is_valid(strategy_name: str, faults: Faults) -> None:
    assert faults.get(strategy_name, []) == []


def test_the_longest_legal_names_are_valid(faults: Faults) -> None:
    """The provider has its own limits, such as 125 characters for a launch template's name."""
    assert faults.get("longest", []) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_of_a_guide_is_valid(name: str, faults: Faults) -> None:
    assert faults.get(name, []) == []
