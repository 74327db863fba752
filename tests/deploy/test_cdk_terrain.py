"""State moves to CDK Terrain and back: Terraform plans no changes after either move.

The stack is another team's, with one of our constructs. Whole strategies result in the same text with both frameworks
(tests/cdktn), and a cluster would take a minute.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import cdk_terrain

APP = """
import eks_hardware
from cdktf import App, LocalBackend, TerraformOutput, TerraformStack
from cdktf_cdktf_provider_aws.provider import AwsProvider
from cdktf_cdktf_provider_aws.s3_bucket import S3Bucket
from eks_hardware.constructs.iam import Role

TRUST = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},'
    '"Action":"sts:AssumeRole"}]}'
)
app = App()
stack = TerraformStack(app, "moving")
LocalBackend(stack, path="moving.tfstate")
AwsProvider(stack, "aws", region="us-west-2")
stack.add_override("terraform.required_providers.aws", {"source": "hashicorp/aws", "version": ">= 5.100.0, < 7.0.0"})
policies = ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
Role(stack, "reader", name="reader", assume_role_policy=TRUST, policy_arns=policies)
bucket = S3Bucket(stack, "data", bucket="moving-data", tags={"team": "a"})
TerraformOutput(stack, "bucket", value=bucket.arn)
app.synth()
"""


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folder of the stack, by the framework that synthesized it."""
    python = cdk_terrain.installed_python()
    found = {}
    for framework in ("cdktf", "cdktn"):
        outdir = tmp_path_factory.mktemp(framework) / "cdktf.out"
        run = cdk_terrain.run_python(python, framework, outdir, "-c", APP)
        assert (run.code, run.err) == (0, "")
        found[framework] = outdir / "stacks" / "moving"
    return found


def test_nothing_changes_in_either_direction(deploy: Any, synthesized: dict[str, Path]) -> None:
    before, after = ((synthesized[each] / "cdk.tf.json").read_bytes() for each in ("cdktf", "cdktn"))
    assert before != after  # it contains the framework's version
    project = deploy.applied(synthesized["cdktf"])
    assert {address.split(".")[0] for address in project.addresses()} == {
        "aws_iam_role",
        "aws_iam_role_policy_attachment",
        "aws_s3_bucket",
    }
    for framework in ("cdktn", "cdktf"):
        # Not initialized again: Terraform would refuse to plan with a different backend.
        shutil.copy(synthesized[framework] / "cdk.tf.json", project.stack_dir)
        plan = project.plan()
        assert (framework, plan.exit_code, plan.changes) == (framework, 0, {})
