"""Properties that the team relies on."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eks_hardware.testing import Contains, Json, Template, assert_no_public_api, assert_valid


@pytest.fixture
def template(synthesized_strategies: Mapping[str, Template]) -> Template:
    return synthesized_strategies["research"]


def test_the_api_is_for_the_office(template: Template) -> None:
    assert_no_public_api(template)
    template.has("aws_eks_cluster", {"vpc_config": {"public_access_cidrs": ["93.184.216.0/24"]}})


def test_the_bucket_is_private_versioned_and_encrypted(template: Template) -> None:
    (bucket,) = template.resources("aws_s3_bucket")
    blocked = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    expected = {
        "aws_s3_bucket_public_access_block": dict.fromkeys(blocked, True),
        "aws_s3_bucket_ownership_controls": {"rule": {"object_ownership": "BucketOwnerEnforced"}},
        "aws_s3_bucket_server_side_encryption_configuration": {
            "rule": [{"apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms"}}]
        },
        "aws_s3_bucket_versioning": {"versioning_configuration": {"status": "Enabled"}},
        "aws_s3_bucket_policy": {"policy": Json({"Statement": Contains({"Sid": "OnlyTls", "Effect": "Deny"})})},
    }
    for type_, what in expected.items():
        template.has(type_, {**what, "bucket": f"${{{bucket}.id}}"})


def test_pods_of_one_service_account_read_it_and_no_more(template: Template) -> None:
    bucket = template.address("aws_s3_bucket")
    (cluster,) = template.resources("aws_eks_cluster")
    template.has(
        "aws_eks_pod_identity_association",
        {"namespace": "research", "service_account": "dataset-reader", "cluster_name": f"${{{cluster}.name}}"},
    )
    template.has(
        "aws_iam_role_policy",
        {
            "name": "read-datasets",
            "policy": Json(
                {
                    "Statement": [
                        {"Action": "s3:ListBucket", "Resource": f"${{{bucket}.arn}}"},
                        {"Action": "s3:GetObject", "Resource": f"${{{bucket}.arn}}/*"},
                    ]
                }
            ),
        },
    )


def test_terraform_takes_it(template: Template) -> None:
    """Validate without the Helm releases, because their provider may not be installed."""
    assert_valid(template, without_providers=["helm"])
